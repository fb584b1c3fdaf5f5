//! Where the results of lanes go.

/// Lists that the results of all lanes go to: each takes so many of them in turn, lane by lane.
#[derive(Debug, Default)]
pub struct Target<'a> {
    lists: [(&'a mut [f64], usize); 3],
}

impl<'a> Target<'a> {
    /// Up to three lists with the number of results of a lane that each takes.
    pub fn new(lists: [(&'a mut [f64], usize); 3]) -> Target<'a> {
        Target { lists }
    }

    /// How many results of a lane there is room for.
    pub fn width(&self) -> usize {
        self.lists.iter().map(|l| l.1).sum()
    }

    /// The part of the first lanes, and the rest.
    pub(crate) fn split(self, lanes: usize) -> (Target<'a>, Target<'a>) {
        let [a, b, c] = self.lists.map(|(list, width)| {
            let (first, rest) = list.split_at_mut((lanes * width).min(list.len()));
            ((first, width), (rest, width))
        });
        (Target { lists: [a.0, b.0, c.0] }, Target { lists: [a.1, b.1, c.1] })
    }

    /// Gives the results of some neighbours: a row of them for each result.
    pub(crate) fn put<'r>(&mut self, first: usize, row: impl Fn(usize) -> &'r [u64]) {
        let mut k = 0;
        for (list, width) in self.lists.iter_mut() {
            for at in 0..*width {
                spread(row(k), &mut list[first * *width..], *width, at);
                k += 1;
            }
        }
    }
}

/// Puts a row into a list, so many places apart. Usual distances have loops of their own.
fn spread(row: &[u64], list: &mut [f64], width: usize, at: usize) {
    fn fixed<const W: usize>(row: &[u64], list: &mut [f64], at: usize) {
        let places = list.chunks_exact_mut(W);
        places.zip(row).for_each(|(place, &bits)| place[at] = f64::from_bits(bits));
    }
    match width {
        1 => fixed::<1>(row, list, 0),
        2 => fixed::<2>(row, list, at),
        3 => fixed::<3>(row, list, at),
        4 => fixed::<4>(row, list, at),
        _ => {
            let places = list[at..].iter_mut().step_by(width);
            places.zip(row).for_each(|(place, &bits)| *place = f64::from_bits(bits));
        }
    }
}
