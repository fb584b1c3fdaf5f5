//! Normal forms by equality saturation: the smallest expression that the rewrite rules reach, within bounds on e-nodes and
//! iterations. The rules are data (`rules.txt`); one with a condition is applied where the signs of its operands are
//! known to allow it, on the rows that a search or a comparison has.

use crate::expr::{Expr, Node};
use crate::normal::canonical;
use crate::operation::Operation;
use egg::{
    Analysis, Condition, ConditionalApplier, CostFunction, DidMerge, EGraph, Extractor, FromOp, Id, Language, Pattern,
    RecExpr, Rewrite, Runner, Subst,
};
use std::sync::OnceLock;
use std::time::Duration;

/// Bounds of a saturation. They are counted, so the result is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// E-nodes at which it stops.
    pub nodes: usize,
    /// Rounds of all rules.
    pub iterations: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { nodes: 4_000, iterations: 12 }
    }
}

/// What a number may be: negative, zero, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs(u8);

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 4;

impl Signs {
    /// Anything.
    pub const ANY: Signs = Signs(NEGATIVE | ZERO | POSITIVE);

    /// The signs in a column.
    pub fn of(column: &[f64]) -> Signs {
        column.iter().fold(Signs(0), |s, x| Signs(s.0 | Signs::one(*x)))
    }

    fn one(x: f64) -> u8 {
        match x.partial_cmp(&0.0) {
            Some(std::cmp::Ordering::Less) => NEGATIVE,
            Some(std::cmp::Ordering::Equal) => ZERO,
            Some(std::cmp::Ordering::Greater) => POSITIVE,
            None => Signs::ANY.0,
        }
    }

    /// Whether a number has one of them.
    pub fn allow(self, x: f64) -> bool {
        Signs(Signs::one(x)).within(self.0)
    }

    /// These and others.
    pub fn or(self, other: Signs) -> Signs {
        Signs(self.0 | other.0)
    }

    fn within(self, allowed: u8) -> bool {
        self.0 & !allowed == 0
    }

    /// The signs that an operation can make of these: each pair by itself.
    fn join(self, other: Signs, of: impl Fn(u8, u8) -> u8) -> Signs {
        let bits = [NEGATIVE, ZERO, POSITIVE];
        let pairs = bits.iter().flat_map(|a| bits.iter().map(move |b| (*a, *b)));
        Signs(pairs.filter(|(a, b)| self.0 & a != 0 && other.0 & b != 0).fold(0, |s, (a, b)| s | of(a, b)))
    }

    fn negated(self) -> Signs {
        self.join(Signs(ZERO), |a, _| flipped(a))
    }
}

fn flipped(sign: u8) -> u8 {
    match sign {
        NEGATIVE => POSITIVE,
        POSITIVE => NEGATIVE,
        other => other,
    }
}

/// A node of an e-graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Term {
    Int(i64),
    Var(u16),
    Param(u16),
    One(Operation, [Id; 1]),
    Two(Operation, [Id; 2]),
}

impl Language for Term {
    type Discriminant = (u8, i64);

    fn discriminant(&self) -> (u8, i64) {
        match self {
            Term::Int(i) => (0, *i),
            Term::Var(v) => (1, i64::from(*v)),
            Term::Param(p) => (2, i64::from(*p)),
            Term::One(o, _) => (3, *o as i64),
            Term::Two(o, _) => (4, *o as i64),
        }
    }

    fn matches(&self, other: &Term) -> bool {
        self.discriminant() == other.discriminant()
    }

    fn children(&self) -> &[Id] {
        match self {
            Term::One(_, list) => list,
            Term::Two(_, list) => list,
            _ => &[],
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Term::One(_, list) => list,
            Term::Two(_, list) => list,
            _ => &mut [],
        }
    }
}

/// For patterns of rules.
impl FromOp for Term {
    type Error = String;

    fn from_op(op: &str, children: Vec<Id>) -> Result<Term, String> {
        match &children[..] {
            [] => op.parse().map(Term::Int).map_err(|_| format!("{op} is not a whole number")),
            [a] => Operation::find(op, 1).map(|o| Term::One(o, [*a])).ok_or_else(|| format!("no operation {op}")),
            [a, b] => {
                Operation::find(op, 2).map(|o| Term::Two(o, [*a, *b])).ok_or_else(|| format!("no operation {op}"))
            }
            _ => Err(format!("{op} has too many operands")),
        }
    }
}

/// What is known of a class: its signs, and its value if it is a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    signs: Signs,
    whole: Option<i64>,
}

/// Whole numbers beyond this are not computed.
const LARGEST_WHOLE: i64 = 1000;

/// The signs of the inputs.
#[derive(Clone, Debug, Default)]
struct Domain {
    inputs: Vec<Signs>,
}

impl Analysis<Term> for Domain {
    type Data = Fact;

