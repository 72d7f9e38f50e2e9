"""The definition of every kernel in plain NumPy: slow, short and exact."""

from tallybayes.kernels.reference.average_binnings import average_binnings
from tallybayes.kernels.reference.count_documents import document_sums, fingerprints, left_out, log_amounts, merge_cells
from tallybayes.kernels.reference.derive import (
    beta,
    laplace,
    log_shares,
    negative_binomial,
    pooled_moments,
    pooled_rate,
    student,
)
from tallybayes.kernels.reference.exact_sums import grouped, mean_variance, rounded, sums
from tallybayes.kernels.reference.leave_one_out_tables import (
    add_pairs,
    add_step_pairs,
    binnings_left_out,
    normal_left_out,
    student_left_out,
)
from tallybayes.kernels.reference.observe import bag_sums, bag_table, bags, cells, counts, flags
from tallybayes.kernels.reference.score_columns import (
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
from tallybayes.kernels.reference.single_rows import add_event_row, add_flag_row, add_row, count_row, read_row
from tallybayes.kernels.reference.tokeniser import Buckets, Lexicon, spans, texts
from tallybayes.kernels.reference.word_tables import words

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
