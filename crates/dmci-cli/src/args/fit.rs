//! The options of `fit`.

use super::{ProgramArgs, RunArgs};
use crate::quantity;
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::time::Duration;

/// Examples, and what a program must be.
pub const FIT_EXAMPLES: &str = "\
Examples:
  dmci fit model.scm --data rows.csv --target y
  dmci fit model.scm --data rows.csv --target y --plot fit.svg --out fit.json
  dmci fit model.scm --data rows.csv --target y --restarts 20 --seed 1 --holdout 0.3
  dmci fit model.scm --data rows.csv --target y --set k=2.5 --optimizer adam --epochs 5000 --rate 0.01
  dmci fit -e '(params (a free 1.0) (b positive 1.0)) (* a (exp (- (* b t))))' --data rows.csv --target y
  dmci fit model.scm --data rows.csv --target y --checkpoint fit.state --resume
  dmci fit likelihood.scm --data series.csv --objective --target y --holdout tail:0.2
  dmci fit -e '(* 2.0 (exp (* -0.1 t)))' --params literals --data rows.csv --target y --write new.scm

The program predicts one row. Columns bind the names that it uses and does not define, and
(params (name kind start option ...) ...) declares what is fitted. Kinds are free, positive, unit
(0 to 1), signed-unit (-1 to 1), (bounded low high), (vector n), (matrix m n), (cholesky n) and
(simplex n). Behind the start may stand how large the values are, as in (mass positive 2000.0 1000),
the word fixed, and (per COLUMN) for a parameter that differs by group. --set moves the start of a
parameter. With --objective the program gives what is made small, such as a likelihood: columns are arrays
(ref y k), and (result (loss L) (yhat ys)) names predictions besides.

Optimisers: lm (least squares), lbfgs, adam, cma, de, es, fd (finite differences), random. auto chooses by
the shape of the problem and says why; portfolio tries several, cheap ones first. Losses: mse, sse, mae,
huber, gaussian, student-t, poisson, negative-binomial, binomial, or the name of a procedure of the
program that takes prediction and target. Ctrl-C ends a fit at once and shows the best so far.";

/// Arguments of `fit`.
#[derive(ClapArgs, Debug)]
pub struct Fit {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub options: RunArgs,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Write the result to a JSON file
    #[arg(long, value_name = "FIT.json")]
    pub out: Option<PathBuf>,
    /// Draw data, fit and residuals, as .svg or .png
    #[arg(long, value_name = "PLOT.svg")]
    pub plot: Option<PathBuf>,
    /// The column on the horizontal axis; by default the first that the program reads
    #[arg(long, value_name = "COLUMN")]
    pub x: Option<String>,
    /// curvature, or profile: each interval by fits of all other parameters
    #[arg(long, value_name = "HOW", default_value = "curvature", value_parser = ["curvature", "profile"])]
    pub intervals: String,
    /// Errors and intervals by N fits, 20 or more, to rows drawn anew, with repetition
    #[arg(long, value_name = "N", value_parser = quantity::count, conflicts_with = "intervals")]
    pub bootstrap: Option<u64>,
    /// Write the program with its fitted starts or literals
    #[arg(long, value_name = "MODEL.scm")]
    pub write: Option<PathBuf>,
    /// Write the best loss of every search after every epoch to a CSV file
    #[arg(long, value_name = "TRACE.csv")]
    pub trace: Option<PathBuf>,
    /// Keep the state of the fit in a file, so that --resume can go on after an interruption
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Print one JSON object: {"schema": "dmci-fit-1", "parameters": {"a": {"value": ...}}, ...}
    #[arg(long)]
    pub json: bool,
    /// No progress, no table, no chart
    #[arg(long)]
    pub quiet: bool,
}

