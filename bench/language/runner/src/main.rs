//! Runs the benchmark programs in dmci and its peers side by side, and writes what came out.

mod clock;
mod engine;
mod latency;
mod program;
mod report;
mod statistics;

use engine::{Dmci, Engine, Guile, SteelEngine};
use program::Program;
use report::{Column, Latencies, Report, Row};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

/// What `bench/language.sh` passes on.
struct Options {
    /// Where programs and driver are.
    directory: PathBuf,
    /// The `dmci` command.
    dmci: PathBuf,
    /// Where the result goes.
    output: PathBuf,
    /// Where Guile may compile.
    scratch: PathBuf,
    quick: bool,
    guile: bool,
    /// Date, machine, versions.
    facts: BTreeMap<String, String>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut o = Options {
        directory: PathBuf::new(),
        dmci: PathBuf::new(),
        output: PathBuf::new(),
        scratch: PathBuf::new(),
        quick: false,
        guile: false,
        facts: BTreeMap::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--directory" => o.directory = value()?.into(),
            "--dmci" => o.dmci = value()?.into(),
            "--output" => o.output = value()?.into(),
            "--scratch" => o.scratch = value()?.into(),
            "--quick" => o.quick = true,
            "--guile" => o.guile = true,
            "--fact" => {
                let fact = value()?;
                let (key, text) = fact.split_once('=').ok_or("a fact is KEY=TEXT")?;
                o.facts.insert(key.to_owned(), text.to_owned());
            }
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    Ok(o)
}

/// All engines on one program, in turn, so that a busy moment of the machine hits them all.
fn measure(engines: &mut [Box<dyn Engine>], program: &Program, rounds: usize) -> Result<Row, Box<dyn Error>> {
    let failed = |engine: &dyn Engine, e| format!("{} in {}: {e}", program.name, engine.name());
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for engine in engines.iter_mut() {
        engine.prepare(program).map_err(|e| failed(&**engine, e))?;
        let (_, value) = engine.run(program).map_err(|e| failed(&**engine, e))?;
        columns.push(Column::new(engine.name()));
        values.push(value);
    }
    for _ in 0..rounds {
        for (engine, column) in engines.iter_mut().zip(&mut columns) {
            column.push(engine.run(program).map_err(|e| failed(&**engine, e))?.0);
        }
    }
    if let Some(i) = values.iter().position(|v| !same(v, &values[0])) {
        let [first, other] = [0, i].map(|i| format!("{} gives {}", columns[i].engine, values[i]));
        return Err(format!("{}: {first}, {other}", program.name).into());
    }
    Ok(Row { program: program.name, value: values.swap_remove(0), columns })
}

/// The same text, or reals that agree but for rounding: Steel multiplies by the reciprocal when it divides.
fn same(a: &str, b: &str) -> bool {
    let real = |text: &str| text.parse::<f64>().ok().filter(|_| text.contains('.'));
    a == b || matches!((real(a), real(b)), (Some(x), Some(y)) if (x - y).abs() <= 1e-12 * x.abs())
}

fn run() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Dmci::new("direct")?), Box::new(Dmci::new("dmci")?)];
    if options.guile {
        engines.push(Box::new(Guile::start(&options.directory.join("guile-driver.scm"), &options.scratch)?));
    }
    engines.push(Box::new(SteelEngine::new()));
    let rounds = if options.quick { 5 } else { 30 };
    let mut rows = Vec::new();
    for program in Program::all(&options.directory)? {
        rows.push(measure(&mut engines, &program, rounds)?);
    }
    drop(engines);
    let (starts, texts) = if options.quick { (10, 1000) } else { (50, 10_000) };
    let latencies = Latencies {
        process_start: latency::process_start(&options.dmci, starts)?,
        dmci: latency::text_to_value(dmci::Mode::Dmci, texts)?,
        direct: latency::text_to_value(dmci::Mode::Direct, texts)?,
    };
    let report = Report { rows, latencies, facts: options.facts };
    print!("{}", report.table());
    if let Some(parent) = options.output.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&options.output, format!("{:#}\n", report.json()))?;
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
