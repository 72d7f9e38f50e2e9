"""How column weights are found: held-out evidence of a sample of rows, and weights fitted to it.

The weights themselves are values (`state/column_weights.py`); `scoring/weighted_predictive.py` applies them.
"""
