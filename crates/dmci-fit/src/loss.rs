//! Losses: how far predictions are from a target, row by row.

mod bend;

pub use bend::Bend;
use dmci_ops::real::{digamma, lgamma, log, log1p};

/// A loss. The first four are means or sums over rows; the likelihoods are negative logarithms of
/// the probability of all rows, so that differences between models mean something.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// The mean of squared residuals.
    #[default]
    Mse,
    /// Their sum.
    Sse,
    /// The mean of absolute residuals.
    Mae,
    /// The mean of squares halved up to this residual, and of a line beyond.
    Huber(f64),
    /// Normal noise, with a standard deviation from a column or a parameter. If it is known, it is half of chi-square:
    /// a sum of squares, without the logarithms that do not depend on parameters; criteria count them.
    Gaussian,
    /// Student's noise with so many degrees of freedom: some rows may be far off.
    StudentT(f64),
    /// Counts with the prediction as their mean.
    Poisson,
    /// Counts that vary more than that, by a parameter `dispersion`.
    NegativeBinomial,
    /// Successes out of trials with the prediction as probability.
    Binomial,
    /// A procedure of the program, of prediction and target, whose mean is taken.
    Procedure(String),
    /// The program's own value.
    Objective,
}

/// The parameters of the schema that describe noise, as indices of numbers of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// `sigma`.
    pub sigma: Option<usize>,
    /// `df`, the degrees of freedom of Student's distribution.
    pub degrees: Option<usize>,
    /// `dispersion` of the negative binomial distribution.
    pub dispersion: Option<usize>,
    /// `df` and `dispersion` where they are fixed.
    pub fixed: (Option<f64>, Option<f64>),
}

impl Noise {
    /// The names that noise parameters have in a schema.
    pub const NAMES: [&str; 3] = ["sigma", "df", "dispersion"];

    /// Which of them there are.
    pub fn indices(&self) -> [Option<usize>; 3] {
        [self.sigma, self.degrees, self.dispersion]
    }
}

/// What a loss says about one prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Term {
    /// Its share of the loss.
    pub loss: f64,
    /// The derivative of that by the prediction.
    pub by_prediction: f64,
    /// The derivatives by sigma, df and dispersion.
    pub by_noise: [f64; 3],
}

/// What is known about one row besides its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The target.
    pub target: f64,
    /// The standard deviation from a column, or 1.
    pub sigma: f64,
    /// Trials, for successes.
    pub trials: f64,
}

impl Loss {
    /// The names that the command knows.
    pub const NAMES: &[&str] =
        &["mse", "sse", "mae", "huber", "gaussian", "student-t", "poisson", "negative-binomial", "binomial"];

