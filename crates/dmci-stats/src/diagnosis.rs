//! The residual report: what residuals still know, and whether the numbers, the structure, or neither is to blame.

use crate::residuals::{
    Bin, Correlation, Neighbours, Peak, Rows, Runs, autocorrelation, bins, mean, neighbours, peak, rank_correlation,
    root_mean_square, runs,
};
use dmci_ops::real::sqrt;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// What is known about the search for the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Whether it ended at an optimum.
    pub converged: bool,
    /// Starts whose search came to an end.
    pub starts: usize,
    /// Starts that reached the best optimum.
    pub reached: usize,
    /// The root of the mean squared residual after more starts, if these were tried.
    pub retried: Option<f64>,
    /// Parameters at a bound.
    pub at_bounds: Vec<String>,
    /// Parameters that the data do not determine.
    pub unidentified: Vec<String>,
}

/// Who is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The numbers: other ones of the same program would fit better.
    FitFailure,
    /// The program: no numbers make it fit.
    StructureFailure,
    /// Nobody: what is left looks like noise.
    AtTheNoise,
}

impl Verdict {
    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::FitFailure => "fit failure",
            Verdict::StructureFailure => "structure failure",
            Verdict::AtTheNoise => "at the noise",
        }
    }
}

/// How residuals depend on an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    /// The input.
    pub input: String,
    /// Mean residuals over it.
    pub bins: Vec<Bin>,
    /// How far they are from 0 together, in standard deviations.
    pub z: f64,
    /// Whether the size of residuals changes with it.
    pub spread: Correlation,
    /// The highest peak of the periodogram over it.
    pub peak: Option<Peak>,
}

/// The residuals of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupResiduals {
    /// The group.
    pub group: String,
    /// Its rows.
    pub rows: usize,
    /// Their mean residual.
    pub mean: f64,
    /// The root of the mean square.
    pub rmse: f64,
}

/// The residual report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Who is to blame; none if there are too few rows to say.
    pub verdict: Option<Verdict>,
    /// Why, in one sentence.
    pub reason: String,
    /// What speaks for something that is not explained, the strongest first.
    pub findings: Vec<String>,
    /// Rows.
    pub rows: usize,
    /// Rows left out because a number is not finite.
    pub not_finite: usize,
    /// The root of the mean squared residual: of rows with known noise, in units of it.
    pub rmse: f64,
    /// The same as a share of the target's deviation; none if the noise is known.
    pub relative: Option<f64>,
    /// Whether residuals are in units of known noise.
    pub known_noise: bool,
    /// The correlation of residuals that follow each other in the table.
    pub autocorrelation: Correlation,
    /// Runs of one sign in the table.
    pub runs: Runs,
    /// Whether the size of residuals changes with the prediction.
    pub spread: Correlation,
    /// The comparison with nearest neighbours, which any structure over these inputs could do as well.
    pub neighbours: Option<Neighbours>,
    /// By input.
    pub inputs: Vec<Dependence>,
    /// By group, the worst first.
    pub groups: Vec<GroupResiduals>,
    /// The largest residuals: row from 0, and residual.
    pub worst: Vec<(usize, f64)>,
    /// What is known about the search for the numbers.
    pub searched: Searched,
}

/// What is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The rows.
    pub rows: &'a Rows,
    /// The group of each row.
    pub groups: Option<&'a [String]>,
    /// The deviation of the target.
    pub deviation: f64,
    /// Whether residuals are in units of known noise.
    pub known_noise: bool,
    /// Numbers that were fitted.
    pub parameters: usize,
    /// What is known about the search for the numbers.
    pub searched: &'a Searched,
}

/// Rows that tests with sums of waves look at.
const MOST_ROWS: usize = 1200;

/// Rows below which nothing is said.
const LEAST_ROWS: usize = 12;

/// Standard deviations beyond which a test speaks.
const CLEAR: f64 = 4.0;

/// Residuals below this share of the target's deviation are rounding.
const EXACT: f64 = 1e-8;

/// The share by which further starts must lower the error for the numbers to be at fault.
const LOWER: f64 = 0.95;

