//! Options of `data`.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

pub const DATA_EXAMPLES: &str = "\
Examples:
  dmci data                                        what studies need, and how to get it
  dmci data prepare sst --from DIR --out pcs.csv   principal components of a sea surface temperature field
  dmci data prepare battery --out health.csv       health of cells on the grids of the paper
  dmci data prepare sst --check                    the shared data, compared with their reference

Nothing is downloaded. Without --from, files are looked for in the folder that DMCI_SHARED names [default: ../shared].";

/// Arguments of `data`.
#[derive(ClapArgs, Debug)]
pub struct Data {
    #[command(subcommand)]
    pub command: Option<DataCommand>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What to do with data.
#[derive(Subcommand, Debug)]
pub enum DataCommand {
    /// Make the tables of a study from raw files
    Prepare(Prepare),
}

/// Arguments of `data prepare`.
#[derive(ClapArgs, Debug)]
pub struct Prepare {
    /// The data: sst, battery or flu
    pub name: String,
    /// The folder of the raw files; of a field an array (.npy) and grid.csv
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// The first month of the array [default: that of the known file]
    #[arg(long, value_name = "YYYY-MM")]
    pub start: Option<String>,
    /// Write what is made: components and indices by month, health of cells, or seasons
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Compare the raw files with their hashes, and components with pcs20.csv and pc_stats.csv beside them
    #[arg(long)]
    pub check: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
