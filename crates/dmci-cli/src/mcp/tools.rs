//! The tools of the server, each with its schema.

use super::sessions::Sessions;
use super::{Folders, wrong};
use crate::args::{Args, Command};
use crate::{emit, explain, files};
use clap::Parser;
use dmci::{Cancel, Datum, Interpreter, Program, Report, RunOptions, Spelling};
use dmci_driver::SearchRequest;
use dmci_fit::{FitRecord, FitRequest, Inputs, RunSettings, Table};
use dmci_search::prompt::{Briefing, VERSION};
use dmci_search::search::Settings;
use serde_json::{Map, Value as Json, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Bytes of a program at most.
const LONGEST: usize = 200_000;

/// Programs of one call at most.
const MOST_PROGRAMS: usize = 64;

/// What calls share.
pub struct Server {
    folders: Folders,
    sessions: Sessions,
}

type Outcome = Result<Json, Report>;

/// The tools: name, what it does, arguments (a name with `?` may be left out) with type and meaning.
type Tool = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

const PROGRAM: (&str, &str, &str) =
    ("program", "string", "A Scheme program: (params (a free 1.0) ...) and an expression");
const DATA: (&str, &str, &str) = ("data", "string", "A table (.csv, .tsv, .npy, .npz, .nc) in an allowed folder");
const TARGET: (&str, &str, &str) = ("target", "string", "The column to predict");
const SETTINGS: (&str, &str, &str) =
    ("settings?", "object", "Settings of a fit: holdout, loss, sigma, group, restarts, time_limit, ...");

const TOOLS: &[Tool] = &[
    (
        "describe_data",
        "Columns of a table with their ranges, and its first rows",
        &[DATA, ("missing?", "string", "Words for missing values, with commas")],
    ),
    (
        "check_program",
        "All mistakes in a program, without running it, with its parameters and inputs",
        &[PROGRAM, ("data?", "string", "A table whose columns are bound")],
    ),
    (
        "run_program",
        "Run a program: its value and what it prints",
        &[PROGRAM, ("set?", "object", "Values for names"), ("time?", "number", "Time limit in seconds, at most 60")],
    ),
    (
        "fit_program",
        "Fit the parameters of a program to a table, with errors and criteria",
        &[PROGRAM, DATA, TARGET, SETTINGS],
    ),
    (
        "diagnose_fit",
        "Fit a program and say what its residuals still know: fit failure, structure failure, or at the noise",
        &[PROGRAM, DATA, TARGET, SETTINGS],
    ),
    (
        "compare_programs",
        "Fit several programs and compare them on rows held out",
        &[("programs", "array", "Programs"), DATA, TARGET, SETTINGS],
    ),
    (
        "search_start",
        "Begin a search for a program; it goes on while you propose programs",
        &[
            DATA,
            TARGET,
            ("inputs?", "string", "Columns that programs may read, with commas"),
            ("ops?", "string", "Operations with spaces between them"),
            ("size?", "integer", "The largest program, in nodes"),
            ("seconds?", "number", "Time limit"),
            ("seed?", "integer", "Seed"),
        ],
    ),
    ("search_status", "The front of a search so far", &[("search", "integer", "The number of the search")]),
    (
        "search_propose",
        "Score your own programs in a search; each is fitted, cross-validated and ranked, or rejected with a reason",
        &[("search", "integer", "The number of the search"), ("programs", "array", "Programs")],
    ),
    (
        "export_program",
        "A program in another language, with its gradient",
        &[PROGRAM, DATA, ("language", "string", "c, numpy, jax, torch, sympy or latex")],
    ),
    ("explain_error", "What an error code means and how to repair it", &[("code", "string", "Such as E0301")]),
];

/// The tools as the protocol lists them.
pub fn list() -> Vec<Json> {
    let tool = |(name, description, arguments): &Tool| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (argument, kind, meaning) in *arguments {
            let plain = argument.trim_end_matches('?');
            let mut schema = json!({"type": kind, "description": meaning});
            if *kind == "array" {
                schema["items"] = json!({"type": "string"});
            }
            properties.insert(plain.to_string(), schema);
            if plain == *argument {
                required.push(plain);
            }
        }
        let schema =
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        json!({"name": name, "description": description, "inputSchema": schema})
    };
    TOOLS.iter().map(tool).collect()
}

