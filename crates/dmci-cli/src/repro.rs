//! `dmci repro`: the experiments of the paper, their result files, and the check of these.

mod answers;

use crate::args::repro::Repro;
use crate::{files, output};
use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_repro::record::{Entry, Manifest, Provenance, Record, VERSION};
use dmci_repro::table::Verdict;
use dmci_repro::{EXPERIMENTS, Host, Outcome, Settings};
use dmci_table::hash::{Hash, of_text};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The folder of result files and recorded answers.
const RESULTS: &str = "experiments";

/// Runs experiments, or checks what they left.
pub fn repro(args: &Repro) -> u8 {
    let done = if args.experiments == ["check"] { check(args) } else { run(args) };
    done.unwrap_or_else(|report| output::fail(&report, args.json))
}

/// The experiments that were asked for, each once.
fn chosen(names: &[String]) -> Result<Vec<&'static str>, Report> {
    let mut list = Vec::new();
    for name in names {
        let matching = EXPERIMENTS.iter().map(|e| e.0).filter(|e| name == "all" || name == e);
        let new: Vec<&str> = matching.collect();
        if new.is_empty() {
            let known: Vec<&str> = EXPERIMENTS.iter().map(|e| e.0).collect();
            let help = format!("experiments are {}, all of them, and check", known.join(", "));
            return Err(output::usage_error(format!("there is no experiment {name}"), help));
        }
        let unseen: Vec<&str> = new.into_iter().filter(|experiment| !list.contains(experiment)).collect();
        list.extend(unseen);
    }
    Ok(list)
}

fn run(args: &Repro) -> Result<u8, Report> {
    let settings = Settings { quick: args.quick, single: args.f32, paper_seeds: args.seed_set == "paper" };
    let python = args.python.clone().or_else(|| Some(PathBuf::from("bench/.venv/bin/python")).filter(|p| p.exists()));
    for folder in [&args.plot, &args.out].into_iter().flatten() {
        files::make_folder(folder)?;
    }
    let ask = |script: &str, input: &str| ask_python(python.as_deref(), script, input);
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    let mut totals = [0; 3];
    let all = Instant::now();
    for name in chosen(&args.experiments)? {
        let began = Instant::now();
        let answers = answers::Answers::open(&folder, name, &args.ask)?;
        let host = Host { python: &ask, shared: &shared, ask: &|question| answers.ask(question) };
        let Some(found) = dmci_repro::run(name, &settings, &host) else { continue };
        let outcome = found?;
        let record = record(name, &settings, outcome.clone(), began.elapsed().as_secs_f64());
        for claim in &record.claims {
            totals[claim.verdict as usize] += 1;
        }
        if args.json {
            output::print_line(&serde_json::to_string(&record).unwrap_or_default());
        } else {
            output::print(&text(name, &record));
        }
        if let Some(folder) = &args.out {
            store(folder, &record, &outcome)?;
        }
        if let Some(folder) = &args.plot {
            for figure in &outcome.figures {
                files::write(&folder.join(format!("{}.svg", figure.id)), figure.svg().as_bytes(), "--plot")?;
            }
        }
    }
    if !args.json {
        let [holds, fails, not_run] = totals;
        let seconds = all.elapsed().as_secs_f64();
        output::print_line(&format!("claims: {holds} hold, {fails} fail, {not_run} were not run; {seconds:.1} s"));
    }
    Ok(0)
}

fn text(name: &str, record: &Record) -> String {
    let title = EXPERIMENTS.iter().find(|e| e.0 == name).map_or("", |e| e.1);
    let mut text = format!("# Experiment {}: {title}\n\n", name.to_uppercase());
    record.tables.iter().for_each(|table| text += &format!("{}\n", table.print()));
    record.claims.iter().for_each(|claim| text += &claim.print());
    text + &format!("{:.1} s\n\n", record.seconds)
}

fn record(name: &str, settings: &Settings, outcome: Outcome, seconds: f64) -> Record {
    let engine = std::env::current_exe().and_then(std::fs::read).map(|bytes| {
        let mut hash = Hash::default();
        hash.add(&bytes);
        hash.digits()
    });
    let command: Vec<String> = std::env::args().skip(1).collect();
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").into(),
        engine: engine.unwrap_or_default(),
        machine: machine(),
        command: format!("dmci {}", command.join(" ")),
    };
    Record {
        format: VERSION,
        experiment: name.into(),
        settings: settings.clone(),
        provenance,
        hashes: outcome.hashes,
        seconds,
        measured: outcome.measured,
        tables: outcome.tables,
        claims: outcome.claims,
    }
}

