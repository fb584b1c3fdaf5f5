//! Seeds that are expressions of rows, with parameters that are free and the same for all rows or for each group: they
//! need no fitter of whole programs, and groups share nothing, so each is fitted by itself.

use crate::candidate::Candidate;
use crate::data::Part;
use crate::expr::{Expr, Node};
use crate::least_squares::{Fitter, Rows, Solution, linear_parameters};
use crate::lower::Lowered;
use crate::score::draw;
use crate::template::Template;
use dmci::{Datum, Interpreter, ParameterKind, Program};
use dmci_fit::Table;
use dmci_stats::random::Stream;

/// The rows of a problem by group, and the expressions around the holes of its seeds.
#[derive(Clone, Debug)]
pub struct Grouped {
    frames: Vec<Frame>,
    /// How many columns expressions may mention.
    columns: usize,
    /// The open rows of each group.
    open: Vec<Part>,
    /// For each fold and group the rows that are fitted and those that are predicted.
    folds: Vec<Vec<(Part, Part)>>,
    /// The sealed rows of each group.
    sealed: Vec<Part>,
    /// The mean square that counts as none.
    floor: f64,
}

/// A seed with variables in the place of its holes.
#[derive(Clone, Debug, PartialEq)]
struct Frame {
    expr: Expr,
    /// What the variables of each hole are: columns, or parameters that stay.
    arguments: Vec<Vec<Node>>,
}

/// A candidate fitted to every group.
#[derive(Clone, Debug)]
pub struct GroupFit {
    /// The parameters of each group.
    pub values: Vec<Vec<f64>>,
    /// The sum of squares of all groups.
    pub squares: f64,
    /// Rows.
    pub count: usize,
    /// Whether the fit of every group converged.
    pub converged: bool,
    /// Fits of a group, and how many of them came to its best optimum, in the group where fewest did.
    pub starts: (usize, usize),
    /// Directions that the data determine, of all groups.
    pub rank: usize,
    /// Operations on numbers.
    pub work: u64,
}

/// Sums of squares that differ by less are those of one optimum.
const SAME_OPTIMUM: f64 = 1e-5;

/// Draws of the parameters at which a candidate may be finite if it is not at its start.
const DRAWS: usize = 8;

