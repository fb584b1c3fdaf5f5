//! The tables, claims and figures of experiment H.

use super::H;
use super::small::Small;
use crate::numbers::{Rate, geometric_mean, seconds, short, times};
use crate::table::{Claim, Table};
use dmci_plot::figure::{Figure, Line};

/// Part A of the paper at batch 1, 32, 128 and 512; part B; part D at 1, 10 and 100.
const PRINTED: [(&str, &str, &str, &str); 12] = [
    ("M01", "2.9, 83, 302, 1309", "n/a", "147, 1401, 14528"),
    ("M02", "3.5, 110, 374, 1710", "n/a", "169, 1685, 16873"),
    ("M03", "2.7, 77, 312, 1226", "n/a", "144, 1402, 14395"),
    ("M04", "2.0, 56, 240, 950", "n/a", "109, 1111, 11145"),
    ("M05", "1.6, 48, 205, 821", "24.7x", "90, 916, 9156"),
    ("M06", "1.3, 39, 164, 657", "25.0x", "n/a"),
    ("M07", "3.2, 84, 385, 1531", "17.8x", "n/a"),
    ("M08", "0.6, 17, 66, 279", "44.3x", "n/a"),
    ("M10", "1.5, 39, 158, 662", "25.2x", "n/a"),
    ("M11", "0.6, 18, 74, 291", "44.8x", "n/a"),
    ("M12", "0.7, 23, 90, 357", "36.3x", "n/a"),
    ("M14", "2.8, 82, 355, 1409", "19.0x", "n/a"),
];

/// The paper's share of `jax.vmap`, forward and training; it could not run M10.
const VMAP: [(&str, &str, &str); 12] = [
    ("M01", "0.63", "0.10"),
    ("M02", "0.93", "0.11"),
    ("M03", "0.54", "0.10"),
    ("M04", "0.46", "0.11"),
    ("M05", "0.36", "0.08"),
    ("M06", "0.19", "0.08"),
    ("M07", "0.63", "0.10"),
    ("M08", "0.04", "0.03"),
    ("M10", "cannot run", "cannot run"),
    ("M11", "0.05", "0.06"),
    ("M12", "0.10", "0.03"),
    ("M14", "0.45", "0.10"),
];

pub fn tables(h: &H) -> Vec<Table> {
    vec![small(h), populations(h), through(h), vmap(h), large(h), convergence(h)]
}

fn ratios(s: &Small, base: f64) -> String {
    let list: Vec<String> = s.forward.iter().map(|(n, t)| format!("{n}: {}", short(base / t))).collect();
    list.join(", ")
}

fn small(h: &H) -> Table {
    let columns = [
        "model",
        "throughput against a walk each, by batch",
        "paper (1, 32, 128, 512)",
        "a lane alone",
        "at the largest batch",
        "training batched",
        "paper",
        "same bits",
        "loss at truth",
    ];
    let mut table = Table::new("h-small", "H, parts A to C. Twelve models over lanes, one core", &columns);
    for s in &h.small {
        let printed = PRINTED.iter().find(|p| p.0 == s.task);
        let of = |n: Option<&(usize, f64)>| n.map_or("n/a".into(), |x| seconds(x.1));
        table.row([
            s.task.clone(),
            ratios(s, s.walk),
            printed.map_or("n/a".into(), |p| p.1.into()),
            of(s.forward.first()),
            of(s.forward.last()),
            times(s.training.0 / s.training.1),
            printed.map_or("n/a".into(), |p| p.2.into()),
            if s.same && s.same_training { "yes".into() } else { "NO".to_string() },
            short(s.loss.0),
        ]);
    }
    table.note("a walk: the program is read and run through the evaluator for each evaluation, as the paper's sequential path does. The paper's figures are of an A100.");
    table.note("training batched: 64 points at once against 64 calls for one point each, both replayed; the paper's sequential training walks.");
    table.note("part E (torch.compile) and all GPU columns are not run: there is no torch and no GPU on this path.");
    table
}

fn populations(h: &H) -> Table {
    let columns = ["model", "against a walk each, by population (64 points)", "paper (1, 10, 100)"];
    let mut table = Table::new("h-populations", "H, part D. Populations, values and gradients", &columns);
    for s in &h.small {
        let list: Vec<String> =
            s.populations.iter().map(|(m, t)| format!("{m}: {}", short(s.walk * 64.0 * *m as f64 / t))).collect();
        let printed = PRINTED.iter().find(|p| p.0 == s.task).map_or("n/a", |p| p.3);
        table.row([s.task.clone(), list.join(", "), printed.into()]);
    }
    table
}

