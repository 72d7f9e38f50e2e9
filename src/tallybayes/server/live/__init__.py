"""Hosted models while they are served: the queue of changes, the one writer, the published state, metrics."""
