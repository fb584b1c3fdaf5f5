//! From arguments and files to a request, and to what it names.

use crate::args::fit::Fit as Arguments;
use crate::source::{Source, load_program};
use crate::{files, options};
use dmci::{Program, Report};
use dmci_fit::{Entrant, FitRecord, FitRequest, FormulaNames, Inputs, Problem, Source as ProgramSource, Table};
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
    // Whichever says what is fitted takes the place of what the file says.
    let sources = ["program", "text", "formula"];
    if sources.iter().any(|name| given.contains_key(*name)) {
        settings.retain(|name, _| !sources.contains(&name.as_str()));
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
    /// What the names of a formula are.
    pub formula: Option<FormulaNames>,
    /// The request, with a program in the place of a formula.
    request: FitRequest,
    table: Table,
    start_from: Option<FitRecord>,
}

impl Loaded {
    /// Reads the files of a request.
    pub fn read(request: &FitRequest) -> Result<Loaded, Report> {
        Loaded::read_with(request, &[])
    }

    /// Reads the files of a request, with further columns of its table.
    pub fn read_with(request: &FitRequest, columns: &[String]) -> Result<Loaded, Report> {
        let settings = &request.problem;
        let mut program = None;
        if settings.formula.is_none() {
            program = Some(match settings.source()? {
                ProgramSource::File(file) => load_program(Path::new(file))?.program(),
                ProgramSource::Text(text) => Source::of(None, Some(text))?.program(),
            });
        }
        let start_from = settings.start_from.as_deref().map(|file| read_fit(Path::new(file)));
        let mut read = [settings.columns_read(program.as_ref())?, columns.to_vec()].concat();
        read.extend(request.outputs.x.clone());
        let mut table = files::read_columns(Path::new(settings.data_file()?), &settings.missing, &read)?;
        let (request, formula) = request.with_formula(&mut table)?;
        let written = || Program::named("<formula>", request.problem.text.as_deref().unwrap_or_default());
        Ok(Loaded {
            program: program.unwrap_or_else(written),
            formula,
            table,
            start_from: start_from.transpose()?,
            request,
        })
    }

    /// What takes part in a comparison under this name.
    pub fn entrant(self, name: &str) -> Entrant {
        let Loaded { program, table, start_from, request, .. } = self;
        Entrant { name: name.to_string(), request, program, table, start_from }
    }

    /// The problem of the request.
    pub fn problem(&self, run: dmci::RunOptions) -> Result<Problem, Report> {
        let Loaded { program, table, start_from, request, .. } = self;
        request.problem(Inputs { program: program.clone(), table, start_from: start_from.as_ref(), run })
    }
}

/// Reads a fit that was written to a file.
pub fn read_fit(path: &Path) -> Result<FitRecord, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
    FitRecord::from_json(&name, &text)
}
