# A stub of CANN's older environment script, which the image has.
