//! The rows of a search: those that are fitted, those that select, and those that nobody sees until the end.

use crate::least_squares::Rows;
use dmci_stats::random::Stream;
use dmci_table::hash::Hash;

/// Rows by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// One list for each input.
    pub columns: Vec<Vec<f64>>,
    /// What is predicted.
    pub target: Vec<f64>,
    /// Roots of weights, if rows have any.
    pub root_weights: Option<Vec<f64>>,
}

impl Part {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.target.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.target.is_empty()
    }

    /// Some of the rows.
    pub fn select(&self, rows: &[usize]) -> Part {
        let pick = |list: &Vec<f64>| rows.iter().map(|&r| list[r]).collect::<Vec<f64>>();
        Part {
            columns: self.columns.iter().map(pick).collect(),
            target: pick(&self.target),
            root_weights: self.root_weights.as_ref().map(pick),
        }
    }

    /// The columns as slices.
    pub fn slices(&self) -> Vec<&[f64]> {
        self.columns.iter().map(Vec::as_slice).collect()
    }

    /// The rows as a fit takes them.
    pub fn rows<'a>(&'a self, columns: &'a [&'a [f64]], floor: f64) -> Rows<'a> {
        Rows { columns, target: &self.target, root_weights: self.root_weights.as_deref(), floor }
    }
}

/// How rows are parted for selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Folds {
    /// So many random parts, each predicted by a fit to the others.
    Random(usize),
    /// Rows in order: each of so many last parts is predicted by a fit to what comes before it.
    Rolling(usize),
}

/// All rows of a search.
#[derive(Clone, Debug)]
pub struct Data {
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The name of the target.
    pub target: String,
    /// The rows that candidates are fitted to and selected by.
    pub open: Part,
    /// The rows of the lowest rung: all if there are few.
    pub few: Part,
    /// For each fold the rows that are fitted and those that are predicted.
    pub folds: Vec<(Part, Part)>,
    /// The rows that are looked at once, at the end.
    pub sealed: Part,
    /// The variance of the open target.
    pub variance: f64,
    /// The mean square below which errors count as none.
    pub exact: f64,
}

/// Rows of the lowest rung.
const FEW: usize = 256;

/// Fewest open rows of which a part is sealed without being asked for.
const SEAL_FROM: usize = 30;

/// The share of the rows that is sealed if nobody says which.
pub const SEALED_SHARE: f64 = 0.25;

/// The mean square below which errors count as none, beside the variance of the target.
pub const FLOOR: f64 = 1e-14;

impl Data {
    /// Parts rows. `sealed` has a mark for each row; without, a share of the rows is drawn, or, in series, taken from
    /// the end.
    pub fn new(inputs: Vec<String>, target: &str, all: Part, sealed: Option<&[bool]>, folds: Folds, seed: u64) -> Data {
        let n = all.len();
        let mut stream = Stream::new(seed, 0x5ea1);
        let marks: Vec<bool> = match (sealed, folds) {
            (Some(marks), _) => marks.to_vec(),
            (None, _) if n < SEAL_FROM => vec![false; n],
            (None, Folds::Rolling(_)) => {
                let first = n - (n as f64 * SEALED_SHARE) as usize;
                (0..n).map(|r| r >= first).collect()
            }
            (None, Folds::Random(_)) => {
                let mut order = shuffled(n, &mut stream);
                order.truncate((n as f64 * SEALED_SHARE) as usize);
                let mut marks = vec![false; n];
                order.into_iter().for_each(|r| marks[r] = true);
                marks
            }
        };
        let part = |wanted: bool| (0..n).filter(|&r| marks[r] == wanted).collect::<Vec<usize>>();
        let open = all.select(&part(false));
        let sealed = all.select(&part(true));
        let m = open.len();
        let few = if m <= FEW { open.clone() } else { open.select(&shuffled(m, &mut stream)[..FEW]) };
        let parts: Vec<(Vec<usize>, Vec<usize>)> = match folds {
            Folds::Random(k) => {
                let order = shuffled(m, &mut stream);
                let of = |f: usize, out: bool| (0..m).filter(|i| (i % k == f) == out).map(|i| order[i]).collect();
                (0..k.min(m)).map(|f| (of(f, false), of(f, true))).collect()
            }
            Folds::Rolling(k) => {
                let first = m / 2;
                let cut = |f: usize| first + (m - first) * f / k.max(1);
                (0..k).map(|f| ((0..cut(f)).collect(), (cut(f)..cut(f + 1)).collect())).collect()
            }
        };
        let folds = parts.into_iter().filter(|p| !p.0.is_empty() && !p.1.is_empty());
        let folds = folds.map(|(fit, out)| (open.select(&fit), open.select(&out))).collect();
        let mean = open.target.iter().sum::<f64>() / m.max(1) as f64;
        let variance = open.target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / m.max(1) as f64;
        let exact = FLOOR * variance;
        Data { inputs, target: target.into(), open, few, folds, sealed, variance, exact }
    }

    /// The sum of squares that counts as none, of so many rows.
    pub fn floor(&self, rows: usize) -> f64 {
        // Two digits below what any score can tell apart.
        0.01 * self.exact * rows as f64
    }

    /// A number for all rows and their parts.
    pub fn hash(&self) -> String {
        let mut hash = Hash::default();
        self.inputs.iter().for_each(|name| hash.add(name.as_bytes()));
        for part in [&self.open, &self.sealed].into_iter().chain(self.folds.iter().map(|f| &f.1)) {
            part.columns.iter().flatten().chain(&part.target).for_each(|x| hash.add_number(*x));
            part.root_weights.iter().flatten().for_each(|x| hash.add_number(*x));
        }
        hash.digits()
    }
}

/// The numbers below `n` in random order.
pub fn shuffled(n: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, stream.below(i + 1));
    }
    order
}
