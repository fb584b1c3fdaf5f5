//! The tables and figures of the paper's protocol.

use super::Lim;
use super::forecast::Skill;
use super::operator::Oscillation;
use super::paper::{COMPARED, DIMENSIONS, Fit, HEADLINE, Paper, TRAINING};
use super::structure::{STRUCTURES, structure};
use crate::Experiment;
use crate::numbers::{mean, seconds, short};
use crate::table::{Claim, Table};
use dmci_ops::real::log;
use dmci_plot::figure::{Figure, Line};

/// What the paper prints for a dimension: NLL of Adam, of L-BFGS and of DE, ACC at 6 months, period, decay, smallest
/// determinant, condition.
pub const PAPER: [(usize, [f64; 8]); 4] = [
    (6, [-2060.0, -2065.0, 636.0, 0.62, 2.49, 24.3, 1.0e-4, 1.97]),
    (10, [-2814.0, -2836.0, 3878.0, 0.65, 2.41, 18.1, 7.7e-7, 2.64]),
    (15, [-3676.0, -3706.0, 7876.0, 0.73, 2.27, 16.4, 1.9e-9, 3.09]),
    (20, [-4494.0, -4551.0, 11383.0, 0.61, 3.29, 13.7, 4.1e-12, 3.62]),
];

/// What the paper prints for forecasts at D = 10: ACC and RMSE at 3, 6, 9 and 12 months.
const PAPER_SKILL: [(&str, [f64; 8]); 4] = [
    ("Adam", [0.90, 0.65, 0.50, 0.51, 0.39, 0.69, 0.79, 0.77]),
    ("persistence", [0.86, 0.54, 0.20, -0.08, 0.45, 0.80, 1.07, 1.24]),
    ("damped persistence", [0.85, 0.52, 0.17, 0.22, 0.44, 0.72, 0.84, 0.86]),
    ("Green function", [0.91, 0.66, 0.49, 0.48, 0.38, 0.67, 0.79, 0.78]),
];

/// What the paper prints for structures at D = 15: NLL, AIC, BIC, ACC.
const PAPER_STRUCTURES: [(&str, [f64; 4]); 5] = [
    ("S0", [-3676.0, -6659.0, -5315.0, 0.73]),
    ("S1", [-3036.0, -5799.0, -5271.0, 0.52]),
    ("S3", [-3434.0, -6477.0, -5715.0, 0.66]),
    ("S4", [6439.0, 13124.0, 13602.0, 0.57]),
    ("S5", [-3695.0, -6699.0, -5354.0, 0.73]),
];

/// What is said without data.
pub const MISSING: &str = "the data were not found: dmci data says how to get them";

/// A loss without digits behind the point.
pub fn whole(x: f64) -> String {
    if x.is_finite() { format!("{x:.0}") } else { "n/a".into() }
}

/// A number with two digits behind the point.
pub fn two(x: f64) -> String {
    if x.is_finite() { format!("{x:.2}") } else { "n/a".into() }
}

impl Paper {
    /// The fits of a structure at a dimension by a search.
    pub fn of<'a>(&'a self, structure: &'a str, d: usize, solver: &'a str) -> impl Iterator<Item = &'a Fit> + 'a {
        self.fits.iter().filter(move |f| f.structure == structure && f.d == d && f.solver == solver)
    }

    /// The same with the first seed.
    pub fn first<'a>(&'a self, structure: &'a str, d: usize, solver: &'a str) -> Option<&'a Fit> {
        self.of(structure, d, solver).find(|f| f.seed == 0)
    }

    /// The mean loss over seeds.
    pub fn loss(&self, structure: &str, d: usize, solver: &str) -> f64 {
        mean(self.of(structure, d, solver).map(|f| f.loss.0))
    }

    /// Seeds that end with a stable operator and a loss below 0, of all.
    pub fn robust(&self, d: usize, solver: &str) -> (usize, usize) {
        let good = |f: &&Fit| f.radius.0 < 1.0 && f.loss.0 < 0.0;
        (self.of("S0", d, solver).filter(good).count(), self.of("S0", d, solver).count())
    }

    /// The dimensions that were run.
    pub fn dimensions(&self) -> impl Iterator<Item = usize> + '_ {
        self.gates.iter().map(|g| g.d)
    }

    /// The dimension at which structures were compared.
    pub fn compared(&self) -> usize {
        self.fits.iter().find(|f| f.structure == "S1").map_or(COMPARED, |f| f.d)
    }

    /// AIC and BIC of a structure at its converged loss (after 300 steps if it was not run): with the likelihood
    /// counted once, and twice as in the paper.
    pub fn criteria(&self, id: &str) -> Option<[f64; 4]> {
        let d = self.compared();
        let k = structure(id)?.raws(d) as f64;
        let converged = self.first(id, d, "L-BFGS, converged");
        let loss = converged.map_or_else(|| self.loss(id, d, "Adam"), |f| f.loss.0);
        let penalty = k * log(TRAINING as f64);
        Some([2.0 * k + loss, penalty + loss, 2.0 * k + 2.0 * loss, penalty + 2.0 * loss])
    }
}

