"""The definition of every kernel in plain NumPy: slow, short and exact."""

from tallybayes.kernels.reference.binnings import average_binnings
from tallybayes.kernels.reference.derive import (
    beta,
    laplace,
    log_shares,
    negative_binomial,
    pooled_moments,
    pooled_rate,
    student,
)
from tallybayes.kernels.reference.documents import document_sums, fingerprints, left_out, log_amounts, merge_cells
from tallybayes.kernels.reference.observe import bag_sums, bag_table, bags, cells, counts, flags
from tallybayes.kernels.reference.row import add_event_row, add_flag_row, add_row, count_row, read_row
from tallybayes.kernels.reference.score import (
    add_bags,
    add_codes,
    add_events,
    add_flags,
    add_laplace,
    add_lines,
    add_normal,
    add_steps,
    add_student,
    log_softmax,
    softmax,
)
from tallybayes.kernels.reference.sums import grouped, mean_variance, rounded, sums
from tallybayes.kernels.reference.tokens import Buckets, Lexicon, spans, texts
from tallybayes.kernels.reference.without import (
    add_pairs,
    add_step_pairs,
    binnings_left_out,
    normal_left_out,
    student_left_out,
)
from tallybayes.kernels.reference.words import words

__all__ = [
    "Buckets",
    "Lexicon",
    "add_bags",
    "add_codes",
    "add_event_row",
    "add_events",
    "add_flag_row",
    "add_flags",
    "add_laplace",
    "add_lines",
    "add_normal",
    "add_pairs",
    "add_row",
    "add_step_pairs",
    "add_steps",
    "add_student",
    "average_binnings",
    "bag_sums",
    "bag_table",
    "bags",
    "beta",
    "binnings_left_out",
    "cells",
    "count_row",
    "counts",
    "document_sums",
    "fingerprints",
    "flags",
    "grouped",
    "laplace",
    "left_out",
    "log_amounts",
    "log_shares",
    "log_softmax",
    "mean_variance",
    "merge_cells",
    "negative_binomial",
    "normal_left_out",
    "pooled_moments",
    "pooled_rate",
    "read_row",
    "rounded",
    "softmax",
    "spans",
    "student",
    "student_left_out",
    "sums",
    "texts",
    "words",
]
