//! Experiment D: a search over structures, each candidate a new program with constants to fit. Direct compilation
//! against the evaluator: the same search, and which is cheaper?

mod genetic;

use crate::numbers::{Rate, Real, mean, seconds, short, times};
use crate::table::{Claim, Table};
use crate::{Experiment, Host, Settings};
use dmci::{Mode, Report};
use dmci_plot::figure::{Figure, Line};
use serde::{Deserialize, Serialize};

/// One search of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// `direct` or `dmci`.
    pub arm: String,
    /// The seed.
    pub seed: u64,
    /// Candidates.
    pub candidates: usize,
    /// Seconds from text to the first values and gradients of a candidate, and of the rest of its training: medians,
    /// which other work on the machine disturbs little.
    pub seconds: (f64, f64),
    /// Cumulative seconds at some numbers of candidates.
    pub cumulative: Vec<(usize, f64)>,
    /// The best program.
    pub best: String,
    /// Its loss.
    pub loss: Real,
    /// The hash of all programs and all fitnesses, in order.
    pub hash: String,
}

/// What experiment D measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct D {
    /// All searches.
    pub searches: Vec<Search>,
}

impl D {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<D, Report> {
        let (seeds, generations) = if settings.quick { (1, 4) } else { (5, 20) };
        let mut searches = Vec::new();
        for seed in 0..seeds {
            // In turns, so that both arms see the same machine.
            for (arm, mode) in [("direct", Mode::Direct), ("dmci", Mode::Dmci)] {
                searches.push(genetic::search(arm, mode, seed, generations, settings.single)?);
            }
        }
        Ok(D { searches })
    }

    fn of(&self, arm: &str) -> Vec<&Search> {
        self.searches.iter().filter(|s| s.arm == arm).collect()
    }

    /// Seconds of a candidate: to its first gradient, and its training.
    fn each(&self, arm: &str) -> (f64, f64) {
        let of = |part: fn(&Search) -> f64| mean(self.of(arm).iter().map(|s| part(s)));
        (of(|s| s.seconds.0), of(|s| s.seconds.1))
    }
}

impl Experiment for D {
    fn tables(&self) -> Vec<Table> {
        let columns = [
            "arm",
            "text to first gradient",
            "paper: compile",
            "rest of training",
            "paper",
            "all",
            "paper",
            "against direct",
            "paper",
        ];
        let mut table = Table::new("d-costs", "D. Cost of a candidate (20 epochs on 20 points)", &columns);
        let direct = self.each("direct");
        for (arm, printed) in
            [("direct", ["4.1 ms", "148 ms", "152 ms", "1x"]), ("dmci", ["22.9 ms", "3824 ms", "3846 ms", "25.3x"])]
        {
            let (first, rest) = self.each(arm);
            table.row([
                arm.to_string(),
                seconds(first),
                printed[0].into(),
                seconds(rest),
                printed[1].into(),
                seconds(first + rest),
                printed[2].into(),
                times((first + rest) / (direct.0 + direct.1)),
                printed[3].into(),
            ]);
        }
        table.note("medians over candidates, means over seeds.");
        table.note("the reference compiles its whole evaluator again for each candidate; ours is compiled once, and a candidate is data.");
        let mut runs = Table::new(
            "d-searches",
            "D. Searches",
            &["seed", "same programs and fitnesses in both arms", "best loss", "best program"],
        );
        for (a, b) in self.of("direct").iter().zip(self.of("dmci")) {
            runs.row([
                a.seed.to_string(),
                if a.hash == b.hash { "yes".into() } else { "NO".to_string() },
                short(b.loss.0),
                b.best.clone(),
            ]);
        }
        vec![table, runs]
    }

    fn claims(&self) -> Vec<Claim> {
        let same = Rate::of(self.of("direct").iter().zip(self.of("dmci")).map(|(a, b)| a.hash == b.hash));
        let (direct, dmci) = (self.each("direct"), self.each("dmci"));
        let ratio = (dmci.0 + dmci.1) / (direct.0 + direct.1);
        vec![
            Claim::new("both arms follow the same search, bit for bit", same.hits == same.of, same.text()),
            Claim::new(
                "a candidate through the evaluator costs no more than a compiled one (paper: 25.3x)",
                ratio <= 1.0,
                times(ratio),
            ),
            Claim::new(
                "its first gradient comes sooner: the crossover is at the first candidate",
                dmci.0 < direct.0,
                format!("{} against {}", seconds(dmci.0), seconds(direct.0)),
            ),
        ]
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figure =
            Figure::new("d-cumulative", "D: cumulative time of candidates", "candidates", "seconds", (false, false));
        for arm in ["dmci", "direct"] {
            let first = self.of(arm).first().map_or(Vec::new(), |s| s.cumulative.clone());
            figure.lines.push(Line::new(arm, first.iter().map(|(n, t)| (*n as f64, *t)).collect()));
        }
        vec![figure]
    }

    fn hashes() -> Vec<(String, String)> {
        vec![("target".into(), dmci_table::hash::of_text("2 sin(3 x) + 0.5 x x"))]
    }
}
