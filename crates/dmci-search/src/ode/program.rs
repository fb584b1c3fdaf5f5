//! The program of a system: Runge and Kutta's method of order 4, row by row, with a hole for each derivative. It is
//! an objective of `dmci fit`: its residuals are what states are off their measurements, in deviations.

use super::Ode;
use crate::candidate::Candidate;
use crate::operation::Operation;
use crate::problem::refusal;
use dmci::{Program, Report};
use dmci_fit::Table;
use std::fmt::Write;

/// Names that the program uses, which a column must not have.
const OWN: [&str; 25] = [
    "step",
    "advance",
    "steps",
    "off",
    "first",
    "loop",
    "found",
    "predicted",
    "receive",
    "step-size",
    "left",
    "row",
    "find",
    "seen",
    "state",
    "scale",
    "column",
    "cons",
    "list",
    "reverse",
    "ref",
    "vlen",
    "nan?",
    "result",
    "hole",
];

/// Whether a text is a name that may stand in a program as it is.
fn is_plain(name: &str) -> bool {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    starts && letters.all(|c| c.is_ascii_alphanumeric() || "_-.!?<>=*/".contains(c))
}

/// Refuses columns whose names cannot stand in the program.
pub fn check_names(states: &[String], time: &str, table: &Table) -> Result<(), Report> {
    for name in states.iter().map(String::as_str).chain([time]) {
        let is_operation = Operation::ALL.iter().any(|o| o.name() == name);
        if !is_plain(name) || OWN.contains(&name) || is_operation {
            let message = format!("{name} cannot be the name of a state or of the time: it means something else");
            return Err(refusal(message, "rename the column: letters, digits and _, and no word of the language"));
        }
        for suffix in [".now", ".start", ".offset", ".1", ".2", ".3", ".4"] {
            let made = format!("{name}{suffix}");
            if table.columns.iter().any(|c| c.name == made) {
                return Err(refusal(format!("the column {made} has a name that the program needs"), "rename it"));
            }
        }
    }
    Ok(())
}

impl Ode {
    /// The name of the derivative of a state, which is that of its hole.
    pub fn rate(&self, state: usize) -> String {
        format!("d{}/d{}", self.states[state], self.time)
    }

    /// The program with these right-hand sides, one for each state.
    pub fn program(&self, name: &str, rates: &[Candidate]) -> Program {
        let (states, time) = (&self.states, &self.time);
        let d = states.len();
        let mut parameters = String::new();
        for (i, state) in states.iter().enumerate() {
            let scale = self.deviations[i];
            let start = self.runs.first().map_or(0.0, |run| run.smooth[i].values[0]);
            let _ = match &self.group {
                None => write!(parameters, "({state}.start free {start:?} {scale:?}) "),
                Some(group) => write!(parameters, "({state}.offset free 0.0 {scale:?} (per {group})) "),
            };
        }
        let mut contents = Vec::new();
        let mut number = 0;
        for rate in rates {
            let names: Vec<String> = (0..rate.values.len()).map(|k| format!("c{}", number + k + 1)).collect();
            number += names.len();
            names.iter().zip(&rate.values).for_each(|(n, v)| _ = write!(parameters, "({n} free {v:?}) "));
            contents.push(rate.expr.text(&self.arguments, &names));
        }
        let join = |of: &dyn Fn(usize) -> String| (0..d).map(of).collect::<Vec<_>>().join(" ");
        let given = self.arguments.join(" ");
        let timed = self.arguments.contains(time);
        // A slope at a point that the arguments name.
        let slope = |i: usize, point: &dyn Fn(usize) -> String, when: &str| {
            let of = |name: &String| match states.iter().position(|s| s == name) {
                Some(j) => point(j),
                None => when.to_string(),
            };
            format!("({} {})", self.rate(i), self.arguments.iter().map(of).collect::<Vec<_>>().join(" "))
        };
        let mut text = format!("(params {})\n\n", parameters.trim_end());
        for (i, content) in contents.iter().enumerate() {
            let rate = self.rate(i);
            let _ = writeln!(text, "(define ({rate} {given})\n  (hole {rate} ({given}) {content}))");
        }
        let _ = writeln!(text, "\n; One step of Runge and Kutta's method of order 4.");
        let (all, when) = (join(&|j| states[j].clone()), if timed { format!("{time} ") } else { String::new() });
        let _ = writeln!(text, "(define (step step-size {when}{all} receive)\n  (let* (");
        let at = |stage: usize, j: usize| match stage {
            1 => states[j].clone(),
            4 => format!("(+ {0} (* step-size {0}.3))", states[j]),
            k => format!("(+ {0} (* 0.5 step-size {0}.{1}))", states[j], k - 1),
        };
        let clock = |stage: usize| match stage {
            1 => time.clone(),
            4 => format!("(+ {time} step-size)"),
            _ => format!("(+ {time} (* 0.5 step-size))"),
        };
        for stage in 1..=4 {
            for (i, state) in states.iter().enumerate() {
                let value = slope(i, &|j| at(stage, j), &clock(stage));
                let _ = writeln!(text, "      ({state}.{stage} {value})");
            }
        }
        let new =
            join(&|j| format!("(+ {0} (* step-size (/ 1.0 6) (+ {0}.1 (* 2 {0}.2) (* 2 {0}.3) {0}.4)))", states[j]));
        let _ = writeln!(text, "      )\n    (receive {new})))");
        let later = if timed { format!("(+ {time} step-size) ") } else { String::new() };
        let _ = writeln!(
            text,
            "\n; Several of them.\n(define (advance left step-size {when}{all} receive)\n  (if (= left 0)\n      (receive {all})\n      \
             (step step-size {when}{all} (lambda ({all}) (advance (- left 1) step-size {later}{all} receive)))))"
        );
        let _ = writeln!(text, "\n(define steps {})", self.steps);
        text += "\n; What a state is off its measurement, in deviations; nothing where it was not measured.\n\
                 (define (off seen state scale)\n  (if (nan? seen) 0.0 (/ (- seen state) scale)))\n\n";
        if self.group.is_some() {
            text += "; Runs start near their first measurements.\n(define (first column)\n  (let find ((row 0))\n    \
                     (if (nan? (ref column row)) (find (+ row 1)) (ref column row))))\n\n";
        }
        let start = |j: usize| match &self.group {
            None => format!("({0}.now {0}.start)", states[j]),
            Some(_) => format!("({0}.now (+ (first {0}) {0}.offset))", states[j]),
        };
        let _ = writeln!(text, "(let loop ((row 0) {} (found '()) (predicted '()))", join(&start));
        let mut found = "found".to_string();
        for (j, state) in states.iter().enumerate() {
            found = format!("(cons (off (ref {state} row) {state}.now {:?}) {found})", self.deviations[j]);
        }
        let now = join(&|j| format!("{}.now", states[j]));
        let again = if timed { format!("(ref {time} row) ") } else { String::new() };
        let _ = write!(
            text,
            "  (let ((found {found})\n        (predicted (cons (list {now}) predicted)))\n    \
             (if (= (+ row 1) (vlen {time}))\n        \
             (result (residuals (reverse found)) (yhat (reverse predicted)))\n        \
             (advance steps (/ (- (ref {time} (+ row 1)) (ref {time} row)) steps) {again}{now}\n          \
             (lambda ({all}) (loop (+ row 1) {all} found predicted))))))\n"
        );
        Program::named(name, &text)
    }
}