fn gates(paper: &Paper) -> Table {
    let columns = [
        "D",
        "numbers",
        "program",
        "by hand, double",
        "by hand, single",
        "gradient error",
        "least det S",
        "gate",
        "value",
        "value and gradient",
    ];
    let mut table =
        Table::new("lim-gate", "The gate: the program beside a filter by hand, at the start of seed 0", &columns);
    for g in &paper.gates {
        table.row([
            g.d.to_string(),
            STRUCTURES[0].raws(g.d).to_string(),
            format!("{:.3}", g.loss.0),
            format!("{:.3}", g.double.0),
            format!("{:.3}", g.single.0),
            format!("{:.1e}", g.gradient_error.0),
            format!("{:.1e}", g.least_det.0),
            if g.go() { "GO" } else { "NO GO" }.into(),
            seconds(g.value_seconds),
            seconds(g.gradient_seconds),
        ]);
    }
    table.note("the loss is the sum of log det S + e' S^-1 e over 360 months. The gradient error is the largest of six probes (the variance of observations, the first entry of the factor of Q, four entries of F) beside central differences of the filter by hand in double precision. The paper's gate: the same, a gradient error of 5e-5, a least det S of 1e-5 at D = 6 and 2.6e-17 at D = 20.");
    table
}

fn solvers(paper: &Paper) -> Table {
    let mut columns = vec!["search".to_string()];
    columns.extend(paper.dimensions().flat_map(|d| [format!("NLL D = {d}"), "paper".into()]));
    columns.extend(["ACC at 3 months", "rho(F)", "stable", "robust", "seconds"].map(String::from));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("lim-solvers", "Searches over the same likelihood of the dense operator", &names);
    for (solver, printed) in [
        ("Adam", Some(0)),
        ("Adam, no clip", None),
        ("Adam, converged", None),
        ("L-BFGS", Some(1)),
        ("L-BFGS, converged", None),
        ("DE", Some(2)),
        ("DE, as long as Adam", None),
    ] {
        if paper.of("S0", HEADLINE, solver).next().is_none() {
            continue;
        }
        let mut row = vec![solver.to_string()];
        for d in paper.dimensions() {
            let printed = printed.and_then(|k: usize| PAPER.iter().find(|p| p.0 == d).map(|p| p.1[k]));
            row.extend([whole(paper.loss("S0", d, solver)), printed.map_or("".into(), whole)]);
        }
        let at = || paper.of("S0", HEADLINE, solver);
        let (good, all) = paper.robust(HEADLINE, solver);
        row.extend([
            two(mean(at().map(|f| f.skill.acc[0].0))),
            two(mean(at().map(|f| f.radius.0))),
            if at().all(|f| f.radius.0 < 1.0) { "yes" } else { "no" }.into(),
            format!("{good}/{all}"),
            short(mean(at().map(|f| f.seconds))),
        ]);
        table.row(row);
    }
    table.note("means over seeds; columns from ACC on are those of D = 10. Adam: 300 steps of 0.05, gradients clipped at 10, which leaves steps of one length; no clip: the same without it, the best point. L-BFGS: 8 starts of about 50 iterations. Converged: Adam in four rounds of 1,500 steps with rates from 0.05 to 0.001, L-BFGS from where Adam ended, seed 0. DE: rand/1/bin, 24 members, F = 0.6, CR = 0.9, 50 generations, or at least as long as Adam took. Robust: seeds that end with a stable operator and a loss below 0.");
    table.note("the paper's figures are of ERSSTv5 from 1950 to 2024, ours of COBE-SST2 from 1950 to 2019: order, sign and band can be compared, values cannot.");
    table
}

