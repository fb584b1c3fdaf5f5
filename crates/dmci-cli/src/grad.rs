//! `dmci grad`.

use crate::args::Grad;
use crate::output::{self, print_form};
use crate::run::with_newline;
use crate::source::Source;
use crate::{args, options};
use dmci::{GradOptions, Gradient, Interpreter, Program, Report, Wrt};
use serde_json::{Map, Value as Json, json};

/// Differentiates a program.
pub fn grad(args: &Grad) -> u8 {
    let (program, result) = match differentiate(&args.program, &args.options, args.wrt.as_deref(), args.hessian) {
        Ok(result) => result,
        Err(report) => return output::fail(&report, args.json),
    };
    match result {
        Ok(gradient) => {
            let warnings = warnings(args, &program, &gradient);
            if args.json {
                let mut object = to_json(&gradient);
                if let Some(report) = warnings {
                    object["warnings"] = output::to_json(&report);
                }
                print_form("grad", object);
                return 0;
            }
            let literals = args.wrt.as_deref() == Some("literals");
            let text = if literals { annotated(&program, &gradient) } else { table(&gradient) };
            output::print(&(with_newline(&gradient.output) + &text));
            warnings.iter().for_each(output::print_report);
            if gradient.coordinates.is_empty() {
                hint(args).iter().for_each(|hint| output::complain(hint));
            }
            0
        }
        Err(failure) => failed(&failure, args.json),
    }
}

/// What to write, if there was nothing to differentiate by: a value that is exact is no parameter by itself.
fn hint(args: &Grad) -> Option<String> {
    let bindings = options::bindings(&args.options.set).ok()?;
    let exact = bindings.into_iter().find_map(|(name, datum)| match datum {
        dmci::Datum::Integer(value) => Some((name, value)),
        _ => None,
    });
    Some(match exact {
        Some((name, value)) => {
            format!("help: nothing to differentiate by: {name} is exact; write --set {name}={value}.0, or --wrt {name}")
        }
        None => {
            "help: nothing to differentiate by: set a name to a real, as in --set a=1.0, or write --wrt literals".into()
        }
    })
}

/// What is odd about a gradient, if anything is: numbers that are pinned, not finite, or zero.
fn warnings(args: &Grad, program: &Program, gradient: &Gradient) -> Option<Report> {
    let mut report = gradient.warnings.clone();
    if let Some(other) = odd_numbers(args, program, gradient) {
        report.append(other);
    }
    (!report.diagnostics.is_empty()).then_some(report)
}

fn odd_numbers(args: &Grad, program: &Program, gradient: &Gradient) -> Option<Report> {
    let fine = gradient.value.is_finite() && gradient.flat.iter().all(|g| g.is_finite() && *g != 0.0);
    if fine || args.wrt.as_deref() == Some("literals") {
        return None;
    }
    let options = grad_options(&args.options, args.wrt.as_deref(), false).ok()?;
    Interpreter::shared().diagnose(program, &options).ok()
}

/// Reports a run that failed, and gives the exit code.
pub fn failed(failure: &Report, json: bool) -> u8 {
    if json {
        print_form("error", json!({"error": output::to_json(failure), "output": failure.output}));
    } else {
        output::print(&with_newline(&failure.output));
        output::print_report(failure);
    }
    failure.exit_code()
}

type Differentiated = (Program, Result<Gradient, Report>);

fn differentiate(
    program: &args::ProgramArgs,
    run: &args::RunArgs,
    wrt: Option<&str>,
    hessian: bool,
) -> Result<Differentiated, Report> {
    let options = grad_options(run, wrt, hessian)?;
    let program = Source::of(program.file.as_deref(), program.expression.as_deref())?.program();
    options::stop_on_interrupt(&options.run.cancel);
    let result = Interpreter::shared().grad(&program, &options);
    Ok((program, result))
}

/// What to differentiate, as the command line says.
pub fn grad_options(run: &args::RunArgs, wrt: Option<&str>, hessian: bool) -> Result<GradOptions, Report> {
    let wrt = match wrt {
        None => Wrt::Default,
        Some("literals") => Wrt::Literals,
        Some(names) => Wrt::Names(options::names(names)),
    };
    Ok(GradOptions { run: options::run_options(run)?, wrt, hessian })
}

fn number(x: f64) -> Json {
    dmci::Datum::Real(x).to_json()
}

fn to_json(gradient: &Gradient) -> Json {
    let grad: Map<String, Json> = gradient.grad.iter().map(|(name, datum)| (name.clone(), datum.to_json())).collect();
    let mut object = json!({"value": number(gradient.value), "grad": grad, "output": gradient.output});
    if let Some(hessian) = &gradient.hessian {
        let rows: Vec<Json> = hessian.iter().map(|row| row.iter().copied().map(number).collect()).collect();
        object["hessian"] = json!({"names": gradient.coordinates, "rows": rows});
    }
    object
}

/// Value and derivatives, one a line.
fn table(gradient: &Gradient) -> String {
    let width = gradient.coordinates.iter().map(|n| n.chars().count() + 3).max().unwrap_or(0).max(5);
    let mut text = format!("{:width$}  {:?}\n", "value", gradient.value);
    for (name, d) in gradient.coordinates.iter().zip(&gradient.flat) {
        text += &format!("{:width$}  {d:?}\n", format!("d/d{name}"));
    }
    if let Some(hessian) = &gradient.hessian {
        text += "second derivatives\n";
        for (name, row) in gradient.coordinates.iter().zip(hessian) {
            let row: Vec<String> = row.iter().map(|x| format!("{x:?}")).collect();
            text += &format!("{name:width$}  {}\n", row.join("  "));
        }
    }
    text
}

/// The program's text with the derivative behind every literal.
fn annotated(program: &Program, gradient: &Gradient) -> String {
    let mut text = String::new();
    for (i, line) in program.text.lines().enumerate() {
        let chars: Vec<char> = line.chars().collect();
        let mut at = 0;
        for (name, d) in gradient.coordinates.iter().zip(&gradient.flat) {
            let Some(column) = name.strip_prefix(&format!("{}:", i + 1)).and_then(|c| c.parse::<usize>().ok()) else {
                continue;
            };
            let start = column - 1;
            let length = chars[start..].iter().take_while(|c| !c.is_whitespace() && !"()[]\";'".contains(**c)).count();
            text.extend(&chars[at..start + length]);
            text += &format!("{{{d:.6e}}}");
            at = start + length;
        }
        text.extend(&chars[at..]);
        text.push('\n');
    }
    format!("{text}value  {:?}\n", gradient.value)
}
