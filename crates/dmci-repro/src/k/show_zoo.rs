//! The tables and claims of the zoo.

use super::K;
use super::contract::STAGES;
use super::data::{SHORT, UNITS};
use super::show::{against_table, found, percent, share};
use super::units::LeftOut;
use super::zoo::{Author, Judged, MECHANISM, REFERENCES, SCORED, SEIR};
use crate::numbers::mean;
use crate::table::{Claim, Table};
use dmci_plot::figure::{Figure, Line};
use dmci_stats::residuals::rank_correlation;

/// What a search may trust: the number of the calibration, in words.
const TRUSTED: [&str; 3] = ["60 steps", "300 steps", "converged"];

/// What the paper prints for its references on long horizons after 300 steps: validation and test.
const PAPER: [(&str, [f64; 2]); 2] = [("seir-regional", [0.01488, 0.01805]), ("seirs-regional", [0.01473, 0.01856])];

/// What the paper's search found: its score after 60 steps, and re-scored on validation and test.
const EVOLVED: (f64, [f64; 2]) = (0.0100, [0.01477, 0.01812]);

/// Errors that differ by less are a tie, as in the paper.
const TIE: f64 = 0.0003;

/// What tables of a quick run show.
const QUICK: &str = "a quick run: 5 and 15 steps in place of 60 and 300, few programs, one season left out.";

/// Programs that were asked for.
const WANTED: (usize, usize) = (300, 60);

/// Seasons of an error.
const VALIDATION: usize = 0;
const TEST: usize = 1;
const PANDEMIC: usize = 2;

impl Judged {
    fn error(&self, budget: usize, grid: usize, seasons: usize) -> f64 {
        self.budgets.get(budget).map_or(f64::NAN, |b| b.errors[grid][seasons].0)
    }
}

fn two(x: f64) -> String {
    if x.is_finite() { format!("{x:+.2}") } else { "n/a".into() }
}

impl K {
    fn program(&self, name: &str) -> Option<&Judged> {
        self.zoo.programs.iter().find(|p| p.name == name)
    }

    /// The programs of the zoo, without those of the paper.
    fn animals(&self) -> impl Iterator<Item = &Judged> {
        self.zoo.programs.iter().filter(|p| p.author != Author::Paper)
    }

    /// The program that a search finds if it trusts a score.
    fn pick(&self, budget: usize, grid: usize) -> Option<&Judged> {
        let all = self.animals().filter(|p| p.error(budget, grid, VALIDATION).is_finite());
        all.min_by(|a, b| a.error(budget, grid, VALIDATION).total_cmp(&b.error(budget, grid, VALIDATION)))
    }

    fn funnel_table(&self) -> Table {
        let columns = [
            "who wrote them",
            "texts",
            "not in the answer",
            "not of the form",
            "unknown names",
            "no likelihood",
            "no derivative",
            "fails around the start",
            "no forecast",
            "right at first",
            "right after repairs",
            "different bodies",
        ];
        let mut table = Table::new("k-funnel", "K. The zoo: where programs leave the funnel", &columns);
        for f in &self.zoo.funnels {
            let who = if f.author == Author::Grammar { "grammar" } else { "language model" };
            let mut row = vec![who.to_string(), f.stages.iter().sum::<usize>().to_string()];
            row.extend(STAGES.iter().map(|s| f.stages[*s as usize].to_string()));
            // Repairs are asked of a language model only.
            row.push(if f.author == Author::Grammar { String::new() } else { f.right.to_string() });
            row.push(f.shapes.to_string());
            table.row(row);
        }
        table.note("a program has one recipe of each family: compartments (7), seasonal forcing (4), observation (4), coupling of regions (4), closure (3), and its states at the start are the same for all regions or one for each. The grammar of the search changes one or two holes of three fifths of its proposals. Bodies that differ in names and numbers only are the same one; the zoo holds each once.");
        if self.zoo.asked.answers > 0 {
            table.note(format!("language model: {}.", self.zoo.asked.text()));
        }
        if let Some(why) = self.zoo.unanswered.first() {
            table.note(format!("{} questions have no answer: {why}.", self.zoo.unanswered.len()));
        }
        table
    }

    fn fault_table(&self) -> Table {
        let columns = ["program", "what was wrong", "after repairs"];
        let mut table =
            Table::new("k-faults", "K. Programs of the language model that were not right at first", &columns);
        for (name, message, mended) in &self.zoo.faults {
            let last = if *mended { "right" } else { "not right" };
            table.row([name.clone(), message.replace('\n', " "), last.to_string()]);
        }
        table
    }

