//! `dmci data`: what studies need from elsewhere, and the tables that are made of it.

use crate::args::data::{Data, DataCommand, Prepare};
use crate::repro::shared_folder;
use crate::{files, output};
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_repro::lim::field::{Field, month_of, month_text};
use dmci_repro::lim::prepare::Prepared;
use dmci_repro::sources::{Source, source, sources};
use dmci_table::sha256::digits;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Lists sources, or prepares one.
pub fn data(args: &Data) -> u8 {
    match &args.command {
        None => list(args.json),
        Some(DataCommand::Prepare(args)) => prepare(args).unwrap_or_else(|report| output::fail(&report, args.json)),
    }
}

fn list(json: bool) -> u8 {
    let all = sources();
    if json {
        output::print_form("data", json!({ "sources": all }));
        return 0;
    }
    for source in all {
        let there = source.files.iter().all(|f| shared_folder().join(&source.folder).join(&f.name).exists());
        let Source { name, title, citation, licence, get, makes, .. } = &source;
        let state = if there { "found" } else { "not found" };
        output::print(&format!(
            "{name}: {title} ({state})\n  cite: {citation}\n  licence: {licence}\n  get: {get}\n  made of it: {makes}\n"
        ));
        source.files.iter().for_each(|f| output::print(&format!("  {}  {}\n", f.sha256, f.name)));
    }
    0
}

/// The name of the only array in a folder, or of the known one.
fn array_in(folder: &Path, known: &str) -> Result<PathBuf, Report> {
    if folder.join(known).exists() {
        return Ok(folder.join(known));
    }
    let name = folder.display().to_string();
    let entries = std::fs::read_dir(folder).map_err(|error| files::cannot_read(&name, &error))?;
    let is_field = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        path.extension().is_some_and(|e| e == "npy") && !stem.starts_with("eofs")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_field).collect();
    found.sort();
    match found.len() {
        1 => Ok(found.remove(0)),
        n => {
            let message = format!("{name} has {n} arrays that may be a field, expected {known}");
            Err(Report::from(Diagnostic::error(ErrorCode::E0901, message).help("dmci data says what to get")))
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Report> {
    std::fs::read(path).map_err(|error| files::cannot_read(&path.display().to_string(), &error))
}

fn unusable(message: String) -> Report {
    let help = "dmci data says what the files must hold";
    Report::from(Diagnostic::error(ErrorCode::E0702, message).help(help))
}

fn prepare(args: &Prepare) -> Result<u8, Report> {
    let Some(source) = source(&args.name) else {
        let known: Vec<String> = sources().into_iter().map(|s| s.name).collect();
        let near = dmci::nearest(&args.name, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |name| format!("did you mean {name}? "));
        let help = format!("{near}there are {}", known.join(", "));
        return Err(output::usage_error(format!("no study uses data called {}", args.name), help));
    };
    let folder = args.from.clone().unwrap_or_else(|| shared_folder().join(&source.folder));
    if source.name != "sst" {
        return prepare_table(args, &source, &folder);
    }
    let start = args.start.as_deref().unwrap_or(&source.start);
    let start = month_of(start)
        .ok_or_else(|| output::usage_error(format!("--start is no month: {start}"), "write it as 1950-01"))?;
    let path = array_in(&folder, &source.files[0].name)?;
    let (array, grid) = (read(&path)?, read(&folder.join("grid.csv"))?);
    let text = String::from_utf8_lossy(&grid);
    let field = Field::read(&array, &text, start).map_err(unusable)?;
    let prepared = Prepared::new(&field).ok_or_else(|| unusable("the field has numbers that are not finite".into()))?;
    let (rows, share) = (prepared.anomalies.rows(), prepared.patterns.shares[0]);
    let mut lines = vec![format!(
        "{}: {} months by {} boxes from {}; {rows} means over three months; the first pattern has {:.1}% of the variance, all {} have {:.1}%",
        path.display(),
        field.months(),
        field.places.len(),
        month_text(field.start),
        100.0 * share,
        prepared.patterns.count,
        100.0 * prepared.patterns.shares.iter().sum::<f64>()
    )];
    let mut fine = true;
    if args.check {
        for (file, bytes) in source.files.iter().zip([&array, &grid]) {
            let same = digits(bytes) == file.sha256;
            fine &= same;
            lines.push(format!("{}: SHA-256 {}", file.name, if same { "as expected" } else { "is another one" }));
        }
        let reference = |name: &str| read(&folder.join(name)).map(|b| String::from_utf8_lossy(&b).into_owned());
        for difference in prepared.compare(&reference("pcs20.csv")?, &reference("pc_stats.csv")?) {
            fine &= difference.is_fine();
            let verdict = if difference.is_fine() { "fine" } else { "WRONG" };
            let (what, largest, allowed) = (&difference.what, difference.largest, difference.allowed);
            lines.push(format!("{what}: largest difference {largest:.1e}, allowed {allowed:.0e}: {verdict}"));
        }
    }
    if let Some(out) = &args.out {
        files::write(out, prepared.components().as_bytes(), "--out")?;
    }
    if args.json {
        output::print_form(
            "prepared",
            json!({"rows": rows, "boxes": field.places.len(), "start": month_text(prepared.anomalies.start),
            "shares": prepared.patterns.shares, "units": prepared.patterns.units, "loadings": prepared.patterns.loadings,
            "fine": fine, "report": lines}),
        );
    } else {
        lines.iter().for_each(|line| output::print_line(line));
    }
    Ok(u8::from(!fine))
}

/// Makes the table of a source whose files are tables themselves.
fn prepare_table(args: &Prepare, source: &Source, folder: &Path) -> Result<u8, Report> {
    if args.start.is_some() {
        return Err(output::usage_error(format!("{} has no first month", source.name), "remove --start"));
    }
    let mut texts = Vec::new();
    let mut lines = Vec::new();
    let mut fine = true;
    for file in &source.files {
        let bytes = read(&folder.join(&file.name))?;
        if args.check {
            let same = digits(&bytes) == file.sha256;
            fine &= same;
            lines.push(format!("{}: SHA-256 {}", file.name, if same { "as expected" } else { "is another one" }));
        }
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    let (what, count, table) = match &texts[..] {
        [fade, cells] => {
            let cells = dmci_repro::l::data::read(fade, cells)?;
            ("cells kept", cells.len(), dmci_repro::l::data::table(&cells))
        }
        _ => {
            let seasons = dmci_repro::k::data::Seasons::read(texts.first().map_or("", String::as_str))?;
            ("seasons", seasons.count(), seasons.table())
        }
    };
    lines.insert(0, format!("{}: {count} {what}, {} rows", folder.display(), table.lines().count() - 1));
    if let Some(out) = &args.out {
        files::write(out, table.as_bytes(), "--out")?;
    }
    if args.json {
        output::print_form("prepared", json!({"count": count, "what": what, "fine": fine, "report": lines}));
    } else {
        lines.iter().for_each(|line| output::print_line(line));
    }
    Ok(u8::from(!fine))
}
