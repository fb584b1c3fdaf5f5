//! The raw numbers that searches go over, and the numbers that a program sees.

use dmci::{Interpreter, Program, Report};
use dmci_fit::Transform;

/// The parameters of a program, each with its transform.
#[derive(Clone, Debug, PartialEq)]
pub struct Raws {
    /// The names of the parameters.
    pub names: Vec<String>,
    /// Where raw numbers start.
    pub start: Vec<f64>,
    transforms: Vec<Transform>,
}

impl Raws {
    /// Those of the schema of a program.
    pub fn of(program: &Program) -> Result<Raws, Report> {
        let schema = Interpreter::shared().names(program)?.schema;
        let transforms: Vec<Transform> = schema.parameters.iter().map(Transform::of).collect();
        let starts = schema.parameters.iter().zip(&transforms);
        let start = starts.flat_map(|(p, t)| t.raws_of(&p.starts).unwrap_or_else(|| vec![0.0; t.raws()])).collect();
        Ok(Raws { names: schema.parameters.into_iter().map(|p| p.name).collect(), start, transforms })
    }

    /// Raw numbers of all parameters.
    pub fn count(&self) -> usize {
        self.start.len()
    }

    /// The raw numbers of each parameter, in order.
    pub fn places(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        let mut from = 0;
        self.names.iter().zip(&self.transforms).map(move |(name, t)| {
            let place = from..from + t.raws();
            from = place.end;
            (name.as_str(), place)
        })
    }

    /// Appends the numbers of the program.
    pub fn values_into(&self, raws: &[f64], values: &mut Vec<f64>) {
        for ((_, place), transform) in self.places().zip(&self.transforms) {
            transform.values_into(&raws[place], values);
        }
    }

    /// The numbers of the program.
    pub fn values(&self, raws: &[f64]) -> Vec<f64> {
        let mut values = Vec::new();
        self.values_into(raws, &mut values);
        values
    }

    /// Adds the derivatives by raw numbers of what has these derivatives by the program's numbers.
    pub fn pull_back(&self, raws: &[f64], by_value: &[f64], out: &mut [f64]) {
        let mut from = 0;
        for ((_, place), transform) in self.places().zip(&self.transforms) {
            let to = from + transform.values();
            transform.pull_back(&raws[place.clone()], &by_value[from..to], &mut out[place]);
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_by_raw_numbers_are_those_of_differences() {
        let raws =
            Raws::of(&Program::new("(params (a positive 2.0) (v (vector 2) (1 -3)) (b unit 0.2 0.5)) a")).unwrap();
        assert_eq!(raws.places().map(|(n, p)| (n, p.len())).collect::<Vec<_>>(), [("a", 1), ("v", 2), ("b", 1)]);
        let (by_value, mut found) = ([1.0, 10.0, 100.0, 1000.0], vec![0.0; 4]);
        raws.pull_back(&raws.start, &by_value, &mut found);
        let sum = |raw: &[f64]| raws.values(raw).iter().zip(by_value).map(|(v, w)| v * w).sum::<f64>();
        for (i, g) in found.iter().enumerate() {
            let mut moved = raws.start.clone();
            moved[i] += 1e-6;
            assert!(((sum(&moved) - sum(&raws.start)) / 1e-6 - g).abs() < 1e-3, "{i}: {g}");
        }
    }
}
