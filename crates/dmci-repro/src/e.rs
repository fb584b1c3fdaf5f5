//! Experiment E: operators found by descent over soft choices, against searches without a gradient, in the paper's
//! space of 64 combinations and in larger ones.

mod gradient;
mod space;

use crate::numbers::{Rate, Real, mean, seconds, short};
use crate::table::{Claim, Table};
use crate::{Experiment, Host, Settings};
use dmci::Report;
use dmci_plot::figure::{Figure, Line};
use gradient::{PAPER, Search, Variant};
use serde::{Deserialize, Serialize};
use space::{Answer, Samples, Task, all, best, deep_tasks, draw, evolve, samples, score, tasks};
use std::time::Instant;

/// One method on one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Operators of the space.
    pub depth: usize,
    /// The method.
    pub method: String,
    /// The task, from 1.
    pub task: usize,
    /// Restarts with all operators right.
    pub right: usize,
    /// Restarts whose function explains the data as well as the right one: the same function written otherwise.
    pub same: usize,
    /// Restarts.
    pub restarts: usize,
    /// Mean error of the factor where the operators are right.
    pub factor: Real,
    /// How many choices a restart compares by their errors on the data.
    pub scored: f64,
    /// Seconds of a restart.
    pub seconds: f64,
}

/// What experiment E measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct E {
    /// All methods on all tasks.
    pub found: Vec<Found>,
}

/// Ways to do better than the paper's protocol, from less to more.
const VARIANTS: [Variant; 6] = [
    Variant { name: "soft instead of straight-through", hard: false, epochs: 1000, ..PAPER },
    Variant { name: "soft, entropy punished", hard: false, epochs: 1000, entropy: 1.0, ..PAPER },
    Variant { name: "soft, logarithm of the loss", hard: false, epochs: 1000, logarithm: true, ..PAPER },
    Variant { name: "population of 16, straight-through", members: 16, epochs: 150, ..PAPER },
    Variant { name: "population of 16, soft", hard: false, members: 16, epochs: 150, ..PAPER },
    OURS,
];

/// The one that we propose.
const OURS: Variant = Variant {
    name: "population of 16, soft, logarithm of the loss",
    hard: false,
    members: 16,
    epochs: 150,
    logarithm: true,
    ..PAPER
};

/// The same for deeper spaces.
const DEEP: Variant =
    Variant { name: "population of 128, soft, logarithm of the loss", members: 128, epochs: 50, ..OURS };

/// Our method in a space.
fn ours(depth: usize) -> Variant {
    if depth == 2 { OURS } else { DEEP }
}

const AS_MANY: &str = "random, as many choices as ours";

/// What the paper prints for each task: gradient, exhaustive, evolutionary, random, in percent.
const PRINTED: [[u32; 4]; 12] = [
    [25, 100, 20, 10],
    [5, 100, 90, 0],
    [5, 100, 100, 0],
    [10, 100, 75, 0],
    [10, 100, 100, 0],
    [15, 100, 100, 0],
    [20, 100, 100, 0],
    [5, 100, 95, 15],
    [15, 100, 80, 0],
    [5, 100, 100, 0],
    [10, 100, 90, 0],
    [5, 100, 45, 0],
];

fn found(
    depth: usize,
    method: &str,
    number: usize,
    task: &Task,
    data: &[Samples],
    answers: &[Answer],
    seconds: f64,
) -> Found {
    let right = |a: &Answer| a.operators == task.operators;
    let same = |(a, s): &(&Answer, &Samples)| score(&a.operators, s).1 <= 1.0001 * score(&task.operators, s).1;
    let errors: Vec<f64> = answers.iter().filter(|a| right(a)).map(|a| (a.factor - task.factor).abs()).collect();
    Found {
        depth,
        method: method.into(),
        task: number + 1,
        right: answers.iter().filter(|a| right(a)).count(),
        same: answers.iter().zip(data).filter(same).count(),
        restarts: answers.len(),
        factor: Real(mean(errors)),
        scored: mean(answers.iter().map(|a| a.scored as f64)),
        seconds: seconds / answers.len() as f64,
    }
}

impl E {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<E, Report> {
        let mut all_found = Vec::new();
        let (restarts, chosen) = if settings.quick { (2, 3) } else { (20, 12) };
        let short = |v: Variant| Variant { epochs: if settings.quick { v.epochs.min(300) } else { v.epochs }, ..v };
        let variants: Vec<Variant> = [PAPER].into_iter().chain(VARIANTS).map(short).collect();
        search(2, &tasks()[..chosen], restarts, &variants, &mut all_found)?;
        let (restarts, chosen) = if settings.quick { (1, 2) } else { (5, 12) };
        for depth in if settings.quick { 3..4 } else { 3..5 } {
            search(depth, &deep_tasks(depth, chosen), restarts, &[DEEP], &mut all_found)?;
        }
        Ok(E { found: all_found })
    }
}

