"""Array types for signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Complex: TypeAlias = NDArray[np.complex128]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.str_]
Words: TypeAlias = NDArray[np.uint64]
