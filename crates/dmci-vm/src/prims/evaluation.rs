//! What `crates/dmci/scheme/eval.scm` is built on: the expander, global environments, frames and places.

use super::{Control, Primitive, at_least, between, fixed, unbound_variable, undefined_variable, unset_variable};
use crate::environment::{EnvironmentId, USER};
use crate::world::{NAMED, World};
use dmci_syntax::expand;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, Place, Ref, Value};
use rustc_hash::FxHashSet;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    // (%note datum): the datum is being evaluated in the current frame. Compiled code has an instruction for it.
    Primitive { control: Some(Control::Note), ..fixed("%note", 1, |_, _| Ok(Value::UNSPECIFIED)) },
    fixed("%expand-program", 2, |w, a| expand(w, a, true)),
    fixed("%expand", 2, |w, a| expand(w, a, false)),
    fixed("%global", 2, |w, a| {
        let environment = w.environment(a[1])?;
        let Some(name) = a[0].as_symbol() else { return Err(w.wrong_type("%global", "a symbol", a[0])) };
        let name = w.heap.symbols.base_of(name);
        Ok(w.environments.cell(&mut w.heap, environment, name))
    }),
    fixed("%global-ref", 2, |w, a| {
        let cell = w.cell(a[0])?;
        let value = w.heap.field(cell, 0);
        if value == Value::UNBOUND {
            return Err(w.at_variable(a[1], unbound_variable));
        }
        Ok(value)
    }),
    fixed("%global-set!", 3, |w, a| {
        let cell = w.cell(a[0])?;
        if w.heap.field(cell, 0) == Value::UNBOUND {
            let name = w.heap.field(cell, 1).as_symbol();
            let name = name.map_or(String::new(), |s| w.heap.symbols.name(s).to_string());
            w.error_place = w.heap.user_place(a[2]).map(Place::form);
            return Err(undefined_variable(&name));
        }
        w.heap.store(cell, 0, a[1]);
        Ok(Value::UNSPECIFIED)
    }),
    fixed("%global-define!", 2, |w, a| {
        let cell = w.cell(a[0])?;
        w.heap.store(cell, 0, a[1]);
        Ok(Value::UNSPECIFIED)
    }),
    // (%unset n): a frame slot without a value; (%unset? v) tells.
    fixed("%unset", 0, |_, _| Ok(Value::UNBOUND)),
    fixed("%unset?", 1, |_, a| Ok(Value::boolean(a[0] == Value::UNBOUND))),
    fixed("%unset-variable", 1, |w, a| Err(w.at_variable(a[0], unset_variable))),
    // (%frame parent required args): a frame of `required` variables and one for the rest.
    fixed("%frame", 4, frame),
    // (%named name required rest? procedure): the procedure under another name and arity.
    fixed("%named", 4, named),
    at_least("%case-lambda", 0, |w, a| {
        let mut fields = vec![Value::packed(0)];
        fields.extend_from_slice(a);
        Ok(w.heap.alloc(Kind::Closure, &fields))
    }),
    between("interaction-environment", 0, 0, |w, _| Ok(environment_object(w, USER))),
    between("system-global-environment", 0, 0, |w, _| Ok(environment_object(w, USER))),
    between("scheme-report-environment", 0, 1, |w, _| Ok(fresh_environment(w))),
    between("null-environment", 0, 1, |w, _| Ok(fresh_environment(w))),
    at_least("environment", 0, |w, _| Ok(fresh_environment(w))),
    fixed("environment?", 1, |w, a| Ok(Value::boolean(w.heap.as_kind(a[0], Kind::Environment).is_some()))),
];

/// The environment object with this number.
pub fn environment_object(world: &mut World, id: EnvironmentId) -> Value {
    world.heap.alloc(Kind::Environment, &[Value::fixnum(id.0.into())])
}

fn fresh_environment(world: &mut World) -> Value {
    let id = world.environments.add();
    // Environments live outside the words of the heap.
    world.heap.charge_outside(1024);
    environment_object(world, id)
}

impl World {
    fn environment(&self, v: Value) -> Result<EnvironmentId, Error> {
        let r = self.object("eval", "an environment", Kind::Environment, v)?;
        Ok(EnvironmentId(self.heap.field(r, 0).as_fixnum().unwrap_or(0) as u32))
    }

    fn cell(&self, v: Value) -> Result<Ref, Error> {
        self.object("eval", "a variable", Kind::Cell, v)
    }

    /// An error about the variable that is the car of `pair`.
    fn at_variable(&mut self, pair: Value, error: fn(&str) -> Error) -> Error {
        self.error_place = self.heap.user_place(pair).map(Place::car);
        let name = self.heap.car(pair).and_then(Value::as_symbol);
        error(name.map_or("?", |s| self.heap.symbols.name(self.heap.symbols.base_of(s))))
    }
}

fn expand(world: &mut World, args: &[Value], program: bool) -> Result<Value, Error> {
    let environment = world.environment(args[1])?;
    let World { heap, environments, syntax_errors, .. } = world;
    let Some(environment) = environments.get_mut(environment) else {
        return Err(Diagnostic::error(ErrorCode::E9901, "an environment is missing"));
    };
    let table = &mut environment.syntax;
    let expansion =
        if program { expand::expand_program(heap, table, args[0]) } else { expand::expand_form(heap, table, args[0]) };
    match expansion {
        Ok(expansion) => {
            let forms = heap.list(&expansion.forms);
            for v in expansion.compared {
                world.pin(v)?;
            }
            Ok(forms)
        }
        Err(errors) => {
            let first = errors.first().cloned();
            *syntax_errors = errors;
            if world.recording.is_some() {
                // The message may show any number of the form.
                world.note_operands(&traced_inside(&world.heap, args[0]));
            }
            Err(Box::new(first.unwrap_or_else(|| *Diagnostic::error(ErrorCode::E0201, "a form is malformed"))))
        }
    }
}

/// The traced numbers inside of a form.
fn traced_inside(heap: &Heap, form: Value) -> Vec<Value> {
    let (mut found, mut seen, mut todo) = (Vec::new(), FxHashSet::default(), vec![form]);
    while let Some(v) = todo.pop() {
        if v.is_traced() {
            found.push(v);
        } else if let Some(r) = v.as_ref()
            && matches!(heap.kind(r), Kind::Pair | Kind::Vector)
            && seen.insert(r)
        {
            todo.extend(heap.fields(r).rev());
        }
    }
    found
}

fn frame(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let required = world.index("%frame", args[1])?;
    let mut fields = vec![args[0]];
    let mut rest = args[3];
    for _ in 0..required {
        let Some((car, cdr)) = world.heap.uncons(rest) else { break };
        fields.push(car);
        rest = cdr;
    }
    if args[2].is_true() {
        fields.push(rest);
    }
    Ok(world.heap.vector(&fields))
}

fn named(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let r = world.object("%named", "a procedure", Kind::Closure, args[3])?;
    let arity = (world.index("%named", args[1])? as u64) << 1 | args[2].is_true() as u64;
    let mut fields: Vec<Value> = world.heap.fields(r).collect();
    fields[0] = Value::packed(fields[0].packed_bits() | NAMED);
    fields.extend([args[0], Value::packed(arity)]);
    Ok(world.heap.alloc(Kind::Closure, &fields))
}
