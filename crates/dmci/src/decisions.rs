//! What became of the decisions that a program takes on traced numbers, place by place in its text, and
//! why nothing better.

use crate::gradient::{self, GradOptions};
use crate::interpreter::Interpreter;
use crate::program::Program;
use crate::report::Report;
use dmci_tape::Tape;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Heap, Sources, Span};
use dmci_vm::traced::{Decided, Explanation};
use serde_json::{Value as Json, json};

/// Decisions by place, with the texts that they are in.
///
/// ```
/// use dmci::{Column, Decisions, Model, ModelOptions, Program, Want};
///
/// let options = ModelOptions { explain: true, ..ModelOptions::default() };
/// let model = Model::builder(Program::new("(if (< x 1.) x (* a x))")).parameter("a").options(options).build()?;
/// model.evaluate(&[3.0], &[Column::Reals(vec![0.5])], Want::Values)?;
/// let decisions: Decisions = model.decisions();
/// assert_eq!(decisions.places[0].1.joined, 1);
/// assert_eq!(decisions.print(), "decisions\n  1:5 (< x 1.): joined\n");
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// In the order in which the places were first met; a place that is not in the program's text is `None`.
    pub places: Vec<(Option<Span>, Decided)>,
    /// The texts.
    pub sources: Sources,
    /// Arms were joined where that was possible.
    pub joins: bool,
}

impl Decisions {
    /// The decisions of one recording.
    pub(crate) fn of(explanation: &Explanation, heap: &Heap, joins: bool) -> Decisions {
        let span = |id| heap.spans.get(id).map(|span| span.form());
        let mut decisions = Decisions { sources: heap.sources.clone(), joins, places: Vec::new() };
        explanation.places.iter().for_each(|(id, decided)| decisions.add(span(*id), decided));
        decisions
    }

    fn add(&mut self, span: Option<Span>, decided: &Decided) {
        match self.places.iter_mut().find(|place| place.0 == span) {
            Some(place) => place.1.merge(decided),
            None => self.places.push((span, decided.clone())),
        }
    }

    /// Adds the decisions of another recording of the same program.
    pub(crate) fn merge(&mut self, other: Decisions) {
        if self.sources.is_empty() {
            self.sources = other.sources;
            self.joins = other.joins;
        }
        other.places.iter().for_each(|(span, decided)| self.add(*span, decided));
    }

    /// Warnings for the places where numbers were pinned.
    pub fn warnings(&self) -> Report {
        let pinned = self.places.iter().filter(|place| place.1.pinned > 0).map(|(span, decided)| {
            let by = decided.pinned_by.join(" and ");
            let need = if decided.pinned_by.len() > 1 { "need" } else { "needs" };
            let message = format!("{by} {need} the very value of a number that depends on a parameter or an input");
            let warning = Diagnostic::warning(ErrorCode::W0504, message)
                .help("what comes of it has no derivative, and every other value is recorded again: keep to numbers");
            *match span {
                Some(span) => warning.at_with(*span, "pinned here"),
                None => warning,
            }
        });
        Report::new(pinned.collect(), self.sources.clone())
    }

    /// A warning that there were so many recordings, at the decision that the path depends on most often.
    pub(crate) fn many_paths(&self, recordings: u64) -> Option<Diagnostic> {
        let guarded = |place: &&(Option<Span>, Decided)| place.1.guarded > 0 && place.1.looped == 0;
        let most = self.places.iter().filter(guarded).filter(|(span, _)| span.is_some());
        // Of several, the first one in the text.
        let (span, decided) = most.min_by_key(|(span, decided)| (u64::MAX - decided.guarded, *span))?;
        let span = (*span)?;
        let (_, reasons) = self.words(decided);
        let why = reasons.first().map_or("its arms do not meet", String::as_str);
        let test = shortened(self.sources.slice(span));
        let message = format!("{recordings} paths were recorded: the arms of {test} are not joined, {why}");
        let help = advice(why).unwrap_or("let both arms end in the same way, with values that differ in numbers only");
        Some(*Diagnostic::warning(ErrorCode::W0505, message).at_with(span, "rows decide differently here").help(help))
    }

    /// What became of the decisions at a place, in words, and why nothing better.
    fn words(&self, decided: &Decided) -> (Vec<String>, Vec<String>) {
        let mut fates = Vec::new();
        let mut reasons: Vec<String> = decided.reasons.iter().map(|(why, _)| why.clone()).collect();
        let mut fate = |count: u64, text: &str| {
            if count > 0 {
                fates.push(if count == 1 { text.to_string() } else { format!("{text} {count} times") });
            }
        };
        fate(decided.joined, "joined");
        fate(decided.looped, "ends a loop");
        fate(decided.guarded, "guarded");
        fate(decided.checked, "checked");
        fate(decided.pinned, "pinned");
        if decided.looped > 0 {
            let rounds = decided.rounds;
            reasons =
                vec![format!("{rounds} rounds in the lanes that were walked; the first ones are recorded one by one")];
        } else if decided.guarded > 0 && !self.joins {
            reasons.push("joins are switched off".into());
        } else if decided.guarded > 0 && reasons.is_empty() {
            reasons.push("it is taken inside of a primitive, which has no arms".into());
        }
        if decided.checked > 0 {
            reasons.push("exact integers: a result must fit, a division come out even, an index be inside".into());
        }
        let pins = decided.pinned_by.iter().map(|by| format!("{by} needs the very value of a number"));
        reasons.extend(pins);
        (fates, reasons)
    }

