//! `(params (name kind start option ...) ...)`: the parameters of a model. A run binds each to its start.

use super::expander::Expander;
use super::starts::{Structure, is_start, number, shape_of, starts_of};
use dmci_value::ErrorCode;
use dmci_value::nearest::nearest;
use dmci_value::{Diagnostic, Error, Shape, SpanId, Symbol, Value};
use rustc_hash::FxHashSet;

/// The kinds that are a word.
const KINDS: [&str; 4] = ["free", "positive", "unit", "signed-unit"];

/// Other words for kinds.
const SYNONYMS: [(&str, &str); 9] = [
    ("any", "free"),
    ("float", "free"),
    ("number", "free"),
    ("real", "free"),
    ("unbounded", "free"),
    ("pos", "positive"),
    ("nonnegative", "positive"),
    ("fraction", "unit"),
    ("probability", "unit"),
];

impl Expander<'_> {
    /// The parameters of a schema with their starting values: reals, or quoted tensors of reals.
    pub fn parse_params(&mut self, form: Value) -> Result<Vec<(Symbol, SpanId, Value)>, Error> {
        let (_, mut cell) = self.operands_of(form, 0, usize::MAX)?;
        let mut parameters = Vec::new();
        let mut seen = FxHashSet::default();
        while let Some((spec, rest)) = self.heap.uncons(cell) {
            let Some(parts) = self.heap.list_items(spec).filter(|parts| parts.len() >= 2) else {
                return Err(self.bad_param("a parameter is (name kind start option ...)", cell));
            };
            let Some(name) = parts[0].as_symbol() else {
                return Err(self.bad_param("a parameter starts with its name", spec));
            };
            let name = self.heap.symbols.base_of(name);
            if !seen.insert(name) {
                let shown = self.heap.symbols.name(name);
                let error = Diagnostic::error(ErrorCode::E0202, format!("the parameter `{shown}` is declared twice"));
                return Err(self.at_cell(error, spec).help("give each parameter a name of its own"));
            }
            let kind_cell = self.heap.cdr(spec).unwrap_or(spec);
            let start_cell = self.heap.cdr(kind_cell).unwrap_or(spec);
            let (shape, structure) = self.check_kind(parts[1], kind_cell)?;
            if parts.len() < 3 && shape == Shape::Scalar {
                return Err(self.bad_param("a parameter is (name kind start option ...)", cell));
            }
            let start = parts.get(2).copied().filter(|&part| shape == Shape::Scalar || is_start(self.heap, part));
            let Some(starts) = starts_of(self.heap, shape, structure, start) else {
                let rule = match shape {
                    Shape::Scalar => "the start of a parameter must be a number".to_string(),
                    shape => {
                        let kind = self.shown(parts[1]);
                        format!("the start of a parameter of kind {kind} must be a number or {} numbers", shape.len())
                    }
                };
                return Err(self.bad_param(&rule, start_cell));
            };
            let skipped = if start.is_some() { 3 } else { 2 };
            let mut option_cell =
                if start.is_some() { self.heap.cdr(start_cell).unwrap_or(Value::NIL) } else { start_cell };
            for (i, &option) in parts.get(skipped..).unwrap_or_default().iter().enumerate() {
                let scale = i == 0 && number(option).is_some_and(|c| c > 0.0);
                let fixed = option.as_symbol().is_some_and(|s| self.base_name(s) == "fixed");
                if !scale && !fixed && self.heap.car(option).is_none_or(|word| !word.is_symbol()) {
                    return Err(
                        self.bad_param("after the start comes a positive scale, or options such as fixed", option_cell)
                    );
                }
                option_cell = self.heap.cdr(option_cell).unwrap_or(Value::NIL);
            }
            let place = self.heap.place(spec);
            let value = match shape {
                Shape::Scalar => Value::real(starts[0]),
                shape => {
                    let bits: Vec<u64> = starts.iter().map(|x| x.to_bits()).collect();
                    let tensor = self.heap.tensor(shape, &bits);
                    self.quoted(tensor, place)
                }
            };
            parameters.push((name, place, value));
            cell = rest;
        }
        Ok(parameters)
    }

    fn check_kind(&self, kind: Value, cell: Value) -> Result<(Shape, Structure), Error> {
        let Some((shape, structure)) = shape_of(self.heap, kind) else { return Err(self.unknown_kind(kind, cell)) };
        // The kind of a vector's numbers is one of the kinds of numbers; without one they are free.
        if let Structure::Separate(of_number) = structure
            && of_number != Value::NIL
        {
            self.check_number_kind(of_number, kind, cell)?;
        }
        Ok((shape, structure))
    }

    fn check_number_kind(&self, of_number: Value, kind: Value, cell: Value) -> Result<(), Error> {
        let name = |v: Value| v.as_symbol().map(|s| self.base_name(s));
        if let Some(word) = name(of_number) {
            return match word {
                "free" | "positive" | "unit" | "signed-unit" => Ok(()),
                _ => Err(self.unknown_kind(kind, cell)),
            };
        }
        let parts = self.heap.list_items(of_number).unwrap_or_default();
        match (parts.first().copied().and_then(name), &parts[..]) {
            (Some("bounded"), &[_, low, high]) => match (number(low), number(high)) {
                (Some(low), Some(high)) if low < high => Ok(()),
                _ => Err(self.bad_param("a bounded parameter needs two numbers, the smaller one first", cell)),
            },
            (Some("log"), &[_, low, high]) => match (number(low), number(high)) {
                (Some(low), Some(high)) if 0.0 < low && low < high => Ok(()),
                _ => Err(self.bad_param("a log parameter needs two numbers above 0, the smaller one first", cell)),
            },
            _ => Err(self.unknown_kind(kind, cell)),
        }
    }

    fn unknown_kind(&self, kind: Value, cell: Value) -> Error {
        let shown = self.shown(kind);
        let error = Diagnostic::error(ErrorCode::E0211, format!("there is no parameter kind {shown}"));
        let meant = SYNONYMS.iter().find(|(word, _)| shown.trim_matches('`') == *word).map(|(_, kind)| *kind);
        if let Some(kind) = meant.or_else(|| nearest(shown.trim_matches('`'), KINDS)) {
            return self.at_cell(error, cell).help(format!("did you mean {kind}?"));
        }
        self.at_cell(error, cell).help("the kinds are free, positive, unit, signed-unit, (bounded low high), (log low high), (vector n), (matrix m n), (lower n), (cholesky n) and (simplex n)")
    }

    fn bad_param(&self, rule: &str, cell: Value) -> Error {
        let got = self.heap.car(cell).map_or_else(|| "nothing".into(), |part| self.shown(part));
        let error = Diagnostic::error(ErrorCode::E0211, format!("{rule}, got {got}"));
        self.at_cell(error, cell).help("for example (params (a positive 1.0) (b unit 0.3) (c (bounded -1 1) 0.0))")
    }
}
