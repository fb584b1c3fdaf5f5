//! Experiment L: capacity fade of batteries. Structures as programs, scored as in the paper and honestly.

pub mod curves;
pub mod data;
pub mod life;
pub mod pooled;
pub mod recovered;
mod show;
pub mod tail;

use crate::{Host, Settings};
use data::{CELLS, FADE};
use dmci::Report;
use life::Life;
use recovered::Recovered;
use serde::{Deserialize, Serialize};
use tail::{Recovery, Tail};

/// The grid of the paper: equal steps of each cell's life.
pub const BY_LIFE: &str = "life fraction";

/// The negative control of the paper.
pub const BY_CYCLE: &str = "first 100 cycles";

/// What experiment L measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct L {
    /// The hash of the capacities; nothing without them.
    pub data: String,
    /// Whether the sizes are small.
    pub quick: bool,
    /// Cells that the paper's rules keep.
    pub cells: usize,
    /// The paper's protocol on both grids.
    pub tails: Vec<Tail>,
    /// Synthetic cells.
    pub recovery: Vec<Recovery>,
    /// Searches on synthetic cells.
    #[serde(default)]
    pub recovered: Vec<Recovered>,
    /// Mean health and its quantiles of 10 and 90% on both grids.
    pub bands: Vec<(String, Vec<[f64; 3]>)>,
    /// The honest task.
    pub life: Life,
}

impl L {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<L, Report> {
        let (Some(fade), Some(list)) = (host.shared_text(FADE), host.shared_text(CELLS)) else {
            return Ok(L::default());
        };
        let cells = data::read(&fade, &list)?;
        let grids = [
            (BY_LIFE, cells.iter().map(|c| c.by_life()).collect::<Vec<_>>()),
            (BY_CYCLE, cells.iter().map(|c| c.by_cycle()).collect::<Vec<_>>()),
        ];
        let mut tails = Vec::new();
        for (name, curves) in &grids {
            if *name == BY_LIFE || !settings.quick {
                tails.extend(tail::run(settings, name, curves)?);
            }
        }
        Ok(L {
            data: dmci_table::hash::of_text(&fade),
            quick: settings.quick,
            cells: cells.len(),
            tails,
            recovery: tail::recovery(settings)?,
            recovered: recovered::run(settings.quick)?,
            bands: grids.iter().map(|(name, curves)| (name.to_string(), tail::band(curves))).collect(),
            life: life::run(&cells, settings.quick)?,
        })
    }
}
