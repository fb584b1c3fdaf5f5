//! Where lanes find their numbers.

use super::{Column, Model};
use dmci_exec::{Leaves, List, Number, Which};

/// How lanes are made of parameter sets and rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub sets: usize,
    pub rows: usize,
    /// Each set has one row; otherwise each has all rows.
    pub paired: bool,
}

impl Lanes {
    #[inline]
    pub fn count(self) -> usize {
        if self.paired { self.rows } else { self.sets * self.rows }
    }

    /// Whether each lane has its own parameters, and its own row.
    #[inline]
    fn have_own(self) -> [bool; 2] {
        [self.paired || self.rows == 1, self.paired || self.sets == 1]
    }

    /// The set and the row of a lane.
    pub fn of(self, lane: usize) -> (usize, usize) {
        match self {
            _ if self.paired => (lane, lane),
            Lanes { rows: 1, .. } => (lane, 0),
            Lanes { sets: 1, .. } => (0, lane),
            _ => (lane / self.rows, lane % self.rows),
        }
    }
}

/// Where the numbers of an input are: in which column, how far into a row, how many a row has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub column: u32,
    pub at: u32,
    pub width: u32,
}

/// Where the lanes of a call find their numbers.
pub(super) struct Source<'a, N> {
    pub params: &'a [N],
    pub numbers: usize,
    pub columns: &'a [Column<N>],
    pub lanes: Lanes,
    pub places: &'a [Place],
    pub row_bits: &'a [u64],
    pub row_starts: &'a [usize],
    /// What soft choices depend on.
    pub model: &'a Model,
}

impl<N: Number> Source<'_, N> {
    /// The list with a number of each row, and where it is there, if the columns are plain.
    #[inline]
    fn numbers_of(&self, input: usize) -> Option<(&[N], Place)> {
        let place = *self.places.get(input)?;
        match &self.columns[place.column as usize] {
            Column::Reals(list) | Column::Shaped(_, list) => Some((list, place)),
            Column::Data(_) => None,
        }
    }
}

impl<N: Number> Source<'_, N> {
    /// The list that a number is in, if there is one, and whether each set has its own, or each row.
    #[inline]
    fn list_of(&self, leaf: usize) -> Option<(List<'_, N>, bool)> {
        match leaf.checked_sub(self.numbers) {
            None => Some((List { which: 0, numbers: self.params, stride: self.numbers, at: leaf }, true)),
            Some(input) => {
                let (numbers, Place { column, at, width }) = self.numbers_of(input)?;
                let (which, stride, at) = (1 + column as usize, width as usize, at as usize);
                Some((List { which, numbers, stride, at }, false))
            }
        }
    }
}

