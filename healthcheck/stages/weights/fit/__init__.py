"""Does the model fit the devices, and does the release load its weights there?"""
