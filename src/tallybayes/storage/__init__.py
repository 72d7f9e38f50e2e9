"""The model file, `*.tally`: numbers and names only, never code.

`container.py` has the bytes with their checksum, `content.py` what is in them (`schema_content.py`,
`fitted_settings.py`), `keys.py` keys as text, and `model_file.py` reading, locking and replacing files. Partial sums
of a model and the plan to count them are bytes of the same kind: `partial_content.py`, `plan_content.py`.
"""
