"""Hosted models: a durable log of changes beside each model file, and what answers over HTTP.

The log is the truth (`event_log.py`): a model is its base file and the events after it. `live_model.py` has the one
writer of a model and the immutable state that readers use, `model_folder.py` the models of a folder.
"""
