//! Experiment H: many lanes at once. Batched against one after the other, populations, two large models, a study of
//! convergence, and `jax.vmap` on the same machine in the same run.

mod large;
mod show;
mod small;

use crate::{Experiment, Host, Settings};
use dmci::Report;
use serde::{Deserialize, Serialize};

/// What experiment H measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct H {
    /// Twelve models: throughput, training, correctness, populations.
    pub small: Vec<small::Small>,
    /// Three programs through the evaluator.
    pub through: Vec<small::Through>,
    /// `jax.vmap`, or why it was not run.
    pub vmap: Result<small::Vmap, String>,
    /// The large models over lanes.
    pub large: Vec<large::Point>,
    /// The convergence study.
    pub convergence: Vec<large::Convergence>,
}

impl H {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<H, Report> {
        Ok(H {
            small: small::run(settings)?,
            through: small::through(settings)?,
            vmap: small::vmap(host)?,
            large: large::run(settings)?,
            convergence: large::convergence(settings)?,
        })
    }
}

impl Experiment for H {
    fn tables(&self) -> Vec<crate::table::Table> {
        show::tables(self)
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(self)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        show::figures(self)
    }

    fn hashes() -> Vec<(String, String)> {
        let mut all = crate::a::hashes(small::tasks().iter());
        all.push(("program DiffESM-S".into(), dmci_table::hash::of_text(large::EARTH)));
        all.push(("program DiffSoc-S".into(), dmci_table::hash::of_text(large::SOCIETY)));
        all.push(("program GPP".into(), dmci_table::hash::of_text(small::GPP)));
        all
    }
}