    fn make(graph: &mut EGraph<Term, Self>, node: &Term, _: Id) -> Fact {
        let of = |id: &Id| graph[*id].data;
        let anything = |signs: Signs| Fact { signs, whole: None };
        match node {
            Term::Int(i) => Fact { signs: Signs(Signs::one(*i as f64)), whole: Some(*i) },
            Term::Var(v) => anything(graph.analysis.inputs.get(usize::from(*v)).copied().unwrap_or(Signs::ANY)),
            Term::Param(_) => anything(Signs::ANY),
            Term::One(operation, [a]) => {
                let a = of(a);
                let whole = if *operation == Operation::Neg { a.whole.map(|i| -i) } else { None };
                Fact { signs: signs_of_one(*operation, a.signs), whole }
            }
            Term::Two(operation, [a, b]) => {
                let (a, b) = (of(a), of(b));
                let computed = a.whole.zip(b.whole).and_then(|(x, y)| match operation {
                    Operation::Add => Some(x + y),
                    Operation::Sub => Some(x - y),
                    Operation::Mul => Some(x * y),
                    Operation::Div if y != 0 && x % y == 0 => Some(x / y),
                    _ => None,
                });
                let whole = computed.filter(|i| i.abs() <= LARGEST_WHOLE);
                Fact { signs: signs_of_two(*operation, a.signs, b.signs), whole }
            }
        }
    }

    fn merge(&mut self, a: &mut Fact, b: Fact) -> DidMerge {
        let before = *a;
        // What is one and the other is both; rounding may leave nothing, which is no knowledge.
        let both = a.signs.0 & b.signs.0;
        a.signs = Signs(if both == 0 { Signs::ANY.0 } else { both });
        a.whole = a.whole.or(b.whole);
        DidMerge(*a != before, *a != b)
    }

    fn modify(graph: &mut EGraph<Term, Self>, id: Id) {
        if let Some(i) = graph[id].data.whole {
            let number = graph.add(Term::Int(i));
            graph.union(id, number);
        }
    }
}

fn signs_of_one(operation: Operation, a: Signs) -> Signs {
    use Operation as O;
    match operation {
        O::Neg => a.negated(),
        O::Sqrt | O::Square => Signs(if a.within(POSITIVE) { POSITIVE } else { ZERO | POSITIVE }),
        O::Abs => Signs(if a.within(NEGATIVE | POSITIVE) { POSITIVE } else { ZERO | POSITIVE }),
        O::Exp | O::Cosh | O::Sigmoid | O::Softplus => Signs(POSITIVE),
        O::Cube | O::Cbrt | O::Atan | O::Sinh | O::Tanh | O::Erf | O::Log1p | O::Expm1 | O::Asin => a,
        O::Acos => Signs(ZERO | POSITIVE),
        _ => Signs::ANY,
    }
}

fn signs_of_two(operation: Operation, a: Signs, b: Signs) -> Signs {
    use Operation as O;
    let sum = |x: u8, y: u8| match (x, y) {
        (ZERO, other) | (other, ZERO) => other,
        (x, y) if x == y => x,
        _ => Signs::ANY.0,
    };
    let product = |x: u8, y: u8| match (x, y) {
        (ZERO, _) | (_, ZERO) => ZERO,
        (x, y) if x == y => POSITIVE,
        _ => NEGATIVE,
    };
    match operation {
        O::Add => a.join(b, sum),
        O::Sub => a.join(b, |x, y| sum(x, flipped(y))),
        O::Mul => a.join(b, product),
        O::Div => a.join(b, |x, y| if y == ZERO { Signs::ANY.0 } else { product(x, y) }),
        // The bits are in the order of the signs.
        O::Min => a.join(b, u8::min),
        O::Max => a.join(b, u8::max),
        O::Pow if a.within(POSITIVE) => Signs(POSITIVE),
        _ => Signs::ANY,
    }
}

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it is called: the line.
    pub line: String,
    /// A pattern with variables such as `?a`.
    pub left: String,
    /// What describes the same function.
    pub right: String,
    /// Whether it is applied from right to left, too.
    pub both: bool,
    /// Variables, and the signs that they may have.
    pub needs: Vec<(String, Signs)>,
}

fn parse(line: &str) -> Option<Rule> {
    let (sides, conditions) = line.split_once(" if ").unwrap_or((line, ""));
    let both = sides.contains(" <=> ");
    let (left, right) = sides.split_once(if both { " <=> " } else { " => " })?;
    let need = |text: &str| {
        let (name, sign) = text.trim().split_once(' ')?;
        let signs = match sign {
            "> 0" => POSITIVE,
            ">= 0" => ZERO | POSITIVE,
            "<= 0" => ZERO | NEGATIVE,
            "!= 0" => NEGATIVE | POSITIVE,
            _ => return None,
        };
        Some((name.to_string(), Signs(signs)))
    };
    let needs = conditions.split(',').filter(|c| !c.is_empty()).map(need).collect::<Option<Vec<_>>>()?;
    Some(Rule { line: line.into(), left: left.trim().into(), right: right.trim().into(), both, needs })
}

/// All rules.
pub fn rules() -> Vec<Rule> {
    let lines = include_str!("rules.txt").lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.filter_map(parse).collect()
}

#[derive(Clone, Debug)]
struct Needs(Vec<(egg::Var, Signs)>);

