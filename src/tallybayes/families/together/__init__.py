"""Families of several columns with one likelihood: interactions, one-dependence estimators, joint distributions."""
