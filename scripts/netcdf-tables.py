"""Writes the files of crates/dmci-table/tests/netcdf: run with netCDF4 (the reference library) and the folder as argument."""

import sys
from pathlib import Path

import numpy as np
from netCDF4 import Dataset

folder = Path(sys.argv[1])
forms = {"classic": "NETCDF3_CLASSIC", "offset64": "NETCDF3_64BIT_OFFSET", "data64": "NETCDF3_64BIT_DATA"}
for name, form in forms.items():
    with Dataset(folder / f"{name}.nc", "w", format=form) as file:
        # Records along time, a grid, packed and missing numbers, and what is no column of the table.
        file.title = "a test"
        file.createDimension("time", None)
        file.createDimension("lat", 2)
        file.createDimension("lon", 3)
        file.createDimension("nv", 2)
        time = file.createVariable("time", "f8", ("time",))
        lat = file.createVariable("lat", "f4", ("lat",))
        lon = file.createVariable("lon", "i2", ("lon",))
        flag = file.createVariable("flag", "i1", ("time",))
        label = file.createVariable("label", "S1", ("lon",))
        bounds = file.createVariable("bounds", "f8", ("lat", "nv"))
        sst = file.createVariable("sst", "i2", ("time", "lat", "lon"), fill_value=-999)
        sst.scale_factor, sst.add_offset = 0.01, 5.0
        wind = file.createVariable("wind", "f8", ("lon", "lat"))
        time[:] = [0.5, 1.5, 2.5]
        lat[:] = [-10.25, 20.5]
        lon[:] = [100, 200, 300]
        flag[:] = [1, -1, 0]
        label[:] = [b"a", b"b", b"c"]
        bounds[:] = np.zeros((2, 2))
        sst[:] = np.ma.masked_equal(np.arange(18).reshape(3, 2, 3) * 0.25 + 4, 4.75)
        wind[:] = np.arange(6.0).reshape(3, 2)
with Dataset(folder / "single.nc", "w", format="NETCDF3_CLASSIC") as file:
    # One record variable of bytes: its records have no gaps.
    file.createDimension("n", None)
    file.createVariable("b", "i1", ("n",))[:] = [3, -4, 5]
