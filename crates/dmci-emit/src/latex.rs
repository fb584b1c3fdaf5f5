//! LaTeX: formulas, with a line for every number that is used more than once, and cases for decisions.

use crate::lines::{Lines, quoted};
use crate::scalar::{Code, Repeat, Scalar};
use crate::spelling::fill;
use crate::{Route, Routes, Signature};
use dmci::Report;
use dmci_ops::{Binding, Op};

/// How tightly a formula holds together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Bind {
    Sum,
    Product,
    Atom,
}

/// A formula.
#[derive(Clone)]
struct Formula(String, Bind);

impl Formula {
    fn atom(text: impl Into<String>) -> Formula {
        Formula(text.into(), Bind::Atom)
    }

    /// The formula where something at least as tight is wanted.
    fn at(&self, least: Bind) -> String {
        if self.1 >= least { self.0.clone() } else { format!(r"\left({}\right)", self.0) }
    }
}

/// What is true whatever the numbers are: checks that only a machine needs.
const TRUE: &str = r"\top";

/// Letters for the states of loops, and for their rounds: the first that no name has.
const STATES: [&str; 8] = ["s", "r", "q", "p", "u", "w", "z", "y"];
const ROUNDS: [&str; 6] = ["n", "m", "j", "k", "l", "i"];

/// Formulas in an `align*` environment.
pub fn source(routes: &Routes, signature: &Signature) -> Result<String, Report> {
    let mut lines = Lines::default();
    lines.line(format!("% {}: formulas, exported by dmci.", quoted(&signature.name)));
    lines.line(r"\begin{align*}");
    let names: Vec<String> = signature.params.iter().chain(&signature.inputs).map(|n| symbol(n)).collect();
    let many = routes.list.len() > 1;
    let mut rows = Vec::new();
    for (i, route) in routes.list.iter().enumerate() {
        rows.extend(path(i, route, &names, signature.outputs, many));
    }
    let last = rows.len();
    for (i, row) in rows.into_iter().enumerate() {
        lines.line(format!("{row}{}", if i + 1 < last { r" \\" } else { "" }));
    }
    lines.line(r"\end{align*}");
    Ok(lines.text())
}

/// Greek letters by their names.
const GREEK: [&str; 30] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Sigma",
    "Phi", "Omega",
];

/// A name as a symbol: Greek letters, indices behind `_`, behind a letter and digits, and behind a point; other names
/// are upright.
fn symbol(name: &str) -> String {
    let (stem, index) = name.split_once('.').unwrap_or((name, ""));
    let (first, rest) = stem.split_once('_').unwrap_or((stem, ""));
    let digits = first.len() - first.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (letters, number) = first.split_at(first.len() - digits);
    // x2 has an index, and so has beta2; H2O has none, and rate2 is a word.
    let has_index = digits > 0 && (letters.chars().count() == 1 || GREEK.contains(&letters));
    let (head, number) = if has_index { (letters, number) } else { (first, "") };
    // A name that begins or ends with _ is written as it is.
    if head.is_empty() || stem.ends_with('_') {
        let upright = upright(stem);
        return if index.is_empty() { upright } else { format!("{upright}_{{{}}}", index.replace('.', ",")) };
    }
    let words = rest.split('_').filter(|word| !word.is_empty()).map(word);
    let of_point = index.split('.').filter(|part| !part.is_empty()).map(str::to_string);
    let indices: Vec<String> =
        Some(number.to_string()).filter(|n| !n.is_empty()).into_iter().chain(words).chain(of_point).collect();
    let head = word(head);
    if indices.is_empty() { head } else { format!("{head}_{{{}}}", indices.join(",")) }
}

/// A word of a name: a letter, a Greek letter, a number, or upright.
fn word(text: &str) -> String {
    if GREEK.contains(&text) {
        return format!("\\{text}");
    }
    let is_plain = text.chars().count() == 1 || text.chars().all(|c| c.is_ascii_digit());
    if is_plain { escaped(text) } else { upright(text) }
}

fn upright(text: &str) -> String {
    format!(r"\mathrm{{{}}}", escaped(text).replace('-', r"\text{-}"))
}

fn escaped(text: &str) -> String {
    text.chars().map(|c| if "_#$%&{}".contains(c) { format!("\\{c}") } else { c.to_string() }).collect()
}

/// The rows of a path.
struct Rows<'a> {
    rows: Vec<String>,
    /// Names that are taken.
    taken: &'a [String],
    /// Loops so far, and how deep they are nested.
    loops: usize,
    depth: usize,
    /// What holds where loops have ended.
    known: Vec<String>,
    /// No value gets a row of its own.
    inline: bool,
}

