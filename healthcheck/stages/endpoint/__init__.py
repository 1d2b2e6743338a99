"""The endpoint stage: the responses of a running server to the evaluation client, and faults that the client
ignores.
"""
