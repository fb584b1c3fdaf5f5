//! NetCDF files that the reference library wrote (`scripts/netcdf-tables.py`), as tables.

#![allow(clippy::unwrap_used)]

use dmci::Column;
use dmci_table::Table;
use std::path::Path;

fn bytes(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netcdf").join(file)).unwrap()
}

fn table(file: &str) -> Table {
    Table::from_bytes(file, &bytes(file), &[]).unwrap_or_else(|report| panic!("{file}: {report}"))
}

#[test]
fn a_grid_over_time_is_a_table_with_its_coordinates() {
    for file in ["classic.nc", "offset64.nc", "data64.nc"] {
        let t = table(file);
        let names: Vec<&str> = t.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["time", "lat", "lon", "flag", "sst", "wind"], "text and other dimensions are left out");
        assert_eq!(t.rows, 18);
        let reals = |name: &str| t.column(name).unwrap().reals().unwrap();
        assert_eq!(reals("time")[..7], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.5]);
        assert_eq!(reals("lat")[..7], [-10.25, -10.25, -10.25, 20.5, 20.5, 20.5, -10.25]);
        assert!(matches!(&t.column("lon").unwrap().values, Column::Data(_)), "integers are exact");
        assert_eq!(reals("lon")[..4], [100.0, 200.0, 300.0, 100.0]);
        assert_eq!([reals("flag")[0], reals("flag")[6], reals("flag")[17]], [1.0, -1.0, 0.0]);
        assert_eq!(reals("wind")[..6], [0.0, 2.0, 4.0, 1.0, 3.0, 5.0], "its dimensions are the other way round");
        let sst = t.column("sst").unwrap();
        assert_eq!(sst.missing, [3], "what is masked is missing");
        let Column::Reals(list) = &sst.values else { panic!() };
        for (row, x) in list.iter().enumerate().filter(|(row, _)| *row != 3) {
            assert!((x - (row as f64 * 0.25 + 4.0)).abs() < 1e-9, "{row}: {x}");
        }
    }
    assert_eq!(table("single.nc").column("b").unwrap().reals().unwrap(), [3.0, -4.0, 5.0]);
}

#[test]
fn other_files_are_refused_with_a_reason_and_damaged_ones_never_crash() {
    let refused = |bytes: &[u8]| Table::from_bytes("x.nc", bytes, &[]).unwrap_err().diagnostics[0].clone();
    let error = refused(b"\x89HDF\r\n\x1a\n and so on");
    assert!(error.message.contains("NetCDF-4") && error.help.unwrap().contains("nccopy"), "{}", error.message);
    assert!(refused(b"a,b\n1,2\n").message.contains("no NetCDF file"));
    for file in ["classic.nc", "offset64.nc", "data64.nc", "single.nc"] {
        let whole = bytes(file);
        for end in 0..whole.len().min(600) {
            let _ = Table::from_bytes("x.nc", &whole[..end], &[]);
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let _ = Table::from_bytes("x.nc", &damaged, &[]);
            }
        }
    }
}
