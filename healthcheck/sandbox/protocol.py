"""What the sandbox and the stubs agree on. Both import it: the stubs from a copy, without the rest of the kit."""

ADDRESS = "10.213.37.2"
"""The sandbox's own address: private, and unlikely in any script."""
HOST_NAME = "6d1f0c9be27a"
"""Looks like the host name of a container."""
TRACE = "trace.sh"
"""What the bash that runs the script reads first."""
LOADING = "loading"
"""Exists if no server ever becomes ready; bash then reads it first, so that its clock advances while it sleeps."""
OFFLINE = "offline"
"""Exists if the program may create no socket; stubs then answer for recorded servers themselves."""
RUN, NOTES, NOTED, HELD = "run", "notes", "noted", "held"
"""The folder that stubs can only read, with the FIFO for notes, the FIFO for answers to them, and the file of which
each server locks the byte of its process id.
"""
SERVING, SERVED, PASSED, WAITED, DONE = "serving", "served", "passed", "waited", "done"
"""Files there by which the warden informs the stubs; empty until something happened."""
TIMER, TIME_LIMIT = "DRY_RUN_TIMER", "DRY_RUN_TIME_LIMIT"
"""Variables of a command under a time limit: the process that enforces it, and the limit as timeout reads it."""
BETWEEN, END = "\x1f", "\x1e"
"""Between the words of a note or record, and after a record; no word of a command contains them."""
RECORD_BYTES = 512 * 1024
TOLD, CHUNK_BYTES = "told", 1900
"""A note with a part of a record in hexadecimal, after the process id and "" for the last part."""
NO_NETWORK, NO_OTHERS, NO_ATTRIBUTES, NO_MEMORY = 49, 69, 55, 54
"""Error numbers of refused calls: EUNATCH, ESRMNT, ENOANO and EXFULL, which nothing else returns. What a program
says of them tells a refusal from a failure of its own.
"""
