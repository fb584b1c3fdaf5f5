//! Making a round repeatable: in a gradient, each round must contribute just as it would alone.
//!
//! A number of the next state that is made in the round, or moves on from the state, is its own. One that
//! was selected may also be another number of the state, or a value from outside (a limit that was
//! reached, the best so far): what it contributes belongs to that one, in the order in which it comes. So
//! it is not carried itself: the booleans and the arms that it is selected from are, and it is selected
//! again at the start of the next round.

use crate::recorder::Recorder;
use crate::tape::{Guard, Node, NodeId, Tape};
use dmci_ops::{Build, Op, Shape, Type};
use rustc_hash::FxHashMap;

/// Selections inside of selections ...
const DEEPEST: usize = 32;

/// Selections that a number of the first state may come through.
const MOST_SELECTIONS: usize = 256;

/// What a number is, from the state and from outside.
#[derive(Clone, Debug)]
enum Expr {
    State(usize),
    Shared(usize),
    Constant(NodeId),
    Select(usize, Box<Expr>, Box<Expr>),
}

/// A round that can be repeated.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The round.
    pub body: Tape,
    /// The state to begin with.
    pub first: Vec<NodeId>,
    /// The values from outside.
    pub shared: Vec<NodeId>,
    /// What each number of the state that was cut is now.
    numbers: Vec<Expr>,
    /// The constants that these mention are the round's that was cut.
    constants: FxHashMap<NodeId, Node>,
}

/// A number that is carried in place of those that are selected.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Extra {
    /// A node of the round.
    Made(NodeId),
    /// A leaf, as it was at the start of the round.
    Old(u32),
}

/// The body of a round, taken apart.
struct Apart<'a> {
    body: &'a Tape,
    states: usize,
    /// The state that each node is the next value of.
    owner: FxHashMap<NodeId, usize>,
    /// The new place of each state that stays.
    kept: Vec<Option<usize>>,
    extras: Vec<Extra>,
    places: FxHashMap<Extra, usize>,
}

impl Recorder {
    /// Makes a round repeatable; `first` is the state to begin with, made from the node `since` on, in the rounds
    /// before: nothing behind the loop knows it by another name. `None` if it is not, from here on.
    pub fn repeat(&mut self, body: Tape, shared: Vec<NodeId>, first: Vec<NodeId>, since: usize) -> Option<Repeat> {
        // Weights that switch terms off would have to be followed from round to round.
        if body.nodes.iter().any(|n| matches!(n, Node::Op(Op::Weigh, _))) {
            return None;
        }
        let states = first.len();
        let repeat = if body.is_repeatable(states) {
            let numbers = (0..states).map(Expr::State).collect();
            Repeat { body, first, shared, numbers, constants: FxHashMap::default() }
        } else {
            self.taken_apart(&body, shared, &first)?
        };
        // A value that begins the state and is needed beside it, or later, has adjoints from both, mixed.
        let mut begins: Vec<NodeId> = Vec::new();
        for &id in &repeat.first {
            let mut own = self.sources(id)?;
            own.sort_unstable();
            own.dedup();
            if own == [id] && (id.0 as usize) < since {
                return None;
            }
            begins.extend(own);
        }
        let count = begins.len();
        begins.sort_unstable();
        begins.dedup();
        let mixed = begins.len() != count || begins.iter().any(|id| repeat.shared.contains(id));
        (!mixed).then_some(repeat)
    }

    /// The values that a real may have been selected from; `None` if there are many.
    fn sources(&self, id: NodeId) -> Option<Vec<NodeId>> {
        let (mut todo, mut sources, mut selections) = (vec![id], Vec::new(), 0);
        while let Some(id) = todo.pop() {
            match self.tape.nodes[id.0 as usize] {
                Node::Op(Op::Select, [_, yes, no]) => {
                    selections += 1;
                    todo.extend([yes, no]);
                }
                _ if self.tape.type_of(id) == Type::Real && !self.tape.is_constant(id) => sources.push(id),
                _ => {}
            }
            if selections > MOST_SELECTIONS {
                return None;
            }
        }
        Some(sources)
    }