    fn reference_table(&self) -> Table {
        let mut columns = vec!["program".to_string(), "numbers".into()];
        for grid in SCORED {
            let short = if grid == SHORT { "1-4 weeks" } else { "8-16 weeks" };
            columns.extend(TRUSTED.iter().map(|t| format!("{short}: {t}")));
        }
        columns.extend(["8-16 weeks: paper".to_string(), "1-4 weeks: pandemic".into(), "1-4 weeks: left out".into()]);
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new("k-references", "K. The paper's epidemic programs: RMSE validation / test", &names);
        for (name, _) in REFERENCES {
            let Some(p) = self.program(name) else { continue };
            let mut row = vec![name.to_string(), p.numbers.to_string()];
            for grid in 0..SCORED.len() {
                let both = |b| format!("{} / {}", share(p.error(b, grid, VALIDATION)), share(p.error(b, grid, TEST)));
                row.extend((0..TRUSTED.len()).map(both));
            }
            let paper = PAPER.iter().find(|known| known.0 == name);
            row.push(paper.map_or(String::new(), |(_, [v, t])| format!("{v:.5} / {t:.5}")));
            row.push(share(p.error(1, 0, PANDEMIC)));
            row.push(share(p.skill(0)));
            table.row(row);
        }
        table.note("calibrated on 2010 to 2017: Adam 0.05, gradients of at most 10, the best step; converged: L-BFGS from there. Before each forecast the states at the start are fitted to the weeks that are known by 5 steps of Adam 0.08. 1-4 weeks every third week, 8, 12 and 16 weeks every tenth. The programs of the nation forecast all series by its curve.");
        table.note("left out: mean over 2010 to 2017 and 2019, each forecast by a calibration of 300 steps on the other eleven of the twelve seasons; pandemic: 2020, after 300 steps.");
        table
    }

    /// How scores rank programs beside something else that is known of them.
    fn correlation(&self, budget: usize, grid: usize, other: &dyn Fn(&Judged) -> f64) -> f64 {
        let of = |p: &Judged| [p.error(budget, grid, VALIDATION), other(p)];
        let all: Vec<[f64; 2]> = self.animals().map(of).filter(|x| x.iter().all(|x| x.is_finite())).collect();
        let column = |k: usize| all.iter().map(|x| x[k]).collect::<Vec<_>>();
        if all.len() > 2 { rank_correlation(&column(0), &column(1)).value } else { f64::NAN }
    }

    /// The seasons that are neither validation nor sealed, as they were left out.
    fn unseen(&self) -> Vec<u32> {
        let seen = super::data::VALIDATION;
        UNITS.iter().copied().filter(|year| !seen.contains(year)).collect()
    }

    fn fidelity_table(&self) -> Table {
        let columns = [
            "trusted score",
            "programs",
            "with the test season",
            "with the pandemic season",
            "with the mean of seasons left out",
            "least and largest over these seasons",
        ];
        let title = "K. Fitness and skill: rank correlation over the zoo";
        let mut table = Table::new("k-fidelity", title, &columns);
        for (grid, scored) in SCORED.iter().enumerate() {
            for (budget, trusted) in TRUSTED.iter().enumerate() {
                let count = self.animals().filter(|p| p.error(budget, grid, VALIDATION).is_finite()).count();
                let season = |year: u32| {
                    self.correlation(budget, grid, &|p| {
                        p.left_out.iter().find(|l| l.0 == year).map_or(f64::NAN, |l| l.2[grid].0)
                    })
                };
                let each: Vec<f64> = self.unseen().into_iter().map(season).collect();
                let low = each.iter().copied().fold(f64::INFINITY, f64::min);
                let high = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                table.row([
                    format!("{trusted}, {}", scored.name),
                    count.to_string(),
                    two(self.correlation(budget, grid, &|p| p.error(budget, grid, TEST))),
                    two(self.correlation(budget, grid, &|p| p.error(budget, grid, PANDEMIC))),
                    two(self.correlation(budget, grid, &|p| p.skill(grid))),
                    format!("{} to {}", two(low), two(high)),
                ]);
            }
        }
        table.note("trusted score: RMSE on the validation seasons after the calibration. Test and pandemic season: RMSE after the same calibration. Seasons left out: 2010 to 2017 and 2019, each forecast without itself after 300 steps, the same for all rows of a grid.");
        table
    }