fn through(h: &H) -> Table {
    let columns = [
        "program through the evaluator",
        "parameters",
        "largest difference",
        "paper",
        "64 lanes",
        "paper",
        "256 lanes",
        "paper",
        "training, 64 points",
        "paper",
    ];
    let mut table = Table::new("h-through", "H. The interpreter itself over lanes", &columns);
    let printed = [("67.1x", "270.2x", "56.3x"), ("64.0x", "255.1x", "63.3x"), ("64.0x", "214.0x", "62.9x")];
    for (t, p) in h.through.iter().zip(printed) {
        let [walk, some, many] = t.seconds;
        table.row([
            t.name.clone(),
            t.parameters.to_string(),
            short(t.difference.0),
            "0".into(),
            times(walk / some),
            p.0.into(),
            times(walk / many),
            p.1.into(),
            times(t.training[0] / t.training[1]),
            p.2.into(),
        ]);
    }
    table
}

fn vmap(h: &H) -> Table {
    let columns = [
        "model",
        "forward: ours over vmap",
        "paper",
        "training: ours over vmap",
        "paper",
        "ours",
        "vmap",
        "largest difference",
    ];
    let mut table = Table::new("h-vmap", "H. Throughput as a multiple of jax.vmap, 64 lanes, one core", &columns);
    match &h.vmap {
        Err(why) => table.note(format!("not run: {why}.")),
        Ok(v) => {
            for b in &v.models {
                let printed = VMAP.iter().find(|p| p.0 == b.task);
                table.row([
                    b.task.clone(),
                    times(b.forward.1 / b.forward.0),
                    printed.map_or("n/a".into(), |p| p.1.into()),
                    times(b.train.1 / b.train.0),
                    printed.map_or("n/a".into(), |p| p.2.into()),
                    seconds(b.train.0),
                    seconds(b.train.1),
                    short(b.difference.0),
                ]);
            }
            let mean = |of: fn(&super::small::Beside) -> f64| times(geometric_mean(v.models.iter().map(of)));
            table.row([
                "geometric mean".to_string(),
                mean(|b| b.forward.1 / b.forward.0),
                "0.27".into(),
                mean(|b| b.train.1 / b.train.0),
                "0.076".into(),
                String::new(),
                String::new(),
                String::new(),
            ]);
            table.note(format!(
                "jax {}, double precision on both sides, compiled before, the least of 30 rounds, in the same run.",
                v.version
            ));
        }
    }
    table
}

fn large(h: &H) -> Table {
    let columns = ["model", "steps", "lanes", "forward, each", "paper", "with gradient, each", "paper", "output"];
    let mut table = Table::new("h-large", "H, parts F and H. Large models over lanes, one core", &columns);
    for p in &h.large {
        let (forward, both) = match (p.model.as_str(), p.steps, p.batch) {
            ("DiffESM-S", 100, 1) => ("172.7 ms", "482.0 ms"),
            ("DiffESM-S", 100, 64) => ("2.85 ms", "7.09 ms"),
            ("DiffESM-S", 100, 1024) => ("0.20 ms", "n/a"),
            ("DiffSoc-S", 100, 1) => ("1705.1 ms", "4971 ms"),
            ("DiffSoc-S", 100, 4) => ("428.3 ms", "n/a"),
            ("DiffSoc-S", 100, 16) => ("107.1 ms", "n/a"),
            ("DiffSoc-S", 100, 64) => ("27.1 ms", "71.6 ms"),
            ("DiffSoc-S", 100, 256) => ("7.4 ms", "n/a"),
            ("DiffSoc-S", 100, 1024) => ("2.0 ms", "5.11 ms"),
            _ => ("n/a", "n/a"),
        };
        table.row([
            p.model.clone(),
            p.steps.to_string(),
            p.batch.to_string(),
            seconds(p.seconds.0),
            forward.into(),
            seconds(p.seconds.1),
            both.into(),
            short(p.value.0),
        ]);
    }
    table.note("gradients are by all 70 and 87 parameters; the paper's are of one core of another machine. GPU columns are not run: there is no GPU.");
    table
}

fn convergence(h: &H) -> Table {
    let columns =
        ["condition", "members", "time", "paper", "last loss, largest", "least", "paper", "below 1e-3", "paper"];
    let mut table = Table::new("h-convergence", "H, part G. Convergence on DiffESM-S", &columns);
    for c in &h.convergence {
        let (time, loss, reached) = match (c.condition.as_str(), c.members) {
            ("sequential", _) => ("731.4 s", "<1e-8", "1/1"),
            ("batched", _) => ("23.9 s", "<1e-8", "1/1"),
            (_, 1) => ("23.8 s", "2.0e-8", "1/1"),
            (_, 10) => ("26.8 s", "<1e-8", "10/10"),
            (_, 50) => ("29.9 s", "<1e-8", "50/50"),
            (_, 200) => ("38.0 s", "<1e-8", "200/200"),
            _ => ("n/a", "n/a", "n/a"),
        };
        let rate = Rate { hits: c.reached, of: c.members }.text();
        table.row([
            c.condition.clone(),
            c.members.to_string(),
            seconds(c.seconds),
            time.into(),
            short(c.loss.0),
            short(c.least.0),
            loss.into(),
            rate,
            reached.into(),
        ]);
    }
    table.note("the paper does not say which member's last loss it prints. Each member has its own clip; the reference clips the whole population at once, which couples its members. The paper's 3848x extrapolates 200 sequential runs; here the population is run and a single member is run alone.");
    table
}

