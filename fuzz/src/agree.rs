//! What can be seen of a run, and whether two runs look the same.

use dmci::{Bindings, Datum, Interpreter, Limits, Mode, Program, RunOptions};
use std::fmt;
use std::time::Duration;

/// All that a run shows to the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// It gave a value: as written, as data with the bits of its reals, and the output.
    Value {
        /// As `write` prints it.
        text: String,
        /// The datum, in a form that tells all bits.
        bits: String,
        /// What it printed.
        output: String,
    },
    /// It ended with an error: the picture (code, message, place, help) and the output.
    Error {
        /// The diagnostics as they are shown.
        report: String,
        /// What it printed.
        output: String,
    },
    /// It hit a limit, which may come at different points in different modes.
    Limit,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Value { text, output, .. } => write!(f, "value {text}\noutput {output:?}"),
            Seen::Error { report, output } => write!(f, "{report}\noutput {output:?}"),
            Seen::Limit => write!(f, "limit"),
        }
    }
}

/// Limits for generated programs: enough for all that end, soon over for those that do not.
pub fn small_limits() -> Limits {
    Limits { fuel: 300_000, heap: 64 << 20, depth: 20_000, output: 1 << 16, time: Duration::from_secs(20) }
}

/// Runs a program.
pub fn observe(text: &str, mode: Mode, limits: Limits, bindings: &Bindings) -> Seen {
    let options = RunOptions { mode, limits, bindings: bindings.clone(), seed: 1, ..RunOptions::default() };
    match Interpreter::shared().run(&Program::new(text), &options) {
        Ok(outcome) => Seen::Value { text: outcome.text, bits: bits(&outcome.value), output: outcome.output },
        Err(failure) => {
            if failure.diagnostics.iter().any(|d| d.code.as_str().starts_with("E04")) {
                return Seen::Limit;
            }
            Seen::Error { report: failure.render(false), output: failure.output }
        }
    }
}

/// The datum with every bit of its reals.
fn bits(datum: &Datum) -> String {
    match datum {
        Datum::Real(x) => format!("{:016x}", x.to_bits()),
        Datum::List(items, tail) => {
            let items: Vec<String> = items.iter().map(bits).collect();
            format!("({} . {})", items.join(" "), tail.as_ref().map_or(String::new(), |t| bits(t)))
        }
        Datum::Vector(items) | Datum::Values(items) => {
            let items: Vec<String> = items.iter().map(bits).collect();
            format!("#({})", items.join(" "))
        }
        other => format!("{other:?}"),
    }
}

/// Two runs of one program that differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The two ways of running it.
    pub modes: (String, String),
    /// What was seen in each.
    pub seen: (Seen, Seen),
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "--- {}\n{}", self.modes.0, self.seen.0)?;
        writeln!(f, "--- {}\n{}", self.modes.1, self.seen.1)
    }
}

/// Ways of running a program that must agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ways {
    /// Direct and through the evaluator.
    Both,
    /// These, the evaluator on itself, and with a heap so small that garbage is collected often.
    All,
}

/// Runs a program in several ways; says what the first way gave, or which two differ.
pub fn check(text: &str, ways: Ways, limits: Limits, bindings: &Bindings) -> Result<Seen, Box<Disagreement>> {
    let first = observe(text, Mode::Direct, limits, bindings);
    if first == Seen::Limit {
        return Ok(first);
    }
    let small_heap = Limits { heap: 1 << 16, ..limits };
    let mut others = vec![("dmci", Mode::Dmci, limits)];
    if ways == Ways::All {
        others.push(("direct in a small heap", Mode::Direct, small_heap));
        others.push(("dmci in a small heap", Mode::Dmci, Limits { heap: 1 << 18, ..limits }));
        others.push(("tower:2", Mode::Tower(2), limits));
    }
    for (name, mode, limits) in others {
        let seen = observe(text, mode, limits, bindings);
        if seen != first && seen != Seen::Limit {
            return Err(Box::new(Disagreement { modes: ("direct".into(), name.into()), seen: (first, seen) }));
        }
    }
    Ok(first)
}
