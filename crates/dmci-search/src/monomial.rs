//! Monomials: products of powers of inputs, with a function of an input or of a difference of inputs as a factor.

use crate::data::Part;
use crate::expr::{Expr, Node};
use crate::operation::{Operation, Operations};

/// A function of an input, or of the difference of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// `sin`, `cos`, or none: the difference itself.
    function: Option<Operation>,
    /// 1 minus the function.
    complement: bool,
    first: usize,
    second: Option<usize>,
}

/// A product of powers of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Monomial {
    /// The exponent of each input, doubled, so that roots are whole numbers.
    pub doubled: Vec<i8>,
    /// A further factor.
    pub atom: Option<Atom>,
}

/// What a factor makes of a monomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// m itself.
    Plain,
    /// 1 + m.
    OnePlus,
    /// exp m - 1.
    ExpMinusOne,
    /// 1 + exp m.
    OnePlusExp,
    /// sin m.
    Sin,
    /// cos m.
    Cos,
    /// exp m.
    Exp,
    /// log m.
    Log,
}

impl Shape {
    /// Its value.
    pub fn of(self, m: f64) -> f64 {
        use dmci_ops::real::{cos, exp, log, sin};
        match self {
            Shape::Plain => m,
            Shape::OnePlus => 1.0 + m,
            Shape::ExpMinusOne => exp(m) - 1.0,
            Shape::OnePlusExp => 1.0 + exp(m),
            Shape::Sin => sin(m),
            Shape::Cos => cos(m),
            Shape::Exp => exp(m),
            Shape::Log => log(m),
        }
    }

    /// The operation that it needs.
    pub fn operation(self) -> Option<Operation> {
        match self {
            Shape::Plain => None,
            Shape::OnePlus => Some(Operation::Add),
            Shape::ExpMinusOne | Shape::OnePlusExp | Shape::Exp => Some(Operation::Exp),
            Shape::Sin => Some(Operation::Sin),
            Shape::Cos => Some(Operation::Cos),
            Shape::Log => Some(Operation::Log),
        }
    }
}

impl Atom {
    /// Whether it is a difference, without a function around it.
    pub fn is_difference(&self) -> bool {
        self.function.is_none()
    }

    /// The function around it as a factor, if there is one.
    pub fn as_factor(&self) -> Option<Shape> {
        match self.function {
            Some(Operation::Sin) if !self.complement => Some(Shape::Sin),
            Some(Operation::Cos) if !self.complement => Some(Shape::Cos),
            _ => None,
        }
    }

    fn value(&self, part: &Part, row: usize) -> f64 {
        let x = part.columns[self.first][row] - self.second.map_or(0.0, |s| part.columns[s][row]);
        let value = self.function.and_then(Operation::op).map_or(x, |op| op.eval_reals(&[x]));
        if self.complement { 1.0 - value } else { value }
    }

    fn expr(&self) -> Expr {
        let input = |v: usize| Expr::leaf(Node::Var(v as u16));
        let inner = match self.second {
            Some(s) => Expr::apply(Operation::Sub, &[&input(self.first), &input(s)]),
            None => input(self.first),
        };
        let value = self.function.map_or(inner.clone(), |f| Expr::apply(f, &[&inner]));
        if self.complement { Expr::apply(Operation::Sub, &[&Expr::leaf(Node::Int(1)), &value]) } else { value }
    }
}

impl Monomial {
    /// 1.
    pub fn one(inputs: usize) -> Monomial {
        Monomial { doubled: vec![0; inputs], atom: None }
    }

    /// The argument of the function of its atom, as a monomial.
    pub fn inside(&self) -> Monomial {
        let atom = self.atom.as_ref().map(|a| Atom { function: None, complement: false, ..a.clone() });
        Monomial { doubled: self.doubled.clone(), atom }
    }

    /// The sum of its exponents, each without its sign.
    pub fn degree(&self) -> usize {
        self.doubled.iter().map(|e| e.unsigned_abs() as usize).sum::<usize>() / 2
    }

    /// About as many nodes as its expression has.
    pub fn complexity(&self) -> usize {
        let powers: usize =
            self.doubled.iter().map(|e| (e.unsigned_abs() as usize).div_ceil(2) + usize::from(e % 2 != 0)).sum();
        2 * powers
            + self.atom.as_ref().map_or(0, |a| 2 + 2 * usize::from(a.second.is_some()) + 2 * usize::from(a.complement))
    }

    /// Whether no input has an exponent beyond 1.
    pub fn is_simple(&self) -> bool {
        self.doubled.iter().all(|e| e.abs() <= 2)
    }

    /// Whether its first exponent is above 0: of a monomial and its inverse, one is.
    pub fn is_positive(&self) -> bool {
        self.doubled.iter().find(|e| **e != 0).is_some_and(|e| *e > 0)
    }

    /// Its values.
    pub fn column(&self, part: &Part) -> Vec<f64> {
        let mut list: Vec<f64> = match &self.atom {
            Some(atom) => (0..part.len()).map(|r| atom.value(part, r)).collect(),
            None => vec![1.0; part.len()],
        };
        for (column, &e) in part.columns.iter().zip(&self.doubled).filter(|(_, e)| **e != 0) {
            for (value, x) in list.iter_mut().zip(column) {
                let power = (0..e.abs() / 2).map(|_| *x).product::<f64>();
                let power = if e % 2 == 0 { power } else { power * dmci_ops::real::sqrt(*x) };
                *value = if e > 0 { *value * power } else { *value / power };
            }
        }
        list
    }

