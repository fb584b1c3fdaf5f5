//! How the raw numbers that a search moves become the numbers of a program's parameters: one after the
//! other, each through its transform; a parameter that differs by group has numbers for every group.

use crate::transform::Transform;

/// One parameter in the layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The transform of its numbers.
    pub transform: Transform,
    /// Where its raw numbers begin; those of the second group follow those of the first.
    pub raw: usize,
    /// Where its numbers begin in a set.
    pub value: usize,
    /// Whether every group has its own.
    pub per_group: bool,
}

/// The layout of all parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// In the order of the schema.
    pub blocks: Vec<Block>,
    /// Raw numbers of a point.
    pub raws: usize,
    /// Numbers of a set of parameters: what a program sees in one row.
    pub values: usize,
    /// Groups, at least one.
    pub groups: usize,
    /// What each raw number is multiplied with, if that is all that happens to any of them.
    factors: Option<Vec<f64>>,
}

impl Layout {
    /// The layout of parameters given by their transforms and whether they differ by group.
    pub fn new(parameters: impl IntoIterator<Item = (Transform, bool)>, groups: usize) -> Layout {
        let mut layout = Layout { groups, ..Layout::default() };
        for (transform, per_group) in parameters {
            let instances = if per_group { groups } else { 1 };
            let block = Block { raw: layout.raws, value: layout.values, per_group, transform };
            layout.raws += instances * block.transform.raws();
            layout.values += block.transform.values();
            layout.blocks.push(block);
        }
        let factors = |block: &Block| Some(vec![block.transform.factor()?; block.transform.raws()]);
        let factors: Option<Vec<Vec<f64>>> = layout.blocks.iter().map(factors).collect();
        layout.factors = factors.filter(|_| groups == 1).map(|list| list.concat());
        layout
    }

    /// The raw numbers of a block for a group.
    fn raw_range(block: &Block, group: usize) -> std::ops::Range<usize> {
        let count = block.transform.raws();
        let start = block.raw + if block.per_group { group * count } else { 0 };
        start..start + count
    }

    /// The set of parameters of a group.
    pub fn values(&self, raw: &[f64], group: usize) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.values);
        self.values_into(raw, group, &mut values);
        values
    }

    /// Adds the set of parameters of a group to a list.
    pub fn values_into(&self, raw: &[f64], group: usize, values: &mut Vec<f64>) {
        if let Some(factors) = &self.factors {
            return values.extend(factors.iter().zip(raw).map(|(factor, x)| factor * x));
        }
        for block in &self.blocks {
            block.transform.values_into(&raw[Layout::raw_range(block, group)], values);
        }
    }

    /// Adds to `out` the derivatives by raw numbers of what has these derivatives by the set of a group.
    pub fn pull_back(&self, raw: &[f64], group: usize, by_value: &[f64], out: &mut [f64]) {
        if let Some(factors) = &self.factors {
            return out.iter_mut().zip(by_value).zip(factors).for_each(|((out, g), factor)| *out += g * factor);
        }
        for block in &self.blocks {
            let range = Layout::raw_range(block, group);
            let by_value = &by_value[block.value..block.value + block.transform.values()];
            block.transform.pull_back(&raw[range.clone()], by_value, &mut out[range]);
        }
    }

    /// The whole point in the user's units: for each block the numbers of one group after the other.
    pub fn all_values(&self, raw: &[f64]) -> Vec<f64> {
        let mut values = Vec::new();
        for block in &self.blocks {
            for group in 0..if block.per_group { self.groups } else { 1 } {
                block.transform.values_into(&raw[Layout::raw_range(block, group)], &mut values);
            }
        }
        values
    }

    /// The logarithm of how much all values move with the raw numbers; its derivatives are added to `out`.
    pub fn log_stretch(&self, raw: &[f64], out: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for block in &self.blocks {
            for group in 0..if block.per_group { self.groups } else { 1 } {
                let range = Layout::raw_range(block, group);
                sum += block.transform.log_stretch(&raw[range.clone()], &mut out[range]);
            }
        }
        sum
    }

    /// The raw numbers that the set of a group depends on.
    pub(crate) fn raws_of_group(&self, group: usize) -> Vec<usize> {
        self.blocks.iter().flat_map(|block| Layout::raw_range(block, group)).collect()
    }

    /// The numbers of [`Layout::all_values`] that are the set of a group.
    pub(crate) fn values_of_group(&self, group: usize) -> Vec<usize> {
        let (mut first, mut list) = (0, Vec::new());
        for block in &self.blocks {
            let count = block.transform.values();
            let start = first + if block.per_group { group * count } else { 0 };
            list.extend(start..start + count);
            first += count * if block.per_group { self.groups } else { 1 };
        }
        list
    }

    /// How the set of a group moves with each of [`Layout::raws_of_group`], one direction after the other.
    pub(crate) fn directions(&self, raw: &[f64], group: usize) -> Vec<f64> {
        let mut rows = Vec::new();
        for block in &self.blocks {
            let (raw, values) = (&raw[Layout::raw_range(block, group)], block.transform.values());
            let first = rows.len();
            rows.resize(first + raw.len() * self.values, 0.0);
            for k in 0..values {
                let (mut unit, mut slopes) = (vec![0.0; values], vec![0.0; raw.len()]);
                unit[k] = 1.0;
                block.transform.pull_back(raw, &unit, &mut slopes);
                for (i, slope) in slopes.into_iter().enumerate() {
                    rows[first + i * self.values + block.value + k] = slope;
                }
            }
        }
        rows
    }

    /// Adds to a matrix by raw numbers what the bends of the values add to the second derivatives of what has these
    /// derivatives by the set of a group.
    pub(crate) fn add_bends(&self, raw: &[f64], group: usize, by_value: &[f64], matrix: &mut [f64]) {
        for block in &self.blocks {
            let range = Layout::raw_range(block, group);
            let by_value = &by_value[block.value..block.value + block.transform.values()];
            let corner = range.start * (self.raws + 1);
            block.transform.add_bends(&raw[range], by_value, &mut matrix[corner..], self.raws);
        }
    }

    /// The derivatives of [`Layout::all_values`] by the raw numbers, row by row.
    pub fn slopes(&self, raw: &[f64]) -> Vec<f64> {
        let mut rows = Vec::new();
        for block in &self.blocks {
            for group in 0..if block.per_group { self.groups } else { 1 } {
                let range = Layout::raw_range(block, group);
                for k in 0..block.transform.values() {
                    let mut unit = vec![0.0; block.transform.values()];
                    unit[k] = 1.0;
                    let mut row = vec![0.0; self.raws];
                    block.transform.pull_back(&raw[range.clone()], &unit, &mut row[range.clone()]);
                    rows.extend(row);
                }
            }
        }
        rows
    }
}