impl Condition<Term, Domain> for Needs {
    fn check(&self, graph: &mut EGraph<Term, Domain>, _: Id, found: &Subst) -> bool {
        self.0.iter().all(|(var, signs)| graph[found[*var]].data.signs.within(signs.0))
    }

    fn vars(&self) -> Vec<egg::Var> {
        self.0.iter().map(|n| n.0).collect()
    }
}

fn rewrite(rule: &Rule, from: &str, to: &str, name: String) -> Option<Rewrite<Term, Domain>> {
    let (searcher, applier) = (from.parse::<Pattern<Term>>().ok()?, to.parse::<Pattern<Term>>().ok()?);
    let needs = rule.needs.iter().map(|(v, s)| Some((v.parse().ok()?, *s))).collect::<Option<Vec<_>>>()?;
    Rewrite::new(name, searcher, ConditionalApplier { condition: Needs(needs), applier }).ok()
}

fn rewrites() -> &'static [Rewrite<Term, Domain>] {
    static MADE: OnceLock<Vec<Rewrite<Term, Domain>>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut list = Vec::new();
        for rule in rules() {
            list.extend(rewrite(&rule, &rule.left, &rule.right, rule.line.clone()));
            if rule.both {
                list.extend(rewrite(&rule, &rule.right, &rule.left, format!("{} (backwards)", rule.line)));
            }
        }
        list
    })
}

/// Fewer nodes first; of as many the one with the smaller number, which depends on what the expression is alone.
struct Smallest;

impl CostFunction<Term> for Smallest {
    type Cost = (usize, u64);

    fn cost<C: FnMut(Id) -> (usize, u64)>(&mut self, node: &Term, mut costs: C) -> (usize, u64) {
        let (kind, own) = node.discriminant();
        let mix = |hash: u64, word: u64| {
            let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        };
        // A difference is simpler than a function.
        let size = match node {
            Term::One(operation, _) if *operation != Operation::Neg => 3,
            Term::Two(Operation::Pow, _) => 3,
            _ => 2,
        };
        let begin = (size, mix(mix(0x51, u64::from(kind)), own as u64));
        node.children().iter().fold(begin, |(size, hash), id| {
            let (inner, number) = costs(*id);
            (size.saturating_add(inner), mix(hash, number))
        })
    }
}

/// An expression as nodes of an e-graph: squares and cubes are products there.
fn inserted(expr: &Expr) -> RecExpr<Term> {
    let mut out = RecExpr::default();
    let mut stack: Vec<Id> = Vec::new();
    for node in expr.nodes.iter().rev() {
        let term = match *node {
            Node::Int(i) => Term::Int(i.into()),
            Node::Var(v) => Term::Var(v),
            Node::Param(p) => Term::Param(p),
            Node::Op(operation) => {
                let a = stack.pop().expect("prefix order has the operands");
                match operation {
                    Operation::Square => Term::Two(Operation::Mul, [a, a]),
                    Operation::Cube => {
                        let square = out.add(Term::Two(Operation::Mul, [a, a]));
                        Term::Two(Operation::Mul, [a, square])
                    }
                    _ if operation.arity() == 2 => {
                        let b = stack.pop().expect("prefix order has the operands");
                        Term::Two(operation, [a, b])
                    }
                    _ => Term::One(operation, [a]),
                }
            }
        };
        stack.push(out.add(term));
    }
    out
}

fn extracted(found: &RecExpr<Term>) -> Expr {
    let (mut nodes, mut todo) = (Vec::new(), vec![found.root()]);
    while let Some(id) = todo.pop() {
        nodes.push(match &found[id] {
            Term::Int(i) => Node::Int(*i as i16),
            Term::Var(v) => Node::Var(*v),
            Term::Param(p) => Node::Param(*p),
            Term::One(o, _) | Term::Two(o, _) => Node::Op(*o),
        });
        todo.extend(found[id].children().iter().rev());
    }
    Expr { nodes }
}

/// The normal form of an expression on inputs of these signs, with values for its parameters: the canonical form of the
/// smallest expression that the rules reach.
pub fn normal(expr: &Expr, values: &[f64], inputs: &[Signs], bounds: Bounds) -> (Expr, Vec<f64>) {
    let (mut form, mut values) = canonical(expr, values);
    // A smaller form may let parameters merge, and merged parameters allow a smaller form.
    for _ in 0..ROUNDS {
        let domain = Domain { inputs: inputs.to_vec() };
        let runner = Runner::<Term, Domain, ()>::new(domain)
            .with_node_limit(bounds.nodes)
            .with_iter_limit(bounds.iterations)
            // Counted bounds end it, not the clock.
            .with_time_limit(Duration::MAX)
            .with_expr(&inserted(&form))
            .run(rewrites());
        let (_, best) = Extractor::new(&runner.egraph, Smallest).find_best(runner.roots[0]);
        let (next, carried) = canonical(&extracted(&best), &values);
        let done = next == form || next.complexity() > form.complexity();
        if done {
            break;
        }
        (form, values) = (next, carried);
    }
    (form, values)
}

/// Saturations of one normal form.
const ROUNDS: usize = 3;
