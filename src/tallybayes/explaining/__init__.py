"""Explanations, descriptions, objectives and samples of a model."""