impl<N: Number> Leaves for Source<'_, N> {
    type Number = N;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let (set, row) = self.lanes.of(lane);
        if leaf < self.numbers {
            return self.params[set * self.numbers + leaf].bits();
        }
        let input = leaf - self.numbers;
        if let Some((list, Place { at, width, .. })) = self.numbers_of(input) {
            return list[row * width as usize + at as usize].bits();
        }
        let bits = match self.row_starts.get(row) {
            Some(&start) => &self.row_bits[start..*self.row_starts.get(row + 1).unwrap_or(&self.row_bits.len())],
            None => &[],
        };
        let inputs = if self.row_starts.is_empty() { self.places.len() } else { bits.len() };
        // Behind the inputs come the temperature and the noise of soft choices.
        if input >= inputs {
            return self.model.choices().at(set as u64, row as u64).leaf(input - inputs).to_bits();
        }
        bits[input]
    }

    #[inline]
    fn list(&self, leaf: usize) -> Option<List<'_, N>> {
        let (list, by_set) = self.list_of(leaf)?;
        self.lanes.have_own()[usize::from(!by_set)].then_some(list)
    }

    #[inline]
    fn arrangement(&self) -> Option<u64> {
        let are_plain = self.columns.iter().all(|column| matches!(column, Column::Reals(_)));
        let [sets, rows] = self.lanes.have_own().map(u64::from);
        are_plain.then_some((self.numbers as u64) << 32 | (self.columns.len() as u64) << 2 | sets << 1 | rows)
    }

    fn gather(&self, which: Which<'_>, leaves: usize, rows: &mut [u64], width: usize) {
        let n = which.count();
        let mut leaf = 0;
        while leaf < leaves {
            // A list of numbers that each lane has for itself, if this is the first of them.
            if let Which::Range(first, _) = which
                && let Some(List { numbers, stride: count, at: 0, .. }) = self.list(leaf)
                && count > 1
                && leaf + count <= leaves
            {
                let (rows, list) = (&mut rows[leaf * width..], &numbers[first * count..]);
                match count {
                    2 => apart::<N, 2>(rows, width, list, n),
                    3 => apart::<N, 3>(rows, width, list, n),
                    4 => apart::<N, 4>(rows, width, list, n),
                    _ => transposed(rows, width, list, count, n),
                }
                leaf += count;
            } else {
                self.fill(which, leaf, &mut rows[leaf * width..][..n]);
                leaf += 1;
            }
        }
    }

    fn fill(&self, which: Which<'_>, leaf: usize, row: &mut [u64]) {
        let Some((List { numbers: list, stride: width, at, .. }, by_set)) = self.list_of(leaf) else {
            return which.fill(row, |lane| self.leaf(lane, leaf));
        };
        let Lanes { sets, rows, paired } = self.lanes;
        let (of_this, of_other) = if by_set { (sets, rows) } else { (rows, sets) };
        match which {
            _ if of_this == 1 => row.fill(list[at].bits()),
            Which::Range(first, _) if paired || of_other == 1 => neighbours(row, &list[first * width..], at, width),
            Which::Range(first, count) => {
                for (set, r, part) in dmci_exec::by_set(first, count, rows) {
                    if by_set {
                        row[part].fill(list[set * width + at].bits());
                    } else {
                        neighbours(&mut row[part], &list[r * width..], at, width);
                    }
                }
            }
            _ if by_set => which.fill(row, |lane| list[self.lanes.of(lane).0 * width + at].bits()),
            _ => which.fill(row, |lane| list[self.lanes.of(lane).1 * width + at].bits()),
        }
    }
}

/// Numbers that lie together for each lane become rows, a few lanes at a time, so that memory is read
/// in its order.
fn transposed<N: Number>(rows: &mut [u64], row_width: usize, lists: &[N], width: usize, n: usize) {
    for (lane, list) in lists.chunks_exact(width).enumerate().take(n) {
        for (at, x) in list.iter().enumerate() {
            rows[at * row_width + lane] = x.bits();
        }
    }
}

/// The same for a few numbers of each lane.
fn apart<N: Number, const W: usize>(rows: &mut [u64], row_width: usize, lists: &[N], n: usize) {
    let mut parts = rows.chunks_mut(row_width);
    let mut rows: [&mut [u64]; W] = std::array::from_fn(|_| &mut parts.next().unwrap_or_default()[..n]);
    for (i, list) in lists.chunks_exact(W).take(n).enumerate() {
        for (row, x) in rows.iter_mut().zip(list) {
            row[i] = x.bits();
        }
    }
}

/// Numbers that are so many places apart. Usual distances have loops of their own.
fn neighbours<N: Number>(row: &mut [u64], list: &[N], at: usize, width: usize) {
    fn fixed<N: Number, const W: usize>(row: &mut [u64], list: &[N], at: usize) {
        row.iter_mut().zip(list.chunks_exact(W)).for_each(|(x, from)| *x = from[at].bits());
    }
    match width {
        1 => fixed::<N, 1>(row, list, 0),
        2 => fixed::<N, 2>(row, list, at),
        3 => fixed::<N, 3>(row, list, at),
        4 => fixed::<N, 4>(row, list, at),
        _ => row.iter_mut().zip(list[at..].iter().step_by(width)).for_each(|(x, from)| *x = from.bits()),
    }
}
