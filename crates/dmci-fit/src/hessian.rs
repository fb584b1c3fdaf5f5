//! Second derivatives of a loss by raw numbers, exactly: the gradient of every row is followed along every direction,
//! forward over reverse, each row and direction a lane.

use crate::problem::{Problem, Rows};
use crate::second::differences;
use dmci::{Along, Column, Report, Want};
use dmci_stats::linear::dot;
use dmci_table::select;
use std::sync::Arc;

/// Numbers that are held at a time.
const MOST_NUMBERS: usize = 1 << 23;

/// What the rows of a group say about the set of its parameters.
struct OfGroup {
    /// Derivatives of the loss by the set.
    gradient: Vec<f64>,
    /// How they change along each direction.
    changes: Vec<f64>,
}

/// The second derivatives of the loss at a point that nobody will ask for again.
pub(crate) fn bends(problem: &Problem, raw: &[f64]) -> Result<Option<Vec<f64>>, Report> {
    match problem.hessian(raw)? {
        Some(exact) => Ok(Some(exact)),
        None => differences(problem, raw),
    }
}

impl Problem {
    /// The second derivatives of the loss by raw numbers, row by row: exact ones, or differences of exact gradients
    /// where a row was not recorded. None where gradients are not finite nearby.
    pub(crate) fn curvature(&self, raw: &[f64]) -> Result<Option<Arc<Vec<f64>>>, Report> {
        let known = self.known(raw)?;
        if let Some(found) = known.curvature.get() {
            return Ok(found.clone());
        }
        let found = bends(self, raw)?;
        Ok(known.curvature.get_or_init(|| found.map(Arc::new)).clone())
    }

