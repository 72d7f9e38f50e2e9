"""What the columns of a model are, and how their cells become what families count.

`inference.py` proposes a family and a reader for each column; `schema.py` holds what was decided: a specification of
each column (`column_spec.py`) and of the label (`label_spec.py`). The readers (`readers/`) check and encode cells;
`batch.py` has a whole batch of rows read by them.
"""
