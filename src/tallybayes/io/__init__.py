"""Where tables come from: `read.py` takes frames, matrices, dicts, streams and files, `files.py` files and folders.

Every table in a file is a relation of DuckDB (SQLite files are read by Python's own module; texts and mails are rows
assembled a few thousand at a time). The schema determines which columns are read and as which types; the projection
casts them and nothing else is read. Labels and categories are read as they are written and converted to the type of the
model's keys: 1 and "1", true and "True". The query runs with plain casts at full speed; if one fails, a second query
finds the row, the column and the value, and the line is counted only to word the error. Where bad rows are skipped,
what only the encoding or a kernel can detect (an infinity) is found by halving a batch until the bad rows are alone.
"""
