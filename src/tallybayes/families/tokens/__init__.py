"""Families of columns of tokens: bags, tags, texts."""
