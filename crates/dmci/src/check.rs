//! Checking without running: syntax, names and argument counts.

use crate::interpreter::{self, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use crate::suggest;
use dmci_compile::core::{self, Core, Expr};
use dmci_syntax::expand::nesting_depth;
use dmci_value::{Diagnostic, Heap, Origin, Place, Symbol};
use dmci_vm::environment::{Environments, USER};
use dmci_vm::{Vm, deep, prims};
use rustc_hash::FxHashMap;

impl Interpreter {
    /// All diagnostics of a program, without running it.
    pub fn check(&self, program: &Program, options: &RunOptions) -> Report {
        let mut vm = match self.machine(options) {
            Ok(vm) => vm,
            Err(report) => return report,
        };
        let diagnostics = match static_errors(&mut vm, program, options) {
            Ok(list) | Err(list) => list,
        };
        let report = Report::new(diagnostics, vm.world.heap.sources.clone());
        self.recycle(vm);
        report
    }
}

fn static_errors(vm: &mut Vm, program: &Program, options: &RunOptions) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let forms = interpreter::read(vm, program, Origin::User)?;
    let expansion = interpreter::expand_in(vm, forms, USER)?;
    let heap = &mut vm.world.heap;
    let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
    let core = deep::with_stack_for(depth, || core::parse(heap, &expansion.forms)).map_err(|e| vec![*e])?;
    let given = interpreter::given_names(vm, options);
    let mut errors = Names::new(vm, &core, &given).check(&vm.world.heap);
    suggest::add_help(vm, program, &mut errors);
    errors.sort_by_key(|d| d.span());
    Ok(errors)
}

/// The names that a program uses and that nothing binds; none if it has other errors, too. What names it is given can
/// only take errors away.
pub(crate) fn unbound(vm: &Vm, core: &Core) -> Option<Vec<String>> {
    let names = Names::new(vm, core, &[]);
    let globals = core.exprs.iter().filter_map(|expr| if let Expr::Global(s) = expr { Some(*s) } else { None });
    let unbound: Vec<Symbol> = globals.filter(|&s| names.is_unbound(s)).collect();
    let heap = &vm.world.heap;
    let all = names.check(heap).len() == unbound.len();
    all.then(|| unbound.into_iter().map(|s| heap.symbols.name(s).to_string()).collect())
}

/// What is known of the program's global names.
struct Names<'a> {
    core: &'a Core,
    /// Parameters of procedures that are defined once and never assigned.
    procedures: FxHashMap<Symbol, Option<(usize, bool)>>,
    environments: &'a Environments,
}

impl<'a> Names<'a> {
    fn new(vm: &'a Vm, core: &'a Core, given: &[Symbol]) -> Self {
        let mut procedures: FxHashMap<Symbol, Option<(usize, bool)>> = given.iter().map(|&s| (s, None)).collect();
        for expr in &core.exprs {
            match expr {
                Expr::Define(s, value) => {
                    let arity = match &core.exprs[value.0 as usize] {
                        Expr::Lambda(id) => {
                            let lambda = &core.lambdas[id.0 as usize];
                            Some((lambda.params.len() - lambda.rest as usize, lambda.rest))
                        }
                        _ => None,
                    };
                    procedures.entry(*s).and_modify(|a| *a = None).or_insert(arity);
                }
                Expr::SetGlobal(s, _) => {
                    procedures.entry(*s).and_modify(|a| *a = None);
                }
                _ => {}
            }
        }
        Names { core, procedures, environments: &vm.world.environments }
    }

    fn is_unbound(&self, name: Symbol) -> bool {
        !self.procedures.contains_key(&name) && self.environments.system_cell(name).is_none()
    }

    fn check(&self, heap: &Heap) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for (i, expr) in self.core.exprs.iter().enumerate() {
            let place = self.core.places[i];
            match expr {
                Expr::Global(s) if self.is_unbound(*s) => {
                    let error = prims::unbound_variable(heap.symbols.name(*s));
                    errors.push(at(heap, error, Place::car(place)));
                }
                Expr::SetGlobal(s, _) if !self.procedures.contains_key(s) => {
                    let error = prims::undefined_variable(heap.symbols.name(*s));
                    errors.push(at(heap, error, Place::form(place)));
                }
                Expr::Call(f, args) => {
                    if let Expr::Global(s) = &self.core.exprs[f.0 as usize]
                        && let Some((name, min, max)) = self.arity(heap, *s)
                        && (args.len() < min || max.is_some_and(|m| args.len() > m))
                    {
                        let error = prims::wrong_arity(&name, min, max, args.len());
                        errors.push(at(heap, error, Place::form(place)));
                    }
                }
                _ => {}
            }
        }
        errors
    }

    fn arity(&self, heap: &Heap, s: Symbol) -> Option<(String, usize, Option<usize>)> {
        let name = heap.symbols.name(s);
        if let Some(user) = self.procedures.get(&s) {
            return user.map(|(n, rest)| (name.to_string(), n, (!rest).then_some(n)));
        }
        let p = prims::named(name)?;
        Some((name.to_string(), p.min as usize, p.max.map(usize::from)))
    }
}

fn at(heap: &Heap, error: dmci_value::Error, place: Place) -> Diagnostic {
    match heap.span_of(place) {
        Some(span) => *error.at(span),
        None => *error,
    }
}