/// Processor, cores and system.
fn machine() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!(
        "{}, {cores} cores, {} {}, {build} build",
        processor.unwrap_or_else(|| "unknown processor".into()),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Writes a result file and its entry in the manifest.
fn store(folder: &Path, record: &Record, outcome: &Outcome) -> Result<(), Report> {
    let Settings { quick, single, paper_seeds } = record.settings;
    let mut name = record.experiment.clone();
    name += if single { "-f32" } else { "-f64" };
    name += if paper_seeds { "-paper" } else { "" };
    name += if quick { "-quick" } else { "" };
    let path = format!("{}/results/{name}.json", record.experiment);
    files::make_folder(&folder.join(&record.experiment).join("results"))?;
    let text = serde_json::to_string(record).unwrap_or_default() + "\n";
    files::write(&folder.join(&path), text.as_bytes(), "--out")?;
    let mut manifest = manifest(folder)?;
    manifest.put(Entry {
        path,
        hash: of_text(&text),
        tables: record.tables.iter().map(|t| t.id.clone()).collect(),
        figures: outcome.figures.iter().map(|f| f.id.clone()).collect(),
    });
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_default() + "\n";
    files::write(&folder.join("manifest.json"), text.as_bytes(), "--out")
}

/// The manifest of a folder; an empty one if there is none.
fn manifest(folder: &Path) -> Result<Manifest, Report> {
    let path = folder.join("manifest.json");
    if !path.exists() {
        return Ok(Manifest::default());
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| files::cannot_read(&name, &error))?;
    serde_json::from_str(&text).map_err(|error| damaged(&name, &error.to_string()))
}

fn damaged(name: &str, why: &str) -> Report {
    let help = "name the folder of the results with --out, or make it with: dmci repro all --out DIR";
    Report::from(Diagnostic::error(ErrorCode::E0901, format!("cannot read {name}: {why}")).help(help))
}

/// Makes every table again from the measurements of its file and compares every cell.
fn check(args: &Repro) -> Result<u8, Report> {
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    let manifest = manifest(&folder)?;
    if manifest.files.is_empty() {
        let path = folder.join("manifest.json");
        let name = path.display().to_string();
        if !path.exists() {
            return Err(damaged(&name, "there is no such file"));
        }
        return Err(damaged(&name, "it lists no result file"));
    }
    let (mut cells, mut wrong, mut fails) = (0, Vec::new(), Vec::new());
    for entry in &manifest.files {
        let name = folder.join(&entry.path).display().to_string();
        let text = std::fs::read_to_string(folder.join(&entry.path)).map_err(|e| files::cannot_read(&name, &e))?;
        let record: Record = serde_json::from_str(&text).map_err(|e| damaged(&name, &e.to_string()))?;
        if of_text(&text) != entry.hash {
            wrong.push(format!("{}: not the file of the manifest", entry.path));
        }
        if record.tables.iter().map(|t| &t.id).ne(&entry.tables) {
            wrong.push(format!("{}: other tables than the manifest says", entry.path));
        }
        wrong.extend(record.check().into_iter().map(|why| format!("{}: {why}", entry.path)));
        cells += record.cells();
        let failing = record.claims.iter().filter(|c| c.verdict == Verdict::Fails);
        fails.extend(failing.map(|c| format!("{}: {}: {}", entry.path, c.text, c.found)));
        if let Some(plot) = &args.plot {
            files::make_folder(plot)?;
            let rebuilt = dmci_repro::rebuild(&record.experiment, &record.measured);
            for figure in rebuilt.map(|o| o.figures).unwrap_or_default() {
                files::write(&plot.join(format!("{}.svg", figure.id)), figure.svg().as_bytes(), "--plot")?;
            }
        }
    }
    if args.json {
        let found =
            serde_json::json!({"files": manifest.files.len(), "cells": cells, "wrong": wrong, "failing": fails});
        output::print_form("check-results", found);
    } else {
        wrong.iter().for_each(|w| output::print_line(w));
        fails.iter().for_each(|f| output::print_line(&format!("claim that does not hold: {f}")));
        let files = manifest.files.len();
        output::print_line(&format!("{files} files, {cells} cells, {} wrong", wrong.len()));
    }
    Ok(u8::from(!wrong.is_empty()))
}

/// A file of the shared data, in the folder that DMCI_SHARED names.
fn shared(name: &str) -> Option<Vec<u8>> {
    std::fs::read(shared_folder().join(name)).ok()
}

/// The folder of shared data: the one that DMCI_SHARED names, or ../shared.
pub fn shared_folder() -> PathBuf {
    std::env::var_os("DMCI_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from)
}

/// Hands a request to a Python with JAX: the script and its input; gives what it prints.
fn ask_python(python: Option<&Path>, script: &str, input: &str) -> Result<String, String> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let python =
        python.ok_or("there is no Python with JAX: make one with bench/jax/compare.sh, or name it with --python")?;
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", python.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(|e| e.to_string())?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let last = text.lines().last().unwrap_or("no message");
        return Err(format!("the Python with JAX failed: {last}"));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_that_is_named_twice_runs_once() {
        let chosen = |names: &[&str]| chosen(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(chosen(&["g", "m", "g"]).unwrap(), ["g", "m"]);
        assert_eq!(chosen(&["m", "all"]).unwrap().len(), EXPERIMENTS.len());
        assert!(chosen(&["g", "z"]).is_err());
    }
}
