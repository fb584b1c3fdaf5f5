"""Writes the files of crates/dmci-table/tests/numpy: run with NumPy and the folder as argument."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
columns = dict(t=np.arange(4) * 0.5, n=np.array([1, -7, 3, 4], dtype=np.int32), y=np.array([1.5, -2.25, 1e300, 0.0]))
columns["t"] = columns["t"].astype(">f4")
np.savez(folder / "stored.npz", **columns)
np.savez_compressed(folder / "packed.npz", **columns)
matrix = np.arange(6.0).reshape(3, 2)
np.save(folder / "matrix.npy", matrix)
np.save(folder / "fortran.npy", np.asfortranarray(matrix))
np.save(folder / "fields.npy", np.array([(1, 0.5), (2, 1.5)], dtype=[("a", "<i8"), ("b", "<f8")]))