impl Grouped {
    /// Prepares rows. None if some seed is not such an expression, or a row has no number.
    pub fn new(
        templates: &[Template],
        programs: &[Program],
        target: &str,
        tables: [&Table; 2],
        folds: &[Vec<usize>],
        floor: f64,
    ) -> Option<Grouped> {
        let per = group_of(programs)?;
        let open_table = tables[0];
        let is_number = |c: &&dmci_fit::TableColumn| {
            c.name != target
                && Some(&c.name) != per.as_ref()
                && c.missing.is_empty()
                && c.reals().is_ok_and(|list| list.iter().all(|x| x.is_finite()))
        };
        let names: Vec<String> = open_table.columns.iter().filter(is_number).map(|c| c.name.clone()).collect();
        let frames = templates.iter().map(|t| frame(t, &names)).collect::<Option<Vec<_>>>()?;
        let key = |table: &Table| -> Option<Vec<String>> {
            let Some(name) = &per else { return Some(vec![String::new(); table.rows]) };
            let column = table.column(name)?;
            Some((0..table.rows).map(|row| column.shown(row)).collect())
        };
        let part = |table: &Table| -> Option<Part> {
            let column = |name: &String| table.column(name)?.reals().ok();
            let columns = names.iter().map(column).collect::<Option<Vec<_>>>()?;
            let target = table.column(target)?.reals().ok()?;
            let finite = target.iter().chain(columns.iter().flatten()).all(|x| x.is_finite());
            finite.then_some(Part { columns, target, root_weights: None })
        };
        let (open, sealed) = (part(open_table)?, part(tables[1])?);
        let (open_key, sealed_key) = (key(open_table)?, key(tables[1])?);
        let mut groups: Vec<&String> = Vec::new();
        for name in &open_key {
            if !groups.contains(&name) {
                groups.push(name);
            }
        }
        // A group without open rows has no parameters.
        if sealed_key.iter().any(|name| !groups.contains(&name)) {
            return None;
        }
        let rows_of = |keys: &[String], group: &String, wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..keys.len()).filter(|&r| keys[r] == *group && wanted(r)).collect()
        };
        let by_group = |part: &Part, keys: &[String]| -> Vec<Part> {
            groups.iter().map(|g| part.select(&rows_of(keys, g, &|_| true))).collect()
        };
        let of_fold = |out: &Vec<usize>| -> Vec<(Part, Part)> {
            let mut marks = vec![false; open.len()];
            out.iter().for_each(|&row| marks[row] = true);
            let is_out = |row: usize| marks[row];
            let both = |g: &&String| {
                let fitted = rows_of(&open_key, g, &|row| !is_out(row));
                (open.select(&fitted), open.select(&rows_of(&open_key, g, &is_out)))
            };
            groups.iter().map(both).collect()
        };
        Some(Grouped {
            frames,
            columns: names.len(),
            folds: folds.iter().map(of_fold).collect(),
            sealed: by_group(&sealed, &sealed_key),
            open: by_group(&open, &open_key),
            floor,
        })
    }

    /// The whole expression of a candidate; its parameters are those of the candidate, in their order.
    fn expr(&self, template: &Template, candidate: &Candidate) -> Expr {
        let frame = &self.frames[usize::from(candidate.seed).min(self.frames.len() - 1)];
        let (parts, _) = template.parts(candidate);
        let new: usize = parts.iter().map(|(e, _)| e.parameters()).sum();
        let stays = |node: Node| if let Node::Param(p) = node { Node::Param(p + new as u16) } else { node };
        let mut first = 0;
        let mut contents: Vec<Vec<Node>> = Vec::new();
        for ((expr, _), arguments) in parts.iter().zip(&frame.arguments) {
            let of = |node: &Node| match *node {
                Node::Var(v) => stays(arguments[usize::from(v)]),
                Node::Param(p) => Node::Param(p + first),
                other => other,
            };
            contents.push(expr.nodes.iter().map(of).collect());
            first += expr.parameters() as u16;
        }
        let mut nodes = Vec::new();
        for node in &frame.expr.nodes {
            match *node {
                Node::Var(v) if usize::from(v) >= self.columns => {
                    nodes.extend_from_slice(&contents[usize::from(v) - self.columns]);
                }
                node => nodes.push(stays(node)),
            }
        }
        Expr { nodes }
    }

    /// Fits a candidate to the open rows, each group from so many starts. None if it is not finite at any of them.
    pub fn fit(
        &self,
        template: &Template,
        candidate: &Candidate,
        iterations: usize,
        starts: usize,
    ) -> Option<GroupFit> {
        let expr = self.expr(template, candidate);
        let (model, linear) = (Lowered::new(&expr, self.columns), linear_parameters(&expr));
        let mut fitter = Fitter::default();
        let starts = if linear.iter().all(|l| *l) { 1 } else { starts.max(1) };
        let mut stream = Stream::new(candidate.hash, 0x97a7);
        let mut all = GroupFit {
            values: Vec::new(),
            squares: 0.0,
            count: 0,
            converged: true,
            starts: (starts, starts),
            rank: 0,
            work: 0,
        };
        for part in &self.open {
            let columns = part.slices();
            let rows = part.rows(&columns, 0.01 * self.floor * part.len() as f64);
            let per_evaluation = (part.len() * model.work) as u64;
            let mut found: Vec<Solution> = Vec::new();
            for start in 0..starts + DRAWS {
                if start >= starts && !found.is_empty() {
                    break;
                }
                let from = match (start, all.values.last()) {
                    (0, _) => candidate.values.clone(),
                    // Groups resemble each other.
                    (1, Some(values)) => values.clone(),
                    _ => draw(candidate.values.len(), &mut stream),
                };
                all.work += per_evaluation;
                let Some(solution) = fitter.fit(&model, &rows, &linear, &from, iterations) else { continue };
                all.work += per_evaluation * solution.evaluations as u64;
                found.push(solution);
            }
            let best = found.iter().min_by(|a, b| a.squares.total_cmp(&b.squares))?;
            let near = |s: &&Solution| s.squares - best.squares <= SAME_OPTIMUM * best.squares + rows.floor;
            all.starts.1 = all.starts.1.min(found.iter().filter(near).count());
            all.squares += best.squares;
            all.count += part.len();
            all.converged &= best.converged;
            all.rank += best.rank;
            all.values.push(best.values.clone());
        }
        Some(all)
    }

    /// The squares of the errors on rows that some fold leaves out, fold by fold and group by group, from these
    /// parameters of each group; infinite where a fold has no fit.
    pub fn fold_squares(
        &self,
        template: &Template,
        candidate: &Candidate,
        from: &[Vec<f64>],
        iterations: usize,
        work: &mut u64,
    ) -> Vec<f64> {
        let expr = self.expr(template, candidate);
        let (model, linear) = (Lowered::new(&expr, self.columns), linear_parameters(&expr));
        let mut fitter = Fitter::default();
        let iterations = if linear.iter().all(|l| *l) { 0 } else { iterations };
        let mut list = Vec::new();
        for fold in &self.folds {
            for ((fitted, out), start) in fold.iter().zip(from) {
                let columns = fitted.slices();
                let rows: Rows<'_> = fitted.rows(&columns, 0.01 * self.floor * fitted.len() as f64);
                match fitter.fit(&model, &rows, &linear, start, iterations) {
                    Some(found) => {
                        *work += (fitted.len() * model.work * found.evaluations) as u64;
                        list.extend(squares(&model, out, &found.values, &mut fitter));
                    }
                    None => list.extend(vec![f64::INFINITY; out.len()]),
                }
            }
        }
        list
    }

    /// The squares of the errors on the sealed rows, group by group.
    pub fn sealed_squares(&self, template: &Template, candidate: &Candidate, values: &[Vec<f64>]) -> Vec<f64> {
        let expr = self.expr(template, candidate);
        let model = Lowered::new(&expr, self.columns);
        let mut fitter = Fitter::default();
        self.sealed.iter().zip(values).flat_map(|(part, v)| squares(&model, part, v, &mut fitter)).collect()
    }
}

