"""Short names for the types of arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Codes32", "Columns", "Floats", "Indices", "Integers", "Integers32", "Numbers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Integers32 = NDArray[np.int32]
Codes32 = NDArray[np.int32]  # the class of every row, negative where a row has none
Indices = NDArray[np.integer]  # integers of any width
Booleans = NDArray[np.bool_]
Numbers = NDArray[np.generic]
Columns = list[NDArray[Any]] | NDArray[Any]  # columns of one dtype and length, or a matrix (rows, columns)
