"""The definition of every kernel in plain NumPy: slow, short and exact."""

from tallybayes.kernels.densities import laplace
from tallybayes.kernels.reference.average_binnings import average_binnings
from tallybayes.kernels.reference.cell_pairs import add_one_dependence, count_cell_pairs, sum_cell_pairs
from tallybayes.kernels.reference.count_documents import (
    log_amounts,
    merge_cells,
    score_documents_leave_one_out,
    sum_documents,
)
from tallybayes.kernels.reference.cut_buckets import cut_buckets, find_steps
from tallybayes.kernels.reference.derive import (
    beta,
    log_shares,
    negative_binomial,
    pooled_moments,
    pooled_rate,
    pooled_student,
    student,
)
from tallybayes.kernels.reference.exact_sums import mean_variance, round_digits, sum_columns, sum_groups, trim_digits
from tallybayes.kernels.reference.fit_temperature import fit_temperature
from tallybayes.kernels.reference.hash_rows import hash_bags, hash_codes, hash_columns, hash_texts, sign_bags
from tallybayes.kernels.reference.leave_one_out_tables import (
    add_normal_leave_one_out,
    add_pairs,
    add_step_pairs,
    add_student_leave_one_out,
    binnings_leave_one_out,
)
from tallybayes.kernels.reference.log_loss import correction_gradient, log_loss
from tallybayes.kernels.reference.logarithms import log_gamma, sum_log_counts
from tallybayes.kernels.reference.observe import (
    code_integers,
    count_bags,
    count_bags_dense,
    count_cells,
    count_flags,
    count_known_cells,
    count_values,
    sum_bags,
)
from tallybayes.kernels.reference.score_columns import (
    add_bags,
    add_codes,
    add_events,
    add_flags,
    add_laplace,
    add_normal,
    add_slots,
    add_steps,
    add_student,
    log_softmax,
    softmax,
)
from tallybayes.kernels.reference.single_rows import (
    add_event_row,
    add_flag_row,
    add_real_row,
    count_value_row,
    learn_row,
    read_real_columns,
    read_row,
)
from tallybayes.kernels.reference.sort_entries import list_entries, sort_entries
from tallybayes.kernels.reference.text_cells import join_cells, mark_cells, number_words, probability_texts
from tallybayes.kernels.reference.tokeniser import Buckets, Lexicon, pack_texts

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
    "add_normal",
    "add_normal_leave_one_out",
    "add_one_dependence",
    "add_pairs",
    "add_real_row",
    "add_slots",
    "add_step_pairs",
    "add_steps",
    "add_student",
    "add_student_leave_one_out",
    "average_binnings",
    "beta",
    "binnings_leave_one_out",
    "code_integers",
    "correction_gradient",
    "count_bags",
    "count_bags_dense",
    "count_cell_pairs",
    "count_cells",
    "count_flags",
    "count_known_cells",
    "count_value_row",
    "count_values",
    "cut_buckets",
    "find_steps",
    "fit_temperature",
    "hash_bags",
    "hash_codes",
    "hash_columns",
    "hash_texts",
    "join_cells",
    "laplace",
    "learn_row",
    "list_entries",
    "log_amounts",
    "log_gamma",
    "log_loss",
    "log_shares",
    "log_softmax",
    "mark_cells",
    "mean_variance",
    "merge_cells",
    "negative_binomial",
    "number_words",
    "pack_texts",
    "pooled_moments",
    "pooled_rate",
    "pooled_student",
    "probability_texts",
    "read_real_columns",
    "read_row",
    "round_digits",
    "score_documents_leave_one_out",
    "sign_bags",
    "softmax",
    "sort_entries",
    "student",
    "sum_bags",
    "sum_cell_pairs",
    "sum_columns",
    "sum_documents",
    "sum_groups",
    "sum_log_counts",
    "trim_digits",
]
