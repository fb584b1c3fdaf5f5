//! Where the results of lanes go.

use crate::number::Number;
use std::ops::Range;

/// Lists that the results of all lanes go to: each takes so many of them in turn, lane by lane.
#[derive(Debug)]
pub struct Target<'a, N> {
    lists: [(&'a mut [N], usize); 3],
}

impl<N> Default for Target<'_, N> {
    fn default() -> Self {
        Target { lists: Default::default() }
    }
}

impl<'a, N: Number> Target<'a, N> {
    /// Up to three lists with the number of results of a lane that each takes.
    pub fn new(lists: [(&'a mut [N], usize); 3]) -> Target<'a, N> {
        Target { lists }
    }

    /// How many results of a lane there is room for.
    #[inline]
    pub fn width(&self) -> usize {
        self.lists.iter().map(|l| l.1).sum()
    }

    /// How many results of a lane each list takes.
    #[inline]
    pub(crate) fn widths(&self) -> [usize; 3] {
        [0, 1, 2].map(|k| self.lists[k].1)
    }

    /// The part of each list, if it takes any, for so many lanes from the first on.
    #[inline]
    pub(crate) fn lists_from(&mut self, first: usize, lanes: usize) -> impl Iterator<Item = &mut [N]> {
        let taking = self.lists.iter_mut().filter(|l| l.1 > 0);
        taking.map(move |(list, width)| &mut list[first * *width..(first + lanes) * *width])
    }

    /// The part of the first lanes, and the rest.
    pub(crate) fn split(self, lanes: usize) -> (Target<'a, N>, Target<'a, N>) {
        let [a, b, c] = self.lists.map(|(list, width)| {
            let (first, rest) = list.split_at_mut((lanes * width).min(list.len()));
            ((first, width), (rest, width))
        });
        (Target { lists: [a.0, b.0, c.0] }, Target { lists: [a.1, b.1, c.1] })
    }

    /// The parts of so many lanes each, with the first lane and the number of lanes of each part.
    pub(crate) fn pieces(self, lanes: usize, each: usize) -> Pieces<'a, N> {
        Pieces { rest: self, lanes: 0..lanes, each }
    }

    /// Gives the results of some neighbours: a row of them for each result.
    pub(crate) fn put<'r>(&mut self, first: usize, row: impl Fn(usize) -> &'r [u64]) {
        let mut k = 0;
        for (list, width) in self.lists.iter_mut() {
            let list = &mut list[first * *width..];
            match *width {
                1 => together(list, [row(k)]),
                2 => together(list, [row(k), row(k + 1)]),
                3 => together(list, [row(k), row(k + 1), row(k + 2)]),
                4 => together(list, [row(k), row(k + 1), row(k + 2), row(k + 3)]),
                n => (0..n).for_each(|at| spread(row(k + at), &mut list[at..], n)),
            }
            k += *width;
        }
    }
}

/// A target part by part, from both ends.
#[derive(Debug)]
pub(crate) struct Pieces<'a, N> {
    rest: Target<'a, N>,
    lanes: Range<usize>,
    each: usize,
}

impl<'a, N: Number> Iterator for Pieces<'a, N> {
    type Item = (usize, usize, Target<'a, N>);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, count) = (self.lanes.start, self.each.min(self.lanes.len()));
        let (part, rest) = std::mem::take(&mut self.rest).split(count);
        (self.rest, self.lanes.start) = (rest, first + count);
        (count > 0).then_some((first, count, part))
    }
}

impl<N: Number> DoubleEndedIterator for Pieces<'_, N> {
    fn next_back(&mut self) -> Option<Self::Item> {
        // Only the last part may be a short one.
        let before = self.lanes.len().saturating_sub(1) / self.each * self.each;
        let (first, count) = (self.lanes.start + before, self.lanes.len() - before);
        let (rest, part) = std::mem::take(&mut self.rest).split(before);
        (self.rest, self.lanes.end) = (rest, first);
        (count > 0).then_some((first, count, part))
    }
}

/// Puts a row into a list, so many places apart.
fn spread<N: Number>(row: &[u64], list: &mut [N], width: usize) {
    list.iter_mut().step_by(width).zip(row).for_each(|(place, &bits)| *place = N::of_bits(bits));
}

/// Puts a few rows into a list, in turns: it is written once, in its order.
fn together<N: Number, const W: usize>(list: &mut [N], rows: [&[u64]; W]) {
    let n = rows.iter().map(|row| row.len()).min().unwrap_or(0);
    let rows = rows.map(|row| &row[..n]);
    for (i, place) in list.chunks_exact_mut(W).take(n).enumerate() {
        for (x, row) in place.iter_mut().zip(rows) {
            *x = N::of_bits(row[i]);
        }
    }
}