    fn taken_apart(&mut self, body: &Tape, shared: Vec<NodeId>, first: &[NodeId]) -> Option<Repeat> {
        let states = first.len();
        let mut apart = Apart::new(body, states);
        let mut numbers = Vec::with_capacity(states);
        for j in 0..states {
            numbers.push(match apart.kept[j] {
                Some(place) => Expr::State(place),
                None => apart.expression(body.outputs[j], 0)?,
            });
        }
        let new = apart.body(self.fresh(), &numbers);
        if !new.is_repeatable(new.outputs.len()) {
            return None;
        }
        let mut begin: Vec<Option<NodeId>> = vec![None; new.outputs.len()];
        (0..states).for_each(|j| {
            if let Some(place) = apart.kept[j] {
                begin[place] = Some(first[j]);
            }
        });
        for j in (0..states).filter(|&j| apart.kept[j].is_none()) {
            let mut found = begin.clone();
            if self.matches(body, &numbers[j], first[j], &shared, &mut found) {
                begin = found;
            } else {
                self.begin_with(&numbers[j], first[j], &shared, &mut begin)?;
            }
        }
        let begin = begin.into_iter().zip(&new.leaves).map(|(id, leaf)| match (id, leaf.ty) {
            (Some(id), _) => id,
            (None, Type::Bool) => self.boolean(false),
            (None, _) => self.zeros(leaf.shape),
        });
        let first = begin.collect();
        let constants = (0..body.nodes.len()).map(|i| (NodeId(i as u32), body.nodes[i]));
        let constants = constants.filter(|c| matches!(c.1, Node::Real(_) | Node::Int(_))).collect();
        Some(Repeat { body: new, first, shared, numbers, constants })
    }

    /// Whether a value outside is selected in just this way; the state to begin with is then its parts.
    fn matches(
        &self,
        body: &Tape,
        expr: &Expr,
        value: NodeId,
        shared: &[NodeId],
        begin: &mut [Option<NodeId>],
    ) -> bool {
        let node = self.tape.nodes[value.0 as usize];
        let mut set = |place: usize, id: NodeId| *begin[place].get_or_insert(id) == id;
        match (expr, node) {
            (Expr::State(place), _) => set(*place, value),
            (Expr::Shared(n), _) => shared[*n] == value,
            (Expr::Constant(id), node) => body.nodes[id.0 as usize] == node,
            (Expr::Select(test, yes, no), Node::Op(Op::Select, [b, y, n])) => {
                set(*test, b) && self.matches(body, yes, y, shared, begin) && self.matches(body, no, n, shared, begin)
            }
            (Expr::Select(..), _) => false,
        }
    }

    /// Begins with a value that is not selected in this way: the first arm that can hold it does.
    fn begin_with(
        &mut self,
        expr: &Expr,
        value: NodeId,
        shared: &[NodeId],
        begin: &mut [Option<NodeId>],
    ) -> Option<()> {
        // Its own arms must not be what the state or the round knows by another name.
        let mut todo = vec![value];
        while let Some(id) = todo.pop() {
            if shared.contains(&id) || begin.contains(&Some(id)) {
                return None;
            }
            if let Node::Op(Op::Select, [_, yes, no]) = self.tape.nodes[id.0 as usize] {
                todo.extend([yes, no]);
            }
        }
        let mut at = expr;
        loop {
            match at {
                Expr::State(place) => {
                    return begin[*place].replace(value).is_none().then_some(());
                }
                Expr::Shared(_) | Expr::Constant(_) => return None,
                Expr::Select(test, yes, no) => {
                    let first = holds(yes, begin);
                    if !first && !holds(no, begin) {
                        return None;
                    }
                    let test_value = self.boolean(first);
                    if begin[*test].replace(test_value).is_some() {
                        return None;
                    }
                    at = if first { yes } else { no };
                }
            }
        }
    }

    /// A number of the state that was cut, at the end of the loop.
    pub fn end_of(&mut self, repeat: &Repeat, of: NodeId, number: usize) -> NodeId {
        self.expression_node(&repeat.numbers[number], repeat, of)
    }

    fn expression_node(&mut self, expr: &Expr, repeat: &Repeat, of: NodeId) -> NodeId {
        match expr {
            Expr::State(place) => self.out(of, *place),
            Expr::Shared(n) => repeat.shared[*n],
            Expr::Constant(id) => match repeat.constants.get(id) {
                Some(Node::Real(bits)) => self.real(f64::from_bits(*bits)),
                _ => self.real(f64::NAN),
            },
            Expr::Select(test, yes, no) => {
                let yes = self.expression_node(yes, repeat, of);
                let no = self.expression_node(no, repeat, of);
                let test = self.out(of, *test);
                self.op(Op::Select, &[test, yes, no])
            }
        }
    }
}

/// Whether an arm is a part of the state that nothing begins yet.
fn holds(expr: &Expr, begin: &[Option<NodeId>]) -> bool {
    match expr {
        Expr::State(place) => begin[*place].is_none(),
        Expr::Select(_, yes, no) => holds(yes, begin) || holds(no, begin),
        _ => false,
    }
}

impl<'a> Apart<'a> {
    fn new(body: &'a Tape, states: usize) -> Self {
        let selected = |id: NodeId| matches!(body.nodes[id.0 as usize], Node::Op(Op::Select, _));
        let mut owner = FxHashMap::default();
        let mut kept = Vec::with_capacity(states);
        let mut places = 0;
        for (j, &output) in body.outputs[..states].iter().enumerate() {
            let stays = !selected(output);
            kept.push(stays.then_some(places));
            places += stays as usize;
            if stays {
                owner.entry(output).or_insert(j);
            }
        }
        Apart { body, states, owner, kept, extras: Vec::new(), places: FxHashMap::default() }
    }