impl Rows<'_> {
    /// The first letter that is free for a loop.
    fn letter(&self, letters: &[&str], number: usize) -> String {
        let is_taken = |letter: &str| self.taken.iter().any(|name| name.split('_').next() == Some(letter));
        let free: Vec<&str> = letters.iter().copied().filter(|letter| !is_taken(letter)).collect();
        match free.get(number) {
            Some(letter) => letter.to_string(),
            None => format!(r"{}_{{{number}}}", letters[0]),
        }
    }

    /// The formulas of all values. Long ones, and those that are used often, get rows of their own; `round` is behind
    /// their names inside of a loop.
    fn formulas(&mut self, code: &Code, leaves: &[Formula], prefix: &str, round: &str) -> Vec<Formula> {
        let mut uses = code.uses();
        for node in &code.nodes {
            // Checks that are not written use nothing.
            if let Scalar::Op(Op::IntFits | Op::IntMulFits, args) = node {
                args.iter().for_each(|&a| uses[a] = uses[a].saturating_sub(1));
            }
        }
        let mut formulas: Vec<Formula> = Vec::with_capacity(code.nodes.len());
        let mut ends: Vec<Vec<Formula>> = vec![Vec::new(); code.nodes.len()];
        for (i, node) in code.nodes.iter().enumerate() {
            let made = match node {
                Scalar::Leaf(n) => leaves[*n].clone(),
                Scalar::Real(x) => number_formula(*x),
                Scalar::Int(x) => number_formula(*x as f64),
                Scalar::Op(op, args) => {
                    let args: Vec<&Formula> = args.iter().map(|&a| &formulas[a]).collect();
                    formula(*op, &args)
                }
                Scalar::Loop(repeat) => {
                    let operands: Vec<Formula> = repeat.operands.iter().map(|&o| formulas[o].clone()).collect();
                    ends[i] = self.repeat(repeat, operands);
                    Formula::atom(TRUE)
                }
                Scalar::Out(of, state) => ends[*of].get(*state).cloned().unwrap_or_else(|| Formula::atom(r"\bot")),
            };
            let long = made.0.len() > 400;
            let often = uses[i] > 1 && made.0.len() > 12;
            if !self.inline && matches!(node, Scalar::Op(..)) && (often || long) && is_number(code, i) {
                let name = format!("v{round}_{{{prefix}{i}}}");
                self.rows.push(format!("{name} &= {}", made.0));
                formulas.push(Formula::atom(name));
            } else {
                formulas.push(made);
            }
        }
        formulas
    }

    /// A loop as a recurrence: where its states begin, what a round makes of them, and how many rounds there are. The
    /// states at the end, and the number of rounds.
    fn repeat(&mut self, repeat: &Repeat, operands: Vec<Formula>) -> Vec<Formula> {
        let number = self.loops;
        self.loops += 1;
        let (state, index) = (self.letter(&STATES, number), self.letter(&ROUNDS, self.depth));
        let rounds = format!("{}_{{{}}}", index.to_uppercase(), number + 1);
        let at = |s: usize, place: &str| match repeat.states {
            1 => format!("{state}^{{({place})}}"),
            _ => format!("{state}^{{({place})}}_{{{}}}", s + 1),
        };
        let (begin, shared) = operands.split_at(repeat.states.min(operands.len()));
        let leaves = |counted: &[Option<Formula>]| -> Vec<Formula> {
            let own = (0..repeat.states).map(|s| counted[s].clone().unwrap_or_else(|| Formula::atom(at(s, &index))));
            own.chain(shared.iter().cloned()).collect()
        };
        // A state that counts rounds is its first value and the number of the round.
        let none = vec![None; repeat.states];
        let (kept, loops, inline) = (self.rows.len(), self.loops, self.inline);
        self.depth += 1;
        self.inline = true;
        let tried = self.formulas(&repeat.body, &leaves(&none), "", "");
        self.inline = inline;
        self.rows.truncate(kept);
        self.loops = loops;
        let counted: Vec<Option<Formula>> = (0..repeat.states)
            .map(|s| {
                let (next, own) = (&tried[repeat.body.outputs[s]].0, at(s, &index));
                if *next == format!("{own} + 1") {
                    return Some(match begin[s].0.as_str() {
                        "0" => Formula::atom(index.clone()),
                        first => Formula(format!("{first} + {index}"), Bind::Sum),
                    });
                }
                (*next == format!("{own} - 1")).then(|| Formula(format!("{} - {index}", begin[s].0), Bind::Sum))
            })
            .collect();
        let superscript = format!("^{{({index})}}");
        for s in (0..repeat.states).filter(|&s| counted[s].is_none()) {
            self.rows.push(format!("{} &= {}", at(s, "0"), begin[s].0));
        }
        let body = self.formulas(&repeat.body, &leaves(&counted), &format!("{},", number + 1), &superscript);
        self.depth -= 1;
        for s in (0..repeat.states).filter(|&s| counted[s].is_none()) {
            self.rows.push(format!("{} &= {}", at(s, &format!("{index} + 1")), body[repeat.body.outputs[s]].0));
        }
        let stops: Vec<String> = repeat.body.guards.iter().filter_map(|g| condition(&body[g.0].0, !g.1)).collect();
        let over = if stops.is_empty() { r"\bot".to_string() } else { stops.join(r" \vee ") };
        self.rows.push(format!(r"{rounds} &= \min\left\{{{index} \ge 0 : {over}\right\}}"));
        self.known.push(renamed(&over, &index, &rounds));
        let at_end = |s: usize| match &counted[s] {
            None => Formula::atom(at(s, &rounds)),
            Some(Formula(text, bind)) => Formula(renamed(text, &index, &rounds), *bind),
        };
        (0..repeat.states).map(at_end).chain([Formula::atom(rounds.clone())]).collect()
    }
}