/// The resources as the protocol lists them.
pub fn resources() -> Json {
    json!([
        {"uri": "dmci://card", "name": "Language card", "description": "The language of candidates on one page", "mimeType": "text/markdown"},
        {"uri": "dmci://proposer", "name": "Contract of proposers", "description": "What a proposer of a search is told", "mimeType": "text/markdown"},
        {"uri": "dmci://errors", "name": "Error codes", "description": "Every error code with its title", "mimeType": "text/plain"},
        {"uri": "dmci://fit-settings", "name": "Settings of a fit", "description": "JSON schema of the settings", "mimeType": "application/json"},
    ])
}

/// The contents of a resource.
pub fn resource(uri: &str) -> Option<Json> {
    let briefing = Briefing::default();
    let (kind, text) = match uri {
        "dmci://card" => ("text/markdown", briefing.card()),
        "dmci://proposer" => ("text/markdown", format!("<!-- {VERSION} -->\n{}", briefing.system())),
        "dmci://errors" => {
            ("text/plain", dmci::ErrorCode::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect())
        }
        "dmci://fit-settings" => ("application/json", format!("{:#}", FitRequest::schema())),
        _ => return None,
    };
    Some(json!({"uri": uri, "mimeType": kind, "text": text}))
}

/// The arguments of a call, checked against its schema.
struct Given<'a>(&'a Map<String, Json>);

impl<'a> Given<'a> {
    fn new(tool: &Tool, arguments: &'a Json) -> Result<Given<'a>, Report> {
        let (name, _, known) = tool;
        let Some(table) = arguments.as_object() else {
            return Err(wrong(format!("the arguments of {name} are no object"), "give them by name"));
        };
        for given in table.keys() {
            if !known.iter().any(|(argument, ..)| argument.trim_end_matches('?') == given) {
                let names: Vec<&str> = known.iter().map(|(argument, ..)| argument.trim_end_matches('?')).collect();
                return Err(wrong(format!("{name} has no argument {given}"), &format!("it has {}", names.join(", "))));
            }
        }
        for (argument, kind, _) in *known {
            let plain = argument.trim_end_matches('?');
            let value = table.get(plain).filter(|v| !v.is_null());
            let fits = match (value, *kind) {
                (None, _) if plain != *argument => true,
                (None, _) => return Err(wrong(format!("{name} needs the argument {plain}"), "add it")),
                (Some(v), "string") => v.is_string(),
                (Some(v), "object") => v.is_object(),
                (Some(v), "array") => v.as_array().is_some_and(|list| list.iter().all(Json::is_string)),
                (Some(v), "integer") => v.is_u64(),
                (Some(v), _) => v.is_number(),
            };
            if !fits {
                return Err(wrong(format!("the argument {plain} of {name} must be of type {kind}"), "correct it"));
            }
        }
        Ok(Given(table))
    }

    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Json::as_str).unwrap_or("")
    }

    fn some_text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Json::as_str).map(str::to_string)
    }

    fn number(&self, name: &str, usual: f64, most: f64) -> f64 {
        self.0.get(name).and_then(Json::as_f64).filter(|x| x.is_finite() && *x > 0.0).unwrap_or(usual).min(most)
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Json::as_u64)
    }

    fn program(&self) -> Result<Program, Report> {
        program(self.text("program"))
    }

    fn programs(&self) -> Result<Vec<String>, Report> {
        let list = self.0.get("programs").and_then(Json::as_array).cloned().unwrap_or_default();
        if list.is_empty() || list.len() > MOST_PROGRAMS {
            let message = format!("{} programs were given, from 1 to {MOST_PROGRAMS} are taken", list.len());
            return Err(wrong(message, "give fewer"));
        }
        list.iter().map(|p| program(p.as_str().unwrap_or("")).map(|p| p.text.to_string())).collect()
    }
}

fn program(text: &str) -> Result<Program, Report> {
    if text.len() > LONGEST {
        let message = format!("the program has {} bytes, at most {LONGEST} are taken", text.len());
        return Err(wrong(message, "write a shorter one"));
    }
    Ok(Program::named("program", text))
}

impl Server {
    /// A server that may read these folders.
    pub fn new(folders: Folders) -> Server {
        Server { folders, sessions: Sessions::default() }
    }

    /// Ends what goes on by itself.
    pub fn end(&self) {
        self.sessions.end();
    }

