"""Tables of many kinds as columns: dictionaries, frames of pandas and polars, xarray, structured arrays."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt


def column_names(data: Any) -> List[str]:
    """The names of the columns of a table."""
    if isinstance(data, Mapping) and not hasattr(data, "data_vars"):
        return [str(key) for key in data]
    if isinstance(data, np.ndarray) and data.dtype.names:
        return list(data.dtype.names)
    if hasattr(data, "data_vars") and hasattr(data, "coords"):  # xarray.Dataset
        return [str(name) for name in (*data.coords, *data.data_vars)]
    if hasattr(data, "coords") and hasattr(data, "name") and hasattr(data, "dims"):  # xarray.DataArray
        return [str(name) for name in data.coords] + ([str(data.name)] if data.name is not None else [])
    if hasattr(data, "columns"):  # pandas and polars
        return [str(name) for name in data.columns]
    raise TypeError(
        f"data are a dictionary of arrays, a frame of pandas or polars, or an xarray dataset, not {type(data).__name__}"
    )


def get_column(data: Any, name: str) -> Any:
    """A column of a table: an array, or a list if its values are not numbers."""
    if hasattr(data, "data_vars") or (hasattr(data, "coords") and hasattr(data, "dims")):
        return _of_xarray(data, name)
    found = data[name]
    if hasattr(found, "to_numpy"):  # pandas and polars
        array = found.to_numpy()
        return array.tolist() if array.dtype.kind in "OUST" else array
    return found


def _of_xarray(data: Any, name: str) -> Any:
    """A variable broadcast against the others and laid out row by row."""
    if not hasattr(data, "data_vars"):
        data = data.to_dataset(name=data.name if data.name is not None else "value")
    shape = {dim: size for dim, size in data.sizes.items()}
    variable = data[name]
    missing = {dim: size for dim, size in shape.items() if dim not in variable.dims}
    return variable.expand_dims(missing).transpose(*shape).to_numpy().reshape(-1)


def as_column(values: Any) -> Tuple[Any, Optional[int]]:
    """A column as the engine takes it, and its number of rows; ``None`` for one value that all rows share.

    Reals are arrays of float64; whole numbers stay exact (int64); everything else is a list of data.
    """
    if isinstance(values, (bool, int, float, str, np.generic)) or values is None:
        return values, None
    if isinstance(values, np.ndarray) or hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim == 0:
            return array.item(), None
        if array.dtype.kind == "f":
            return np.ascontiguousarray(array, dtype=np.float64), len(array)
        if array.dtype.kind in "iu" and array.ndim == 1 and array.dtype != np.uint64:
            return np.ascontiguousarray(array, dtype=np.int64), len(array)
        if array.dtype.kind in "iu":
            return np.ascontiguousarray(array, dtype=np.float64), len(array)
        return array.tolist(), len(array)
    if isinstance(values, range):
        values = list(values)
    if isinstance(values, (list, tuple)):
        if values and all(type(v) is float for v in values):
            return np.array(values, dtype=np.float64), len(values)
        return list(values), len(values)
    raise TypeError(f"a column is an array or a list, not {type(values).__name__}")


def columns_of(data: Any, names: Sequence[str], what: str = "the data") -> Tuple[List[Any], int]:
    """The columns with these names, all of the same length, and that length. Single values count for all rows."""
    if data is None:
        data = {}
    known = column_names(data)
    taken: Dict[str, Tuple[Any, Optional[int]]] = {}
    for name in names:
        if name not in known:
            raise KeyError(f"{what} have no column {name}; there are {', '.join(known) or 'none'}")
        taken[name] = as_column(get_column(data, name))
    lengths = {name: rows for name, (_, rows) in taken.items() if rows is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {', '.join(f'{n} has {r} rows' for n, r in lengths.items())}")
    rows = next(iter(lengths.values()), 1)
    columns = [repeated(value, rows) if count is None else value for value, count in taken.values()]
    return columns, rows


def repeated(value: Any, rows: int) -> Any:
    """One value in all rows."""
    if isinstance(value, (float, np.floating)):
        return np.full(rows, float(value))
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return np.full(rows, int(value), dtype=np.int64) if abs(int(value)) < 2**62 else [int(value)] * rows
    return [value.item() if isinstance(value, np.generic) else value] * rows


def is_single(data: Any, names: Sequence[str]) -> bool:
    """Whether all of these columns are single values."""
    if data is None:
        return True
    if not isinstance(data, Mapping) or hasattr(data, "data_vars"):
        return False
    return all(as_column(data[name])[1] is None for name in names if name in data)


def real_column(data: Any, name: str) -> npt.NDArray[np.float64]:
    """A column of numbers."""
    if name not in column_names(data):
        raise KeyError(f"the data have no column {name}; there are {', '.join(column_names(data))}")
    return np.ascontiguousarray(get_column(data, name), dtype=np.float64)
