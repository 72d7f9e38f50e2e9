"""Rows are assigned to folds by their labels alone."""

import numpy as np

from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label import Labels


def test_assigning_rows_to_folds_does_not_depend_on_batches():
    codes = np.random.default_rng(0).integers(0, 2, 1000).astype(np.int32)
    whole, parts = FoldAssigner(7, 1), FoldAssigner(7, 1)

    def labels(part):
        return Labels(["p", "q"], part, np.bincount(part, minlength=2))

    pieces = [parts(labels(codes[i : i + 13])) for i in range(0, 1000, 13)]
    assert np.concatenate(pieces).tolist() == whole(labels(codes)).tolist()
