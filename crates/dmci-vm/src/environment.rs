//! Global environments: names to cells. The system's is shared and fixed; every other one sees it
//! through cells of its own, so that a program's definitions never reach the library.

use dmci_syntax::expand::SyntaxTable;
use dmci_value::{Heap, Symbol, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Index of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentId(pub u32);

/// The environment of the user's program.
pub const USER: EnvironmentId = EnvironmentId(0);

/// One environment.
#[derive(Debug, Clone)]
pub struct Environment {
    cells: FxHashMap<Symbol, Value>,
    /// Macros and shadowed keywords.
    pub syntax: SyntaxTable,
}

impl Environment {
    /// Its names and cells.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (Symbol, Value)> + '_ {
        self.cells.iter().map(|(&name, &cell)| (name, cell))
    }
}

/// All environments of an evaluation.
#[derive(Debug)]
pub struct Environments {
    system: Arc<FxHashMap<Symbol, Value>>,
    syntax: SyntaxTable,
    list: Vec<Environment>,
}

impl Environments {
    /// The user's environment over the given system.
    pub fn new(system: Arc<FxHashMap<Symbol, Value>>, syntax: SyntaxTable) -> Self {
        let mut environments = Environments { system, syntax, list: Vec::new() };
        environments.add();
        environments
    }

    /// A fresh environment.
    pub fn add(&mut self) -> EnvironmentId {
        self.list.push(Environment { cells: FxHashMap::default(), syntax: self.syntax.clone() });
        EnvironmentId(self.list.len() as u32 - 1)
    }

    /// Forgets everything but an empty user environment.
    pub fn reset(&mut self) {
        self.list.truncate(1);
        self.list[0].cells.clear();
        self.list[0].syntax = self.syntax.clone();
    }

    /// The environment with this number.
    pub fn get_mut(&mut self, id: EnvironmentId) -> Option<&mut Environment> {
        self.list.get_mut(id.0 as usize)
    }

    /// The system's cell of a name.
    pub fn system_cell(&self, name: Symbol) -> Option<Value> {
        self.system.get(&name).copied()
    }

    /// The cell of a name; a new one starts with the system's value, or without any.
    pub fn cell(&mut self, heap: &mut Heap, id: EnvironmentId, name: Symbol) -> Value {
        let system = self.system.get(&name).copied();
        let environment = &mut self.list[id.0 as usize];
        *environment.cells.entry(name).or_insert_with(|| {
            let value = system.and_then(|c| c.as_object()).map_or(Value::UNBOUND, |c| heap.field(c, 0));
            heap.cell(value, name)
        })
    }

    /// Names that have a value: the system's, and the user's.
    pub fn bound_names(&self, heap: &Heap) -> Vec<Symbol> {
        let mut names: Vec<Symbol> = self.system.keys().copied().collect();
        for environment in &self.list {
            names.extend(environment.cells.iter().filter_map(|(&name, &cell)| {
                let r = cell.as_object()?;
                (heap.field(r, 0) != Value::UNBOUND).then_some(name)
            }));
        }
        names
    }

    /// Visits every value that a collection must keep.
    pub fn roots(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        for environment in &mut self.list {
            environment.cells.values_mut().for_each(&mut *visit);
            environment.syntax.roots(visit);
        }
    }
}
