//! From arguments and files to a request, and to what it names.

use crate::args::fit::Fit as Arguments;
use crate::source::{Source, load_program};
use crate::{files, options};
use dmci::{Program, Report};
use dmci_fit::{FitRecord, FitRequest, Inputs, Problem, Source as ProgramSource, Table};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// The request of the command: the settings of its file, if it names one, and the options, which count more.
pub fn of(args: &Arguments) -> Result<FitRequest, Report> {
    let file = args.request.as_deref().map(read_request).transpose()?;
    with_options(file, options::given(args), &args.options.set)
}

/// Options laid over a request.
pub fn with_options(file: Option<FitRequest>, given: Map<String, Json>, set: &[String]) -> Result<FitRequest, Report> {
    let mut settings = match file.map(|file| file.to_json()) {
        Some(Json::Object(settings)) => settings,
        _ => Map::new(),
    };
    // A program takes the place of a text, and a text that of a program.
    if given.contains_key("program") || given.contains_key("text") {
        settings.retain(|name, _| name != "program" && name != "text");
    }
    settings.extend(given);
    let mut request = FitRequest::from_map(settings)?;
    for (name, datum) in options::bindings(set)? {
        request.run.set.retain(|(other, _)| *other != name);
        request.run.set.push((name, datum));
    }
    request.check()?;
    Ok(request)
}

/// The request in a file. The paths in it start at its folder.
fn read_request(file: &str) -> Result<FitRequest, Report> {
    let text = std::fs::read_to_string(file).map_err(|error| files::cannot_read(file, &error))?;
    let request = FitRequest::from_map(FitRequest::map_of(file, &text)?)?;
    let folder = Path::new(file).parent().map(|folder| folder.display().to_string());
    Ok(request.in_folder(&folder.unwrap_or_default()))
}

/// What a request names, read.
pub struct Loaded {
    /// The program, as it was written.
    pub program: Program,
    table: Table,
    start_from: Option<FitRecord>,
}

impl Loaded {
    /// Reads the files of a request.
    pub fn read(request: &FitRequest) -> Result<Loaded, Report> {
        let settings = &request.problem;
        let program = match settings.source()? {
            ProgramSource::File(file) => load_program(Path::new(file))?,
            ProgramSource::Text(text) => Source::of(None, Some(text))?,
        };
        let start_from = settings.start_from.as_deref().map(|file| read_fit(Path::new(file)));
        Ok(Loaded {
            program: program.program(),
            table: files::read_table(Path::new(settings.data_file()?), &settings.missing)?,
            start_from: start_from.transpose()?,
        })
    }

    /// The problem of a request.
    pub fn problem(&self, request: &FitRequest, run: dmci::RunOptions) -> Result<Problem, Report> {
        let Loaded { program, table, start_from } = self;
        request.problem(Inputs { program: program.clone(), table, start_from: start_from.as_ref(), run })
    }
}

/// Reads a fit that was written to a file.
pub fn read_fit(path: &Path) -> Result<FitRecord, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
    FitRecord::from_json(&name, &text)
}
