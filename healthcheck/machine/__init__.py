"""The machine that the kit runs on, as far as a verification has to know it: NPUs, driver, CANN and packages."""