    /// Runs a tool; none if there is none of this name.
    pub fn call(&self, name: &str, arguments: &Json, cancel: &Cancel) -> Option<Outcome> {
        let tool = TOOLS.iter().find(|t| t.0 == name)?;
        let outcome = Given::new(tool, arguments).and_then(|given| match name {
            "describe_data" => self.describe(&given),
            "check_program" => self.check(&given),
            "run_program" => run(&given, cancel),
            "fit_program" => self.fit(&given.program()?, &given, &[], cancel),
            "diagnose_fit" => self.fit(&given.program()?, &given, &[("diagnose", json!(true))], cancel).map(|found| {
                json!({"diagnosis": found["diagnosis"], "report": found["report"], "status": found["status"],
                    "parameters": found["parameters"], "rmse": found["rmse"]})
            }),
            "compare_programs" => self.compare(&given, cancel),
            "search_start" => self.search_start(&given),
            "search_status" => Ok(self.sessions.get(given.whole("search"))?.status()),
            "search_propose" => {
                let programs = given.programs()?;
                Ok(self.sessions.get(given.whole("search"))?.propose(&programs, cancel))
            }
            "export_program" => self.export(&given),
            _ => explain::json(given.text("code")),
        });
        Some(outcome.map_err(|report| report.spelled(Spelling::Field)))
    }

    fn table(&self, given: &Given<'_>, missing: &[String]) -> Result<Table, Report> {
        files::read_table(&self.folders.file(given.text("data"))?, missing)
    }

    fn describe(&self, given: &Given<'_>) -> Outcome {
        let missing: Vec<String> =
            given.some_text("missing").iter().flat_map(|m| m.split(',')).map(str::to_string).collect();
        let table = self.table(given, &missing)?;
        let columns = table.columns.iter().map(|column| match column.reals() {
            Ok(list) => {
                let known: Vec<f64> = list.iter().copied().filter(|x| x.is_finite()).collect();
                let mut sorted = known.clone();
                sorted.sort_by(f64::total_cmp);
                let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
                json!({"name": column.name, "kind": "number", "missing": list.len() - known.len(), "min": sorted.first(),
                    "median": sorted.get(sorted.len() / 2), "max": sorted.last(), "mean": mean,
                    "first": known.iter().take(5).collect::<Vec<_>>()})
            }
            Err(_) => {
                let first: Vec<String> = (0..table.rows.min(5)).map(|row| column.shown(row)).collect();
                json!({"name": column.name, "kind": "text", "first": first})
            }
        });
        Ok(json!({"rows": table.rows, "columns": columns.collect::<Vec<_>>()}))
    }

    fn check(&self, given: &Given<'_>) -> Outcome {
        let program = given.program()?;
        let mut bindings = Vec::new();
        if given.some_text("data").is_some() {
            let table = self.table(given, &[])?;
            bindings.extend(table.columns.into_iter().map(|column| (column.name, Datum::Real(1.0))));
        }
        let report = Interpreter::shared().check(&program, &RunOptions { bindings, ..RunOptions::default() });
        let names = Interpreter::shared().names(&program).ok();
        let parameters: Vec<Json> = names
            .iter()
            .flat_map(|n| &n.schema.parameters)
            .map(|p| json!({"name": p.name, "kind": p.kind.to_string(), "start": p.init}))
            .collect();
        Ok(json!({
            "ok": report.diagnostics.is_empty(),
            "diagnostics": report.spelled(Spelling::Field).to_json(),
            "parameters": parameters,
            "inputs": names.map(|n| n.mentioned),
        }))
    }

