"""The model file, `*.tally`: numbers and names only, never code.

`container.py` has the bytes with their checksum, `content.py` what is in them, `keys.py` keys as text, and
`model_file.py` reading, locking and replacing files.
"""
