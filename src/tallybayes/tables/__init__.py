"""A table in memory: raw columns by name, and the sources of such tables, batch by batch."""