    /// The loss of a name, with its default settings.
    pub fn named(name: &str) -> Option<Loss> {
        Some(match name {
            "mse" => Loss::Mse,
            "sse" => Loss::Sse,
            "mae" => Loss::Mae,
            "huber" => Loss::Huber(1.0),
            "gaussian" => Loss::Gaussian,
            "student-t" => Loss::StudentT(4.0),
            "poisson" => Loss::Poisson,
            "negative-binomial" => Loss::NegativeBinomial,
            "binomial" => Loss::Binomial,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Loss::Mse => "mse",
            Loss::Sse => "sse",
            Loss::Mae => "mae",
            Loss::Huber(_) => "huber",
            Loss::Gaussian => "gaussian",
            Loss::StudentT(_) => "student-t",
            Loss::Poisson => "poisson",
            Loss::NegativeBinomial => "negative-binomial",
            Loss::Binomial => "binomial",
            Loss::Procedure(name) => name,
            Loss::Objective => "objective",
        }
    }

    /// The loss that is meant if none is named: a column of standard deviations or of trials says what noise is
    /// expected.
    pub fn meant(sigma: bool, trials: bool) -> Loss {
        match (sigma, trials) {
            (true, _) => Loss::Gaussian,
            (false, true) => Loss::Binomial,
            (false, false) => Loss::default(),
        }
    }

    /// Whether it reads standard deviations of rows.
    pub fn uses_sigma(&self) -> bool {
        matches!(self, Loss::Gaussian | Loss::StudentT(_))
    }

    /// Whether it reads numbers of trials.
    pub fn uses_trials(&self) -> bool {
        *self == Loss::Binomial
    }

    /// Whether it is the mean over rows, and not their sum.
    pub fn is_mean(&self) -> bool {
        matches!(self, Loss::Mse | Loss::Mae | Loss::Huber(_) | Loss::Procedure(_))
    }

    /// Whether it is the negative logarithm of a probability.
    pub fn is_likelihood(&self) -> bool {
        matches!(self, Loss::Gaussian | Loss::StudentT(_) | Loss::Poisson | Loss::NegativeBinomial | Loss::Binomial)
    }

    /// Whether it is a sum of squares, given which parameters describe the noise.
    pub fn is_least_squares(&self, noise: &Noise) -> bool {
        match self {
            Loss::Mse | Loss::Sse => true,
            Loss::Gaussian => noise.sigma.is_none(),
            _ => false,
        }
    }

    /// What a least-squares loss multiplies the squared residual with.
    pub fn square_factor(&self, sigma: f64) -> f64 {
        if *self == Loss::Gaussian { 0.5 / (sigma * sigma) } else { 1.0 }
    }

    /// What least squares leave out of the negative logarithm of the likelihood of one row.
    pub fn constant(&self, noise: &Noise, sigma: f64) -> f64 {
        match self {
            Loss::Gaussian if noise.sigma.is_none() => log(sigma) + 0.5 * log(std::f64::consts::TAU),
            _ => 0.0,
        }
    }

    /// The term of one prediction. `values` is the set of parameters, of which noise may take some.
    pub fn term(&self, prediction: f64, row: Measured, noise: &Noise, values: &[f64]) -> Term {
        let number = |index: Option<usize>| index.and_then(|i| values.get(i).copied());
        let residual = prediction - row.target;
        let plain = |loss, by_prediction| Term { loss, by_prediction, by_noise: [0.0; 3] };
        match self {
            Loss::Mse | Loss::Sse => plain(residual * residual, 2.0 * residual),
            Loss::Mae if residual == 0.0 => plain(0.0, 0.0),
            Loss::Mae => plain(residual.abs(), residual.signum()),
            Loss::Huber(limit) if residual.abs() <= *limit => plain(0.5 * residual * residual, residual),
            Loss::Huber(limit) => plain(limit * (residual.abs() - 0.5 * limit), limit * residual.signum()),
            Loss::Gaussian => gaussian(residual, row.sigma, number(noise.sigma)),
            Loss::StudentT(degrees) => {
                let degrees = number(noise.degrees).or(noise.fixed.0).unwrap_or(*degrees);
                student(residual, row.sigma, number(noise.sigma), degrees)
            }
            Loss::Poisson => poisson(prediction, row.target),
            Loss::NegativeBinomial => {
                let dispersion = number(noise.dispersion).or(noise.fixed.1);
                negative_binomial(prediction, row.target, dispersion.unwrap_or(f64::NAN))
            }
            Loss::Binomial => binomial(prediction, row.target, row.trials),
            Loss::Procedure(_) | Loss::Objective => plain(prediction, 1.0),
        }
    }
}

fn gaussian(residual: f64, column: f64, parameter: Option<f64>) -> Term {
    let sigma = column * parameter.unwrap_or(1.0);
    let z = residual / sigma;
    let constant = if parameter.is_some() { log(sigma) + 0.5 * log(std::f64::consts::TAU) } else { 0.0 };
    let by_sigma = parameter.map_or(0.0, |p| (1.0 - z * z) / p);
    Term { loss: 0.5 * z * z + constant, by_prediction: z / sigma, by_noise: [by_sigma, 0.0, 0.0] }
}

fn student(residual: f64, column: f64, parameter: Option<f64>, df: f64) -> Term {
    let sigma = column * parameter.unwrap_or(1.0);
    let z = residual / sigma;
    let share = z * z / (df + z * z);
    let half = 0.5 * (df + 1.0);
    let loss =
        lgamma(0.5 * df) - lgamma(half) + 0.5 * log(df * std::f64::consts::PI) + log(sigma) + half * log1p(z * z / df);
    let by_sigma = parameter.map_or(0.0, |p| (1.0 - 2.0 * half * share) / p);
    let by_df = 0.5 * (digamma(0.5 * df) - digamma(half) + 1.0 / df + log1p(z * z / df) - 2.0 * half / df * share);
    Term { loss, by_prediction: 2.0 * half * z / (sigma * (df + z * z)), by_noise: [by_sigma, by_df, 0.0] }
}

/// `y log x`, which is 0 where y is.
fn times_log(y: f64, x: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y * log(x) }
}

fn poisson(mean: f64, count: f64) -> Term {
    if mean < 0.0 {
        return Term { loss: f64::NAN, by_prediction: f64::NAN, by_noise: [0.0; 3] };
    }
    let ratio = if count == 0.0 { 0.0 } else { count / mean };
    Term { loss: mean - times_log(count, mean) + lgamma(count + 1.0), by_prediction: 1.0 - ratio, by_noise: [0.0; 3] }
}

