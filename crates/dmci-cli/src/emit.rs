//! `dmci emit`: a program as source of another language.

use crate::args::emit::Emit;
use crate::fit::request::read_fit;
use crate::options::Clock;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{
    Batch, Column, Datum, Diagnostic, ErrorCode, Interpreter, Model, ModelOptions, Names, Program, Report, RunOptions,
    Want,
};
use dmci_emit::{Language, Signature};
use dmci_fit::{
    FitRecord, Prepared, Table, TableColumn, check_settings, number_names, present, rows_without, wanted, words,
};

/// Writes a program in another language.
pub fn emit(args: &Emit) -> u8 {
    match run(args) {
        Ok(()) => 0,
        Err(report) => output::fail(&report, args.json),
    }
}

fn run(args: &Emit) -> Result<(), Report> {
    if let Some(path) = &args.out {
        files::check_place(path, "--out")?;
    }
    if args.to == "infix" {
        return infix(args);
    }
    write(args, &source(args)?)
}

/// The source in a language that models are recorded for.
pub fn source(args: &Emit) -> Result<String, Report> {
    let language = Language::named(&args.to)?;
    let mut run = options::run_options(&args.options)?;
    let (program, fit) = program_of(args)?;
    let names = Interpreter::shared().names(&program)?;
    let fitted = fit.as_ref().map_or(Vec::new(), FitRecord::values);
    let unset: Vec<(String, Datum)> =
        fitted.iter().filter(|(name, _)| run.bindings.iter().all(|(set, _)| set != name)).cloned().collect();
    run.bindings.extend(unset);
    let data = match &fit {
        Some(fit) => Some(args.data.clone().unwrap_or_else(|| fit.data.file.clone().into())),
        None => args.data.clone(),
    };
    let table = match &data {
        Some(path) => {
            let table = files::read_columns(path, &words(args.missing.as_deref()), &names.mentioned)?;
            check_settings(&names, &table, &run)?;
            table
        }
        None => {
            check_inputs(args, &names, &run)?;
            one_row(args, &names, &mut run)
        }
    };
    options::stop_on_interrupt(&run.cancel);
    let (clock, cancel) = (Clock::start(&run), run.cancel.clone());
    let rows = present(&table, &rows_without(&table, &names.mentioned)?);
    let Prepared { run, params, inputs, columns, point } =
        Prepared::new(&names, &table, run, options::wrt(args.wrt.as_deref()).as_deref(), &rows)?;
    let mut options =
        ModelOptions { output: false, outputs: args.outputs, ..options::model_options(run, &args.switches) };
    options.loops &= language.has_loops();
    let signature = Signature {
        name: args.name.clone().unwrap_or_else(|| name_of(&program.name)),
        params: params.iter().flat_map(|(name, datum)| number_names(name, datum)).collect(),
        inputs: inputs.iter().zip(&columns).flat_map(|(name, column)| input_names(name, &column.row(0))).collect(),
        outputs: args.outputs,
    };
    let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let model = Model::with_params(program, params, &input_names, options);
    let mut batch = Batch::default();
    point.evaluate(&model, &columns, Want::Values, &mut batch)?;
    clock.check(&cancel)?;
    // A program that fails in every row has nothing to export.
    if let Some((_, failure)) = batch.failures.first()
        && batch.failures.len() == batch.values.len() / args.outputs.max(1)
    {
        return Err(with_outputs(failure.clone()));
    }
    Ok(dmci_emit::emit(&model, &signature, language)? + &footer(language, &fitted))
}

/// The program, and the fit that it comes from, if it does.
fn program_of(args: &Emit) -> Result<(Program, Option<FitRecord>), Report> {
    let Some(path) = &args.fit else {
        let source = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?;
        return Ok((source.program(), None));
    };
    let fit = read_fit(path)?;
    if fit.values().len() < fit.parameters.len() {
        let message = format!("{} has a set of numbers for each of its groups", path.display());
        return Err(output::usage_error(message, "name the program instead of the fit, and the numbers with --set"));
    }
    Ok((Program::named(&fit.program.file, &fit.program.text), Some(fit)))
}

