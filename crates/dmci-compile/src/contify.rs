//! Which local procedures are loops: those that are only ever called, always with the same
//! continuation, become labels inside the function that contains them.

use crate::anf::{Anf, Atom, Block, End, Rhs, Stmt};
use crate::core::{LambdaId, Var};
use dmci_value::SpanId;
use rustc_hash::{FxHashMap, FxHashSet};

/// How a group of procedures is entered from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By tail calls from the rest of its block.
    Tail,
    /// By one call whose value the rest of the block uses.
    Value,
}

/// The loops of a program: each lambda that is a label, with the entry of its group.
pub type Loops = FxHashMap<LambdaId, Entry>;

/// Finds the loops, innermost first.
pub fn find(anf: &Anf) -> Loops {
    let mut finder = Finder { anf, loops: Loops::default() };
    finder.block(&anf.main);
    finder.loops
}

struct Finder<'a> {
    anf: &'a Anf,
    loops: Loops,
}

/// Calls of a group from outside its own bodies.
#[derive(Default)]
struct Uses {
    other: bool,
    tail_calls: usize,
    value_calls: usize,
}

impl<'a> Finder<'a> {
    fn block(&mut self, block: &'a Block) {
        // Later statements first, so that loops inside the rest are known.
        match &block.end {
            End::If(_, a, b) => {
                self.block(a);
                self.block(b);
            }
            End::Return(_) | End::TailCall(..) => {}
        }
        for (i, stmt) in block.stmts.iter().enumerate().rev() {
            match stmt {
                Stmt::Bind { rhs: Rhs::If(_, a, b), .. } => {
                    self.block(a);
                    self.block(b);
                }
                Stmt::Bind { rhs: Rhs::Lambda(id), .. } => self.block(&self.anf.lambdas[id.0 as usize].body),
                Stmt::Fix(group) => {
                    for (_, id) in group {
                        self.block(&self.anf.lambdas[id.0 as usize].body);
                    }
                    if let Some(entry) = self.entry(group, &block.stmts[i + 1..], &block.end) {
                        self.loops.extend(group.iter().map(|(_, id)| (*id, entry)));
                    }
                }
                _ => {}
            }
        }
    }

    fn entry(&self, group: &[(Var, LambdaId)], rest: &'a [Stmt], end: &'a End) -> Option<Entry> {
        let mut arity = FxHashMap::default();
        for (var, id) in group {
            let lambda = &self.anf.lambdas[id.0 as usize];
            // A body without a place reports errors at its caller, so it needs a frame of its own.
            let placeless = matches!(lambda.body.end, End::TailCall(_, _, SpanId(0)));
            if lambda.rest || placeless {
                return None;
            }
            arity.insert(*var, lambda.params.len());
        }
        let mut inside = Uses::default();
        for (_, id) in group {
            let body = &self.anf.lambdas[id.0 as usize].body;
            self.scan(&body.stmts, &body.end, &arity, true, false, &mut inside);
            if inside.other || inside.value_calls > 0 {
                return None;
            }
        }
        let mut outside = Uses::default();
        self.scan(rest, end, &arity, true, true, &mut outside);
        match outside {
            Uses { other: true, .. } => None,
            Uses { tail_calls: 0, value_calls: 1, .. } => Some(Entry::Value),
            Uses { value_calls: 0, .. } => Some(Entry::Tail),
            _ => None,
        }
    }

