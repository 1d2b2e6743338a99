"""Reads the configuration of a front: a server that passes chats on to the model servers of the launch."""
