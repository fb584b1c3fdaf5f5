//! Epidemic programs by chance: one recipe of each family, in a model of compartments with holes, changed by the grammar
//! of the search.

use super::contract::without_holes;
use dmci::{Diagnostic, ErrorCode, Program, Report};
use dmci_generate::sexp::{Sexp, parse, text_of};
use dmci_search::candidate::Candidate;
use dmci_search::expr::Expr;
use dmci_search::grammar::Grammar;
use dmci_search::operation::Operations;
use dmci_search::template::{Limits, Template};
use dmci_stats::random::Stream;
use std::collections::BTreeMap;

macro_rules! compartments {
    ($($file:literal $name:literal),*) => {
        /// Models of compartments with holes: their names and texts.
        pub const COMPARTMENTS: [(&str, &str); 7] =
            [$(($name, include_str!(concat!("../../programs/k/zoo/", $file, ".scm")))),*];
    };
}

compartments!(
    "sir" "SIR",
    "seir" "SEIR",
    "seirs" "SEIRS",
    "sirs" "SIRS",
    "seiar" "SEIR with asymptomatic cases",
    "seihr" "SEIR with hospital",
    "seiir" "SEIIR"
);

/// What a hole may hold: recipes with their names and contents.
pub struct Family {
    /// The name of the hole.
    pub hole: &'static str,
    /// The family, for people.
    pub name: &'static str,
    /// Its recipes.
    pub recipes: &'static [(&'static str, &'static str)],
}

/// The four families beside that of compartments. The contents are expressions, so that the grammar can change them.
pub const FAMILIES: [Family; 4] = [
    Family {
        hole: "season",
        name: "seasonal forcing",
        recipes: &[
            ("one harmonic", "(+ 1 (* 0.2 (cos (+ t 0.1))))"),
            ("two harmonics", "(+ 1 (+ (* 0.2 (cos (+ t 0.1))) (* 0.05 (cos (+ (* 2 t) 0.1)))))"),
            ("amplitude and offset", "(+ 0.8 (* 0.4 (square (cos (+ (/ t 2) 0.1)))))"),
            ("seasonal reproduction number", "(exp (* 0.2 (cos (+ t 0.1))))"),
        ],
    },
    Family {
        hole: "observe",
        name: "observation",
        recipes: &[
            ("a share of the infectious", "(* 0.05 I)"),
            ("a share and a baseline", "(+ (* 0.05 I) 0.01)"),
            ("a share for each region", "(* bias (* 0.05 I))"),
            ("a share of new cases", "(* 0.2 new)"),
        ],
    },
    Family {
        hole: "contact",
        name: "coupling of regions",
        recipes: &[
            ("independent regions", "I"),
            ("shared forcing, scaled by region", "(* reach I)"),
            ("mixing with the mean of all regions", "(+ (* 0.9 I) (* 0.1 M))"),
            ("a contact correction of rank 1", "(+ I (* turn M))"),
        ],
    },
    Family {
        hole: "closure",
        name: "closure",
        recipes: &[
            ("none", "1"),
            ("contacts fall with prevalence", "(exp (* -5.0 M))"),
            ("a seasonal factor", "(+ 1 (* 0.1 (sin (+ (* 2 t) 0.1))))"),
        ],
    },
];

/// The states at the start: the same in all regions, or one for each.
const START: [(&str, &str); 2] = [("one for all regions", "i0"), ("one for each region", "(exp i0s)")];

/// Operations of the grammar, and the largest content of a hole.
const OPERATIONS: (&str, usize) = ("+ - * / exp square sqrt min max tanh sin cos", 18);

/// A proposed program.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// Its text.
    pub text: String,
    /// The recipes: compartments, then the families in order.
    pub recipe: [usize; 5],
    /// Whether the grammar changed a hole.
    pub is_changed: bool,
}

/// Draws a recipe: one of each family.
pub fn recipe(stream: &mut Stream) -> [usize; 5] {
    let mut next = |n: usize| stream.below(n);
    let [a, b, c, d] = FAMILIES.each_ref().map(|f| f.recipes.len());
    [next(COMPARTMENTS.len()), next(a), next(b), next(c), next(d)]
}

/// The recipe in words.
pub fn words(recipe: &[usize; 5]) -> String {
    let parts = FAMILIES.iter().zip(&recipe[1..]).map(|(f, &k)| format!("{}: {}", f.name, f.recipes[k].0));
    format!("{}; {}", COMPARTMENTS[recipe[0]].0, parts.collect::<Vec<_>>().join("; "))
}

