"""Families of several columns with one likelihood: interactions and one-dependence estimators."""
