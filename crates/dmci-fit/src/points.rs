//! Points that searches ask for, in one list whose memory is used again from round to round.

/// Points of the same dimension.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    dimension: usize,
    count: usize,
    numbers: Vec<f64>,
}

impl Points {
    /// Forgets all points.
    pub fn clear(&mut self) {
        self.count = 0;
        self.numbers.clear();
    }

    /// Adds a point; the first one says how many dimensions there are.
    pub fn push(&mut self, point: impl IntoIterator<Item = f64>) {
        self.numbers.extend(point);
        if self.count == 0 {
            self.dimension = self.numbers.len();
        }
        self.count += 1;
        debug_assert_eq!(self.numbers.len(), self.count * self.dimension, "all points have the same dimension");
    }

    /// Puts a point in the place of another one.
    pub fn set(&mut self, number: usize, point: &[f64]) {
        self.numbers[number * self.dimension..][..self.dimension].copy_from_slice(point);
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    pub fn all(&self) -> Asked<'_> {
        self.part(0, self.count)
    }

    /// So many of them, from one on.
    pub fn part(&self, first: usize, count: usize) -> Asked<'_> {
        let numbers = &self.numbers[first * self.dimension..][..count * self.dimension];
        Asked { dimension: self.dimension, count, numbers }
    }
}

impl<'a> FromIterator<&'a [f64]> for Points {
    fn from_iter<I: IntoIterator<Item = &'a [f64]>>(points: I) -> Points {
        let mut list = Points::default();
        points.into_iter().for_each(|point| list.push(point.iter().copied()));
        list
    }
}

/// Some points: those that one search asked for, or those that are evaluated together.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    dimension: usize,
    count: usize,
    numbers: &'a [f64],
}

impl<'a> Asked<'a> {
    /// How many points there are.
    pub fn len(self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The point of a number.
    pub fn get(self, number: usize) -> &'a [f64] {
        &self.numbers[number * self.dimension..][..self.dimension]
    }

    /// One after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [f64]> {
        (0..self.count).map(move |number| self.get(number))
    }

    /// So many of them, from one on.
    pub fn part(self, first: usize, count: usize) -> Asked<'a> {
        Asked { count, numbers: &self.numbers[first * self.dimension..][..count * self.dimension], ..self }
    }
}