    fn pick_table(&self) -> Table {
        let columns = [
            "trusted score",
            "program",
            "recipe",
            "numbers",
            "score as trusted",
            "after 300 steps",
            "converged",
            "test season, as trusted",
            "seasons left out",
            "best left out in the zoo",
        ];
        let title = "K. What a search finds that trusts a score: RMSE on validation seasons";
        let mut table = Table::new("k-picks", title, &columns);
        for (grid, scored) in SCORED.iter().enumerate() {
            let least = self.animals().map(|p| p.skill(grid)).filter(|s| s.is_finite()).fold(f64::INFINITY, f64::min);
            let mut row = |trusted: String, p: &Judged, budget: usize| {
                table.row([
                    trusted,
                    p.name.clone(),
                    p.words(),
                    p.numbers.to_string(),
                    share(p.error(budget, grid, VALIDATION)),
                    share(p.error(1, grid, VALIDATION)),
                    share(p.error(2, grid, VALIDATION)),
                    share(p.error(budget, grid, TEST)),
                    share(p.skill(grid)),
                    share(least),
                ]);
            };
            for (budget, trusted) in TRUSTED.iter().enumerate() {
                if let Some(p) = self.pick(budget, grid) {
                    row(format!("{trusted}, {}", scored.name), p, budget);
                }
            }
            if let Some(p) = self.program(SEIR) {
                row(format!("the paper's SEIR, 300 steps, {}", scored.name), p, 1);
            }
        }
        table.note(format!("the paper's search found {:.4} after 60 steps on 8, 12 and 16 weeks, which became {:.5} / {:.5} after 300 steps; its SEIR has {:.5} / {:.5}.", EVOLVED.0, EVOLVED.1[0], EVOLVED.1[1], PAPER[0].1[0], PAPER[0].1[1]));
        table
    }

    fn mechanism_table(&self) -> Table {
        let columns = ["method", "RMSE", "WIS", "coverage 50%", "coverage 95%", "sealed 2023: RMSE", "WIS"];
        let title = "K. The program of the zoo that the other seasons choose, 1-4 weeks, and the baselines";
        let mut table = Table::new("k-mechanisms", title, &columns);
        let sealed_year = super::data::TEST[0];
        let mut row = |name: &str, left_out: Vec<&LeftOut>, sealed: Option<&LeftOut>| {
            let all = || left_out.iter().map(|l| l.score);
            let sealed = sealed.map(|l| l.score).unwrap_or_default();
            table.row([
                name.to_string(),
                share(mean(all().map(|s| s.rmse.0))),
                share(mean(all().map(|s| s.wis.0))),
                percent(mean(all().map(|s| s.half.0))),
                percent(mean(all().map(|s| s.wide.0))),
                share(sealed.rmse.0),
                share(sealed.wis.0),
            ]);
        };
        let seasons: Vec<u32> = self.zoo.left_out.iter().map(|l| l.season).collect();
        for baseline in &self.zoo.against {
            let name = &baseline.baseline;
            let of = |l: &&LeftOut| &l.method == name && seasons.contains(&l.season);
            let sealed = self.units.sealed.iter().find(|l| &l.method == name);
            row(name, self.units.left_out.iter().filter(of).collect(), sealed);
        }
        if !self.zoo.left_out.is_empty() {
            let (sealed, left): (Vec<&LeftOut>, Vec<&LeftOut>) =
                self.zoo.left_out.iter().partition(|l| l.season == sealed_year);
            row(MECHANISM, left, sealed.first().copied());
        }
        table.note("for every season: the eight programs whose likelihood of the other eleven seasons is largest after 300 steps; of these, the one with the smallest mean RMSE over the eleven, each forecast by a calibration that saw neither it nor the season left out. Quantiles as for the baselines, from the other seasons.");
        table
    }

    fn mechanism_against_table(&self) -> Table {
        let seasons = self.zoo.left_out.iter().filter(|l| UNITS.contains(&l.season)).count();
        let title = "K. The program of the zoo beside the baselines, with the season as the unit";
        against_table("k-mechanisms-against", title, &self.zoo.against, seasons)
    }

    fn mechanism_chosen_table(&self) -> Table {
        let title = "K. The program of the zoo that the other seasons chose";
        let mut table = Table::new("k-mechanisms-chosen", title, &["season left out", "program", "recipe"]);
        for (season, name, recipe, _) in &self.zoo.chosen {
            table.row([season.to_string(), name.clone(), recipe.clone()]);
        }
        table
    }

    /// The tables of the zoo.
    pub fn zoo_tables(&self) -> Vec<Table> {
        let mut tables = vec![
            self.funnel_table(),
            self.fault_table(),
            self.reference_table(),
            self.fidelity_table(),
            self.pick_table(),
            self.mechanism_table(),
            self.mechanism_against_table(),
            self.mechanism_chosen_table(),
        ];
        if self.quick {
            tables.iter_mut().for_each(|table| table.note(QUICK));
        }
        tables
    }