/// All methods on some tasks; our own is the last of the variants.
fn search(
    depth: usize,
    tasks: &[Task],
    restarts: u64,
    variants: &[Variant],
    out: &mut Vec<Found>,
) -> Result<(), Report> {
    let mut searches = [Search::new(depth, true), Search::new(depth, false)];
    for (i, task) in tasks.iter().enumerate() {
        let number = i as u64;
        let data: Vec<Samples> = (0..restarts).map(|r| samples(task, 1000 * number + r)).collect();
        without_gradient(depth, i, task, &data, out);
        let seeds = (0..restarts).map(|r| 10_000 * number + r);
        let seeded: Vec<(Samples, u64)> = data.iter().cloned().zip(seeds).collect();
        for variant in variants {
            let began = Instant::now();
            let answers = searches[usize::from(!variant.hard)].run(*variant, &seeded)?;
            let seconds = began.elapsed().as_secs_f64();
            out.push(found(depth, variant.name, i, task, &data, &answers, seconds));
        }
        let scored = out.last().map_or(1, |f| f.scored.round() as usize);
        let began = Instant::now();
        let drawn = (0..).zip(&data).map(|(r, s)| draw(depth, scored, s, 20_000 * number + r));
        let answers: Vec<Answer> = drawn.collect();
        out.push(found(depth, AS_MANY, i, task, &data, &answers, began.elapsed().as_secs_f64()));
    }
    Ok(())
}

fn without_gradient(depth: usize, i: usize, task: &Task, data: &[Samples], out: &mut Vec<Found>) {
    let number = i as u64;
    let mut add = |method: &str, search: &dyn Fn(u64, &Samples) -> Answer| {
        let began = Instant::now();
        let answers: Vec<Answer> = (0..).zip(data).map(|(r, s)| search(r, s)).collect();
        out.push(found(depth, method, i, task, data, &answers, began.elapsed().as_secs_f64()));
    };
    add("exhaustive", &|_, s| best(all(depth), s));
    add("evolutionary", &|r, s| evolve(depth, s, 40_000 * number + r));
    add("random, one draw", &|r, s| draw(depth, 1, s, 20_000 * number + r));
}

impl E {
    fn methods(&self, depth: usize) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for f in self.found.iter().filter(|f| f.depth == depth) {
            if !names.contains(&f.method.as_str()) {
                names.push(&f.method);
            }
        }
        names
    }

    fn of<'a>(&'a self, depth: usize, method: &'a str) -> impl Iterator<Item = &'a Found> {
        self.found.iter().filter(move |f| f.depth == depth && f.method == method)
    }

    fn rate(&self, depth: usize, method: &str, count: fn(&Found) -> usize) -> Rate {
        Rate { hits: self.of(depth, method).map(count).sum(), of: self.of(depth, method).map(|f| f.restarts).sum() }
    }
}