    /// One line for each place, and one for each reason.
    pub fn print(&self) -> String {
        if self.places.is_empty() {
            return "no decisions\n".into();
        }
        let mut text = String::from("decisions\n");
        for (span, decided) in &self.places {
            let (fates, reasons) = self.words(decided);
            let place = match span {
                Some(span) => format!("{} {}", self.position(*span), shortened(self.sources.slice(*span))),
                None => "in the library".into(),
            };
            text += &format!("  {place}: {}\n", fates.join(", "));
            reasons.iter().for_each(|why| text += &format!("      {why}\n"));
            let mut helps: Vec<&str> = reasons.iter().filter_map(|why| advice(why)).collect();
            helps.dedup();
            helps.iter().for_each(|help| text += &format!("      help: {help}\n"));
        }
        text
    }

    fn position(&self, span: Span) -> String {
        let at = self.sources.line_col(span.source, span.start);
        format!("{}:{}", at.line, at.column)
    }

    /// A list of objects, one for each place.
    pub fn to_json(&self) -> Json {
        let place = |(span, decided): &(Option<Span>, Decided)| {
            let (_, reasons) = self.words(decided);
            let at = span.map(|span| self.sources.line_col(span.source, span.start));
            json!({
                "line": at.map(|at| at.line),
                "column": at.map(|at| at.column),
                "start": span.map(|s| s.start),
                "end": span.map(|s| s.end),
                "text": span.map(|s| self.sources.slice(s)),
                "joined": decided.joined,
                "looped": decided.looped,
                "rounds": decided.rounds,
                "guarded": decided.guarded,
                "checked": decided.checked,
                "pinned": decided.pinned,
                "help": reasons.iter().filter_map(|why| advice(why)).collect::<Vec<_>>(),
                "why": reasons,
            })
        };
        self.places.iter().map(place).collect()
    }
}

/// What would let a decision be joined, or rounds be a loop, given why they are not.
fn advice(why: &str) -> Option<&'static str> {
    let is = |part: &str| why.contains(part);
    Some(match () {
        () if is("an exact and an inexact number") => "give both arms reals (write 0. for 0), or both exact integers",
        () if is("one arm ") || is("go on at different places") => {
            "let both arms end in the same way: both call the same procedure, or both give a value"
        }
        () if is("which differ in more than") || is("look the same") => {
            "let both arms give the same structure: lists of the same length that differ in numbers only"
        }
        () if is("differ in more than numbers") => {
            "let rounds change numbers only: keep lists and vectors of the state at the same length"
        }
        () if is(" prints") => "print behind the decision or the loop",
        () if is("draws random numbers") => "draw the numbers before the decision",
        () if is(" fails: ") => "compute something in every arm: an error is a path of its own",
        () if is("more than") && is("operations") => {
            "let the arms do less: call what both need before or behind the decision"
        }
        _ => return None,
    })
}

/// The beginning of a text, on one line.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= LONGEST {
        return words;
    }
    words.chars().take(LONGEST - 3).chain("...".chars()).collect()
}

/// How a recording is made to be looked at.
///
/// ```
/// use dmci::{GradOptions, Interpreter, Program, RunOptions, TapeOptions};
///
/// let grad = GradOptions { run: RunOptions::default().with("x", 0.5), ..GradOptions::default() };
/// let program = Program::new("(if (< x 1.) (* x x) x)");
/// let [joined, guarded] = [true, false].map(|joins| {
///     let options = TapeOptions { grad: grad.clone(), joins, loops: joins };
///     Interpreter::shared().explain(&program, &options)
/// });
/// assert_eq!((joined?.tape.guards.len(), guarded?.tape.guards.len()), (0, 1));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct TapeOptions {
    /// What is traced, and how the program is run.
    pub grad: GradOptions,
    /// Both arms of a decision are recorded where they meet again.
    pub joins: bool,
    /// Rounds of a loop are recorded once where that can be.
    pub loops: bool,
}

/// A recording to look at.
///
/// ```
/// use dmci::{GradOptions, Interpreter, Program, Recorded, RunOptions, TapeOptions};
///
/// let grad = GradOptions { run: RunOptions::default().with("x", 0.5), ..GradOptions::default() };
/// let options = TapeOptions { grad, joins: true, loops: true };
/// let recorded: Recorded = Interpreter::shared().explain(&Program::new("(display 1) (exp x)"), &options)?;
/// assert_eq!((recorded.tape.operations(), recorded.output.as_str()), (1, "1"));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The tape; its output is the value of the program.
    pub tape: Tape,
    /// What became of its decisions.
    pub decisions: Decisions,
    /// What the program printed.
    pub output: String,
}

impl Interpreter {
    /// Records a run and explains its decisions.
    pub fn explain(&self, program: &Program, options: &TapeOptions) -> Result<Recorded, Report> {
        let mut vm = self.machine(&options.grad.run)?;
        vm.world.explain();
        vm.world.joins = options.joins;
        vm.world.loops = options.loops;
        let result = gradient::record(&mut vm, program, &options.grad);
        let output = vm.world.output.text.clone();
        let recorded = match result {
            Ok((value, _)) => {
                let node = vm.world.node_of(value);
                let recording = vm.world.recording.take().map(|r| *r).unwrap_or_default();
                let decisions = Decisions::of(&recording.explanation, &vm.world.heap, options.joins);
                let mut tape = recording.recorder.tape().clone();
                tape.outputs = node.into_iter().collect();
                Ok(Recorded { tape, decisions, output })
            }
            Err(mut diagnostics) => {
                crate::suggest::add_help(&vm, program, &mut diagnostics);
                let sources = vm.world.heap.sources.clone();
                Err(Report { diagnostics, sources, output })
            }
        };
        self.recycle(vm);
        recorded
    }
}