    /// The claims of the zoo.
    pub fn zoo_claims(&self) -> Vec<Claim> {
        let shapes = |author: Author| self.zoo.funnels.iter().find(|f| f.author == author).map(|f| f.shapes);
        let (long, seir) = (1, || self.program(SEIR));
        let sealed = |list: &[LeftOut], method: &str| {
            Some(list.iter().find(|l| l.season == super::data::TEST[0] && l.method == method)?.score.rmse.0)
        };
        vec![
            self.claim("the zoo has at least 300 different programs of the grammar and 60 of a language model", &|| {
                let (ours, model) = (shapes(Author::Grammar)?, shapes(Author::Model)?);
                Some((ours >= WANTED.0 && model >= WANTED.1, format!("{ours} and {model}")))
            }),
            self.claim("the regional SEIR scores .01488 / .01805 on 8-16 weeks after 300 steps, within .0003", &|| {
                let found = [VALIDATION, TEST].map(|s| seir().map_or(f64::NAN, |p| p.error(1, long, s)));
                let near = found.iter().zip(PAPER[0].1).all(|(a, b)| (a - b).abs() <= TIE);
                Some((near, format!("{} / {}", share(found[0]), share(found[1]))))
            }),
            self.claim("the regional SEIR scores .0126 / .0132 on 1-4 weeks after 300 steps, within .0003", &|| {
                let found = [VALIDATION, TEST].map(|s| seir().map_or(f64::NAN, |p| p.error(1, 0, s)));
                let near = found.iter().zip([0.0126, 0.0132]).all(|(a, b)| (a - b).abs() <= TIE);
                Some((near, format!("{} / {}", share(found[0]), share(found[1]))))
            }),
            self.claim("8-16 weeks: a search that trusts 60 steps finds a program better than the SEIR by that score", &|| {
                let (p, s) = (self.pick(0, long)?, seir()?);
                let (a, b) = (p.error(0, long, VALIDATION), s.error(0, long, VALIDATION));
                Some((a < b, format!("{} against {}", share(a), share(b))))
            }),
            self.claim("8-16 weeks: after 300 steps the two are a tie on validation and test, within .0003", &|| {
                let (p, s) = (self.pick(0, long)?, seir()?);
                let of = |p: &Judged| [p.error(1, long, VALIDATION), p.error(1, long, TEST)];
                let (a, b) = (of(p), of(s));
                let tie = a.iter().zip(b).all(|(a, b)| (a - b).abs() <= TIE);
                Some((tie, format!("{} / {} against {} / {}", share(a[0]), share(a[1]), share(b[0]), share(b[1]))))
            }),
            self.claim("8-16 weeks: scores after 60 steps rank programs worse on left-out seasons than converged ones", &|| {
                let of = |budget| self.correlation(budget, long, &|p| p.skill(long));
                Some((of(0) < of(2), format!("{} and {}", two(of(0)), two(of(2)))))
            }),
            self.claim("8-16 weeks: a search that trusts converged scores finds a program that is better on left-out seasons than one that trusts 60 steps", &|| {
                let (a, b) = (self.pick(2, long)?.skill(long), self.pick(0, long)?.skill(long));
                Some((a < b, format!("{} against {}", share(a), share(b))))
            }),
            self.claim("the program of the zoo that other seasons choose is significantly better than the best baseline (p < .05)", &|| {
                let best = &self.best_baseline()?.baseline;
                let a = self.zoo.against.iter().find(|a| &a.baseline == best)?;
                Some((a.difference.0 < 0.0 && a.p.0 < 0.05, found(a)))
            }),
            self.claim("it is significantly better than climatology (p < .05)", &|| {
                let a = self.zoo.against.iter().find(|a| a.baseline == "climatology")?;
                Some((a.difference.0 < 0.0 && a.p.0 < 0.05, found(a)))
            }),
            self.claim("on the sealed season the program of the zoo is better than the best baseline of the others", &|| {
                let name = &self.best_baseline()?.baseline;
                let (ours, other) = (sealed(&self.zoo.left_out, MECHANISM)?, sealed(&self.units.sealed, name)?);
                Some((ours < other, format!("{} against {} of {name}", share(ours), share(other))))
            }),
        ]
    }

    /// The scores of programs beside their errors on left-out seasons.
    pub fn fidelity_figure(&self) -> Figure {
        let title = "K: scores on validation seasons and errors on seasons left out, 8-16 weeks";
        let mut figure = Figure::new("k-fidelity", title, "score", "RMSE of seasons left out", (true, true));
        for (budget, trusted) in TRUSTED.iter().enumerate() {
            let of = |p: &Judged| (p.error(budget, 1, VALIDATION), p.skill(1));
            let points = self.animals().map(of).filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
            figure.lines.push(Line::new(*trusted, points).marks());
        }
        figure
    }
}
