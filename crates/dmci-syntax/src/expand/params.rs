//! `(params (name kind start option ...) ...)`: the parameters of a model. A run binds each to its start.

use super::expander::Expander;
use dmci_data::{Diagnostic, Error, SpanId, Symbol, Value};
use rustc_hash::FxHashSet;

impl Expander<'_> {
    /// The parameters of a schema with their starting values, always reals.
    pub fn parse_params(&self, form: Value) -> Result<Vec<(Symbol, SpanId, Value)>, Error> {
        let (_, mut cell) = self.operands_of(form, 0, usize::MAX)?;
        let mut parameters = Vec::new();
        let mut seen = FxHashSet::default();
        while let Some((spec, rest)) = self.heap.uncons(cell) {
            let Some(parts) = self.heap.list_items(spec).filter(|parts| parts.len() >= 3) else {
                return Err(self.bad_param("a parameter is (name kind start option ...)", cell));
            };
            let Some(name) = parts[0].as_symbol() else {
                return Err(self.bad_param("a parameter starts with its name", spec));
            };
            let name = self.heap.symbols.base_of(name);
            if !seen.insert(name) {
                let shown = self.heap.symbols.name(name);
                let error = Diagnostic::error("E0202", format!("the parameter `{shown}` is declared twice"));
                return Err(self.at_cell(error, spec).help("give each parameter a name of its own"));
            }
            let kind_cell = self.heap.cdr(spec).unwrap_or(spec);
            let start_cell = self.heap.cdr(kind_cell).unwrap_or(spec);
            self.check_kind(parts[1], kind_cell)?;
            let Some(start) = number(parts[2]) else {
                return Err(self.bad_param("the start of a parameter must be a number", start_cell));
            };
            let mut option_cell = self.heap.cdr(start_cell).unwrap_or(Value::NIL);
            for (i, &option) in parts[3..].iter().enumerate() {
                let scale = i == 0 && number(option).is_some_and(|c| c > 0.0);
                let fixed = option.as_symbol().is_some_and(|s| self.base_name(s) == "fixed");
                if !scale && !fixed && self.heap.car(option).is_none_or(|word| !word.is_symbol()) {
                    return Err(
                        self.bad_param("after the start comes a positive scale, or options such as fixed", option_cell)
                    );
                }
                option_cell = self.heap.cdr(option_cell).unwrap_or(Value::NIL);
            }
            parameters.push((name, self.heap.place(spec), Value::real(start)));
            cell = rest;
        }
        Ok(parameters)
    }

    fn check_kind(&self, kind: Value, cell: Value) -> Result<(), Error> {
        let name = |v: Value| v.as_symbol().map(|s| self.base_name(s));
        if let Some(word) = name(kind) {
            return match word {
                "free" | "positive" | "unit" | "signed-unit" => Ok(()),
                _ => Err(self.unknown_kind(kind, cell)),
            };
        }
        let parts = self.heap.list_items(kind).unwrap_or_default();
        let sizes = parts.len() >= 2 && parts[1..].iter().all(|n| n.as_fixnum().is_some_and(|n| n > 0));
        match (parts.first().copied().and_then(name), &parts[..]) {
            (Some("bounded"), &[_, low, high]) => match (number(low), number(high)) {
                (Some(low), Some(high)) if low < high => Ok(()),
                _ => Err(self.bad_param("a bounded parameter needs two numbers, the smaller one first", cell)),
            },
            (Some("vector" | "matrix"), parts) if sizes && parts.len() <= 3 => {
                let shown = self.shown(kind);
                let error =
                    Diagnostic::error("E0211", format!("a parameter of kind {shown} needs tensors, not supported yet"));
                Err(self.at_cell(error, cell).help("declare one parameter for each number"))
            }
            _ => Err(self.unknown_kind(kind, cell)),
        }
    }

    fn unknown_kind(&self, kind: Value, cell: Value) -> Error {
        let shown = self.shown(kind);
        let error = Diagnostic::error("E0211", format!("there is no parameter kind {shown}"));
        self.at_cell(error, cell).help("the kinds are free, positive, unit, signed-unit and (bounded low high)")
    }

    fn bad_param(&self, rule: &str, cell: Value) -> Error {
        let got = self.heap.car(cell).map_or_else(|| "nothing".into(), |part| self.shown(part));
        let error = Diagnostic::error("E0211", format!("{rule}, got {got}"));
        self.at_cell(error, cell).help("for example (params (a positive 1.0) (b unit 0.3) (c (bounded -1 1) 0.0))")
    }
}

fn number(v: Value) -> Option<f64> {
    v.as_real().or_else(|| v.as_fixnum().map(|i| i as f64)).filter(|x| x.is_finite())
}
