"""Short names for the types of arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Integers32 = NDArray[np.int32]
Codes32 = NDArray[np.int32]  # the class of every row, negative where a row has none
Indices = NDArray[np.integer]  # integers of any width
Booleans = NDArray[np.bool_]
Numbers = NDArray[np.generic]
Columns = list[NDArray[Any]] | NDArray[Any]  # columns of one dtype and length, or a matrix (rows, columns)
Weights = Floats | None  # of rows; None: 1 each
Amounts = Numbers | None  # of tokens; None: 1 each
BigIntegers = NDArray[np.object_]  # of any size, as Python has them
