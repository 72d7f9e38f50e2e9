"""What a model is: everything its file holds, nothing derived.

`model_state.py` combines the schema (`columns/schema.py`) with the sufficient statistics (`statistics.py`) and the
settings (`settings.py`, declared in `options.py`), among them what is fitted afterwards: column weights, calibration
and decision rule. `text_samples.py` keeps documents until the variant of a text column can be selected, and
`given_probabilities.py` is the state of a model that was given instead of learned.
"""