impl Experiment for E {
    fn tables(&self) -> Vec<Table> {
        let columns = [
            "task",
            "gradient, paper's protocol",
            "paper",
            "gradient, ours",
            "exhaustive",
            "paper",
            "evolutionary",
            "paper",
            "random",
            "paper",
            "|a - a*|, ours",
        ];
        let mut by_task = Table::new("e-tasks", "E. Operators recovered, by task", &columns);
        let share = |depth: usize, method: &str, task: usize| {
            let found = self.of(depth, method).find(|f| f.task == task);
            found.map_or("n/a".into(), |f| format!("{}/{}", f.right, f.restarts))
        };
        for (i, printed) in PRINTED.iter().enumerate() {
            if !self.found.iter().any(|f| f.depth == 2 && f.task == i + 1) {
                continue;
            }
            let factor = self.of(2, OURS.name).find(|f| f.task == i + 1).map_or("n/a".into(), |f| short(f.factor.0));
            let percent = |k: usize| format!("{}%", printed[k]);
            by_task.row([
                format!("T{:02}", i + 1),
                share(2, PAPER.name, i + 1),
                percent(0),
                share(2, OURS.name, i + 1),
                share(2, "exhaustive", i + 1),
                percent(1),
                share(2, "evolutionary", i + 1),
                percent(2),
                share(2, "random, one draw", i + 1),
                percent(3),
                factor,
            ]);
        }
        let mut methods = Table::new(
            "e-methods",
            "E. Methods over all tasks",
            &[
                "space",
                "method",
                "all operators right",
                "paper",
                "same function",
                "choices scored",
                "time of a restart",
                "paper",
            ],
        );
        let printed = |depth: usize, method: &str| match (depth, method) {
            (2, "exhaustive") => ("240/240 [98.4, 100]%", "12 ms"),
            (2, "evolutionary") => ("199/240 [77.6, 87.2]%", "570 ms"),
            (2, "random, one draw") => ("5/240 [0.9, 4.8]%", "n/a"),
            (2, "paper's protocol") => ("26/240 [7.5, 15.4]%", "689 s"),
            _ => ("n/a", "n/a"),
        };
        for depth in 2..5 {
            for method in self.methods(depth) {
                let (rate, time) = printed(depth, method);
                methods.row([
                    format!("8^{depth}"),
                    method.to_string(),
                    self.rate(depth, method, |f| f.right).text(),
                    rate.into(),
                    self.rate(depth, method, |f| f.same).text(),
                    short(mean(self.of(depth, method).map(|f| f.scored))),
                    seconds(mean(self.of(depth, method).map(|f| f.seconds))),
                    time.into(),
                ]);
            }
        }
        methods.note("same function: the error is that of the right operators, as with 0.5 x (2 x) and -x (-x); the paper does not count those.");
        methods.note("a population counts as one restart: its starts are searched together, and the choice with the lowest error on the data wins. Choices scored: how many different ones are compared in this way, of 64, 512 and 4096; drawing as many at random is the baseline for it. Times are shares of restarts that run together on all cores.");
        vec![by_task, methods]
    }

    fn claims(&self) -> Vec<Claim> {
        let (rate, time) = (self.rate(2, OURS.name, |f| f.right), mean(self.of(2, OURS.name).map(|f| f.seconds)));
        let paper = self.rate(2, PAPER.name, |f| f.right);
        let exhaustive = self.rate(2, "exhaustive", |f| f.right);
        let evolutionary = self.rate(2, "evolutionary", |f| f.right);
        let evolution_time = mean(self.of(2, "evolutionary").map(|f| f.seconds));
        let inside = |rate: Rate, low: f64, high: f64| rate.interval().0 <= high && rate.interval().1 >= low;
        let mut claims = vec![
            Claim::new("gradient, paper's protocol: 10.8% [7.5, 15.4]%", inside(paper, 0.075, 0.154), paper.text()),
            Claim::new("exhaustive search finds all", exhaustive.hits == exhaustive.of, exhaustive.text()),
            Claim::new(
                "evolutionary search: 82.9% [77.6, 87.2]%",
                inside(evolutionary, 0.776, 0.872),
                evolutionary.text(),
            ),
        ];
        let text =
            "our gradient method recovers at least 60% in no more time than the paper's evolutionary search, 570 ms";
        claims.push(if rate.of == 240 {
            let found = format!("{}, {}", rate.text(), seconds(time));
            Claim::new(text, rate.share() >= 0.6 && time <= 0.57, found)
        } else {
            Claim::not_run(text, format!("only {}", rate.text()))
        });
        claims.push(Claim::new(
            "it takes no more time than evolutionary search written in Rust",
            time <= evolution_time,
            format!("{} against {}", seconds(time), seconds(evolution_time)),
        ));
        for depth in 2..5 {
            let of = |method: &str| self.rate(depth, method, |f| f.same);
            let gradient = of(ours(depth).name);
            if gradient.of == 0 {
                continue;
            }
            for (other, words) in [("evolutionary", "evolution"), (AS_MANY, "as many choices at random")] {
                let other = of(other);
                let text = format!("8^{depth}: the gradient finds the function more often than {words}");
                let found = format!("{} against {}", gradient.text(), other.text());
                claims.push(if gradient.of < 60 {
                    Claim::not_run(text, format!("only {found}"))
                } else {
                    Claim::new(text, gradient.hits > other.hits, found)
                });
            }
        }
        claims
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figure = Figure::new("e-tasks", "E: operators recovered by task", "task", "percent", (false, false));
        for method in [PAPER.name, OURS.name, "evolutionary", "random, one draw"] {
            let points =
                self.of(2, method).map(|f| (f.task as f64, 100.0 * f.right as f64 / f.restarts as f64)).collect();
            figure.lines.push(Line::new(method.split(',').next().unwrap_or(method), points).marks());
        }
        vec![figure]
    }

    fn hashes() -> Vec<(String, String)> {
        vec![("template".into(), dmci_table::hash::of_text(&gradient::program(2)))]
    }
}
