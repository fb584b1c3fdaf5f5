//! Draws against posteriors that are known in closed form.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::{Loss, Problem, ProblemOptions, Table};
use dmci_sample::{SampleOptions, Samples, Summary, sample};

fn draw(program: &str, data: &str, options: ProblemOptions) -> (Samples, Vec<Summary>) {
    let table = Table::from_csv("data.csv", data.as_bytes()).unwrap();
    let problem = Problem::new(Program::new(program), &table, "y", options).unwrap_or_else(|e| panic!("{e}"));
    let options = SampleOptions { draws: 1500, tune: 500, seed: 3, ..SampleOptions::default() };
    let samples = sample(&problem, &options, &|_| true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((samples.chains.len(), samples.divergences), (4, 0));
    let summaries = samples.summaries();
    for s in &summaries {
        assert!((s.r_hat - 1.0).abs() < 0.02 && s.effective > 500.0, "{s:?}");
    }
    (samples, summaries)
}

/// Five standard errors of the estimate: by chance once in 1.7 million.
fn near(what: &str, got: f64, expected: f64, sd: f64, effective: f64) {
    assert!((got - expected).abs() < 5.0 * sd / effective.sqrt(), "{what} is {got}, expected {expected}");
}

#[test]
fn a_normal_mean_has_its_conjugate_posterior() {
    let data = "x,y\n1.0,2.0\n1.0,3.0\n1.0,4.0\n";
    let options = ProblemOptions { loss: Loss::Gaussian, sigma: Some("x".into()), ..Default::default() };
    let (_, summaries) = draw("(params (m free 0.0 (prior normal 10 2))) (* m x)", data, options);
    let precision: f64 = 3.0 + 0.25;
    let (mean, sd) = ((9.0 + 2.5) / precision, 1.0 / precision.sqrt());
    near("the mean", summaries[0].mean, mean, sd, summaries[0].effective);
    near("the deviation", summaries[0].sd, sd, sd / 2f64.sqrt(), summaries[0].effective / 3.0);
}

#[test]
fn a_share_has_its_beta_posterior() {
    // 7 of 10 and 12 of 20 with a prior of Beta(2, 2): Beta(21, 13). The stretch of the sigmoid must be right.
    let data = "n,y\n10,7\n20,12\n";
    let options = ProblemOptions { loss: Loss::Binomial, trials: Some("n".into()), ..Default::default() };
    let (_, summaries) = draw("(params (p unit 0.5 (prior beta 2 2))) (+ p (* 0.0 n))", data, options);
    let (a, b): (f64, f64) = (21.0, 13.0);
    let sd = (a * b / ((a + b) * (a + b) * (a + b + 1.0))).sqrt();
    near("the mean", summaries[0].mean, a / (a + b), sd, summaries[0].effective);
    // The quantiles of scipy.stats.beta(21, 13).
    for (got, expected) in summaries[0].quantiles.iter().zip([0.4784, 0.6200, 0.7489]) {
        assert!((got - expected).abs() < 0.02, "{got} {expected}");
    }
}

#[test]
fn a_rate_has_its_gamma_posterior() {
    // Counts 3, 5, 4 with a prior of Gamma(2, 1): Gamma(14, 4), through softplus.
    let options = ProblemOptions { loss: Loss::Poisson, ..Default::default() };
    let program = "(params (rate positive 1.0 (prior gamma 2 1))) (* rate x)";
    let (_, summaries) = draw(program, "x,y\n1.0,3\n1.0,5\n1.0,4\n", options);
    near("the mean", summaries[0].mean, 14.0 / 4.0, 14f64.sqrt() / 4.0, summaries[0].effective);
}

#[test]
fn shares_have_their_dirichlet_posterior() {
    // Without data that matter, a flat simplex is Dirichlet(1, 1, 1): each share has mean 1/3 and variance 1/18.
    let options = ProblemOptions { loss: Loss::Gaussian, sigma: Some("s".into()), ..Default::default() };
    let program = "(params (p (simplex 3))) (+ (* 0.0 x) (ref p 0))";
    let (_, summaries) = draw(program, "x,s,y\n1.0,1e9,0.0\n", options);
    for s in &summaries {
        near(&s.name, s.mean, 1.0 / 3.0, (1f64 / 18.0).sqrt(), s.effective);
    }
}

#[test]
fn a_loss_that_is_no_likelihood_is_refused_and_chains_can_be_stopped() {
    let table = Table::from_csv("data.csv", "x,y\n1.0,3.0\n2.0,5.0\n".as_bytes()).unwrap();
    let problem = |loss, sigma: Option<&str>| {
        let options = ProblemOptions { loss, sigma: sigma.map(String::from), ..Default::default() };
        Problem::new(Program::new("(params (a free 1.0)) (* a x)"), &table, "y", options).unwrap()
    };
    let error = sample(&problem(Loss::Mse, None), &SampleOptions::default(), &|_| true).unwrap_err();
    assert_eq!(error.diagnostics[0].code, "E0809");
    let known = problem(Loss::Gaussian, Some("x"));
    let samples = sample(&known, &SampleOptions::default(), &|drawn| drawn < 100).unwrap();
    assert!(samples.interrupted && samples.chains.iter().all(|c| c.len() < 1000));
    let again = |seed| {
        let options = SampleOptions { draws: 50, tune: 50, chains: 2, seed };
        sample(&known, &options, &|_| true).unwrap().chains
    };
    assert_eq!(again(1), again(1));
    assert_ne!(again(1), again(2));
}
