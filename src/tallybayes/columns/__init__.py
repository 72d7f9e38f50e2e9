"""What the columns of a model are, and how their cells become what families count.

`infer.py` proposes a family for each column; `schema.py` holds what was decided; `encode.py` checks values and encodes
them; `batch.py` combines the two for a batch of rows.
"""
