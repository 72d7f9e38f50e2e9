"""Columns, keys and chunks: what the layers above are made of."""
