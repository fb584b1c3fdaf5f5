//! Which rows are fitted and which are held out.

use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_stats::random::Stream;
use dmci_value::num::next_random;

/// How rows are held out.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Holdout {
    /// All rows are fitted.
    #[default]
    None,
    /// This share of rows, drawn by the seed.
    Share(f64),
    /// The rows for which a column is not 0, or says `test`, `true` or `yes`.
    Column(String),
    /// The rows for which a column lies in an interval: from the first number on, below the second.
    Range(String, f64, f64),
    /// One of k parts that the seed draws: number i, from 1.
    Fold(usize, usize),
    /// The last share of rows in the order of the table.
    Tail(f64),
    /// A rolling origin: of k + 1 parts in the order of the table, the first i are fitted and the next one is
    /// held out; later ones take no part.
    Rolling(usize, usize),
}

impl Holdout {
    /// Reads how the command writes it: `0.3`, `tail:0.3`, `column:test`, `range:t:10:20`, `fold:2/5`,
    /// `rolling:2/5`.
    pub fn parse(text: &str) -> Option<Holdout> {
        let share = |text: &str| text.parse().ok().filter(|x: &f64| *x > 0.0 && *x < 1.0);
        if let Some(share) = share(text) {
            return Some(Holdout::Share(share));
        }
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "tail" => share(rest).map(Holdout::Tail),
            "column" if !rest.is_empty() => Some(Holdout::Column(rest.to_string())),
            "range" => {
                let (head, high) = rest.rsplit_once(':')?;
                let (column, low) = head.rsplit_once(':')?;
                let bound = |text: &str, open: f64| if text.is_empty() { Some(open) } else { text.parse().ok() };
                let (low, high) = (bound(low, f64::NEG_INFINITY)?, bound(high, f64::INFINITY)?);
                (low < high && !column.is_empty()).then(|| Holdout::Range(column.to_string(), low, high))
            }
            "fold" | "rolling" => {
                let (i, k) = rest.split_once('/')?;
                let (i, k) = (i.parse().ok()?, k.parse().ok()?);
                let part = if kind == "fold" { Holdout::Fold(i, k) } else { Holdout::Rolling(i, k) };
                (k >= 2 && (1..=k).contains(&i)).then_some(part)
            }
            _ => None,
        }
    }

    /// How many rows of a series, from the first, are fitted, and how many there are up to the last one that is
    /// scored: later ones take no part. A program reads a series in its order, so what is held out must be its end.
    /// `numbers` gives a column of the table as numbers.
    pub fn of_series(
        &self,
        rows: &[usize],
        numbers: &dyn Fn(&str) -> Result<Vec<f64>, Report>,
    ) -> Result<(usize, usize), Report> {
        let count = rows.len();
        let end = |held: &dyn Fn(usize) -> bool| {
            let first = rows.iter().position(|&r| held(r)).unwrap_or(count);
            match rows[first..].iter().find(|&&r| !held(r)) {
                Some(later) => Err(not_the_end(format!(
                    "row {} would be held out and row {}, which comes later, fitted",
                    rows[first] + 1,
                    later + 1
                ))),
                None if first == 0 => Err(not_the_end("all rows of a series would be held out".into())),
                None => Ok((first, count)),
            }
        };
        match self {
            Holdout::None => Ok((count, count)),
            Holdout::Share(_) => Err(not_the_end("a share drawn at random is not the end of a series".into())),
            Holdout::Fold(..) => Err(not_the_end("a part drawn at random is not the end of a series".into())),
            Holdout::Tail(_) | Holdout::Rolling(..) if count < 2 => Ok((count, count)),
            Holdout::Tail(share) => Ok((count - held_count(count, *share), count)),
            Holdout::Rolling(i, k) => {
                let (begin, end) = rolling(count, *i, *k);
                let begin = begin.clamp(1, count - 1);
                Ok((begin, end.clamp(begin, count)))
            }
            Holdout::Column(name) => {
                let marks = numbers(name)?;
                end(&|r| marks[r] != 0.0)
            }
            Holdout::Range(name, low, high) => {
                let places = numbers(name)?;
                end(&|r| places[r] >= *low && places[r] < *high)
            }
        }
    }
}