/// A text with another name for a letter, wherever that is a name of its own.
fn renamed(text: &str, letter: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(letter) {
        let (before, behind) = (&rest[..at], &rest[at + letter.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || c == '\\';
        let goes_on = before.ends_with(is_part) || before.is_empty() && out.ends_with(is_part);
        let own = !goes_on && !behind.starts_with(char::is_alphanumeric);
        out += before;
        out += if own { name } else { letter };
        rest = behind;
    }
    out + rest
}

/// A test that must have an outcome; none if it always has it.
fn condition(test: &str, outcome: bool) -> Option<String> {
    match (test == TRUE, outcome) {
        (true, _) => None,
        (false, true) => Some(test.to_string()),
        (false, false) => Some(negated(test)),
    }
}

/// The opposite of a test.
fn negated(test: &str) -> String {
    const PAIRS: [(&str, &str); 6] = [
        (" < ", r" \ge "),
        (" > ", r" \le "),
        (r" \le ", " > "),
        (r" \ge ", " < "),
        (" = ", r" \ne "),
        (r" \ne ", " = "),
    ];
    let found: Vec<&(&str, &str)> = PAIRS.iter().filter(|(sign, _)| test.contains(sign)).collect();
    match found[..] {
        [(sign, opposite)]
            if test.matches(sign).count() == 1 && !test.contains(r"\wedge") && !test.contains("cases") =>
        {
            test.replacen(sign, opposite, 1)
        }
        _ => format!(r"\neg\left({test}\right)"),
    }
}

fn path(number: usize, route: &Route, leaves: &[String], outputs: usize, many: bool) -> Vec<String> {
    let code = &route.code;
    let mut rows = Rows { rows: Vec::new(), taken: leaves, loops: 0, depth: 0, known: Vec::new(), inline: false };
    let own: Vec<Formula> = leaves.iter().map(Formula::atom).collect();
    let prefix = if many { format!("{number},") } else { String::new() };
    let formulas = rows.formulas(code, &own, &prefix, "");
    let Rows { mut rows, known, .. } = rows;
    // Tests that always hold decide nothing, and neither do those that a loop ends with.
    let holds = |test: &String| !known.contains(test);
    let all: Vec<Option<String>> = code.guards.iter().map(|g| condition(&formulas[g.0].0, g.1).filter(holds)).collect();
    let joined = |list: Vec<String>| list.join(r" \wedge ");
    for o in 0..outputs {
        let name = match (outputs, many) {
            (1, false) => "f".to_string(),
            (1, true) => format!("f_{{{number}}}"),
            (_, false) => format!("f^{{({})}}", o + 1),
            (_, true) => format!("f_{{{number}}}^{{({})}}", o + 1),
        };
        let value = if route.failure.is_some() { r"\bot".into() } else { formulas[code.outputs[o]].0.clone() };
        let must: Vec<String> = all.iter().flatten().cloned().collect();
        if must.is_empty() {
            rows.push(format!("{name} &= {value}"));
            continue;
        }
        let mut cases = vec![format!(r"{value} & \text{{if }} {}", joined(must))];
        for (guard, next) in &route.next {
            let g = *guard as usize;
            let opposite = condition(&formulas[code.guards[g].0].0, !code.guards[g].1);
            let Some(opposite) = opposite.filter(|_| all[g].is_some()) else { continue };
            let before: Vec<String> = all[..g].iter().flatten().cloned().chain([opposite]).collect();
            let there = if outputs == 1 { format!("f_{{{next}}}") } else { format!("f_{{{next}}}^{{({})}}", o + 1) };
            cases.push(format!(r"{there} & \text{{if }} {}", joined(before)));
        }
        cases.push(r"\text{unknown} & \text{otherwise}".into());
        rows.push(format!(r"{name} &= \begin{{cases}} {} \end{{cases}}", cases.join(r" \\ ")));
    }
    rows
}

fn is_number(code: &Code, i: usize) -> bool {
    code.types[i] != dmci_ops::Type::Bool
}

fn number_formula(x: f64) -> Formula {
    if x.is_nan() {
        return Formula::atom(r"\mathrm{NaN}");
    }
    if x.is_infinite() {
        return Formula(
            if x > 0.0 { r"\infty" } else { r"-\infty" }.into(),
            if x > 0.0 { Bind::Atom } else { Bind::Sum },
        );
    }
    let text = format!("{x}");
    let text = if text.len() > 17 { format!("{x:e}") } else { text };
    let bind = if x < 0.0 { Bind::Sum } else { Bind::Atom };
    match text.split_once('e') {
        Some((digits, power)) => {
            Formula(format!(r"{digits} \cdot 10^{{{power}}}"), if x < 0.0 { Bind::Sum } else { Bind::Product })
        }
        None => Formula(text, bind),
    }
}

fn formula(op: Op, args: &[&Formula]) -> Formula {
    // Whether integers fit into a word matters to machines only.
    match op {
        Op::IntFits | Op::IntMulFits => return Formula::atom(TRUE),
        Op::And if args[0].0 == TRUE => return args[1].clone(),
        Op::And if args[1].0 == TRUE => return args[0].clone(),
        _ => {}
    }
    let spelling = op.spelling();
    let mut bind = match spelling.binding {
        Binding::Sum => Bind::Sum,
        Binding::Product => Bind::Product,
        Binding::Atom => Bind::Atom,
        Binding::Operand => args[0].1,
    };
    let text = fill(spelling.latex, |mark, i| {
        let x = args[i];
        let is_negative = x.0.starts_with('-');
        match mark {
            Some('*') => x.at(Bind::Product),
            Some('^') => x.at(Bind::Atom),
            Some('+') if is_negative => x.at(Bind::Product),
            // A negative number in front needs no parentheses of its own.
            Some('-') if is_negative && !x.0.contains(' ') => {
                bind = Bind::Sum;
                x.0.clone()
            }
            Some('-') => x.at(Bind::Product),
            _ => x.0.clone(),
        }
    });
    // Operations on integers are called as those on reals are.
    Formula(text.replace(r"\operatorname{int-", r"\operatorname{"), bind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_symbols() {
        let pairs = [
            ("k", "k"),
            ("alpha", "\\alpha"),
            ("beta2", "\\beta_{2}"),
            ("x_0", "x_{0}"),
            ("k_in", "k_{\\mathrm{in}}"),
            ("sigma_y", "\\sigma_{y}"),
            ("w.0", "w_{0}"),
            ("rate", "\\mathrm{rate}"),
            ("H2O", "\\mathrm{H2O}"),
            ("drop-rate", "\\mathrm{drop\\text{-}rate}"),
            ("_a", "\\mathrm{\\_a}"),
        ];
        for (name, expected) in pairs {
            assert_eq!(symbol(name), expected, "{name}");
        }
    }

    #[test]
    fn letters_are_renamed_where_they_are_names() {
        assert_eq!(
            renamed(r"n + 1 \ge \mathrm{in} + s^{(n)}", "n", "N_{1}"),
            r"N_{1} + 1 \ge \mathrm{in} + s^{(N_{1})}"
        );
    }

    #[test]
    fn tests_have_opposites() {
        assert_eq!(negated("a < b"), r"a \ge b");
        assert_eq!(negated(r"a \le b"), "a > b");
        assert_eq!(negated(r"a < b \wedge c < d"), r"\neg\left(a < b \wedge c < d\right)");
    }
}