    fn kept_count(&self) -> usize {
        self.kept.iter().flatten().count()
    }

    fn extra(&mut self, extra: Extra) -> usize {
        let next = self.kept_count() + self.extras.len();
        let place = *self.places.entry(extra).or_insert(next);
        if place == next {
            self.extras.push(extra);
        }
        place
    }

    fn expression(&mut self, id: NodeId, depth: usize) -> Option<Expr> {
        if depth > DEEPEST {
            return None;
        }
        Some(match self.body.nodes[id.0 as usize] {
            Node::Op(Op::Select, [test, yes, no]) => {
                let test = self.extra(Extra::Made(test));
                let (yes, no) = (self.expression(yes, depth + 1)?, self.expression(no, depth + 1)?);
                Expr::Select(test, yes.into(), no.into())
            }
            Node::Real(_) => Expr::Constant(id),
            Node::Constant(_) => return None,
            Node::Leaf(n) if n as usize >= self.states => Expr::Shared(n as usize - self.states),
            Node::Leaf(n) => Expr::State(self.extra(Extra::Old(n))),
            _ => match self.owner.get(&id).and_then(|&j| self.kept[j]) {
                Some(place) => Expr::State(place),
                None => Expr::State(self.extra(Extra::Made(id))),
            },
        })
    }

    /// The round with the new state.
    fn body(&self, mut r: Recorder, numbers: &[Expr]) -> Tape {
        let old = self.body;
        let mut states: Vec<(Type, Shape)> = Vec::new();
        for j in (0..self.states).filter(|&j| self.kept[j].is_some()) {
            states.push((old.leaves[j].ty, old.leaves[j].shape));
        }
        for extra in &self.extras {
            states.push(match *extra {
                Extra::Made(id) => (old.type_of(id), old.shape(id)),
                Extra::Old(n) => (Type::Real, old.leaves[n as usize].shape),
            });
        }
        let state: Vec<NodeId> = states.iter().map(|&(ty, shape)| r.local(ty, shape, &[])).collect();
        let shared = old.leaves[self.states..].iter().map(|leaf| (leaf.ty, leaf.shape));
        let shared: Vec<NodeId> = shared.map(|(ty, shape)| r.local(ty, shape, &[])).collect();
        let mut leaves: Vec<NodeId> = numbers.iter().map(|e| node(&mut r, old, e, &state, &shared)).collect();
        leaves.extend(&shared);
        let ids = r.append(old, &leaves);
        let kept = (0..self.states).filter(|&j| self.kept[j].is_some());
        let mut outputs: Vec<NodeId> = kept.map(|j| ids[old.outputs[j].0 as usize]).collect();
        outputs.extend(self.extras.iter().map(|extra| match *extra {
            Extra::Made(id) => ids[id.0 as usize],
            Extra::Old(n) => leaves[n as usize],
        }));
        let guards = old.guards.iter().map(|g| Guard { node: ids[g.node.0 as usize], ..*g });
        Tape { outputs, guards: guards.collect(), ..r.tape }
    }
}

/// A number at the start of a round.
fn node(r: &mut Recorder, old: &Tape, expr: &Expr, state: &[NodeId], shared: &[NodeId]) -> NodeId {
    match expr {
        Expr::State(place) => state[*place],
        Expr::Shared(n) => shared[*n],
        Expr::Constant(id) => match old.nodes[id.0 as usize] {
            Node::Real(bits) => r.real(f64::from_bits(bits)),
            _ => r.real(f64::NAN),
        },
        Expr::Select(test, yes, no) => {
            let (yes, no) = (node(r, old, yes, state, shared), node(r, old, no, state, shared));
            r.op(Op::Select, &[state[*test], yes, no])
        }
    }
}

impl Tape {
    /// Whether each round of this body, with so many numbers in its state, contributes to a gradient
    /// just as it would alone: numbers of the next state are made in the round or move on from the
    /// state, and no two of them are the same.
    fn is_repeatable(&self, states: usize) -> bool {
        let mut taken = vec![false; self.nodes.len()];
        let mut todo: Vec<NodeId> = self.outputs.clone();
        while let Some(id) = todo.pop() {
            let i = id.0 as usize;
            match self.nodes[i] {
                _ if self.type_of(id) != Type::Real => continue,
                Node::Real(_) | Node::Constant(_) => continue,
                Node::Leaf(n) if n as usize >= states => return false,
                Node::Op(Op::Select, [_, yes, no]) => {
                    todo.extend([yes, no]);
                    continue;
                }
                _ => {}
            }
            if std::mem::replace(&mut taken[i], true) {
                return false;
            }
        }
        true
    }
}
