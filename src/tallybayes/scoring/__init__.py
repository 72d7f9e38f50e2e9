"""What is derived from a model's state: scores, posteriors, leave-one-out, intervals.

`snapshot.py` scores data by a state, batch by batch; `scorer.py` turns the sums into the log score, `posterior.py`
that into probabilities and answers, `leave_one_out.py` scores learned rows by the model without them. `rows.py`
is the fast path for single rows, short lists of them and small matrices.
"""
