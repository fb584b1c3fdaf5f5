//! The claims of the paper about ENSO, and whether they hold.

use super::Lim;
use super::paper::{COMPARED, Fit, HEADLINE, Paper};
use super::show::{MISSING, PAPER, two, whole, whole_run};
use crate::numbers::short;
use crate::table::Claim;

/// A claim with the way to decide it: what was found and whether that is what is claimed.
struct Asked {
    text: &'static str,
    /// Whether a quick run can tell.
    quick: bool,
    decide: fn(&Paper) -> Option<(bool, String)>,
}

/// The same measured at every dimension: whether all hold, and the numbers.
fn each(paper: &Paper, one: impl Fn(usize) -> Option<(bool, String)>) -> Option<(bool, String)> {
    let mut all = true;
    let mut list = Vec::new();
    for d in paper.dimensions() {
        let (holds, found) = one(d)?;
        all &= holds;
        list.push(format!("D = {d}: {found}"));
    }
    (!list.is_empty()).then(|| (all, list.join("; ")))
}

fn references<'a>(paper: &'a Paper, method: &str) -> Option<&'a super::forecast::Skill> {
    paper.references.iter().find(|r| r.d == HEADLINE && r.method == method).map(|r| &r.skill)
}

fn row(list: &[crate::numbers::Real; 4]) -> String {
    list.iter().map(|x| two(x.0)).collect::<Vec<_>>().join("/")
}

const CLAIMS: &[Asked] = &[
    Asked {
        text: "the gate says GO at every dimension",
        quick: true,
        decide: |p| {
            each(p, |d| p.gates.iter().find(|g| g.d == d).map(|g| (g.go(), format!("det {:.0e}", g.least_det.0))))
        },
    },
    Asked {
        text: "the gradient is that of central differences to about 5e-5 (below 1e-4)",
        quick: true,
        decide: |p| {
            each(p, |d| {
                let gate = p.gates.iter().find(|g| g.d == d)?;
                Some((gate.gradient_error.0 <= 1e-4, format!("{:.0e}", gate.gradient_error.0)))
            })
        },
    },
    Asked {
        text: "the program gives the loss of the filter by hand to 1e-8",
        quick: true,
        decide: |p| {
            each(p, |d| {
                let gate = p.gates.iter().find(|g| g.d == d)?;
                let apart = (gate.loss.0 - gate.double.0).abs() / gate.double.0.abs().max(1.0);
                Some((apart <= 1e-8, format!("{apart:.0e}")))
            })
        },
    },
    Asked {
        text: "the first pattern has 42% of the variance",
        quick: true,
        decide: |p| Some(((p.share.0 - 0.42).abs() < 0.01, format!("{:.1}%", 100.0 * p.share.0))),
    },
    Asked {
        text: "the first component follows the rebuilt Nino-3.4 index with r = 0.97",
        quick: true,
        decide: |p| Some(((p.rebuilt.0 - 0.97).abs() < 0.015, format!("{:.3}", p.rebuilt.0))),
    },
    Asked {
        text: "converged L-BFGS and converged Adam end within 1 of each other",
        quick: false,
        decide: |p| {
            each(p, |d| {
                let (a, b) = (p.first("S0", d, "Adam, converged")?, p.first("S0", d, "L-BFGS, converged")?);
                Some(((a.loss.0 - b.loss.0).abs() <= 1.0, format!("{:.1} and {:.1}", a.loss.0, b.loss.0)))
            })
        },
    },
    Asked {
        text: "300 steps of Adam end within 10 of the converged loss, without the clip",
        quick: false,
        decide: |p| within_ten(p, "Adam, no clip"),
    },
    Asked {
        text: "300 steps of Adam end within 10 of the converged loss, with the paper's clip",
        quick: false,
        decide: |p| within_ten(p, "Adam"),
    },
    Asked {
        text: "L-BFGS ends no higher than Adam",
        quick: false,
        decide: |p| {
            each(p, |d| {
                let (l, a) = (p.loss("S0", d, "L-BFGS"), p.loss("S0", d, "Adam"));
                Some((l <= a, format!("{l:.1} and {a:.1}")))
            })
        },
    },
    Asked {
        text: "Adam and L-BFGS end with stable operators on every seed",
        quick: true,
        decide: |p| {
            each(p, |d| {
                let counts = ["Adam", "L-BFGS"].map(|s| p.robust(d, s));
                Some((counts.iter().all(|c| c.0 == c.1 && c.1 > 0), format!("{}/{}", counts[0].0, counts[0].1)))
            })
        },
    },
    Asked {
        text: "DE with the paper's settings never gets below 0",
        quick: false,
        decide: |p| {
            each(p, |d| {
                let least = p.of("S0", d, "DE").map(|f| f.loss.0).fold(f64::INFINITY, f64::min);
                Some((least > 0.0, whole(least)))
            })
        },
    },
    Asked {
        text: "DE that runs as long as Adam never gets below 0 either",
        quick: false,
        decide: |p| {
            each(p, |d| {
                let least = p.of("S0", d, "DE, as long as Adam").map(|f| f.loss.0).fold(f64::INFINITY, f64::min);
                Some((least > 0.0, whole(least)))
            })
        },
    },
    Asked {
        text: "the mode of ENSO is in its band",
        quick: true,
        decide: |p| {
            each(p, |d| {
                let mode = p.first("S0", d, "Adam")?.mode?;
                Some((mode.in_band, format!("{:.2} years, {:.1} months", mode.period.0, mode.decay.0)))
            })
        },
    },
    Asked {
        text: "the smallest det S is within a factor of 10 of the paper's",
        quick: true,
        decide: |p| {
            each(p, |d| {
                let found = p.first("S0", d, "Adam")?.least_det.0;
                let printed = PAPER.iter().find(|row| row.0 == d)?.1[6];
                Some(((0.1..10.0).contains(&(found / printed)), format!("{found:.1e}, paper {printed:.1e}")))
            })
        },
    },
    Asked {
        text: "the tau residual at D = 10 is 0.107",
        quick: true,
        decide: |p| {
            let found = p.tau.iter().find(|t| t.0 == HEADLINE)?.1.0;
            Some(((found - 0.107).abs() < 0.02, format!("{found:.3}")))
        },
    },
    Asked {
        text: "ACC at 6 months is highest at D = 15",
        quick: false,
        decide: |p| {
            let acc = |d: usize| p.first("S0", d, "Adam").map_or(f64::NAN, |f| f.skill.acc[1].0);
            let highest = p.dimensions().max_by(|&a, &b| acc(a).total_cmp(&acc(b)))?;
            Some((highest == COMPARED, each(p, |d| Some((true, two(acc(d)))))?.1))
        },
    },
    Asked {
        text: "scored as in the paper, the likelihood beats both persistences at every lead",
        quick: true,
        decide: |p| {
            let ours = &p.first("S0", HEADLINE, "Adam")?.skill.acc;
            let others = ["persistence", "damped persistence"].map(|m| references(p, m).map(|s| s.acc));
            let mut holds = true;
            for other in others {
                let other = other?;
                holds &= ours.iter().zip(&other).all(|(a, b)| a.0 > b.0);
            }
            Some((holds, format!("{} against {}", row(ours), row(&references(p, "persistence")?.acc))))
        },
    },
    Asked {
        text: "scored as in the paper, it beats the Green function at 9 and 12 months",
        quick: true,
        decide: |p| {
            let (ours, green) = (&p.first("S0", HEADLINE, "Adam")?.skill.acc, &references(p, "Green function")?.acc);
            let holds = ours[2].0 > green[2].0 && ours[3].0 > green[3].0;
            Some((holds, format!("{} against {}", row(ours), row(green))))
        },
    },
    Asked {
        text: "BIC picks S3 with the likelihood counted twice, as in the paper",
        quick: false,
        decide: |p| picked(p, 3, "S3"),
    },
    Asked { text: "BIC picks S3 with the likelihood counted once", quick: false, decide: |p| picked(p, 1, "S3") },
    Asked {
        text: "AIC picks a dense operator with the likelihood counted once",
        quick: false,
        decide: |p| picked(p, 0, "S0"),
    },
    Asked {
        text: "S5 is S0: both converge to the same loss, so that S5 edges S0 only by where a search stops",
        quick: false,
        decide: |p| {
            let d = p.compared();
            let ends = ["S0", "S5"].map(|id| p.first(id, d, "L-BFGS, converged").map(|f| f.loss.0));
            let [Some(dense), Some(split)] = ends else { return None };
            let pair = |a: &Fit| p.of("S0", d, "Adam").find(|b| b.seed == a.seed).map(|b| (a.loss.0 - b.loss.0).abs());
            let apart = p.of("S5", d, "Adam").filter_map(pair).fold(0.0, f64::max);
            let found = format!("{dense:.1} and {split:.1}; after 300 steps up to {} apart", short(apart));
            Some(((dense - split).abs() < 0.1, found))
        },
    },
    Asked {
        text: "the AR(2) companion cannot fit: its loss is above 0",
        quick: true,
        decide: |p| {
            let loss = p.loss("S4", p.compared(), "Adam");
            loss.is_finite().then(|| (loss > 0.0, whole(loss)))
        },
    },
];

