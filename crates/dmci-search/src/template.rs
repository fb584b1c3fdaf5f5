//! Seeds: programs with holes, whose contents a search replaces. The rest of a seed stays as its author wrote it.

use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::forms::{Form, Kind, scan};
use crate::operation::{Operation, Operations};
use dmci::{Datum, Diagnostic, ErrorCode, Interpreter, Parameter, ParameterKind, Program, Report, nearest};
use std::collections::BTreeMap;

/// What a hole may be filled with.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The operations.
    pub operations: Operations,
    /// The largest complexity.
    pub size: usize,
}

/// A hole of a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// Its name.
    pub name: String,
    /// The variables that contents may mention.
    pub arguments: Vec<String>,
    /// What it may be filled with.
    pub limits: Limits,
    /// Where its content stands in the text.
    span: (usize, usize),
    /// The content that the seed has.
    content: Expr,
    /// Where the parameters of that content start.
    starts: Vec<f64>,
}

/// A seed: a program with holes, or one without any, which is only compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its file, for messages.
    pub name: String,
    /// The holes, in the order of the text.
    pub holes: Vec<Hole>,
    text: String,
    /// Where `(params ...)` stands, if there is one, and the entries that stay.
    schema: Option<(usize, usize)>,
    entries: Vec<String>,
    /// Parameters that stay, are numbers and are fitted, with their starts.
    own: Vec<(String, f64)>,
    /// The column by which new parameters differ.
    per: Option<String>,
    /// Every name of the text, so that new ones are others.
    names: Vec<String>,
    /// Forms outside of holes and schema.
    nodes: usize,
    /// Whether the whole body is the hole.
    whole: bool,
}