/// Groups and rows that are listed.
const LISTED: usize = 5;

/// Makes the report.
pub fn diagnose(question: &Question<'_>) -> Diagnosis {
    let (rows, not_finite) = question.rows.finite(MOST_ROWS);
    let whole = question.rows.finite(usize::MAX).0;
    let rmse = root_mean_square(&whole.residuals);
    let exact = rmse <= EXACT * question.deviation && !question.known_noise;
    let size: Vec<f64> = rows.residuals.iter().map(|r| r.abs()).collect();
    let mut inputs: Vec<Dependence> = Vec::new();
    for (input, column) in &rows.inputs {
        let (bins, z) = bins(&rows, column);
        let (spread, peak) = (rank_correlation(&size, column), peak(column, &rows.residuals));
        inputs.push(Dependence { input: input.clone(), bins, z, spread, peak });
    }
    let mut worst: Vec<(usize, f64)> = question.rows.residuals.iter().copied().enumerate().collect();
    worst.retain(|(_, r)| r.is_finite());
    worst.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    worst.truncate(LISTED);
    let mut found = Diagnosis {
        verdict: None,
        reason: String::new(),
        findings: Vec::new(),
        rows: whole.residuals.len(),
        not_finite,
        rmse,
        relative: (!question.known_noise && question.deviation > 0.0).then(|| rmse / question.deviation),
        known_noise: question.known_noise,
        autocorrelation: autocorrelation(&whole.residuals, 1),
        runs: runs(&whole.residuals),
        spread: rank_correlation(&size, &rows.predictions),
        neighbours: if exact { None } else { neighbours(&rows) },
        inputs,
        groups: Vec::new(),
        worst,
        searched: question.searched.clone(),
    };
    let group_z = found.set_groups(question);
    found.judge(question, exact, group_z);
    found
}

impl Diagnosis {
    /// Residuals by group; gives how far the means are from 0 together, in standard deviations.
    fn set_groups(&mut self, question: &Question<'_>) -> f64 {
        let Some(names) = question.groups else { return 0.0 };
        let mut by_name: std::collections::BTreeMap<&str, Vec<f64>> = std::collections::BTreeMap::new();
        for (name, r) in names.iter().zip(&question.rows.residuals).filter(|(_, r)| r.is_finite()) {
            by_name.entry(name).or_default().push(*r);
        }
        let all = self.rmse;
        let mut square = 0.0;
        for (group, list) in &by_name {
            let (m, n) = (mean(list), list.len());
            square += if all > 0.0 { m * m * n as f64 / (all * all) } else { 0.0 };
            let rmse = root_mean_square(list);
            self.groups.push(GroupResiduals { group: (*group).to_string(), rows: n, mean: m, rmse });
        }
        let k = by_name.len() as f64;
        self.groups.sort_by(|a, b| b.rmse.total_cmp(&a.rmse));
        self.groups.truncate(LISTED);
        if k < 2.0 { 0.0 } else { (square - k) / sqrt(2.0 * k) }
    }