fn negative_binomial(mean: f64, count: f64, k: f64) -> Term {
    if mean < 0.0 {
        return Term { loss: f64::NAN, by_prediction: f64::NAN, by_noise: [0.0; 3] };
    }
    let total = k + mean;
    let ratio = if count == 0.0 { 0.0 } else { count / mean };
    let loss =
        lgamma(k) + lgamma(count + 1.0) - lgamma(count + k) - k * log(k / total) - times_log(count, mean / total);
    let by_k = digamma(k) - digamma(count + k) - log(k / total) - 1.0 + (k + count) / total;
    Term { loss, by_prediction: (count + k) / total - ratio, by_noise: [0.0, 0.0, by_k] }
}

fn binomial(p: f64, count: f64, trials: f64) -> Term {
    let rest = trials - count;
    if !(0.0..=1.0).contains(&p) {
        return Term { loss: f64::NAN, by_prediction: f64::NAN, by_noise: [0.0; 3] };
    }
    let choose = lgamma(trials + 1.0) - lgamma(count + 1.0) - lgamma(rest + 1.0);
    let up = if count == 0.0 { 0.0 } else { count / p };
    let down = if rest == 0.0 { 0.0 } else { rest / (1.0 - p) };
    Term {
        loss: -choose - times_log(count, p) - times_log(rest, 1.0 - p),
        by_prediction: down - up,
        by_noise: [0.0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise = Noise { sigma: Some(0), degrees: Some(1), dispersion: Some(2), fixed: (None, None) };

    /// Against scipy.stats: norm(3.1, 0.6), t(5, 3.1, 0.6), poisson(3.1), nbinom with mean 3.1 and size
    /// 2.5, binom(9, 0.3), at 4.
    #[test]
    fn likelihoods_are_those_of_scipy() {
        let row = Measured { target: 4.0, sigma: 1.0, trials: 9.0 };
        for (loss, prediction, expected) in [
            (Loss::Gaussian, 3.1, GAUSSIAN),
            (Loss::StudentT(4.0), 3.1, STUDENT),
            (Loss::Poisson, 3.1, POISSON),
            (Loss::NegativeBinomial, 3.1, NEGATIVE_BINOMIAL),
            (Loss::Binomial, 0.3, BINOMIAL),
        ] {
            let got = loss.term(prediction, row, &NOISE, &[0.6, 5.0, 2.5]).loss;
            assert!((got - expected).abs() < 1e-12, "{}: {got} {expected}", loss.name());
        }
    }

    const GAUSSIAN: f64 = 1.533112909438682;
    const STUDENT: f64 = 1.5724846345861827;
    const POISSON: f64 = 1.7524453843835435;
    const NEGATIVE_BINOMIAL: f64 = 2.181822250631107;
    const BINOMIAL: f64 = 1.7629840300459296;

    #[test]
    fn derivatives_are_those_of_differences() {
        let values = [0.6, 5.0, 2.5];
        for name in Loss::NAMES {
            let loss = Loss::named(name).unwrap();
            let row = Measured { target: 2.0, sigma: 0.7, trials: 9.0 };
            let p = if loss == Loss::Binomial { 0.3 } else { 3.1 };
            let at = |p: f64, values: &[f64]| loss.term(p, row, &NOISE, values);
            let exact = at(p, &values);
            let h = 1e-6;
            let slope = (at(p + h, &values).loss - at(p - h, &values).loss) / (2.0 * h);
            assert!((exact.by_prediction - slope).abs() < 1e-8, "{name}: {} {slope}", exact.by_prediction);
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut values = values;
                    values[k] += by;
                    at(p, &values).loss
                };
                let slope = (moved(h) - moved(-h)) / (2.0 * h);
                assert!((exact.by_noise[k] - slope).abs() < 1e-8, "{name} {k}: {} {slope}", exact.by_noise[k]);
            }
        }
    }

    #[test]
    fn counts_of_zero_and_impossible_means_are_handled() {
        let row = Measured { target: 0.0, sigma: 1.0, trials: 3.0 };
        let at = |loss: Loss, p: f64| loss.term(p, row, &NOISE, &[1.0, 1.0, 1.0]).loss;
        assert_eq!(at(Loss::Poisson, 0.0), 0.0);
        assert!(at(Loss::Poisson, -1.0).is_nan() && at(Loss::Binomial, 1.5).is_nan());
        assert_eq!(at(Loss::Binomial, 0.0), 0.0);
    }
}