fn mode_cells(mode: Option<Oscillation>) -> [String; 2] {
    mode.map_or(["n/a".into(), "n/a".into()], |m| [two(m.period.0), format!("{:.1}", m.decay.0)])
}

fn scaling(paper: &Paper) -> Table {
    let columns = [
        "D",
        "k",
        "NLL",
        "ACC at 6",
        "paper",
        "period, years",
        "paper",
        "decay, months",
        "paper",
        "min det S",
        "paper",
        "cond S",
        "paper",
        "tau residual",
    ];
    let mut table = Table::new("lim-scaling", "The dense operator by dimension, Adam, seed 0", &columns);
    for d in paper.dimensions() {
        let Some(f) = paper.first("S0", d, "Adam") else { continue };
        let printed = PAPER.iter().find(|p| p.0 == d).map_or([f64::NAN; 8], |p| p.1);
        let [period, decay] = mode_cells(f.mode);
        let tau = paper.tau.iter().find(|t| t.0 == d).map_or(f64::NAN, |t| t.1.0);
        table.row([
            d.to_string(),
            STRUCTURES[0].raws(d).to_string(),
            whole(f.loss.0),
            two(f.skill.acc[1].0),
            two(printed[3]),
            period,
            two(printed[4]),
            decay,
            format!("{:.1}", printed[5]),
            format!("{:.1e}", f.least_det.0),
            format!("{:.1e}", printed[6]),
            two(f.condition.0),
            two(printed[7]),
            format!("{tau:.3}"),
        ]);
    }
    table.note("the mode is the least damped oscillation with a period of 2 to 7 years and a decay of 4 to 30 months. The tau residual is the distance of G(2) from G(1)^2 relative to G(2), over the training months; the paper prints 0.107 at D = 10 without its lag. The condition is that of S where its determinant is smallest.");
    table
}

fn skill_cells(skill: &Skill, printed: Option<[f64; 8]>) -> Vec<String> {
    let ours = skill.acc.iter().chain(&skill.rmse);
    ours.enumerate().flat_map(|(i, x)| [two(x.0), printed.map_or("".into(), |p| two(p[i]))]).collect()
}