    /// A fit as its record, without what only files need.
    fn fit(&self, program: &Program, given: &Given<'_>, more: &[(&str, Json)], cancel: &Cancel) -> Outcome {
        let mut settings = given.0.get("settings").and_then(Json::as_object).cloned().unwrap_or_default();
        const FILES: [&str; 10] =
            ["out", "plot", "write", "trace", "checkpoint", "resume", "start_from", "program", "text", "data"];
        if let Some(name) = FILES.iter().find(|name| settings.contains_key(**name)) {
            return Err(wrong(format!("the setting {name} is not taken here"), "leave it out"));
        }
        if settings.get("mode").and_then(Json::as_str).is_some_and(|m| m.starts_with("eval:")) {
            return Err(wrong("an evaluator in a file is not taken here".into(), "leave the mode out"));
        }
        settings.insert("target".into(), json!(given.text("target")));
        settings.entry("time_limit").or_insert(json!(60.0));
        more.iter().for_each(|(name, value)| {
            settings.insert((*name).to_string(), value.clone());
        });
        let request = FitRequest::from_map(settings)?;
        request.check()?;
        let table = self.table(given, &request.problem.missing)?;
        let mut run = request.run.options(None)?;
        run.cancel = cancel.clone();
        let problem = request.problem(Inputs { program: program.clone(), table: &table, start_from: None, run })?;
        let options = request.options()?;
        let mut observe = |_: &dmci_fit::Progress| {
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut fit = request.fit(&problem, &options, &mut observe, &|| cancel.is_cancelled())?;
        fit.warnings = fit.warnings.spelled(Spelling::Field);
        let mut record = FitRecord::new(&problem, &options, &fit).to_json();
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "restarts" | "engine" | "data"));
            let program = dmci_fit::with_starts(&problem, &fit).unwrap_or_default();
            fields.insert("program".into(), json!(program));
            if let Some(diagnosis) = &fit.diagnosis {
                fields.insert("report".into(), json!(diagnosis.text()));
            }
        }
        Ok(record)
    }

    fn compare(&self, given: &Given<'_>, cancel: &Cancel) -> Outcome {
        let settings = given.0.get("settings").and_then(Json::as_object);
        let holdout = settings.is_none_or(|s| !s.contains_key("holdout"));
        let more: Vec<(&str, Json)> = if holdout { vec![("holdout", json!("0.25"))] } else { Vec::new() };
        let mut list: Vec<(f64, Json)> = Vec::new();
        for (number, text) in given.programs()?.into_iter().enumerate() {
            let found = self.fit(&program(&text)?, given, &more, cancel);
            list.push(match found {
                Ok(record) => {
                    let rank = record["held_out"]["rmse"].as_f64().unwrap_or(f64::INFINITY);
                    (
                        rank,
                        json!({"number": number, "program": record["program"], "held_out": record["held_out"],
                        "rmse": record["rmse"], "criteria": record["criteria"], "status": record["status"],
                        "parameters": record["parameters"]}),
                    )
                }
                Err(report) => {
                    let report = report.spelled(Spelling::Field);
                    (f64::INFINITY, json!({"number": number, "program": text, "error": report.to_string()}))
                }
            });
        }
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(
            json!({"ranked_by": "RMSE of the rows held out", "programs": list.into_iter().map(|(_, j)| j).collect::<Vec<_>>()}),
        )
    }

    fn search_start(&self, given: &Given<'_>) -> Outcome {
        let usual = SearchRequest::default();
        let names = |list: String| list.split(',').map(|name| name.trim().to_string()).collect();
        let request = SearchRequest {
            target: given.text("target").to_string(),
            inputs: given.some_text("inputs").map(names),
            operations: given.some_text("ops").unwrap_or(usual.operations.clone()),
            size: given.whole("size").map_or(usual.size, |n| n.clamp(1, 200) as usize),
            seed: given.whole("seed").unwrap_or(usual.seed),
            sealed: Some("none".into()),
            ..usual
        };
        let workshop = request.workshop(&self.table(given, &[])?)?;
        let settings = Settings { seed: request.seed, exact_at: workshop.data.exact, ..Settings::default() };
        let inputs = workshop.data.inputs.clone();
        let seconds = given.number("seconds", 60.0, 3600.0);
        let number = self.sessions.start(workshop, settings, Duration::from_secs_f64(seconds))?;
        Ok(json!({"search": number, "inputs": inputs, "seconds": seconds}))
    }

    fn export(&self, given: &Given<'_>) -> Outcome {
        let (text, path) = (given.program()?.text, self.folders.file(given.text("data"))?);
        let path: &Path = &path;
        let words = ["dmci", "emit", "--eval", &*text, "--to", given.text("language")].map(String::from);
        let words = words.into_iter().chain(["--data".to_string(), path.display().to_string()]);
        let parsed = Args::try_parse_from(words).map_err(|e| wrong(e.to_string(), "correct the arguments"))?;
        let Command::Emit(args) = parsed.command else {
            return Err(wrong("no export".into(), "correct the arguments"));
        };
        Ok(json!({"language": given.text("language"), "source": emit::source(&args)?}))
    }
}

fn run(given: &Given<'_>, cancel: &Cancel) -> Outcome {
    let mut settings = Map::new();
    if let Some(set) = given.0.get("set") {
        settings.insert("set".into(), set.clone());
    }
    settings.insert("time".into(), json!(given.number("time", 10.0, 60.0)));
    let mut options = RunSettings::from_map(settings)?.options(None)?;
    options.cancel = cancel.clone();
    let outcome = Interpreter::shared().run(&given.program()?, &options)?;
    Ok(json!({"value": outcome.value.to_json(), "text": outcome.text, "output": outcome.output}))
}
