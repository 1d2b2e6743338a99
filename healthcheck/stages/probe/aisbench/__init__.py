"""Emulates the evaluation client AISBench: its figures and its graders.

The emulation is exact to the last digit, so that a report can show the service's figures beside the true ones. Read
from AISBench 3.1 (March and June 2026) and checked against reports that it wrote.
"""
