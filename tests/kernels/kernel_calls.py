"""A call of every kernel with arguments that fit together, for the tests of the argument contract."""

from typing import Any

import numpy as np

__all__ = ["CALLS", "EVERY_ROW", "FREE", "K", "N", "integers"]

N, K, J, T = 5, 3, 2, 4  # rows, classes, columns, tokens


def integers(*values: int, dtype: type = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def codes() -> np.ndarray:
    return integers(0, 2, 1, 0, 1, dtype=np.int32)


def reals(*shape: int) -> np.ndarray:
    return np.full(shape, 0.5)


def counts(*shape: int) -> np.ndarray:
    return np.ones(shape, np.int64)


def columns() -> list[np.ndarray]:
    return [np.arange(N) / 4, np.arange(N)[::-1] / 4]


def bag(index: type = np.int64) -> dict[str, Any]:
    return {
        "indptr": integers(0, 2, 3, 3, 5, 6),
        "indices": integers(0, 3, 1, 2, 3, 0, dtype=index),
        "amounts": np.ones(6, np.int32) if index is np.int32 else reals(6),
    }


ROWS = {"start": 1, "stop": N}
SCORED = {"out": np.zeros((N, K)), **ROWS}
COUNTED = {"codes": codes(), "n_classes": K}
MOMENTS = {"units": integers(0, 1), "n": 4 * reals(J, K), "moments": reals(3, J, K)}
SUMS = {"n": counts(J, K), "x": counts(J, K, 2), "x_low": 0, "xx": counts(J, K, 3), "xx_low": 0}
ONE_ROW = {"values": np.array([1.0, np.nan]), "code": 1}
TABLE = {"table": reals(T, K)}
EVIDENCE = {"evidence": reals(K, J, N), "weights": reals(K, J)}
NUMBERED = {"columns": [np.arange(N), np.arange(N)], "origins": integers(0, 1)}
CELLS = np.array([[0, 1], [1, -1], [0, 0], [-1, -1], [1, 1]], np.int16)

# A call of every kernel, its arguments in order and by name.
CALLS: dict[str, dict[str, Any]] = {
    "sum_columns": {"columns": columns(), **COUNTED, "weights": reals(N), "order": 2, **ROWS},
    "hash_columns": {"columns": columns(), "salts": np.array([3, 5], np.uint64), **ROWS},
    "hash_codes": {
        "columns": [codes(), codes()],
        "table": np.arange(5, dtype=np.uint64),
        "offsets": integers(0, 3, 5),
        "origins": integers(0, 1),
        **ROWS,
    },
    "hash_bags": {**bag(), "tokens": np.arange(T, dtype=np.uint64), "n_tokens": T, **ROWS},
    "sign_bags": {
        **{name: array for name, array in bag().items() if name != "amounts"},
        "tokens": np.arange(T, dtype=np.uint64),
        "n_tokens": T,
        **ROWS,
    },
    "hash_texts": {"data": np.zeros(3, np.uint8), "offsets": integers(0, 1, 3)},
    "sum_groups": {"values": reals(N), "weights": reals(N), "groups": integers(0, 1, 2, 1, 0), "n_groups": 3},
    "sum_bags": {**bag(), "weights": reals(N), "codes": codes(), "n_tokens": T, "first": 0, "last": K},
    "mean_variance": {**SUMS, "units": integers(0, 1)},
    "pooled_moments": SUMS,
    "pooled_student": {
        **SUMS,
        "kappa": 1.0,
        "nu": 1.0,
        "share": 1.0,
        "units": integers(0, 0),
        "scales": reals(J),
        "tables": reals(9, J, K),
    },
    "student": {**SUMS, "units": integers(0, 1), "prior": reals(3, J), "kappa": 1.0, "nu": 1.0, "share": 1.0},
    "beta": {"no": counts(J, K), "yes": counts(J, K), "k": 1.0},
    "negative_binomial": {"n": counts(J, K), "x": counts(J, K), "mean": reals(J), "share": 1.0},
    "pooled_rate": {"n": counts(J, K), "x": counts(J, K)},
    "add_real_row": {**SUMS, **ONE_ROW, "sign": 1},
    "add_event_row": {
        "n": counts(J, K),
        "x": counts(J, K),
        "log_factorial": counts(J, K, 2),
        "low": 0,
        "values": np.array([1.0, np.nan]),
        "terms": reals(J),
        "code": 1,
        "sign": 1,
    },
    "add_flag_row": {"no": counts(J, K), "yes": counts(J, K), **ONE_ROW, "sign": 1},
    "count_value_row": {"table": counts(T, K), "totals": counts(J, K), **ONE_ROW},
    "count_flags": {"columns": [np.ones(N), np.zeros(N)], **COUNTED, **ROWS},
    "count_values": {**NUMBERED, "sizes": integers(3, 4), **COUNTED, **ROWS},
    "count_cells": {"columns": columns(), **COUNTED, "limit": 9, **ROWS},
    "count_cell_pairs": {"cells": CELLS, "sizes": integers(2, 2), **COUNTED, **ROWS},
    "sum_cell_pairs": {"cells": CELLS, "sizes": integers(2, 2), "values": reals(N, J), **ROWS},
    "log_loss": {
        **EVIDENCE,
        "values": reals(J, N),
        "slopes": reals(K, J),
        "cells": np.array([[0, 1, 2, 3, 0]], np.int32),
        "tables": reals(K, T),
        "base": reals(K, N),
        "codes": codes(),
        "row_weights": reals(N),
    },
    "add_one_dependence": {
        "cells": CELLS,
        "sizes": integers(2, 2),
        "single": reals(T, K),
        "pair": reals(T, T, K),
        "is_parent": np.array([True, False, True, True]),
        **SCORED,
    },
    "code_integers": {"values": integers(3, 4, 5, 3, 4), "low": 3, "counts": counts(K), "out": codes(), **ROWS},
    "count_bags": {**bag(), **COUNTED, "n_tokens": T, **ROWS},
    "count_bags_dense": {**bag(), **COUNTED, "n_tokens": T, "lengths": reals(N), **ROWS},
    "add_student": {
        "columns": columns(),
        "units": reals(J),
        **{name: reals(J, K) for name in ("mean", "mean_low", "inverse", "half", "log_constant")},
        **SCORED,
    },
    "add_normal": {
        "columns": columns(),
        "units": reals(J),
        **{name: reals(J, K) for name in ("mean", "mean_low", "inverse", "log_constant")},
        **SCORED,
    },
    "add_flags": {"columns": [np.ones(N), np.zeros(N)], "log_no": reals(J, K), "log_yes": reals(J, K), **SCORED},
    "add_codes": {**NUMBERED, "offsets": integers(0, 2, 4), **TABLE, **SCORED},
    "add_steps": {"columns": columns(), "offsets": integers(0, 2, 4), "edges": np.arange(4.0), **TABLE, **SCORED},
    "add_events": {
        "columns": [np.ones(N), np.zeros(N)],
        "shape": reals(J, K),
        "rate": reals(J, K),
        "silent": np.zeros((J, K), bool),
        "weights": reals(J, K),
        **SCORED,
    },
    "add_laplace": {
        "slots": np.tile([1.0, -1.0], (N, 1)),
        "counts": counts(T, K),
        "totals": reals(J, K),
        "k": 1.0,
        "n_values": reals(J),
        "silent": False,
        **SCORED,
    },
    "add_slots": {"slots": np.tile([1.0, -1.0], (N, 1)), "known": np.ones(T, bool), **TABLE, **SCORED},
    "add_bags": {**bag(), **TABLE, **SCORED},
    "softmax": SCORED,
    "log_softmax": SCORED,
    "add_pairs": {"column": np.arange(N) % 2, "origin": 0, "codes": codes(), "table": reals(2 * K, K), **SCORED},
    "add_step_pairs": {
        "column": np.arange(N) / 4,
        "edges": np.arange(2.0),
        "codes": codes(),
        "table": reals(2 * K, K),
        **SCORED,
    },
    "average_binnings": {"counts": reals(T, K), "offsets": integers(0, 2, 4), "strengths": reals(1), "rates": reals(1)},
    "binnings_leave_one_out": {
        "counts": 4 * reals(T, K),
        "p": np.full(K, 1 / K),
        "strength": 1.0,
        "rate": 0.5,
        "codes": integers(0, 2),
        "weights": np.ones(2),
    },
    "add_student_leave_one_out": {
        "columns": columns(),
        "codes": codes(),
        "weights": reals(N),
        "units": integers(0, 1),
        "pooled": reals(3, J),
        "n": 4 * reals(J, K),
        "moments": reals(3, J, K),
        "kappa": 1.0,
        "nu": 1.0,
        "shared": False,
        **SCORED,
    },
    "add_normal_leave_one_out": {
        "columns": columns(),
        "codes": codes(),
        "weights": reals(N),
        **MOMENTS,
        "shared": True,
        **SCORED,
    },
    "log_amounts": {"indptr": bag()["indptr"], "amounts": np.ones(6, np.int32), "unit": True},
    "sum_documents": {**bag(np.int32), **COUNTED, "n_tokens": T, "unit": True, "first": 0, "last": K},
    "sum_log_counts": {
        "tokens": integers(0, 0, 1),
        "classes": integers(0, 2, 1),
        "counts": reals(3),
        "n_classes": K,
        "k": 1.0,
        "complement": True,
    },
    "fit_temperature": {
        "scores": np.arange(1.0, 1 + K * N).reshape(K, N) % 4,
        "base": reals(K, N),
        "codes": codes(),
        "row_weights": reals(N),
        "weak": 0.1,
        "by_class": True,
        "n_steps": 12,
        "n_halvings": 8,
        "enough": 1e-4,
    },
    "log_gamma": {"values": reals(4)},
    "join_cells": {
        "offsets": integers(0, 1, 3, 3, 4),
        "data": np.zeros(4, np.uint8),
        "n_columns": 2,
        "between": np.zeros(1, np.uint8),
    },
    "mark_cells": {
        "offsets": integers(0, 1, 3, 3, 4),
        "data": np.zeros(4, np.uint8),
        "first": np.zeros(256, np.uint8),
        "last": np.zeros(256, np.uint8),
        "longest": 3,
    },
    "probability_texts": {"values": reals(4)},
    "count_known_cells": {
        "columns": columns(),
        **COUNTED,
        "levels": integers(54, 54),
        "offsets": integers(0, 2, 4),
        "cells": integers(254, 255, 254, 255),
        **ROWS,
    },
    "find_steps": {"values": reals(4), "edges": reals(2)},
    "cut_buckets": {"buckets": counts(4, K), "terms": reals(13), "n_cells": 3, "large": 4.0, "least": 1.0, "cost": 1.0},
    "list_entries": {"owner": integers(0, 1), "cell": integers(5, 3), "table": counts(2, K)},
    "sort_entries": {"first": integers(0, 1), "second": integers(1, 0), "third": integers(0, 0)},
    "merge_cells": {"cells_a": np.arange(2), "sums_a": counts(3, 2), "cells_b": np.arange(3), "sums_b": counts(3, 3)},
    "score_documents_leave_one_out": {
        "starts": integers(0, 2, 3, 3, 5),
        "classes": integers(0, 2, 1, 0, 1, dtype=np.int32),
        "counts": reals(5),
        "whole": reals(T),
        "totals": reals(K),
        "n_tokens": 4.0,
        **{name: part for name, part in bag(np.int32).items() if name != "amounts"},
        "own": reals(6),
        "amounts": reals(6),
        "codes": codes(),
        "weights": reals(N),
        "k": 1.0,
        "complement": False,
    },
    "correction_gradient": {
        **TABLE,
        "base": reals(N, K),
        **{name: part for name, part in bag(np.int32).items() if name != "amounts"},
        "amounts": reals(6),
        "codes": codes(),
        "weights": reals(N),
    },
    "number_words": {
        "offsets": integers(0, 1, 3, dtype=np.int32),
        "data": np.zeros(3, np.uint8),
        "valid": np.ones(2, bool),
    },
}
EVERY_ROW = (
    "add_pairs",
    "add_step_pairs",
    "log_loss",
    "fit_temperature",
    "correction_gradient",
)  # every row has a class
# Arrays that may be shorter along an axis: they set the size, or their length is free.
FREE = {
    ("code_integers", "counts", 0),
    *((name, "out", 1) for name in ("softmax", "log_softmax")),
    *(
        ("average_binnings", name, axis)
        for name, axis in (("strengths", 0), ("rates", 0), ("counts", 1), ("offsets", 0))
    ),
    ("hash_texts", "offsets", 0),
    ("join_cells", "between", 0),
    ("log_gamma", "values", 0),
    ("mark_cells", "offsets", 0),
    ("log_loss", "cells", 0),
    ("probability_texts", "values", 0),
    ("add_laplace", "counts", 0),
    ("add_slots", "slots", 1),
    ("add_step_pairs", "edges", 0),
    ("binnings_leave_one_out", "counts", 0),
    ("sum_cell_pairs", "values", 1),
    ("count_value_row", "table", 0),
    ("cut_buckets", "buckets", 0),
    ("find_steps", "values", 0),
    ("find_steps", "edges", 0),
    ("cut_buckets", "buckets", 1),
    ("log_amounts", "indptr", 0),
    ("number_words", "data", 0),
    ("list_entries", "table", 1),
}
