//! The options of `search`, `score` and `same`.

use super::model::ModelArgs;
use crate::quantity;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// Examples of searches.
pub const SEARCH_EXAMPLES: &str = "\
Examples:
  dmci search --data rows.csv --target y
  dmci search --data rows.csv --target y --inputs x,t --ops '+ - * / exp' --size 20
  dmci search --data rows.csv --target y --evaluations 20000 --seed 1 --json
  dmci search --data series.csv --target y --rolling --write best.scm
  dmci search --data rows.csv --target y --seed-program model.scm --ops '+ - * /'
  dmci search problem.toml --time-limit 600
  dmci search --data series.csv --ode 'x,y' --time t --group run
  dmci search --data rows.csv --target v --units 'x=m,t=s,v=m/s' --constants pure
  dmci search --data rows.csv --target y --out run.dmci
  dmci search --resume run.dmci --time-limit 600
  dmci search --data rows.csv --target y --model qwen3 --endpoint http://127.0.0.1:8080/v1 --money none
  dmci search --data rows.csv --target y --model command:./ask.sh --discover
  dmci search show run.dmci
  dmci search export run.dmci best > best.scm
  dmci search report run.dmci --out report.html

Rows are fitted and selected by cross-validation; a quarter of them is sealed and looked at once, at the end, where the
best program is compared with the constant and the linear model. The last lines say what was found, how sure that is,
and what is not distinguishable from it. With --evaluations the result depends on the data and the seed alone; the
clock ends a search at a step. Ctrl-C ends it and judges what is there.

A seed program may have holes, (hole NAME (VARIABLE ...) CONTENT): only their contents change, and everything that dmci fit
takes may stand around them: loops, groups, other losses, objectives. PROBLEM.toml has the tables [fit], a request of
dmci fit, [search] and [budget].

Operations: + - * / min max expt square cube sqrt cbrt exp log sin cos tan asin acos atan sinh cosh tanh abs sigmoid
softplus erf log1p expm1.";

/// Arguments of `search`.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Search {
    #[command(subcommand)]
    pub command: Option<SearchCommand>,
    /// A problem in TOML or JSON; options count more than the file, whose paths start at its folder
    #[arg(value_name = "PROBLEM.toml")]
    pub problem: Option<PathBuf>,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Proposers with commas between them, each with a share behind = [default: enumeration,decomposition,library,grammar=3]
    #[arg(long, value_name = "NAMES")]
    pub proposer: Option<String>,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Islands [default: 4]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub islands: Option<u64>,
    /// Time limit in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = quantity::seconds)]
    pub time_limit: Option<f64>,
    /// Most hypotheses that are fitted
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub evaluations: Option<u64>,
    /// Threads; results do not depend on them [default: all cores]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub threads: Option<u64>,
    /// Run control arms afterwards, each with as many hypotheses: proposals without evolution, and random expressions
    #[arg(long, conflicts_with = "resume")]
    pub controls: bool,
    /// Keep a journal of the run, with which it can be resumed and shown
    #[arg(long, value_name = "RUN")]
    pub out: Option<PathBuf>,
    /// Go on with the run of a journal; only --time-limit, --threads, --write, --json and --quiet may stand beside it
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "data", "target", "evaluations", "islands", "proposer"])]
    pub resume: Option<PathBuf>,
    /// Write a page about the search: one HTML file that needs nothing else
    #[arg(long, value_name = "REPORT.html")]
    pub report: Option<PathBuf>,
    /// Draw the error of the best program of every complexity
    #[arg(long, value_name = "FRONT.svg")]
    pub plot: Option<PathBuf>,
    /// Write the best program, with its fitted numbers as starts
    #[arg(long, value_name = "MODEL.scm")]
    pub write: Option<PathBuf>,
    /// Print one JSON object: {"schema": "dmci-search-1", "front": [...], "best": ..., "verdict": ...}
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