fn broken(message: String) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E9901, message))
}

/// The models of compartments as seeds of a search.
pub struct Zoo {
    templates: Vec<Template>,
    operations: Operations,
}

impl Zoo {
    /// Reads the seeds.
    pub fn new() -> Result<Zoo, Report> {
        let operations = Operations::parse(OPERATIONS.0).map_err(broken)?;
        let limits = Limits { operations: operations.clone(), size: OPERATIONS.1 };
        let read =
            |(name, text): &(&str, &str)| Template::read(&Program::named(name, text), &[], &limits, &BTreeMap::new());
        Ok(Zoo { templates: COMPARTMENTS.iter().map(read).collect::<Result<_, _>>()?, operations })
    }

    /// The proposal of a number.
    pub fn propose(&self, number: u64) -> Result<Proposed, Report> {
        let mut stream = Stream::new(77, number);
        let recipe = recipe(&mut stream);
        let template = &self.templates[recipe[0]];
        let start = START[stream.below(START.len())].1;
        let mut parts: Vec<(Expr, Vec<f64>)> = Vec::new();
        let mut may_change = Vec::new();
        for (at, hole) in template.holes.iter().enumerate() {
            let family = FAMILIES.iter().position(|f| f.hole == hole.name);
            let content = family.map_or(start, |f| FAMILIES[f].recipes[recipe[1 + f]].1);
            if family.is_some() {
                may_change.push(at);
            }
            let data = Program::new(content).data()?;
            let read = data.first().and_then(|datum| Expr::read_lifting(datum, &hole.arguments, &[]));
            parts.push(read.ok_or_else(|| broken(format!("{content} is no content of the hole {}", hole.name)))?);
        }
        let is_changed = stream.uniform() < 0.6;
        for _ in 0..if is_changed { 1 + stream.below(2) } else { 0 } {
            let at = may_change[stream.below(may_change.len())];
            let inputs = template.holes[at].arguments.len();
            let grammar = Grammar { operations: &self.operations, inputs, size: OPERATIONS.1 };
            let before = Candidate::new(&parts[at].0, &parts[at].1, &self.operations);
            let after = grammar.change(&before, &before, &mut stream);
            parts[at] = (after.expr, after.values);
        }
        let (_, own) = template.parts(&template.candidate(0));
        let program = template.program(&template.filled(0, &parts, &own));
        Ok(Proposed { text: used(&program.text), recipe, is_changed })
    }
}

/// A program without its holes, and without parameters that its body does not mention.
fn used(text: &str) -> String {
    let forms: Vec<Sexp> = parse(text).iter().map(without_holes).collect();
    let is_schema = |f: &Sexp| f.children().first() == Some(&Sexp::atom("params"));
    let body: Vec<&Sexp> = forms.iter().filter(|f| !is_schema(f)).collect();
    let stays = |entry: &Sexp| entry.children().first().is_none_or(|name| body.iter().any(|f| mentions(f, name)));
    let kept = |form: &Sexp| match form {
        Sexp::List(items) if is_schema(form) => Sexp::List(items.iter().filter(|e| stays(e)).cloned().collect()),
        _ => form.clone(),
    };
    text_of(&forms.iter().map(kept).collect::<Vec<_>>())
}

fn mentions(form: &Sexp, name: &Sexp) -> bool {
    form == name || form.children().iter().any(|child| mentions(child, name))
}

#[cfg(test)]
mod tests {
    use super::super::contract::{Stage, check};
    use super::super::data::Seasons;
    use super::super::data::tests::invented;
    use super::*;

    /// Most recipes as they are pass the funnel, and so do most that the grammar changed; a number has one text.
    #[test]
    fn proposals_pass_the_funnel() {
        let (data, zoo) = (Seasons::read(&invented()).unwrap(), Zoo::new().unwrap());
        let mut passed = [0; 2];
        for number in 0..40 {
            let proposed = zoo.propose(number).unwrap();
            assert_eq!(proposed, zoo.propose(number).unwrap());
            assert!(!proposed.text.contains("(hole "));
            let stage = check("x", &proposed.text, &data).err().map_or(Stage::Right, |f| f.stage);
            passed[usize::from(proposed.is_changed)] += usize::from(stage == Stage::Right);
        }
        assert!(passed[0] >= 14 && passed[1] >= 10, "{passed:?}");
    }
}
