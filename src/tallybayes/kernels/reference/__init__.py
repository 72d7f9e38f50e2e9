"""The definition of every kernel in plain NumPy: slow, short and exact."""

from tallybayes.kernels.reference.binnings import average_binnings
from tallybayes.kernels.reference.observe import bag_sums, bag_table, bags, cells, counts, flags
from tallybayes.kernels.reference.row import add_row, read_row
from tallybayes.kernels.reference.score import (
    add_bags,
    add_codes,
    add_flags,
    add_normal,
    add_steps,
    add_student,
    softmax,
)
from tallybayes.kernels.reference.sums import grouped, mean_variance, rounded, sums
from tallybayes.kernels.reference.words import words

__all__ = [
    "add_bags",
    "add_codes",
    "add_flags",
    "add_normal",
    "add_row",
    "add_steps",
    "add_student",
    "average_binnings",
    "bag_sums",
    "bag_table",
    "bags",
    "cells",
    "counts",
    "flags",
    "grouped",
    "mean_variance",
    "read_row",
    "rounded",
    "softmax",
    "sums",
    "words",
]