    fn judge(&mut self, question: &Question<'_>, exact: bool, group_z: f64) {
        if self.rows < LEAST_ROWS {
            self.reason = format!("{} rows are too few to tell noise from structure", self.rows);
            return;
        }
        if exact {
            self.verdict = Some(Verdict::AtTheNoise);
            self.reason = "the program gives the data up to rounding".into();
            return;
        }
        let mut found: Vec<(f64, String)> = Vec::new();
        if let Some(n) = self.neighbours.filter(|n| n.p <= 0.006 && n.z > 3.0) {
            let share = 100.0 * (1.0 - n.reference / self.rmse).max(0.0);
            found.push((
                n.z,
                format!(
                    "rows with like inputs have like residuals (correlation {:.2}); a smooth function of the inputs would \
                     lower the error by {share:.0}%",
                    n.correlation
                ),
            ));
        }
        for input in &self.inputs {
            if input.z > CLEAR {
                found.push((input.z, format!("the mean residual changes with {}", input.input)));
            }
            if let Some(p) = input.peak.filter(|p| p.chance < 1e-4) {
                let text = format!(
                    "residuals have a wave over {} with angular frequency {:.4} and amplitude {:.3e}",
                    input.input, p.omega, p.amplitude
                );
                found.push((-dmci_ops::real::log10(p.chance.max(1e-300)), text));
            }
        }
        if self.autocorrelation.z > CLEAR {
            let text =
                format!("residuals of rows that follow each other are alike ({:.2})", self.autocorrelation.value);
            found.push((self.autocorrelation.z, text));
        }
        if self.runs.z < -CLEAR {
            let text = format!("signs change {} times instead of {:.0}", self.runs.count, self.runs.expected);
            found.push((-self.runs.z, text));
        }
        if group_z > CLEAR {
            found.push((group_z, "the mean residual differs between groups".into()));
        }
        if self.known_noise {
            let freedom = (self.rows as f64 - question.parameters as f64).max(1.0);
            let square = self.rmse * self.rmse * self.rows as f64 / freedom;
            let z = (square - 1.0) * sqrt(freedom / 2.0);
            if z > CLEAR {
                found.push((z, format!("residuals are {:.2} times the noise that the rows claim", sqrt(square))));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let strongest = found.first().map(|(_, text)| text.clone());
        self.findings = found.into_iter().map(|(_, text)| text).collect();
        let Some(strongest) = strongest else {
            self.verdict = Some(Verdict::AtTheNoise);
            self.reason = "nothing that these inputs could explain is left in the residuals".into();
            return;
        };
        let searched = &self.searched;
        (self.verdict, self.reason) = match searched.retried {
            Some(lower) if lower < LOWER * self.rmse => {
                let reason = format!("further starts lower the error from {:.4e} to {lower:.4e}", self.rmse);
                (Some(Verdict::FitFailure), reason)
            }
            _ if !searched.converged => {
                let reason = format!("the fit did not end at an optimum, and {strongest}");
                (Some(Verdict::FitFailure), reason)
            }
            _ => {
                let starts = match searched.starts {
                    0 | 1 => String::new(),
                    n => format!(" ({} of {n} starts agree)", searched.reached),
                };
                (Some(Verdict::StructureFailure), format!("the fit converged{starts}, and {strongest}"))
            }
        };
    }

    /// The report in lines, for people and for language models.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let verdict = self.verdict.map_or("no verdict", Verdict::name);
        let _ = writeln!(out, "verdict: {verdict}: {}", self.reason);
        let relative =
            self.relative.map_or(String::new(), |r| format!(", {:.3}% of the target's deviation", 100.0 * r));
        let unit = if self.known_noise { " times the noise" } else { "" };
        let _ = writeln!(out, "residuals: RMSE {:.4e}{unit}{relative}, {} rows", self.rmse, self.rows);
        if self.not_finite > 0 {
            let _ = writeln!(out, "left out: {} rows with numbers that are not finite", self.not_finite);
        }
        for finding in &self.findings {
            let _ = writeln!(out, "- {finding}");
        }
        if let Some(n) = &self.neighbours {
            let _ = writeln!(out, "reference ({} nearest neighbours): RMSE {:.4e}", n.neighbours, n.reference);
        }
        let a = self.autocorrelation;
        let _ = writeln!(
            out,
            "autocorrelation {:+.2} (z {:+.1}), runs {} of {:.0}",
            a.value, a.z, self.runs.count, self.runs.expected
        );
        if self.spread.z.abs() > CLEAR {
            let way = if self.spread.value > 0.0 { "grow" } else { "shrink" };
            let _ = writeln!(out, "residuals {way} with the prediction (rank correlation {:+.2})", self.spread.value);
        }
        for input in self.inputs.iter().filter(|i| i.z > CLEAR || i.spread.z.abs() > CLEAR) {
            let bins: Vec<String> =
                input.bins.iter().map(|b| format!("{:.3}..{:.3}: {:+.2e}", b.from, b.to, b.mean)).collect();
            let half = input.bins.first().map_or(0.0, |b| b.half_width);
            let _ = writeln!(out, "mean residual over {} (+-{half:.1e}): {}", input.input, bins.join(", "));
        }
        for g in self.groups.iter().take(LISTED) {
            let _ = writeln!(out, "group {}: RMSE {:.3e}, mean {:+.2e}, {} rows", g.group, g.rmse, g.mean, g.rows);
        }
        let worst: Vec<String> = self.worst.iter().map(|(row, r)| format!("{} ({r:+.2e})", row + 1)).collect();
        let _ = writeln!(out, "largest residuals in rows {}", worst.join(", "));
        let s = &self.searched;
        if !s.at_bounds.is_empty() {
            let _ = writeln!(out, "at a bound: {}", s.at_bounds.join(", "));
        }
        if !s.unidentified.is_empty() {
            let _ = writeln!(out, "not determined by the data: {}", s.unidentified.join(", "));
        }
        if s.starts > 1 {
            let _ = writeln!(out, "{} of {} starts reached this optimum", s.reached, s.starts);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn ask(f: impl Fn(f64) -> f64, noise: f64, seed: u64, searched: &Searched) -> Diagnosis {
        let mut stream = Stream::new(seed, 9);
        let x: Vec<f64> = (0..80).map(|i| f64::from(i) / 8.0).collect();
        let residuals = x.iter().map(|x| f(*x) + noise * stream.normal()).collect();
        let rows = Rows { residuals, predictions: x.clone(), inputs: vec![("x".into(), x)] };
        let question =
            Question { rows: &rows, groups: None, deviation: 2.0, known_noise: false, parameters: 2, searched };
        diagnose(&question)
    }

    #[test]
    fn verdicts_with_their_reasons() {
        let good = Searched { converged: true, starts: 4, reached: 4, ..Searched::default() };
        let wave = |x: f64| 0.3 * dmci_ops::real::sin(2.0 * x);
        let found = ask(wave, 0.1, 1, &good);
        assert_eq!(found.verdict, Some(Verdict::StructureFailure), "{}", found.text());
        assert!(
            found.text().contains("angular frequency 2.0") || found.text().contains("angular frequency 1.9"),
            "{}",
            found.text()
        );
        let stalled = Searched { converged: false, ..good.clone() };
        assert_eq!(ask(wave, 0.1, 1, &stalled).verdict, Some(Verdict::FitFailure));
        let retried = Searched { retried: Some(0.1), ..good.clone() };
        assert_eq!(ask(wave, 0.1, 1, &retried).verdict, Some(Verdict::FitFailure));
        assert_eq!(ask(|_| 0.0, 0.1, 2, &good).verdict, Some(Verdict::AtTheNoise));
        assert_eq!(ask(|_| 0.0, 0.1, 2, &stalled).verdict, Some(Verdict::AtTheNoise), "an optimum is not needed");
        let exact = ask(|x| 1e-12 * x, 0.0, 2, &good);
        assert_eq!(exact.verdict, Some(Verdict::AtTheNoise), "rounding is no structure");
    }

    #[test]
    fn the_noise_that_rows_claim_counts() {
        let rows = Rows {
            residuals: Stream::new(3, 3).normals(100).iter().map(|r| 3.0 * r).collect(),
            predictions: vec![1.0; 100],
            inputs: vec![("x".into(), (0..100).map(f64::from).collect())],
        };
        let searched = Searched { converged: true, ..Searched::default() };
        let groups: Vec<String> = (0..100).map(|i| format!("g{}", i % 3)).collect();
        let question = Question {
            rows: &rows,
            groups: Some(&groups),
            deviation: 1.0,
            known_noise: true,
            parameters: 2,
            searched: &searched,
        };
        let found = diagnose(&question);
        assert_eq!(found.verdict, Some(Verdict::StructureFailure));
        assert!(
            found.text().contains("times the noise that the rows claim") && found.groups.len() == 3,
            "{}",
            found.text()
        );
        let few = Rows { residuals: vec![1.0; 3], predictions: vec![1.0; 3], inputs: vec![] };
        assert_eq!(diagnose(&Question { rows: &few, groups: None, ..question }).verdict, None);
        let none = diagnose(&Question { rows: &Rows::default(), groups: None, ..question });
        assert!(none.verdict.is_none() && none.text().contains("no verdict"));
    }
}