/// What an objective program cannot be fitted without.
fn not_the_end(what: String) -> Report {
    let message = format!("{what}, but a program with an objective reads its rows in order");
    let help = "hold out the last rows of each series: tail:0.3, rolling:2/5, or a column or range that marks them";
    Report::from(Diagnostic::error(ErrorCode::E0708, message).help(help))
}

/// An error if nothing is left to fit or to score.
pub fn none_left(nothing_fitted: bool) -> Report {
    let what = if nothing_fitted { "all rows are held out" } else { "no row is held out" };
    let help = "check the column and the interval of ‹holdout›";
    Report::from(
        Diagnostic::error(ErrorCode::E0708, format!("{what}, expected some to fit and some to score")).help(help),
    )
}

/// Where the part that is held out begins, and where it ends.
fn rolling(rows: usize, i: usize, k: usize) -> (usize, usize) {
    let at = |part: usize| (rows as u128 * part as u128 / (k as u128 + 1)) as usize;
    (at(i), at(i + 1))
}

fn held_count(rows: usize, share: f64) -> usize {
    ((rows as f64 * share).round() as usize).clamp(1, rows.max(2) - 1)
}

/// Indices of the rows to fit and of those held out, both in order. `numbers` gives a column as numbers,
/// or says what is wrong with it.
pub fn split(
    rows: usize,
    holdout: &Holdout,
    seed: u64,
    numbers: &dyn Fn(&str) -> Result<Vec<f64>, Report>,
) -> Result<(Vec<usize>, Vec<usize>), Report> {
    let by = |held: &dyn Fn(usize) -> bool| (0..rows).partition::<Vec<usize>, _>(|&r| !held(r));
    let (fitted, held) = match holdout {
        Holdout::None => ((0..rows).collect(), Vec::new()),
        Holdout::Share(share) => split_rows(rows, *share, seed),
        Holdout::Tail(share) if rows > 1 => by(&|r| r >= rows - held_count(rows, *share)),
        Holdout::Tail(_) => ((0..rows).collect(), Vec::new()),
        Holdout::Column(name) => {
            let marks = numbers(name)?;
            by(&|r| marks[r] != 0.0)
        }
        Holdout::Range(name, low, high) => {
            let places = numbers(name)?;
            by(&|r| places[r] >= *low && places[r] < *high)
        }
        Holdout::Rolling(i, k) => {
            let (begin, end) = rolling(rows, *i, *k);
            ((0..begin).collect(), (begin..end).collect())
        }
        Holdout::Fold(i, k) => {
            let mut order: Vec<usize> = (0..rows).collect();
            let mut stream = Stream::new(seed, 0xf01d);
            (1..rows).rev().for_each(|j| order.swap(j, stream.below(j + 1)));
            let mut part = vec![0; rows];
            order.iter().enumerate().for_each(|(place, &row)| part[row] = place % k);
            by(&|r| part[r] == i - 1)
        }
    };
    if fitted.is_empty() || (held.is_empty() && *holdout != Holdout::None && rows > 1) {
        return Err(none_left(fitted.is_empty()));
    }
    Ok((fitted, held))
}