/// What can be done with a run.
#[derive(Subcommand, Debug)]
pub enum SearchCommand {
    /// Show the front, the funnel and the verdict of a run, also while it goes on
    Show {
        /// The journal
        run: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a program of a run, with its fitted numbers as starts
    Export {
        /// The journal
        run: PathBuf,
        /// `best`, or the place on the front, from 1
        #[arg(default_value = "best")]
        id: String,
    },
    /// Write a page about a run: one HTML file that needs nothing else
    Report {
        /// The journal
        run: PathBuf,
        /// The page
        #[arg(long, value_name = "REPORT.html")]
        out: PathBuf,
    },
}

/// The rows of a search and what candidates may be made of.
#[derive(ClapArgs, Debug)]
pub struct RowArgs {
    /// Program to begin with, with holes or without; may be repeated
    #[arg(long, value_name = "FILE")]
    pub seed_program: Vec<PathBuf>,
    /// Program that the best one is compared with, besides the constant and the linear model; may be repeated
    #[arg(long, value_name = "FILE")]
    pub baseline: Vec<PathBuf>,
    /// Minimise the program's own value, as in dmci fit; needs a seed program
    #[arg(long)]
    pub objective: bool,
    /// States of a system of ODEs, with commas between them: search for their derivatives
    #[arg(long, value_name = "COLUMNS", requires = "time", conflicts_with_all = ["target", "objective"])]
    pub ode: Option<String>,
    /// Column of times of a system of ODEs
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// Column of groups: of a system of ODEs its initial conditions; an objective program is run for each of them
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Loss to minimise, as in dmci fit; other losses than mse need a seed program [default: mse]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<String>,
    /// Column of numbers of trials, for binomial
    #[arg(long, value_name = "COLUMN")]
    pub trials: Option<String>,
    /// Rows that select and are not fitted: 0.3, tail:0.3, column:test, range:t:10:20, fold:2/5 or rolling:2/5
    #[arg(long, value_name = "ROWS")]
    pub holdout: Option<String>,
    /// Define a name before programs run: a number, list, string or symbol
    #[arg(long, value_name = "NAME=DATUM")]
    pub set: Vec<String>,
    /// A table: .csv or .tsv with a header line, .npy, .npz or .nc
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Columns that programs may read, with commas between them [default: all others]
    #[arg(long, value_name = "COLUMNS")]
    pub inputs: Option<String>,
    /// The column that says how much each row counts
    #[arg(long, value_name = "COLUMN", conflicts_with = "sigma")]
    pub weights: Option<String>,
    /// The column of standard deviations of the target
    #[arg(long, value_name = "COLUMN")]
    pub sigma: Option<String>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'; rows with one take no part
    #[arg(long, value_name = "WORDS")]
    pub missing: Option<String>,
    /// Sealed rows: column:NAME, whose rows that are not 0 nobody sees until the end, or none [default: a quarter]
    #[arg(long, value_name = "ROWS")]
    pub sealed: Option<String>,
    /// Rows are a series: validate by rolling origin, seal the tail
    #[arg(long)]
    pub rolling: bool,
    /// Folds of the cross-validation [default: 5]
    #[arg(long, value_name = "K", value_parser = quantity::count)]
    pub folds: Option<u64>,
    /// Operations with spaces between them [default: + - * / sqrt exp log sin cos expt]
    #[arg(long, visible_alias = "operations", value_name = "NAMES", allow_hyphen_values = true)]
    pub ops: Option<String>,
    /// Units of columns, besides those of the table's line #units: x=m,t=s,v=m/s; dimensions that cannot agree are never fitted
    #[arg(long, value_name = "COLUMN=UNIT,...")]
    pub units: Option<String>,
    /// Units of the numbers that a search adds to programs: any, or pure, none [default: any]
    #[arg(long, value_name = "KIND", value_parser = ["any", "pure"])]
    pub constants: Option<String>,
    /// The largest program, in nodes [default: 30]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub size: Option<u64>,
    /// Seed of all random numbers [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Examples of scores.
pub const SCORE_EXAMPLES: &str = "\
Examples:
  dmci score --data rows.csv --target y < programs.jsonl > scores.jsonl

A line in: {\"id\": \"c17\", \"program\": \"(params (a free 1.0)) (* a x)\", \"rung\": 1}. A line out, in the same order:
{\"id\": \"c17\", \"hash\": \"...\", \"stage\": \"fitted\", \"rung\": 1, \"score\": -812.4, \"loss\": 0.0031, \"nodes\": 3,
\"parameters\": {...}, \"optima\": {...}, \"work\": 18432}, or stage, code, message and hint of a rejection. Rungs: 0 few
iterations, 1 converged, 2 cross-validated. The same line gives the same score, always.";

/// Arguments of `score`.
#[derive(ClapArgs, Debug)]
pub struct Score {
    /// A problem in TOML or JSON; options count more than the file, whose paths start at its folder
    #[arg(long, value_name = "PROBLEM.toml")]
    pub problem: Option<PathBuf>,
    #[command(flatten)]
    pub rows: RowArgs,
}

/// Examples of comparisons.
pub const SAME_EXAMPLES: &str = "\
Examples:
  dmci same a.scm b.scm --data rows.csv
  dmci same a.scm b.scm --problem problem.toml --json

Two programs describe the same family if each, with parameters of its own, fits what the other one makes to 1e-8 of its
deviation: at 20 draws of parameters, from declared ranges and priors or around their starts, on the rows of the table and
on a range twice as wide. Exit code: 0 same, 1 anything else, 2 an error.";

/// Arguments of `same`.
#[derive(ClapArgs, Debug)]
pub struct Same {
    /// A program
    #[arg(value_name = "A.scm")]
    pub first: PathBuf,
    /// Another one
    #[arg(value_name = "B.scm")]
    pub second: PathBuf,
    /// A table whose columns are the inputs
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// A problem whose table it is
    #[arg(long, value_name = "PROBLEM.toml", conflicts_with = "data")]
    pub problem: Option<PathBuf>,
    /// Seed of all random numbers [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
