"""What the evaluation client AISBench prints, writes and hides: its figures, its grader, the files of its report.

Its rules are emulated to the last digit so that two columns can stand side by side: what the service's report will
say, and what is true. Read from AISBench 3.1 (March and June 2026) and checked against reports that it wrote.
"""