/// What is fitted to what.
#[derive(ClapArgs, Debug)]
pub struct DataArgs {
    /// A table: .csv or .tsv with a header line, .npy, .npz or .nc
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    /// The column that the program must predict; of several, with commas, it gives a list
    #[arg(long, value_name = "COLUMN", required_unless_present = "objective")]
    pub target: Option<String>,
    /// The program's own value is made small: it sees whole columns as arrays
    #[arg(long, conflicts_with_all = ["loss", "weights", "sigma", "trials"])]
    pub objective: bool,
    /// The column of groups; an objective program is run for each of them
    #[arg(long, value_name = "COLUMN", requires = "objective")]
    pub group: Option<String>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'
    #[arg(long, value_name = "WORDS")]
    pub missing: Option<String>,
    /// `literals`: fit the real literals of a program that has no (params ...)
    #[arg(long, value_name = "literals", value_parser = ["literals"])]
    pub params: Option<String>,
    /// Fit only these parameters, with commas between them; the others stay where they start
    #[arg(long, value_name = "NAMES")]
    pub only: Option<String>,
    /// Start where another fit ended
    #[arg(long, value_name = "FIT.json")]
    pub start_from: Option<PathBuf>,
    /// What is made small: mse, or gaussian with --sigma and binomial with --trials, unless another one is named
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<String>,
    /// The residual beyond which the huber loss is a line
    #[arg(long, value_name = "X", value_parser = quantity::positive)]
    pub huber: Option<f64>,
    /// Degrees of freedom of the student-t loss
    #[arg(long, value_name = "N", value_parser = quantity::positive)]
    pub df: Option<f64>,
    /// The column that says how much each row counts
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    /// The column of standard deviations of the target, for gaussian and student-t
    #[arg(long, value_name = "COLUMN")]
    pub sigma: Option<String>,
    /// The column of numbers of trials, for binomial
    #[arg(long, value_name = "COLUMN")]
    pub trials: Option<String>,
    /// Rows that are not fitted, only scored: 0.3, tail:0.3, column:test, range:t:10:20, fold:2/5 or rolling:2/5
    #[arg(long, value_name = "ROWS")]
    pub holdout: Option<String>,
}

/// How it is searched.
#[derive(ClapArgs, Debug)]
pub struct SearchArgs {
    /// auto, portfolio, lm, lbfgs, adam, cma, de, es, fd or random
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub optimizer: String,
    /// Exactly M searches: the first starts at the program's values, the others around them, as --seed decides [default:
    /// further starts until no other optimum is expected]
    #[arg(long, value_name = "M", value_parser = quantity::count)]
    pub restarts: Option<u64>,
    /// Operations after which no further starts are drawn; 0 for the program's start alone [default: 2e9, about 2 s]
    #[arg(long, value_name = "W", value_parser = quantity::not_negative, conflicts_with = "restarts")]
    pub search_work: Option<f64>,
    /// Search for parameters that enter linearly, too, instead of eliminating them (least squares)
    #[arg(long)]
    pub no_projection: bool,
    /// Most steps of a search
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub epochs: Option<u64>,
    /// Most points that all searches evaluate
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub max_evals: Option<u64>,
    /// Longest time of all searches, in seconds: the best so far is the result
    #[arg(long, value_name = "SECONDS", value_parser = quantity::seconds)]
    pub time_limit: Option<Duration>,
    /// A loss that is good enough
    #[arg(long, value_name = "LOSS", value_parser = quantity::real, allow_hyphen_values = true)]
    pub stop_at: Option<f64>,
    /// Steps that a search goes on after --stop-at
    #[arg(long, value_name = "N", value_parser = quantity::count, requires = "stop_at")]
    pub window: Option<u64>,
    /// Take the last point of a search instead of the best
    #[arg(long)]
    pub last: bool,
    /// adam, fd: length of a step at first
    #[arg(long, value_name = "R", value_parser = quantity::positive)]
    pub rate: Option<f64>,
    /// adam: how slowly the mean of the gradient forgets
    #[arg(long, value_name = "B", value_parser = quantity::share)]
    pub beta1: Option<f64>,
    /// adam: how slowly the mean of its square forgets
    #[arg(long, value_name = "B", value_parser = quantity::share)]
    pub beta2: Option<f64>,
    /// adam: shorten the gradients of each search to this length
    #[arg(long, value_name = "LENGTH", value_parser = quantity::positive)]
    pub clip: Option<f64>,
    /// adam: steps without progress before the rate is lowered
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub patience: Option<u64>,
    /// cma, de, es, random: points of a generation
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub population: Option<u64>,
}