pub fn claims(h: &H) -> Vec<Claim> {
    let same = Rate::of(h.small.iter().map(|s| s.same && s.same_training).chain(h.large.iter().filter_map(|p| p.same)));
    let mut claims = vec![Claim::new(
        "batched is sequential bit for bit, values, gradients and training",
        same.hits == same.of,
        same.text(),
    )];
    let difference = h.through.iter().map(|t| t.difference.0).fold(0.0, f64::max);
    claims.push(Claim::new("lanes through the evaluator are its walks", difference == 0.0, short(difference)));
    match &h.vmap {
        Err(why) => claims.push(Claim::not_run("ours over jax.vmap is at least 1 on every model", why.clone())),
        Ok(v) => {
            let ratios = || v.models.iter().flat_map(|b| [b.forward.1 / b.forward.0, b.train.1 / b.train.0]);
            let least = ratios().fold(f64::INFINITY, f64::min);
            claims.push(Claim::new(
                "ours over jax.vmap is at least 1 on every model, forward and training, at 64 lanes",
                least >= 1.0,
                times(least),
            ));
            let mean = geometric_mean(ratios());
            claims.push(Claim::new("its geometric mean is at least 10", mean >= 10.0, times(mean)));
            let apart = v.models.iter().map(|b| b.difference.0).fold(0.0, f64::max);
            claims.push(Claim::new("both compute the same", apart < 1e-12, short(apart)));
        }
    }
    let (a, b) = (h.convergence.first(), h.convergence.get(1));
    if let (Some(a), Some(b)) = (a, b) {
        claims.push(Claim::new(
            "sequential and batched training have the same losses",
            a.first == b.first && a.loss == b.loss,
            short(b.loss.0),
        ));
    }
    let reached =
        Rate { hits: h.convergence.iter().map(|c| c.reached).sum(), of: h.convergence.iter().map(|c| c.members).sum() };
    let full = h.convergence.iter().any(|c| c.members == 200);
    let text = "all members reach a loss below 1e-3 in 300 epochs";
    claims.push(if full {
        Claim::new(text, reached.hits == reached.of, reached.text())
    } else {
        Claim::not_run(text, format!("{} with fewer epochs", reached.text()))
    });
    let checks =
        [("DiffESM-S", 10, -0.631172, 1e-6), ("DiffESM-S", 50, -0.716005, 1e-6), ("DiffSoc-S", 10, 62.21899, 1e-5)];
    for (model, steps, value, tolerance) in checks {
        if let Some(p) = h.large.iter().find(|p| p.model == model && p.steps == steps) {
            let text = format!("{model} gives {value} after {steps} steps");
            claims.push(Claim::new(text, (p.value.0 - value).abs() <= tolerance, format!("{:.6}", p.value.0)));
        }
    }
    claims.push(Claim::not_run(
        "part E, torch.compile, and the GPU columns",
        "there is no torch and no GPU here; neither is part of this system",
    ));
    claims
}

pub fn figures(h: &H) -> Vec<Figure> {
    let mut figure = Figure::new(
        "h-large",
        "H: time of an evaluation over lanes (largest number of steps)",
        "lanes",
        "seconds",
        (true, true),
    );
    for model in ["DiffESM-S", "DiffSoc-S"] {
        let steps = h.large.iter().filter(|p| p.model == model).map(|p| p.steps).max().unwrap_or(0);
        let here = || h.large.iter().filter(|p| p.model == model && p.steps == steps);
        figure
            .lines
            .push(Line::new(format!("{model}, values"), here().map(|p| (p.batch as f64, p.seconds.0)).collect()));
        figure
            .lines
            .push(Line::new(format!("{model}, gradients"), here().map(|p| (p.batch as f64, p.seconds.1)).collect()));
    }
    let mut populations =
        Figure::new("h-convergence", "H: 300 epochs of a population of DiffESM-S", "members", "seconds", (true, true));
    let here = h.convergence.iter().filter(|c| c.condition == "population");
    populations.lines.push(Line::new("population", here.map(|c| (c.members as f64, c.seconds)).collect()));
    vec![figure, populations]
}
