"""What is written in a cell: a number, a date, a boolean, one of an order of values, or nothing.

Each module says how its kind of cell is written and how that is found out; no module knows of columns or families.
Cells of text come as Arrow arrays (`arrow.py`).
"""