    /// The exact second derivatives; none if one is not finite.
    pub(crate) fn hessian(&self, raw: &[f64]) -> Result<Option<Vec<f64>>, Report> {
        let (n, rows) = (raw.len(), self.training());
        let divisor = self.divisor(rows);
        let mut matrix = vec![0.0; n * n];
        for group in 0..self.layout.groups {
            self.check_cancel()?;
            let members: Vec<usize> = match self.layout.groups {
                1 => (0..rows.len()).collect(),
                _ => (0..rows.len()).filter(|&r| rows.group[r] == group).collect(),
            };
            let raws = self.layout.raws_of_group(group);
            let directions = self.layout.directions(raw, group);
            let mut found = self.of_group(raw, group, &members, &directions)?;
            found.gradient.iter_mut().chain(&mut found.changes).for_each(|x| *x /= divisor);
            self.add_priors(raw, group, &directions, &mut found);
            let width = self.layout.values;
            for (&i, change) in raws.iter().zip(found.changes.chunks_exact(width)) {
                self.layout.pull_back(raw, group, change, &mut matrix[i * n..(i + 1) * n]);
            }
            self.layout.add_bends(raw, group, &found.gradient, &mut matrix);
        }
        if matrix.iter().any(|x| !x.is_finite()) {
            return Ok(None);
        }
        // Rounding alone tells one half from the other.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (matrix[i * n + j] + matrix[j * n + i]);
                (matrix[i * n + j], matrix[j * n + i]) = (mean, mean);
            }
        }
        Ok(Some(matrix))
    }

    /// The sum over the rows of a group, as many rows at a time as memory allows.
    fn of_group(&self, raw: &[f64], group: usize, members: &[usize], directions: &[f64]) -> Result<OfGroup, Report> {
        let (n, rows) = (self.layout.values, self.training());
        let count = directions.len() / n.max(1);
        let set = self.layout.values(raw, group);
        let mut sum = OfGroup { gradient: vec![0.0; n], changes: vec![0.0; directions.len()] };
        let most = (MOST_NUMBERS / (directions.len() * self.outputs).max(1)).max(1);
        for part in members.chunks(most) {
            self.check_cancel()?;
            let columns: Vec<Column> = rows.columns.iter().map(|c| select(c, part)).collect();
            let found = self.model.along(&set, &columns, directions, Want::Gradients)?;
            for (i, &row) in part.iter().enumerate() {
                self.add_row(rows, row, (&found, i), &set, (directions, count), &mut sum);
            }
        }
        Ok(sum)
    }

    /// Adds what one row says.
    fn add_row(
        &self,
        rows: &Rows,
        row: usize,
        (found, at): (&Along, usize),
        set: &[f64],
        (directions, count): (&[f64], usize),
        sum: &mut OfGroup,
    ) {
        let (n, outputs, targets) = (self.layout.values, self.outputs, self.width());
        // A loss of the program's own is its last number.
        let own = outputs > targets;
        for target in 0..if own { 1 } else { targets } {
            let output = if own { outputs - 1 } else { target };
            let measured = rows.target[row * targets + target];
            let prediction = found.batch.values[at * outputs + output];
            let slopes = &found.batch.gradients[(at * outputs + output) * n..][..n];
            let term = self.weighted_term(rows, row, prediction, measured, set);
            let bend = self.weighted_bend(rows, row, prediction, measured, set);
            let noise = self.noise.indices();
            // What was not measured, or does not count, says nothing, whatever the program gives for it.
            if term.by_prediction == 0.0 && bend.by_prediction == 0.0 && term.by_noise == [0.0; 3] {
                continue;
            }
            sum.gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += term.by_prediction * slope);
            for (k, index) in noise.iter().enumerate().filter_map(|(k, index)| Some((k, (*index)?))) {
                sum.gradient[index] += term.by_noise[k];
            }
            for (j, direction) in directions.chunks_exact(n).enumerate() {
                let change = &found.changes[((at * count + j) * outputs + output) * n..][..n];
                let of_noise = |k: usize| noise[k].map_or(0.0, |index| direction[index]);
                let of_prediction = dot(slopes, direction);
                let factor =
                    bend.by_prediction * of_prediction + (0..3).map(|k| bend.mixed[k] * of_noise(k)).sum::<f64>();
                let out = &mut sum.changes[j * n..][..n];
                for ((out, slope), change) in out.iter_mut().zip(slopes).zip(change) {
                    *out += factor * slope + term.by_prediction * change;
                }
                for (k, index) in noise.iter().enumerate().filter_map(|(k, index)| Some((k, (*index)?))) {
                    let by_noise = (0..3).map(|l| bend.by_noise[k][l] * of_noise(l)).sum::<f64>();
                    out[index] += bend.mixed[k] * of_prediction + by_noise;
                }
            }
        }
    }

    /// Adds what the priors say about the parameters of a group.
    fn add_priors(&self, raw: &[f64], group: usize, directions: &[f64], found: &mut OfGroup) {
        let (n, set) = (self.layout.values, self.layout.values(raw, group));
        for (density, at) in self.prior_numbers(group) {
            found.gradient[at] -= density.log(set[at]).1;
            let bend = density.log_bend(set[at]);
            for (change, direction) in found.changes.chunks_exact_mut(n).zip(directions.chunks_exact(n)) {
                change[at] -= bend * direction[at];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;
    use crate::problem::ProblemOptions;
    use dmci::Program;
    use dmci_table::Table;

    /// A problem with rows t, y, n and g, of two groups.
    fn problem(program: &str, loss: &str) -> Problem {
        let mut text = String::from("t,y,n,g\n");
        for i in 0..14 {
            let t = 0.25 * f64::from(i);
            let wobble = f64::from((7 * i + 3) % 11 - 5);
            let y = match loss {
                "poisson" | "negative-binomial" | "binomial" => f64::from(1 + (5 * i + 2) % 7),
                _ => 2.0 * (-0.5 * t).exp() + 0.1 * wobble,
            };
            text += &format!("{t:?},{y:?},9,{}\n", if i % 2 == 0 { "a" } else { "b" });
        }
        let table = Table::from_bytes("data.csv", text.as_bytes(), &[]).unwrap();
        let trials = (loss == "binomial").then(|| "n".to_string());
        let loss = Loss::named(loss).unwrap_or(if loss == "objective" {
            Loss::Objective
        } else {
            Loss::Procedure(loss.to_string())
        });
        let target = if loss == Loss::Objective { "" } else { "y" };
        let options = ProblemOptions { loss, trials, ..ProblemOptions::default() };
        Problem::new(Program::new(program), &table, target, options).unwrap_or_else(|r| panic!("{r}"))
    }

    #[test]
    fn exact_second_derivatives_are_differences_of_gradients() {
        let rows = "(params (a positive 1.5) (b (bounded 0 3) 0.7) (sigma positive 0.4)) (* a (exp (- (* b t))))";
        let logistic = "(params (a free 0.4) (b signed-unit 0.3)) (sigmoid (+ a (* b t)))";
        let cases = [
            (rows, "gaussian"),
            (rows, "student-t"),
            (
                "(params (a positive 1.5) (b (log 0.1 3) 0.7) (dispersion positive 2)) (* a (exp (* b t)))",
                "negative-binomial",
            ),
            (
                "(params (a free 0.5 (prior normal 1 2)) (b free 0.1 (prior student-t 3 0 1))) (exp (+ a (* b t)))",
                "poisson",
            ),
            (logistic, "binomial"),
            (
                "(params (a free 0.4 (per g)) (s (simplex 3) (0.2 0.3 0.5))) (exp (+ a (* t (ref s 1)) (ref s 2)))",
                "poisson",
            ),
            ("(params (a positive 1.5)) (define (far p y) (log (+ 1 (square (- p y))))) (* a (exp (- t)))", "far"),
            (
                "(params (L (cholesky 2) ((0.5 0) (0.2 0.7))) (m (vector 2) (0.5 0.1)))
                 (define S (matmul L (transpose L)))
                 (let loop ((k 0) (sum 0.0))
                   (if (= k (vlen t)) sum
                     (let ((e (- (vec (ref t k) (ref y k)) m)))
                       (loop (+ k 1) (+ sum (logdet S) (dot e (matvec (inv S) e)))))))",
                "objective",
            ),
        ];
        for (program, loss) in cases {
            let problem = problem(program, loss);
            let raw = problem.start().to_vec();
            let exact = problem.hessian(&raw).unwrap().unwrap_or_else(|| panic!("not finite: {loss} {program}"));
            let nearly = differences(&problem, &raw).unwrap().expect("finite");
            let size = nearly.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (k, (a, b)) in exact.iter().zip(&nearly).enumerate() {
                assert!((a - b).abs() <= 1e-5 * size, "{loss} {program} {k}: {a} {b}");
            }
        }
    }
}
