"""Families of columns with values that are told apart: booleans, categories, ordered categories."""