/// Whether all seeds of a search end within 10 of the converged loss.
fn within_ten(paper: &Paper, solver: &str) -> Option<(bool, String)> {
    each(paper, |d| {
        let best = paper.first("S0", d, "L-BFGS, converged")?.loss.0;
        let worst = paper.of("S0", d, solver).map(|f| f.loss.0 - best).fold(0.0, f64::max);
        Some((worst <= 10.0, short(worst)))
    })
}

/// Which structure has the lowest of a criterion; S5 counts as S0.
fn picked(paper: &Paper, criterion: usize, expected: &str) -> Option<(bool, String)> {
    let mut list: Vec<(&str, f64)> = ["S0", "S1", "S3", "S4"]
        .into_iter()
        .filter_map(|id| Some((id, paper.criteria(id)?[criterion])))
        .filter(|c| c.1.is_finite())
        .collect();
    list.sort_by(|a, b| a.1.total_cmp(&b.1));
    let text = list.iter().map(|(id, x)| format!("{id} {x:.0}")).collect::<Vec<_>>().join(", ");
    Some((list.first()?.0 == expected, text))
}

/// The claims of the paper's protocol.
pub fn paper(lim: &Lim) -> Vec<Claim> {
    let whole = whole_run(&lim.paper);
    let claim = |asked: &Asked| {
        let text = asked.text;
        if lim.data.is_empty() {
            return Claim::not_run(text, MISSING);
        }
        if !whole && !asked.quick {
            return Claim::not_run(text, "a quick run cannot tell");
        }
        match (asked.decide)(&lim.paper) {
            Some((holds, found)) => Claim::new(text, holds, found),
            None => Claim::not_run(text, "not measured"),
        }
    };
    let mut claims: Vec<Claim> = CLAIMS.iter().map(claim).collect();
    let text = "value and gradient at D = 10 and 20 at least 3 times as fast as JAX's";
    claims.push(Claim::not_run(text, "JAX was not run beside it"));
    claims
}
