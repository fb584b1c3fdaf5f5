//! `define-record-type`.

use super::expander::Expander;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Symbol, Value};
use rustc_hash::FxHashMap;

/// A name with the place of the cell that it is the car of.
type Named = (Symbol, SpanId);

/// A `define-record-type` form taken apart.
pub(super) struct RecordSpec {
    pub name: Symbol,
    pub name_at: SpanId,
    /// Its name, and the fields that it takes, in its order.
    constructor: Option<(Named, Vec<usize>)>,
    predicate: Option<Named>,
    fields: Vec<Field>,
}

struct Field {
    name: Symbol,
    accessor: Option<Named>,
    modifier: Option<Named>,
}

impl Expander<'_> {
    pub fn parse_record(&self, form: Value) -> Result<RecordSpec, Error> {
        let (_, name_cell) = self.operands_of(form, 2, usize::MAX)?;
        let (name, constructor_cell) = self.heap.uncons(name_cell).unwrap_or((Value::NIL, Value::NIL));
        let Some(name) = name.as_symbol() else {
            return Err(self.wrong_part(form, "a type name", name_cell));
        };
        let (constructor, predicate_cell) = self.heap.uncons(constructor_cell).unwrap_or((Value::FALSE, Value::NIL));
        let (predicate, mut cell) = self.heap.uncons(predicate_cell).unwrap_or((Value::FALSE, Value::NIL));
        let predicate = match predicate.as_symbol() {
            Some(symbol) => Some((symbol, self.heap.place(predicate_cell))),
            None if predicate == Value::FALSE => None,
            None => return Err(self.wrong_part(form, "a predicate name or #f", predicate_cell)),
        };
        let mut fields: Vec<Field> = Vec::new();
        let mut numbers: FxHashMap<Symbol, usize> = FxHashMap::default();
        while let Some((spec, rest)) = self.heap.uncons(cell) {
            let field = self.parse_field(form, spec, cell)?;
            if numbers.insert(field.name, fields.len()).is_some() {
                let shown = self.base_name(field.name);
                let error =
                    Diagnostic::error(ErrorCode::E0202, format!("the record type has two fields called `{shown}`"));
                return Err(self.at_cell(error, cell).help("give each field a name of its own"));
            }
            fields.push(field);
            cell = rest;
        }
        let constructor = match self.heap.uncons(constructor) {
            Some((_, list)) => {
                let Some(symbol) = self.heap.car(constructor).and_then(Value::as_symbol) else {
                    return Err(self.wrong_part(form, "a constructor (name field ...)", constructor_cell));
                };
                if self.length(list).is_none() {
                    return Err(self.wrong_part(form, "a constructor (name field ...)", constructor_cell));
                }
                let mut order: Vec<usize> = Vec::new();
                let mut taken = vec![false; fields.len()];
                let mut cell = list;
                while let Some((field, rest)) = self.heap.uncons(cell) {
                    match field.as_symbol().and_then(|s| numbers.get(&s)) {
                        Some(&i) if !taken[i] => {
                            taken[i] = true;
                            order.push(i);
                        }
                        Some(_) => {
                            let error =
                                Diagnostic::error(ErrorCode::E0202, "the constructor takes the same field twice");
                            return Err(self.at_cell(error, cell).help("list each field once"));
                        }
                        None => return Err(self.wrong_part(form, "a field of the type in the constructor", cell)),
                    }
                    cell = rest;
                }
                Some(((symbol, self.heap.place(constructor)), order))
            }
            None if constructor == Value::FALSE => None,
            None => match constructor.as_symbol() {
                Some(symbol) => Some(((symbol, self.heap.place(constructor_cell)), (0..fields.len()).collect())),
                None => return Err(self.wrong_part(form, "a constructor (name field ...) or #f", constructor_cell)),
            },
        };
        Ok(RecordSpec { name, name_at: self.heap.place(name_cell), constructor, predicate, fields })
    }

    fn parse_field(&self, form: Value, spec: Value, cell: Value) -> Result<Field, Error> {
        if let Some(name) = spec.as_symbol() {
            return Ok(Field { name, accessor: None, modifier: None });
        }
        let mut names: Vec<Named> = Vec::new();
        let mut part = spec;
        while let Some((name, rest)) = self.heap.uncons(part).filter(|_| names.len() < 4) {
            match name.as_symbol() {
                Some(symbol) => names.push((symbol, self.heap.place(part))),
                None => break,
            }
            part = rest;
        }
        match names[..] {
            [name, ref procedures @ ..] if part.is_nil() && procedures.len() <= 2 => {
                Ok(Field { name: name.0, accessor: procedures.first().copied(), modifier: procedures.get(1).copied() })
            }
            _ => Err(self.wrong_part(form, "a field (name accessor modifier)", cell)),
        }
    }

    /// The core form that makes the type.
    pub fn record_type_core(&mut self, spec: &RecordSpec, place: SpanId) -> Value {
        let base = |x: &Self, symbol| Value::symbol(x.heap.symbols.base_of(symbol));
        let fields: Vec<Value> = spec.fields.iter().map(|f| base(self, f.name)).collect();
        let fields = self.list_at(&fields, place);
        let fields = self.quoted(fields, place);
        let name = base(self, spec.name);
        let name = self.quoted(name, place);
        self.call(self.k.make_record_type, &[name, fields], place)
    }

    /// The procedures of the type, as core forms, with the names that they are to be given.
    /// `type_name` is the core name of the variable that holds the type.
    pub fn record_procedures(
        &mut self,
        spec: &RecordSpec,
        type_name: Symbol,
        place: SpanId,
    ) -> Vec<(Symbol, SpanId, Value)> {
        let type_ref = Value::symbol(type_name);
        // What goes wrong inside is the caller's doing, so the bodies have no place.
        let nowhere = SpanId(0);
        // Parameters get names that cannot hide the type.
        let safe = |x: &mut Self, symbol: Symbol| {
            let hides = symbol == type_name || x.k.is_core(symbol) || x.heap.symbols.name(symbol).starts_with('%');
            Value::symbol(if hides { x.heap.symbols.alias(symbol) } else { symbol })
        };
        let object = safe(self, self.k.object);
        let value = safe(self, self.k.value);
        let mut made = Vec::new();
        if let Some(((symbol, at), order)) = &spec.constructor {
            let parameters: Vec<Value> = order.iter().map(|&i| safe(self, spec.fields[i].name)).collect();
            let mut arguments = vec![Value::FALSE; 1 + spec.fields.len()];
            arguments[0] = type_ref;
            for (&i, &parameter) in order.iter().zip(&parameters) {
                arguments[1 + i] = parameter;
            }
            let body = self.call(self.k.record, &arguments, nowhere);
            let formals = self.list_at(&parameters, place);
            made.push((*symbol, *at, self.lambda(formals, body, place)));
        }
        if let Some((symbol, at)) = spec.predicate {
            let body = self.call(self.k.record_test, &[object, type_ref], nowhere);
            let formals = self.list_at(&[object], place);
            made.push((symbol, at, self.lambda(formals, body, place)));
        }
        for (i, field) in spec.fields.iter().enumerate() {
            let index = Value::fixnum(i as i64);
            if let Some((symbol, at)) = field.accessor {
                let who = self.who(symbol, place);
                let body = self.call(self.k.record_ref, &[object, type_ref, index, who], nowhere);
                let formals = self.list_at(&[object], place);
                made.push((symbol, at, self.lambda(formals, body, place)));
            }
            if let Some((symbol, at)) = field.modifier {
                let who = self.who(symbol, place);
                let body = self.call(self.k.record_set, &[object, type_ref, index, value, who], nowhere);
                let formals = self.list_at(&[object, value], place);
                made.push((symbol, at, self.lambda(formals, body, place)));
            }
        }
        made
    }

    fn who(&mut self, symbol: Symbol, place: SpanId) -> Value {
        let name = self.heap.symbols.base_of(symbol);
        self.quoted(Value::symbol(name), place)
    }
}