fn wrong(message: String, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

/// How a hole is written, for messages.
const FORM: &str = "mark the part that may change: (hole NAME (VARIABLE ...) CONTENT)";

impl Template {
    /// Reads a seed. Without a hole, the whole body may change if it is one expression over the inputs. Holes that are
    /// named in `own` have limits of their own.
    pub fn read(
        program: &Program,
        inputs: &[String],
        usual: &Limits,
        own: &BTreeMap<String, Limits>,
    ) -> Result<Template, Report> {
        let mut template = Template::fixed(program)?;
        let forms = scan(&template.text);
        let text = template.text.clone();
        let schema = Interpreter::shared().names(program)?.schema;
        let mut found: Vec<&Form> = Vec::new();
        // A definition of the program's own shadows the form.
        let defines = |f: &Form| {
            let name = f.items().get(1).map(|n| n.items().first().unwrap_or(n).text(&text));
            f.begins("define", &text) && name == Some("hole")
        };
        if !forms.iter().any(defines) {
            let mut look = |form: &Form| !form.begins("hole", &text);
            for form in &forms {
                visit_holes(form, &mut look, &mut found);
            }
        }
        let name = template.name.clone();
        let bodies: Vec<&Form> = forms.iter().filter(|f| !f.begins("params", &text)).collect();
        let whole = found.is_empty();
        template.whole = whole;
        let mut places: Vec<(String, Vec<String>, &Form)> = Vec::new();
        if whole {
            let [body] = bodies[..] else {
                return Err(wrong(format!("{name} has no hole, and its body is not one expression"), FORM));
            };
            places.push(("body".into(), inputs.to_vec(), body));
        }
        for form in found {
            let items = form.items();
            let arguments = items[2].items().iter().map(|a| a.text(&text).to_string()).collect();
            let mut inner = 0;
            items[3].visit(&mut |f| {
                inner += usize::from(f.begins("hole", &text));
                true
            });
            if inner > 0 {
                let message = format!("{name}: the hole {} has a hole inside", items[1].text(&text));
                return Err(wrong(message, "keep one of them, or put them beside each other"));
            }
            places.push((items[1].text(&text).to_string(), arguments, &items[3]));
        }
        for (i, (hole, _, _)) in places.iter().enumerate() {
            if places[..i].iter().any(|(other, _, _)| other == hole) {
                let message = format!("{name} has two holes with the name {hole}");
                return Err(wrong(message, "give each hole a name of its own"));
            }
        }
        let mut taken: Vec<String> = Vec::new();
        for (hole, arguments, content) in places {
            let limits = own.get(&hole).unwrap_or(usual).clone();
            content.visit(&mut |f| {
                template.nodes -= usize::from(!matches!(f.kind, Kind::List(_)));
                true
            });
            let is_own = |p: &&Parameter| !arguments.contains(&p.name) && mentions(content, &p.name, &text) > 0;
            let inside: Vec<&Parameter> = schema.parameters.iter().filter(is_own).collect();
            for p in &inside {
                let all: usize = bodies.iter().map(|f| mentions(f, &p.name, &text)).sum();
                if all > mentions(content, &p.name, &text) {
                    let message = format!("{name}: {} is used in the hole {hole} and elsewhere", p.name);
                    return Err(wrong(message, &format!("list {} among the variables of the hole", p.name)));
                }
                if p.starts.len() != 1 || p.fixed {
                    let message = format!("{name}: {} in the hole {hole} is not one number that is fitted", p.name);
                    return Err(wrong(message, &format!("list {} among the variables of the hole", p.name)));
                }
            }
            let known: Vec<String> = inside.iter().map(|p| p.name.clone()).collect();
            let written = content.text(&text);
            let data = Program::new(written).data()?;
            let zero = matches!(data.first(), Some(Datum::Integer(0)));
            let read = match data.first() {
                Some(_) if zero => Some((Expr::leaf(Node::Param(0)), vec![0.0])),
                Some(datum) => Expr::read_lifting(datum, &arguments, &known),
                None => None,
            };
            let Some((expr, lifted)) = read else {
                let message = match whole {
                    true => format!("{name} has no hole, and its body is not an expression of operations on reals"),
                    false => {
                        format!("{name}: the hole {hole} holds {written}, which is no expression over its variables")
                    }
                };
                let help = match unknown(content, &arguments, &known, &text) {
                    Some(other) if !whole => {
                        let near = nearest(&other, arguments.iter().chain(&known).map(String::as_str));
                        let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
                        format!("{other} is neither a variable of the hole nor a parameter{near}")
                    }
                    _ if whole => FORM.to_string(),
                    _ => "use its variables, parameters, numbers and operations such as + * exp".to_string(),
                };
                return Err(wrong(message, &help));
            };
            let starts = inside.iter().map(|p| p.init).chain(lifted).collect();
            taken.extend(known);
            template.holes.push(Hole { name: hole, arguments, limits, span: content.span, content: expr, starts });
        }
        if let Some(other) = own.keys().find(|n| template.holes.iter().all(|h| h.name != **n)) {
            let names: Vec<&str> = template.holes.iter().map(|h| h.name.as_str()).collect();
            let help = nearest(other, names.iter().copied())
                .map_or(format!("its holes are {}", names.join(", ")), |n| format!("did you mean {n}?"));
            return Err(wrong(format!("{name} has no hole {other}"), &help));
        }
        template.drop_parameters(&taken, &schema.parameters, &forms);
        Ok(template)
    }

    /// A program that stays as it is.
    pub fn fixed(program: &Program) -> Result<Template, Report> {
        let schema = Interpreter::shared().names(program)?.schema;
        let text = program.text.to_string();
        let forms = scan(&text);
        let (mut names, mut nodes) = (Vec::new(), 0);
        for form in &forms {
            form.visit(&mut |f| {
                if f.kind == Kind::Atom {
                    names.push(f.text(&text).to_string());
                }
                nodes += usize::from(!matches!(f.kind, Kind::List(_)));
                true
            });
        }
        let fitted: Vec<&Parameter> = schema.parameters.iter().filter(|p| !p.fixed).collect();
        let mut per: Vec<&String> = fitted.iter().filter_map(|p| p.per.as_ref()).collect();
        // What most parameters of the seed are, new ones are, too.
        let per = if 2 * per.len() > fitted.len() { per.pop().cloned() } else { None };
        let mut template = Template {
            name: program.name.to_string(),
            holes: Vec::new(),
            text,
            schema: None,
            entries: Vec::new(),
            own: Vec::new(),
            per,
            names,
            nodes,
            whole: false,
        };
        template.drop_parameters(&[], &schema.parameters, &forms);
        Ok(template)
    }

    /// Keeps the entries of all parameters but some.
    fn drop_parameters(&mut self, dropped: &[String], parameters: &[Parameter], forms: &[Form]) {
        let schema = forms.iter().find(|f| f.begins("params", &self.text));
        self.schema = schema.map(|f| f.span);
        let entry_name = |f: &Form| f.items().first().map(|n| n.text(&self.text).to_string());
        self.entries = schema
            .iter()
            .flat_map(|f| &f.items()[1..])
            .filter(|f| entry_name(f).is_none_or(|n| !dropped.contains(&n)))
            .map(|f| f.text(&self.text).to_string())
            .collect();
        let stays = |p: &&Parameter| !p.fixed && p.starts.len() == 1 && !dropped.contains(&p.name);
        let is_number = |p: &&Parameter| !matches!(p.kind, ParameterKind::Cholesky(_) | ParameterKind::Simplex(_));
        self.own = parameters.iter().filter(stays).filter(is_number).map(|p| (p.name.clone(), p.init)).collect();
    }

    /// The candidate that the seed is.
    pub fn candidate(&self, number: usize) -> Candidate {
        let parts: Vec<(Expr, Vec<f64>)> = self.holes.iter().map(|h| (h.content.clone(), h.starts.clone())).collect();
        let own: Vec<f64> = self.own.iter().map(|(_, start)| *start).collect();
        self.filled(number, &parts, &own)
    }

    /// A candidate whose contents mention all variables of their holes; none if there are no holes.
    pub fn with_all_variables(&self, number: usize) -> Option<Candidate> {
        let one = |h: &Hole| {
            let variable = |v: usize| Expr::leaf(Node::Var(v as u16));
            let parameter = Expr::leaf(Node::Param(0));
            let all = (0..h.arguments.len()).fold(parameter, |e, v| Expr::apply(Operation::Add, &[&e, &variable(v)]));
            (all, vec![1.0])
        };
        let parts: Vec<(Expr, Vec<f64>)> = self.holes.iter().map(one).collect();
        let own: Vec<f64> = self.own.iter().map(|(_, start)| *start).collect();
        (!parts.is_empty()).then(|| self.filled(number, &parts, &own))
    }

    /// The candidate with these contents and values of their parameters, and these values of the parameters that stay.
    pub fn filled(&self, number: usize, parts: &[(Expr, Vec<f64>)], own: &[f64]) -> Candidate {
        let contents = parts.iter().zip(&self.holes).map(|((e, v), h)| Candidate::new(e, v, &h.limits.operations));
        Candidate::joined(number as u16, contents.collect(), own)
    }

    /// The contents of a candidate, each with its parameters' values, and the values of the parameters that stay.
    pub fn parts(&self, candidate: &Candidate) -> (Vec<(Expr, Vec<f64>)>, Vec<f64>) {
        let mut rest = &candidate.values[..];
        let parts = candidate.contents().take(self.holes.len()).map(|e| {
            let (own, after) = rest.split_at(e.parameters().min(rest.len()));
            rest = after;
            (e.clone(), own.to_vec())
        });
        (parts.collect(), rest.to_vec())
    }

    /// The text of the seed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the whole body may change, so that it is the one hole.
    pub fn is_one_hole(&self) -> bool {
        self.whole
    }

    /// The complexity of the seed outside of its holes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The names of the new parameters of a candidate.
    pub fn new_names(&self, candidate: &Candidate) -> Vec<String> {
        let count: usize = candidate.contents().take(self.holes.len()).map(Expr::parameters).sum();
        (1..).map(|i| format!("c{i}")).filter(|n| !self.names.contains(n)).take(count).collect()
    }

    /// The names of the parameters that stay and whose starts a candidate moves.
    pub fn own_names(&self) -> impl Iterator<Item = &String> {
        self.own.iter().map(|(name, _)| name)
    }

    /// The program of a candidate, whose parameters start at its values.
    pub fn program(&self, candidate: &Candidate) -> Program {
        let names = self.new_names(candidate);
        let (parts, _) = self.parts(candidate);
        let mut changes: Vec<((usize, usize), String)> = Vec::new();
        let mut first = 0;
        let mut entries = self.entries.clone();
        for ((expr, values), hole) in parts.iter().zip(&self.holes) {
            let own = &names[first..first + values.len()];
            first += values.len();
            changes.push((hole.span, expr.text(&hole.arguments, own)));
            let per = self.per.as_ref().map_or(String::new(), |column| format!(" (per {column})"));
            entries.extend(own.iter().zip(values).map(|(n, v)| format!("({n} free {v:?}{per})")));
        }
        let schema = format!("(params {})", entries.join(" "));
        match self.schema {
            Some(span) => changes.push((span, schema)),
            None if entries.is_empty() => {}
            None => changes.push(((0, 0), schema + "\n")),
        }
        changes.sort_by_key(|(span, _)| *span);
        let (mut text, mut at) = (String::new(), 0);
        for ((start, end), new) in changes {
            text += &self.text[at..start];
            text += &new;
            at = end;
        }
        text += &self.text[at..];
        Program::named(&self.name, &text)
    }

    /// The contents for people, with rounded numbers: `rate: (* 0.5 x)`.
    pub fn formula(&self, candidate: &Candidate, values: &[f64]) -> String {
        if self.holes.is_empty() {
            return self.name.clone();
        }
        let candidate = Candidate { values: values.to_vec(), ..candidate.clone() };
        let (parts, own) = self.parts(&candidate);
        let of = |((expr, values), hole): (&(Expr, Vec<f64>), &Hole)| {
            let shown: Vec<String> = values.iter().map(|v| crate::candidate::short(*v)).collect();
            let text = expr.text(&hole.arguments, &shown);
            if self.holes.len() == 1 { text } else { format!("{}: {text}", hole.name) }
        };
        let contents: Vec<String> = parts.iter().zip(&self.holes).map(of).collect();
        let own = self.own_names().zip(own).map(|(n, v)| format!("{n} = {}", crate::candidate::short(v)));
        contents.into_iter().chain(own).collect::<Vec<_>>().join(", ")
    }
}

/// The holes of a form.
fn visit_holes<'f>(form: &'f Form, look: &mut dyn FnMut(&Form) -> bool, found: &mut Vec<&'f Form>) {
    form.visit(&mut |f| {
        let goes_on = look(f);
        if !goes_on && f.items().len() == 4 {
            found.push(f);
        }
        goes_on
    });
}

/// How often a form mentions a name.
fn mentions(form: &Form, name: &str, text: &str) -> usize {
    let mut count = 0;
    form.visit(&mut |f| {
        count += usize::from(f.kind == Kind::Atom && f.text(text) == name);
        true
    });
    count
}

/// The first operand that is neither a variable nor a parameter nor a number.
fn unknown(form: &Form, arguments: &[String], parameters: &[String], text: &str) -> Option<String> {
    if form.kind == Kind::Atom {
        let name = form.text(text).to_string();
        let known = arguments.contains(&name) || parameters.contains(&name) || name.parse::<f64>().is_ok();
        return (!known).then_some(name);
    }
    form.items().iter().skip(1).find_map(|f| unknown(f, arguments, parameters, text))
}