fn squares(model: &Lowered, part: &Part, values: &[f64], fitter: &mut Fitter) -> Vec<f64> {
    if part.is_empty() {
        return Vec::new();
    }
    let columns = part.slices();
    let out = model.evaluate(values, &columns, part.len(), &mut fitter.space);
    let predicted = out.chunks_exact(values.len() + 1).map(|row| f64::from_bits(row[0]));
    predicted.zip(&part.target).map(|(p, y)| (y - p) * (y - p)).collect()
}

/// The column by which the parameters of all programs differ, or none if they are the same for all rows. None at all if
/// some parameter is not free, or differs by another column.
fn group_of(programs: &[Program]) -> Option<Option<String>> {
    let mut found: Option<Option<String>> = None;
    for program in programs {
        for p in Interpreter::shared().names(program).ok()?.schema.parameters {
            let is_free = p.kind == ParameterKind::Free && p.starts.len() == 1 && !p.fixed && p.prior.is_none();
            if !is_free || found.as_ref().is_some_and(|per| *per != p.per) {
                return None;
            }
            found = Some(p.per);
        }
    }
    // Without a parameter nothing says whether new ones differ.
    found
}

fn frame(template: &Template, columns: &[String]) -> Option<Frame> {
    let data = Program::new(template.text()).data().ok()?;
    let is_schema = |d: &&Datum| matches!(d, Datum::List(items, None) if items.first() == Some(&symbol("params")));
    let bodies: Vec<&Datum> = data.iter().filter(|d| !is_schema(d)).collect();
    let [body] = bodies[..] else { return None };
    let own: Vec<String> = template.own_names().cloned().collect();
    let stand_in = |i: usize| format!("the content of hole {i}");
    let names: Vec<String> = template.holes.iter().map(|h| h.name.clone()).collect();
    let outer = match template.is_one_hole() {
        true => symbol(&stand_in(0)),
        false => {
            let of = |name: &str| names.iter().position(|n| n == name).map(|i| symbol(&stand_in(i)));
            replaced(body, &of, DEEPEST)?
        }
    };
    let variables: Vec<String> = columns.iter().cloned().chain((0..names.len()).map(stand_in)).collect();
    let expr = Expr::read(&outer, &variables, &own)?;
    let argument = |name: &String| {
        let parameter = own.iter().position(|p| p == name).map(|i| Node::Param(i as u16));
        parameter.or_else(|| columns.iter().position(|c| c == name).map(|i| Node::Var(i as u16)))
    };
    let arguments = template.holes.iter().map(|h| h.arguments.iter().map(argument).collect::<Option<Vec<_>>>());
    Some(Frame { expr, arguments: arguments.collect::<Option<Vec<_>>>()? })
}

fn symbol(name: &str) -> Datum {
    Datum::Symbol(name.into())
}

/// The deepest nesting of such a seed.
const DEEPEST: usize = 200;

/// A datum with others in the place of its holes; a hole that nobody fills is its content.
fn replaced(datum: &Datum, of: &dyn Fn(&str) -> Option<Datum>, deepest: usize) -> Option<Datum> {
    let Datum::List(items, None) = datum else { return Some(datum.clone()) };
    let deepest = deepest.checked_sub(1)?;
    match &items[..] {
        [Datum::Symbol(head), Datum::Symbol(name), _, content] if head == "hole" => match of(name) {
            Some(other) => Some(other),
            None => replaced(content, of, deepest),
        },
        _ => {
            let items = items.iter().map(|item| replaced(item, of, deepest)).collect::<Option<Vec<_>>>()?;
            Some(Datum::List(items, None))
        }
    }
}
