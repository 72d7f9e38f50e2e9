"""The memory that one dense array with a line per class may take: 8 GiB, beyond which it is an error with a hint.

Counts exist only where something was counted, but scores and tables of logarithms have a cell for every class. With a
row number as the label they would fill the memory of any machine before they fail.
"""

from tallybayes.errors import DataError

__all__ = ["BUDGET", "check_budget"]

BUDGET = 8 * 2**30  # bytes of one array


def check_budget(n_lines: int, n_classes: int, lines: str = "rows", *, cell_bytes: int = 8) -> None:
    """Refuse an array of n_lines x n_classes cells that is larger than the budget.

    >>> check_budget(100_000, 100_000)
    Traceback (most recent call last):
        ...
    tallybayes.errors.DataError: expected at most 10,737 rows with 100,000 classes (8 GiB), got 100,000
    hint: is the label a row number or another key? Use one with fewer classes, or fewer rows at a time
    """
    if n_lines * n_classes * cell_bytes > BUDGET:
        raise DataError(
            f"expected at most {BUDGET // (cell_bytes * n_classes):,} {lines} with {n_classes:,} classes (8 GiB),"
            f" got {n_lines:,}",
            hint=f"is the label a row number or another key? Use one with fewer classes, or fewer {lines} at a time",
        )
