"""Anything tabular in, checked and encoded columns out."""