fn forecasts(paper: &Paper) -> Table {
    let mut columns = vec!["method".to_string()];
    for what in ["ACC", "RMSE"] {
        columns.extend([3, 6, 9, 12].iter().flat_map(|lead| [format!("{what} {lead}"), "paper".into()]));
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "Forecasts of Nino-3.4 in 1980 to 1989 at D = 10, scored as in the paper";
    let mut table = Table::new("lim-forecasts", title, &names);
    let printed = |method: &str| PAPER_SKILL.iter().find(|p| p.0 == method).map(|p| p.1);
    for solver in ["Adam", "L-BFGS", "Adam, converged"] {
        if let Some(f) = paper.first("S0", HEADLINE, solver) {
            let mut row = vec![format!("likelihood, {solver}")];
            row.extend(skill_cells(&f.skill, printed(solver)));
            table.row(row);
        }
    }
    for r in paper.references.iter().filter(|r| r.d == HEADLINE) {
        let mut row = vec![r.method.clone()];
        row.extend(skill_cells(&r.skill, printed(&r.method)));
        table.row(row);
    }
    table.note("forecasts start from the filter's analysis and are scored against the analysis that the same filter makes later, as in the paper. All references start from the analysis of Adam, seed 0. Four leaks: climatology, trend and patterns know the test months; the truth is the filter's own; the centred mean of a month knows the month after; D and the search are chosen by these scores.");
    table
}

fn structures(paper: &Paper) -> Table {
    let columns = [
        "structure",
        "k of F",
        "k",
        "NLL",
        "paper",
        "AIC once",
        "BIC once",
        "AIC as printed",
        "paper",
        "BIC as printed",
        "paper",
        "ACC at 6",
        "paper",
        "converged NLL",
    ];
    let title = format!("Structures of the operator at D = {}, Adam, means over seeds", paper.compared());
    let mut table = Table::new("lim-structures", &title, &columns);
    let d = paper.compared();
    for (s, (_, printed)) in STRUCTURES.iter().zip(PAPER_STRUCTURES) {
        let Some(c) = paper.criteria(s.id) else { continue };
        let acc = mean(paper.of(s.id, d, "Adam").map(|f| f.skill.acc[1].0));
        let converged = paper.first(s.id, d, "L-BFGS, converged").map_or("n/a".into(), |f| whole(f.loss.0));
        table.row([
            format!("{} {}", s.id, s.title),
            s.numbers(d).to_string(),
            s.raws(d).to_string(),
            whole(paper.loss(s.id, d, "Adam")),
            whole(printed[0]),
            whole(c[0]),
            whole(c[1]),
            whole(c[2]),
            whole(printed[1]),
            whole(c[3]),
            whole(printed[2]),
            two(acc),
            two(printed[3]),
            converged,
        ]);
    }
    table.note("the loss is already twice the negative log-likelihood. Counted once: 2 k + loss and k ln 360 + loss; the paper adds twice the loss. AIC and BIC are those of the converged loss. S5 is S0 by algebra: 1/2 (M + M') + 1/2 (M - M') = M.");
    table
}

/// The tables of the paper's protocol.
pub fn tables(paper: &Paper) -> Vec<Table> {
    vec![gates(paper), solvers(paper), scaling(paper), forecasts(paper), structures(paper)]
}

fn figures(paper: &Paper) -> Vec<Figure> {
    let mut modes = Figure::new("lim-mode", "ENSO mode by dimension", "D", "years; months / 10", (false, false));
    let of = |pick: fn(Oscillation) -> f64, fitted: bool| -> Vec<(f64, f64)> {
        let mode = |d: usize| match fitted {
            true => paper.first("S0", d, "Adam").and_then(|f| f.mode),
            false => paper.references.iter().find(|r| r.d == d && r.method == "Green function").and_then(|r| r.mode),
        };
        paper.dimensions().filter_map(|d| Some((d as f64, pick(mode(d)?)))).collect()
    };
    modes.lines.push(Line::new("period, likelihood", of(|m| m.period.0, true)));
    modes.lines.push(Line::new("period, Green", of(|m| m.period.0, false)));
    modes.lines.push(Line::new("decay, likelihood", of(|m| m.decay.0 / 10.0, true)));
    modes.lines.push(Line::new("decay, Green", of(|m| m.decay.0 / 10.0, false)));
    let mut rebuilt =
        Figure::new("lim-index", "Nino-3.4 from 10 components, and PC1", "year", "degrees", (false, false));
    let column = |k: usize| paper.series.iter().map(|s| (s[0], s[k])).collect::<Vec<_>>();
    rebuilt.lines.push(Line::new("from 10 components", column(1)));
    rebuilt.lines.push(Line::new("PC1", column(2)));
    let title = "Forecasts at D = 10, scored as in the paper";
    let mut skill = Figure::new("lim-skill", title, "months ahead", "ACC", (false, false));
    let line = |s: &Skill| [3.0, 6.0, 9.0, 12.0].into_iter().zip(s.acc.map(|a| a.0)).collect::<Vec<_>>();
    if let Some(f) = paper.first("S0", HEADLINE, "Adam") {
        skill.lines.push(Line::new("likelihood", line(&f.skill)));
    }
    let references = paper.references.iter().filter(|r| r.d == HEADLINE);
    skill.lines.extend(references.map(|r| Line::new(r.method.clone(), line(&r.skill))));
    vec![modes, rebuilt, skill]
}

impl Experiment for Lim {
    fn tables(&self) -> Vec<Table> {
        let mut tables = tables(&self.paper);
        tables.extend(super::show_honest::tables(self));
        if self.data.is_empty() {
            tables.iter_mut().for_each(|table| table.note(MISSING));
        }
        tables
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = super::claims::paper(self);
        claims.extend(super::show_honest::claims(self));
        claims
    }

    fn figures(&self) -> Vec<Figure> {
        if self.data.is_empty() {
            return Vec::new();
        }
        let mut figures = figures(&self.paper);
        figures.extend(super::show_honest::figures(self));
        figures
    }

    fn hashes() -> Vec<(String, String)> {
        let hash = |s: &super::structure::Structure| {
            let text = format!("{}\n{}", s.program, super::structure::LIKELIHOOD);
            (format!("program {}", s.id), dmci_table::hash::of_text(&text))
        };
        let extended = ("program extended".to_string(), dmci_table::hash::of_text(super::extended::EXTENDED));
        STRUCTURES.iter().map(hash).chain([extended]).collect()
    }
}

/// Whether all dimensions of the paper were run.
pub fn whole_run(paper: &Paper) -> bool {
    paper.dimensions().eq(DIMENSIONS)
}