/// Says what a program needs that is exported without data.
fn check_inputs(args: &Emit, names: &Names, run: &RunOptions) -> Result<(), Report> {
    let params = wanted(options::wrt(args.wrt.as_deref()).as_deref(), names, run);
    let is_open = |name: &&String| run.bindings.iter().all(|(set, _)| set != *name) && !params.contains(name);
    let open: Vec<&str> = names.unbound.iter().flatten().filter(is_open).map(String::as_str).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let message = format!("emit needs values of {}, which the program reads", open.join(", "));
    let help = format!(
        "give rows with --data rows.csv, or one with --set {first}=0.5: the export holds the paths that they take"
    );
    Err(output::usage_error(message, help))
}

/// Numbers as a program has them.
fn written(datum: &Datum) -> String {
    match datum {
        Datum::Real(x) => format!("{x:?}"),
        Datum::List(items, _) => format!("({})", items.iter().map(written).collect::<Vec<_>>().join(" ")),
        other => other.to_json().to_string(),
    }
}

/// What stands below the source of a fitted model: its numbers, as a comment.
fn footer(language: Language, fitted: &[(String, Datum)]) -> String {
    if fitted.is_empty() {
        return String::new();
    }
    let list: Vec<String> = fitted.iter().map(|(name, datum)| format!("{name} = {}", written(datum))).collect();
    let list = list.join(", ");
    match language {
        Language::C => format!("\n/* fitted: {} */\n", list.replace("*/", "* /")),
        Language::Latex => format!("% fitted: {list}\n"),
        _ => format!("\n# fitted: {list}\n"),
    }
}

fn write(args: &Emit, source: &str) -> Result<(), Report> {
    match &args.out {
        Some(path) => files::write(path, source.as_bytes(), "--out"),
        None => {
            output::print(source);
            Ok(())
        }
    }
}

/// The formula of a program, which is read from its text: nothing runs.
fn infix(args: &Emit) -> Result<(), Report> {
    let (program, fit) = program_of(args)?;
    Interpreter::shared().names(&program)?;
    let fitted = fit.map_or(Vec::new(), |fit| fit.values());
    let definition = |(name, datum): &(String, Datum)| match datum {
        Datum::Real(x) if *x < 0.0 => format!("(define {name} (- {:?}))", -x),
        other => format!("(define {name} {})", written(other)),
    };
    let definitions: String = fitted.iter().map(definition).collect();
    let Some(formula) = dmci_formula::from_scheme(&format!("{definitions}{}", program.text)) else {
        let message = format!("{} cannot be written as one formula", program.name);
        let help =
            "formulas have arithmetic, functions, comparisons, if and let; --to latex or --to sympy record the program";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0720, message).help(help)));
    };
    write(args, &format!("{}\n", formula.to_infix()))
}

/// Says what a program that gives several numbers needs.
fn with_outputs(mut report: Report) -> Report {
    let about = |d: &&mut Diagnostic| d.help.is_none() && d.message.starts_with("a model must give");
    for diagnostic in report.diagnostics.iter_mut().filter(about) {
        diagnostic.help = Some("if the program gives a list of n numbers, write --outputs n".into());
    }
    report
}

/// The names that are set and are no parameters, as a table of one row.
fn one_row(args: &Emit, names: &Names, run: &mut RunOptions) -> Table {
    let params = wanted(options::wrt(args.wrt.as_deref()).as_deref(), names, run);
    let (params, rest) = std::mem::take(&mut run.bindings).into_iter().partition(|(name, _)| params.contains(name));
    run.bindings = params;
    let rest: Vec<(String, Datum)> = rest;
    let column = |(name, datum): (String, Datum)| {
        let values = match datum {
            Datum::Real(x) => Column::Reals(vec![x]),
            other => Column::Data(vec![other]),
        };
        TableColumn { name, values, stray: None, missing: Vec::new() }
    };
    Table { name: "--set".into(), columns: rest.into_iter().map(column).collect(), rows: 1, ..Table::default() }
}

/// The names of the numbers of an input.
fn input_names(name: &str, datum: &Datum) -> Vec<String> {
    match datum {
        Datum::Real(_) | Datum::Integer(_) => vec![name.to_string()],
        Datum::Tensor(..) => number_names(name, datum),
        Datum::List(items, None) | Datum::Vector(items) => {
            items.iter().enumerate().flat_map(|(i, item)| input_names(&format!("{name}.{i}"), item)).collect()
        }
        _ => Vec::new(),
    }
}

/// The name of a file without its folder and ending; a program without a file is a model.
fn name_of(program: &str) -> String {
    if program.starts_with('<') {
        return "model".into();
    }
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_string()
}
