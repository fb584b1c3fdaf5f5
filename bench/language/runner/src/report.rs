//! The results as a table and as JSON.

use crate::clock::Lap;
use crate::statistics::Times;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One program in all engines.
pub struct Row {
    /// The program.
    pub program: &'static str,
    /// The value that all engines gave.
    pub value: String,
    /// The times of each engine.
    pub columns: Vec<Column>,
}

/// The times of one engine on one program.
pub struct Column {
    /// The engine.
    pub engine: &'static str,
    wall: Times,
    cpu: Times,
}

impl Column {
    /// Without times yet.
    pub fn new(engine: &'static str) -> Column {
        Column { engine, wall: Times::default(), cpu: Times::default() }
    }

    /// Adds a run.
    pub fn push(&mut self, lap: Lap) {
        self.wall.push(lap.wall);
        self.cpu.push(lap.cpu);
    }
}

/// Which of the two times is meant.
type Clock = fn(&Column) -> &Times;
const WALL: Clock = |column| &column.wall;
const CPU: Clock = |column| &column.cpu;

impl Row {
    /// How many times the time of `b` the engine `a` needs, by their shortest times.
    fn ratio(&self, a: &str, b: &str, clock: Clock) -> Option<f64> {
        let shortest = |engine| Some(clock(self.columns.iter().find(|c| c.engine == engine)?).minimum());
        Some(shortest(a)? / shortest(b)?)
    }
}

/// How soon the first answer comes.
pub struct Latencies {
    /// A whole process.
    pub process_start: Times,
    /// A text of ten nodes in dmci mode.
    pub dmci: Times,
    /// The same in direct mode.
    pub direct: Times,
}

/// Everything that was measured.
pub struct Report {
    /// The programs.
    pub rows: Vec<Row>,
    /// The latencies.
    pub latencies: Latencies,
    /// Date, machine, versions.
    pub facts: BTreeMap<String, String>,
}

/// Ratios in the table: engine, the engine it is divided by, and the goal if there is one.
const RATIOS: [(&str, &str, Option<f64>); 3] =
    [("direct", "guile", Some(3.0)), ("direct", "steel", Some(1.0)), ("dmci", "direct", None)];

/// Goals for latencies, in seconds.
const START_LIMIT: f64 = 15e-3;
const TEXT_LIMIT: f64 = 50e-6;

impl Report {
    /// What is to be reached, what was, and whether it is enough.
    fn goals(&self) -> Vec<(String, f64, f64)> {
        let mut goals = Vec::new();
        for row in &self.rows {
            for (a, b, limit) in RATIOS {
                if let (Some(limit), Some(ratio)) = (limit, row.ratio(a, b, WALL)) {
                    goals.push((format!("{} {a}/{b}", row.program), limit, ratio));
                }
            }
        }
        let l = &self.latencies;
        goals.push(("process start, median seconds".to_owned(), START_LIMIT, l.process_start.median()));
        goals.push(("text to value in dmci mode, median seconds".to_owned(), TEXT_LIMIT, l.dmci.median()));
        goals
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let repeats = self.rows.first().and_then(|r| r.columns.first()).map_or(0, |c| c.wall.count());
        let _ = writeln!(out, "milliseconds: minimum (median) of {repeats} interleaved runs; ratios of minima");
        for (title, clock) in [("on the clock", WALL), ("processor time", CPU)] {
            let _ = writeln!(out, "\n{title}");
            self.programs(&mut out, clock);
        }
        self.rest(&mut out);
        out
    }

    fn programs(&self, out: &mut String, clock: Clock) {
        let mut heads: Vec<String> = vec!["program".to_owned()];
        heads.extend(self.rows.iter().take(1).flat_map(|r| r.columns.iter().map(|c| c.engine.to_owned())));
        heads.extend(RATIOS.iter().map(|(a, b, _)| format!("{a}/{b}")));
        let mut lines = vec![heads];
        for row in &self.rows {
            let mut line = vec![row.program.to_owned()];
            line.extend(row.columns.iter().map(|c| {
                let times = clock(c);
                format!("{:.1} ({:.1})", times.minimum() * 1e3, times.median() * 1e3)
            }));
            let ratio = |r: Option<f64>| r.map_or("-".to_owned(), |r| format!("{r:.2}"));
            line.extend(RATIOS.iter().map(|(a, b, _)| ratio(row.ratio(a, b, clock))));
            lines.push(line);
        }
        let columns = lines[0].len();
        let widths: Vec<usize> =
            (0..columns).map(|i| lines.iter().map(|l| l[i].len()).max().unwrap_or_default()).collect();
        for line in &lines {
            let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, &w)| format!("{cell:>w$}")).collect();
            let _ = writeln!(out, "{}", cells.join("  "));
        }
    }

    fn rest(&self, out: &mut String) {
        let l = &self.latencies;
        let _ = writeln!(out);
        for (what, times, unit, scale) in [
            ("dmci run -e '(+ 1 2)', whole process", &l.process_start, "ms", 1e3),
            ("text to value, ten nodes, dmci mode", &l.dmci, "us", 1e6),
            ("text to value, ten nodes, direct mode", &l.direct, "us", 1e6),
        ] {
            let (minimum, median) = (times.minimum() * scale, times.median() * scale);
            let _ = writeln!(out, "{what:<40} minimum {minimum:.1} {unit}, median {median:.1} {unit}");
        }
        let missed: Vec<_> = self.goals().into_iter().filter(|g| g.2 > g.1).collect();
        let _ = writeln!(out, "\n{}", if missed.is_empty() { "all goals met" } else { "goals missed:" });
        for (what, limit, reached) in missed {
            let _ = writeln!(out, "  {what}: {reached:.3e}, limit {limit:.0e}");
        }
    }

    /// For machines; times in seconds.
    pub fn json(&self) -> Value {
        let programs: serde_json::Map<String, Value> = self
            .rows
            .iter()
            .map(|row| {
                let of = |clock: Clock| {
                    let times: BTreeMap<_, _> = row.columns.iter().map(|c| (c.engine, summary(clock(c)))).collect();
                    let ratio = |(a, b, _)| (format!("{a}/{b}"), row.ratio(a, b, clock).map(rounded));
                    let ratios: BTreeMap<_, _> = RATIOS.into_iter().map(ratio).collect();
                    json!({ "seconds": times, "ratios": ratios })
                };
                (row.program.to_owned(), json!({ "value": row.value, "clock": of(WALL), "processor": of(CPU) }))
            })
            .collect();
        let l = &self.latencies;
        let goals: Vec<Value> = self
            .goals()
            .into_iter()
            .map(|(what, limit, reached)| {
                json!({ "goal": what, "limit": limit, "reached": rounded(reached), "met": reached <= limit })
            })
            .collect();
        json!({
            "facts": self.facts,
            "programs": programs,
            "latency_seconds": {
                "process_start": summary(&l.process_start),
                "text_to_value_dmci": summary(&l.dmci),
                "text_to_value_direct": summary(&l.direct),
            },
            "goals": goals,
        })
    }
}

fn summary(times: &Times) -> Value {
    json!({ "minimum": rounded(times.minimum()), "median": rounded(times.median()), "runs": times.count() })
}

/// Four significant digits: the rest is noise.
fn rounded(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}
