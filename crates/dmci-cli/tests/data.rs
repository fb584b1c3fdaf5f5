//! `dmci data`: the list of sources, and a field prepared from raw files.

mod support;

use support::{Workspace, dmci};

/// A field of reals that is one pattern with one time series, on a grid of two degrees.
fn write_field(folder: &std::path::Path, months: usize) {
    let places: Vec<(f64, f64)> =
        (0..3).flat_map(|i| (0..8).map(move |j| (2.0 * i as f64 - 2.0, 200.0 + 2.0 * j as f64))).collect();
    let grid: String = places.iter().enumerate().map(|(i, (lat, lon))| format!("{i},{lat},{lon}\n")).collect();
    std::fs::write(folder.join("grid.csv"), format!("point,lat,lon\n{grid}")).expect("a grid");
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({months}, {}), }}", places.len());
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.push(b'\n');
    for month in 0..months {
        // The season, a trend and an oscillation of 5 months.
        let (season, phase) = ((month % 12) as f64, (month % 5) as f64);
        for (lat, lon) in &places {
            let x = 25.0 + season * lat + 0.0001 * month as f64 * (lon - 190.0) + (phase - 2.0) * (lon - 190.0) / 10.0;
            bytes.extend(x.to_le_bytes());
        }
    }
    std::fs::write(folder.join("field.npy"), bytes).expect("a field");
}

#[test]
fn a_field_becomes_components() {
    let space = Workspace::new("data-field");
    write_field(space.path(), 240);
    let args = ["data", "prepare", "sst", "--from", ".", "--start", "1980-01", "--out", "pcs.csv"];
    let ran = dmci(&args, "", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("240 months by 24 boxes from 1980-01"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the first pattern has 100.0% of the variance"), "{}", ran.stdout);
    let table = std::fs::read_to_string(space.path().join("pcs.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][1], rows[1][0], rows[238][0]), (239, "pc1", "1980-02", "1999-11"));
    let column = |k: usize| rows[1..].iter().map(|r| r[k].parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let (first, field, rebuilt) = (column(1), column(21), column(22));
    let mean = first.iter().sum::<f64>() / 238.0;
    let variance = first.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 238.0;
    assert!((variance - 1.0).abs() < 1e-9, "{variance}");
    assert!(field.iter().zip(&rebuilt).all(|(a, b)| (a - b).abs() < 1e-9));
    // The mean over the box is that of the pattern: (lon - 190) / 10 is 1.7 on average, times the smoothed oscillation.
    let range = field.iter().fold((0.0f64, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    assert!((range.0 + 1.7).abs() < 0.1 && (range.1 - 1.7).abs() < 0.1, "{range:?}");
}

#[test]
fn mistakes_are_named() {
    let space = Workspace::new("data-mistakes");
    let ran = dmci(&["data", "prepare", "ssts", "--from", "."], "", space.path());
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("no study uses data called ssts") && ran.stderr.contains("did you mean sst?"),
        "{}",
        ran.stderr
    );
    let ran = dmci(&["data", "prepare", "sst", "--from", "."], "", space.path());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("dmci data says what to get"), "{}", ran.stderr);
    write_field(space.path(), 24);
    std::fs::write(space.path().join("grid.csv"), "point,lat,lon\n0,0,200\n").expect("a grid");
    let ran = dmci(&["data", "prepare", "sst", "--from", "."], "", space.path());
    assert!(ran.stderr.contains("the field has 24 boxes, but its grid has 1"), "{}", ran.stderr);
    let ran = dmci(&["data"], "", space.path());
    assert!(ran.stdout.contains("sst: COBE-SST2") && ran.stdout.contains("licence: "), "{}", ran.stdout);
}

/// The shared field gives its reference tables.
#[test]
fn the_shared_field_agrees_with_its_reference() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let shared = std::env::var("DMCI_SHARED").unwrap_or_else(|_| format!("{root}/../shared"));
    let folder = format!("{shared}/data/sst_cobe2");
    if !std::path::Path::new(&folder).exists() {
        eprintln!("skipped: there is no {folder}");
        return;
    }
    let ran = dmci(&["data", "prepare", "sst", "--check", "--from", &folder], "", root.as_ref());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.matches(": fine").count(), 6, "{}", ran.stdout);
}

/// Cells become health on both grids; a file that is not the known one is seen.
#[test]
fn capacities_become_health() {
    let space = Workspace::new("data-battery");
    let mut fade = "cell,cycle,qd_ah\n".to_string();
    (2..300).for_each(|n| fade += &format!("b1c0,{n},{}\n", 1.1 - 0.001 * f64::from(n)));
    std::fs::write(space.path().join("capacity_fade.csv"), &fade).expect("a table");
    std::fs::write(space.path().join("cells.csv"), "cell,cycle_life\nb1c0,221\n").expect("a table");
    let args = ["data", "prepare", "battery", "--from", ".", "--out", "health.csv"];
    let ran = dmci(&args, "", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("1 cells kept, 100 rows"), "{}", ran.stdout);
    let table = std::fs::read_to_string(space.path().join("health.csv")).expect("a table");
    let last: Vec<&str> = table.lines().last().expect("a row").split(',').collect();
    let number = |k: usize| last[k].parse::<f64>().expect("a number");
    assert!((number(2) - 0.8).abs() < 1e-3 && (number(3) - 1.0 + 0.099 / 1.098).abs() < 1e-9, "{last:?}");
    let ran = dmci(&["data", "prepare", "battery", "--from", ".", "--check"], "", space.path());
    assert!(ran.code == 1 && ran.stdout.contains("capacity_fade.csv: SHA-256 is another one"), "{}", ran.stdout);
}