    /// Counts uses of the group. `tail`: the end of these statements is the end of the context;
    /// `level`: these statements are the ones after the group's own.
    fn scan(
        &self,
        stmts: &'a [Stmt],
        end: &'a End,
        group: &FxHashMap<Var, usize>,
        tail: bool,
        level: bool,
        uses: &mut Uses,
    ) {
        let is_use = |a: &Atom| matches!(a, Atom::Var(v) if group.contains_key(v));
        let any_use = |list: &[Atom]| list.iter().any(is_use);
        let good_call = |f: &Atom, args: &[Atom]| matches!(f, Atom::Var(v) if group.get(v) == Some(&args.len()));
        for stmt in stmts {
            match stmt {
                Stmt::Bind { rhs, .. } => match rhs {
                    Rhs::Atom(a) | Rhs::SetLocal(_, a) | Rhs::SetGlobal(_, a) | Rhs::Define(_, a) => {
                        uses.other |= is_use(a);
                    }
                    Rhs::Read(_) | Rhs::Global(_) => {}
                    Rhs::CaseLambda(list) => uses.other |= any_use(list),
                    Rhs::Lambda(id) => uses.other |= self.mentions(*id, group),
                    Rhs::Call(f, args) => {
                        uses.other |= any_use(args);
                        if is_use(f) {
                            if level && good_call(f, args) {
                                uses.value_calls += 1;
                            } else {
                                uses.other = true;
                            }
                        }
                    }
                    Rhs::If(test, a, b) => {
                        uses.other |= is_use(test);
                        self.scan(&a.stmts, &a.end, group, false, false, uses);
                        self.scan(&b.stmts, &b.end, group, false, false, uses);
                    }
                },
                Stmt::Fix(inner) => {
                    for (_, id) in inner {
                        match self.loops.get(id) {
                            Some(Entry::Tail) => {
                                let body = &self.anf.lambdas[id.0 as usize].body;
                                self.scan(&body.stmts, &body.end, group, tail, false, uses);
                            }
                            Some(Entry::Value) => {
                                let body = &self.anf.lambdas[id.0 as usize].body;
                                self.scan(&body.stmts, &body.end, group, false, false, uses);
                            }
                            None => uses.other |= self.mentions(*id, group),
                        }
                    }
                }
                Stmt::Declare(_) => {}
                Stmt::Init { value, .. } => uses.other |= is_use(value),
            }
            if uses.other {
                return;
            }
        }
        match end {
            End::Return(a) => uses.other |= is_use(a),
            End::TailCall(f, args, _) => {
                uses.other |= any_use(args);
                if is_use(f) {
                    if tail && good_call(f, args) {
                        uses.tail_calls += 1;
                    } else {
                        uses.other = true;
                    }
                }
            }
            End::If(test, a, b) => {
                uses.other |= is_use(test);
                self.scan(&a.stmts, &a.end, group, tail, false, uses);
                self.scan(&b.stmts, &b.end, group, tail, false, uses);
            }
        }
    }

    /// Whether a lambda mentions the group at all.
    fn mentions(&self, id: LambdaId, group: &FxHashMap<Var, usize>) -> bool {
        let mut seen = FxHashSet::default();
        free_vars(self.anf, id, &mut seen);
        group.keys().any(|v| seen.contains(v))
    }
}

/// All variables that a lambda's body mentions (bound ones too: names are unique).
pub fn free_vars(anf: &Anf, id: LambdaId, seen: &mut FxHashSet<Var>) {
    let mut blocks = vec![&anf.lambdas[id.0 as usize].body];
    while let Some(block) = blocks.pop() {
        let mut note = |a: &Atom| {
            if let Atom::Var(v) = a {
                seen.insert(*v);
            }
        };
        let mut lambdas = Vec::new();
        for stmt in &block.stmts {
            match stmt {
                Stmt::Bind { rhs, .. } => match rhs {
                    Rhs::Atom(a) | Rhs::SetGlobal(_, a) | Rhs::Define(_, a) => note(a),
                    Rhs::SetLocal(v, a) => {
                        note(&Atom::Var(*v));
                        note(a);
                    }
                    Rhs::Read(v) => note(&Atom::Var(*v)),
                    Rhs::Global(_) => {}
                    Rhs::CaseLambda(list) => list.iter().for_each(&mut note),
                    Rhs::Lambda(id) => lambdas.push(*id),
                    Rhs::Call(f, args) => {
                        note(f);
                        args.iter().for_each(&mut note);
                    }
                    Rhs::If(test, a, b) => {
                        note(test);
                        blocks.extend([&**a, &**b]);
                    }
                },
                Stmt::Fix(group) => lambdas.extend(group.iter().map(|g| g.1)),
                Stmt::Declare(_) => {}
                Stmt::Init { var, value } => {
                    note(&Atom::Var(*var));
                    note(value);
                }
            }
        }
        match &block.end {
            End::Return(a) => note(a),
            End::TailCall(f, args, _) => {
                note(f);
                args.iter().for_each(&mut note);
            }
            End::If(test, a, b) => {
                note(test);
                blocks.extend([&**a, &**b]);
            }
        }
        blocks.extend(lambdas.into_iter().map(|id| &anf.lambdas[id.0 as usize].body));
    }
}
