"""How cells become what families count: one file per way of reading, the same names in each.

A reader is part of the specification of its column. It holds what was found out about the way in which the cells are
written (the format of numbers, the form of keys, the cuts of cells), and nothing else knows how to read them.
`tallybayes.testing.check_reader` has the laws that a reader must obey.
"""