    /// Its expression.
    pub fn expr(&self) -> Expr {
        let inputs = self.doubled.iter().enumerate();
        let mut factors: Vec<(Expr, f64)> =
            inputs.map(|(v, e)| (Expr::leaf(Node::Var(v as u16)), f64::from(*e) / 2.0)).collect();
        factors.extend(self.atom.as_ref().map(|a| (a.expr(), 1.0)));
        product(&factors)
    }
}

/// A product of expressions to powers that are multiples of a half: roots are in one root.
pub fn product(factors: &[(Expr, f64)]) -> Expr {
    // Numerator and denominator, outside and inside of the root.
    let mut parts: [Option<Expr>; 4] = [None, None, None, None];
    for (expr, power) in factors.iter().filter(|f| f.1 != 0.0) {
        let below = usize::from(*power < 0.0);
        let size = power.abs();
        let mut times = |at: usize, expr: &Expr| {
            parts[at] = Some(match parts[at].take() {
                Some(so_far) => Expr::apply(Operation::Mul, &[&so_far, expr]),
                None => expr.clone(),
            });
        };
        (0..size as usize).for_each(|_| times(below, expr));
        if size.fract() != 0.0 {
            times(2 + below, expr);
        }
    }
    let one = Expr::leaf(Node::Int(1));
    let divided = |a: Option<&Expr>, b: Option<&Expr>| match (a, b) {
        (a, Some(b)) => Some(Expr::apply(Operation::Div, &[a.unwrap_or(&one), b])),
        (a, None) => a.cloned(),
    };
    let root = divided(parts[2].as_ref(), parts[3].as_ref()).map(|inner| Expr::apply(Operation::Sqrt, &[&inner]));
    let above = match (&parts[0], &root) {
        (Some(a), Some(root)) => Some(Expr::apply(Operation::Mul, &[a, root])),
        (a, root) => a.as_ref().or(root.as_ref()).cloned(),
    };
    divided(above.as_ref(), parts[1].as_ref()).unwrap_or(one)
}

/// Monomials of up to so many inputs, with exponents from -2 to 2 (and 4 if it is alone) up to a degree, the smallest
/// first, up to a number of them, as far as their doubled exponents are wanted.
pub fn monomials(
    part: &Part,
    active: usize,
    degree: usize,
    most: usize,
    is_wanted: &dyn Fn(&[i8]) -> bool,
) -> Vec<Monomial> {
    let inputs = part.columns.len();
    let is_nonzero: Vec<bool> = part.columns.iter().map(|c| c.iter().all(|x| *x != 0.0)).collect();
    let mut list: Vec<Monomial> = Vec::new();
    let mut seen = 0;
    let mut open: Vec<(usize, Vec<i8>)> = vec![(0, vec![0; inputs])];
    while let Some((from, doubled)) = open.pop() {
        let used = doubled.iter().filter(|e| **e != 0).count();
        let sum: usize = doubled.iter().map(|e| e.unsigned_abs() as usize / 2).sum();
        seen += 1;
        if used > 0 && is_wanted(&doubled) {
            list.push(Monomial { doubled: doubled.clone(), atom: None });
        }
        if used == active || list.len() > 20 * most || seen > MOST_SEEN {
            continue;
        }
        for v in from..inputs {
            for e in [1i8, -1, 2, -2, 4] {
                let fits = sum + e.unsigned_abs() as usize <= degree && (e > 0 || is_nonzero[v]);
                if fits {
                    let mut next = doubled.clone();
                    next[v] = 2 * e;
                    open.push((v + 1, next));
                }
            }
        }
    }
    list.sort_by(|a, b| a.degree().cmp(&b.degree()).then_with(|| b.doubled.cmp(&a.doubled)));
    list.truncate(most);
    list
}

/// Products of powers that are looked at, wanted or not.
const MOST_SEEN: usize = 400_000;

/// Roots of inputs, of products and of quotients of two.
pub fn roots(part: &Part) -> Vec<Monomial> {
    let inputs = part.columns.len();
    let positive: Vec<usize> = (0..inputs).filter(|v| part.columns[*v].iter().all(|x| *x > 0.0)).collect();
    let mut list = Vec::new();
    for (i, &a) in positive.iter().enumerate() {
        for e in [1, -1] {
            let mut doubled = vec![0; inputs];
            doubled[a] = e;
            list.push(Monomial { doubled: doubled.clone(), atom: None });
            for &b in &positive[i + 1..] {
                for f in [1, -1] {
                    let mut doubled = doubled.clone();
                    doubled[b] = f;
                    list.push(Monomial { doubled, atom: None });
                }
            }
        }
    }
    list
}

/// Functions of inputs and of differences of two inputs.
pub fn atoms(part: &Part, operations: &Operations) -> Vec<Atom> {
    let inputs = part.columns.len();
    let mut list = Vec::new();
    for first in 0..inputs {
        for second in std::iter::once(None).chain((first + 1..inputs).map(Some)) {
            if second.is_some() && !operations.allows(Operation::Sub) {
                continue;
            }
            for function in [Operation::Sin, Operation::Cos].into_iter().filter(|f| operations.allows(*f)) {
                list.push(Atom { function: Some(function), complement: false, first, second });
                if function == Operation::Cos {
                    list.push(Atom { function: Some(function), complement: true, first, second });
                }
            }
            if second.is_some() {
                list.push(Atom { function: None, complement: false, first, second });
            }
        }
    }
    list
}