/// A share above 0 holds out at least one row, and at least one row is left; the seed decides which.
fn split_rows(rows: usize, share: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    if share <= 0.0 || rows < 2 {
        return ((0..rows).collect(), Vec::new());
    }
    let count = held_count(rows, share);
    let mut state = seed;
    let mut order: Vec<usize> = (0..rows).collect();
    for i in 0..count {
        // The bias of the remainder is below rows / 2^64.
        let j = i + (next_random(&mut state) % (rows - i) as u64) as usize;
        order.swap(i, j);
    }
    let mut fitted = order.split_off(count);
    fitted.sort_unstable();
    order.sort_unstable();
    (fitted, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(rows: usize, holdout: Holdout, seed: u64) -> (Vec<usize>, Vec<usize>) {
        split(rows, &holdout, seed, &|_| Ok((0..rows).map(|r| if r % 4 == 3 { 1.0 } else { 0.0 }).collect())).unwrap()
    }

    #[test]
    fn every_row_is_on_one_side() {
        for (rows, share, count) in [(10, 0.3, 3), (10, 0.01, 1), (2, 0.9, 1), (100, 0.25, 25), (1, 0.5, 0)] {
            let (fitted, held) = parts(rows, Holdout::Share(share), 7);
            assert_eq!(held.len(), count);
            let mut all = [fitted.clone(), held.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
            assert!(fitted.is_sorted() && held.is_sorted());
        }
        assert_eq!(split_rows(50, 0.5, 1), split_rows(50, 0.5, 1));
        assert_ne!(split_rows(50, 0.5, 1), split_rows(50, 0.5, 2));
    }

    #[test]
    fn rows_are_held_out_by_column_range_fold_and_tail() {
        assert_eq!(parts(8, Holdout::Column("test".into()), 0).1, [3, 7]);
        assert_eq!(parts(8, Holdout::Range("t".into(), 0.5, 2.0), 0).1, [3, 7]);
        assert_eq!(parts(10, Holdout::Tail(0.25), 0).1, [7, 8, 9]);
        let mut seen: Vec<usize> = (1..=3).flat_map(|i| parts(10, Holdout::Fold(i, 3), 4).1).collect();
        assert_eq!(seen.len(), 10);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10, "folds do not overlap");
    }

    #[test]
    fn a_rolling_origin_fits_what_was_before_and_scores_what_comes_next() {
        let all: Vec<_> = (1..=3).map(|i| parts(10, Holdout::Rolling(i, 3), 9)).collect();
        let ends: Vec<(usize, Vec<usize>)> = all.iter().map(|(fitted, held)| (fitted.len(), held.clone())).collect();
        assert_eq!(ends, [(2, vec![2, 3, 4]), (5, vec![5, 6]), (7, vec![7, 8, 9])]);
        assert!(split(2, &Holdout::Rolling(1, 9), 0, &|_| Ok(Vec::new())).is_err());
    }

    #[test]
    fn of_a_series_the_end_is_held_out() {
        let rows: Vec<usize> = (0..10).collect();
        let of = |holdout: Holdout| holdout.of_series(&rows, &|_| Ok((0..10).map(f64::from).collect()));
        assert_eq!(of(Holdout::None).unwrap(), (10, 10));
        assert_eq!(of(Holdout::Tail(0.3)).unwrap(), (7, 10));
        assert_eq!(of(Holdout::Rolling(2, 4)).unwrap(), (4, 6), "later parts take no part");
        assert_eq!(of(Holdout::Range("t".into(), 6.0, f64::INFINITY)).unwrap(), (6, 10));
        assert_eq!(of(Holdout::Column("t".into())).unwrap(), (1, 10), "all but the first are marked");
        for refused in [Holdout::Share(0.3), Holdout::Fold(1, 3), Holdout::Range("t".into(), 2.0, 4.0)] {
            assert_eq!(of(refused).unwrap_err().diagnostics[0].code, "E0708");
        }
    }

    #[test]
    fn the_ways_to_hold_out_can_be_written() {
        for (text, expected) in [
            ("0.3", Holdout::Share(0.3)),
            ("tail:0.2", Holdout::Tail(0.2)),
            ("column:is test", Holdout::Column("is test".into())),
            ("range:t:1.5:", Holdout::Range("t".into(), 1.5, f64::INFINITY)),
            ("range:a:b:0:1", Holdout::Range("a:b".into(), 0.0, 1.0)),
            ("fold:2/5", Holdout::Fold(2, 5)),
            ("rolling:2/5", Holdout::Rolling(2, 5)),
        ] {
            assert_eq!(Holdout::parse(text), Some(expected), "{text}");
        }
        for text in
            ["", "1.5", "tail:2", "fold:6/5", "fold:0/5", "rolling:6/5", "rolling:1", "range:t:2:1", "range:t", "odd:1"]
        {
            assert_eq!(Holdout::parse(text), None, "{text}");
        }
    }
}
