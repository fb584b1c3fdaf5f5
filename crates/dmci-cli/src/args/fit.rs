//! The options of `fit`. Names and meanings are those of `FitRequest`, which has the defaults and the refusals.

use super::RunArgs;
use crate::quantity;
use clap::Args as ClapArgs;
use serde::Serialize;

/// Examples, and what a program must be.
pub const FIT_EXAMPLES: &str = "\
Examples:
  dmci fit --formula 'A*(1 - exp(-k*t))' --data rows.csv --target y
  dmci fit --formula 'log(y) ~ a - k*t' --where 'k > 0' --start 'k=0.5' --data rows.csv
  dmci fit model.scm --data rows.csv --target y
  dmci fit model.scm --data rows.csv --target y --plot fit.svg --out fit.json
  dmci fit model.scm --data rows.csv --target y --restarts 20 --seed 1 --holdout 0.3
  dmci fit model.scm --data rows.csv --target y --set k=2.5 --optimizer adam --epochs 5000 --rate 0.01
  dmci fit -e '(params (a free 1.0) (b positive 1.0)) (* a (exp (- (* b t))))' --data rows.csv --target y
  dmci fit model.scm --data rows.csv --target y --checkpoint fit.state --resume
  dmci fit likelihood.scm --data series.csv --objective --target y --holdout tail:0.2
  dmci fit -e '(* 2.0 (exp (* -0.1 t)))' --params literals --data rows.csv --target y --write new.scm
  dmci fit model.scm --data rows.csv --target y --print-request=toml > fit.toml
  dmci fit --request fit.toml --restarts 50

A formula is infix: + - * / ^ (or **), comparisons, if(c, a, b), exp, log, sqrt, sin, max and so on. Names
that are no columns are parameters; --write shows the program that it stands for.

The program predicts one row. Columns bind the names that it uses and does not define, and
(params (name kind start option ...) ...) declares what is fitted. Kinds are free, positive, unit
(0 to 1), signed-unit (-1 to 1), (bounded low high), (log low high), (vector n), (matrix m n), (lower n),
(cholesky n) and (simplex n). Behind the start may stand how large the values are, as in (mass positive 2000.0 1000),
the word fixed, and (per COLUMN) for a parameter that differs by group. --set moves the start of a
parameter. With --objective the program gives what is made small, such as a likelihood: columns are arrays
(ref y k), and (result (loss L) (yhat ys)) names predictions besides.

Optimisers: lm (least squares), lbfgs, adam, cma, de, es, fd (finite differences), random. auto chooses by
the shape of the problem and says why; portfolio tries several, cheap ones first. Losses: mse, sse, mae,
huber, gaussian, student-t, poisson, negative-binomial, binomial, or the name of a procedure of the
program that takes prediction and target. Ctrl-C ends a fit at once and shows the best so far.";

/// Arguments of `fit`.
#[derive(ClapArgs, Debug, Serialize)]
pub struct Fit {
    #[command(flatten)]
    #[serde(flatten)]
    pub program: FitProgram,
    #[command(flatten)]
    #[serde(flatten)]
    pub options: RunArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub outputs: OutputArgs,
    /// Take settings from a file in JSON or TOML; options count more than the file, whose paths start at its folder
    #[arg(long, value_name = "REQUEST.toml")]
    #[serde(skip)]
    pub request: Option<String>,
    /// Print the settings as a request, in JSON or TOML, and fit nothing
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json", value_parser = ["json", "toml"])]
    #[serde(skip)]
    pub print_request: Option<String>,
    /// Print the JSON schema of requests
    #[arg(long, exclusive = true)]
    #[serde(skip)]
    pub print_schema: bool,
    /// Print one JSON object: {"schema": "dmci-fit-1", "parameters": {"a": {"value": ...}}, ...}
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Print no chart
    #[arg(long)]
    #[serde(skip)]
    pub no_chart: bool,
    /// Print the correlations of the parameters
    #[arg(long)]
    #[serde(skip)]
    pub correlations: bool,
    /// No progress, no table, no chart
    #[arg(long)]
    #[serde(skip)]
    pub quiet: bool,
}

/// Where the program of a fit comes from, if no request says it.
#[derive(ClapArgs, Debug, Serialize)]
pub struct FitProgram {
    /// A program in Scheme, an .ncg file, or - for standard input
    #[serde(rename = "program")]
    pub file: Option<String>,
    /// The program itself
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true)]
    #[serde(rename = "text")]
    pub expression: Option<String>,
    /// A formula instead of a program: 'A*(1 - exp(-k*t))' or 'y ~ A*(1 - exp(-k*t))'
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
    pub formula: Option<String>,
    /// Where the parameters of a formula start [default: 1, or the middle of their range]
    #[arg(long = "starts", visible_alias = "start", value_name = "'A=20, k=0.5'", allow_hyphen_values = true)]
    pub starts: Option<String>,
    /// Between which numbers the parameters of a formula lie
    #[arg(long = "where", value_name = "'A > 0, 0 < p < 1'", allow_hyphen_values = true)]
    #[serde(rename = "where")]
    pub ranges: Option<String>,
    /// A name in a formula that is a parameter although it resembles a column
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub param: Vec<String>,
}

/// What is written.
#[derive(ClapArgs, Debug, Serialize)]
pub struct OutputArgs {
    /// Write the result to a JSON file
    #[arg(long, value_name = "FIT.json")]
    pub out: Option<String>,
    /// Draw data, fit and residuals, as .svg or .png
    #[arg(long, value_name = "PLOT.svg")]
    pub plot: Option<String>,
    /// Column on the horizontal axis [default: the first that the program reads]
    #[arg(long, value_name = "COLUMN")]
    pub x: Option<String>,
    /// Logarithmic axes: x, y, xy or none [default: those whose numbers span decades]
    #[arg(long, value_name = "AXES")]
    pub log: Option<String>,
    /// Draw residuals against each input, their quantiles, and observed against predicted values, as .svg
    #[arg(long, value_name = "RESIDUALS.svg")]
    pub residuals: Option<String>,
    /// Write the program with its fitted starts or literals
    #[arg(long, value_name = "MODEL.scm")]
    pub write: Option<String>,
    /// Write the best loss of every search after every epoch to a CSV file
    #[arg(long, value_name = "TRACE.csv")]
    pub trace: Option<String>,
    /// Keep the state of the fit in a file, so that --resume can go on after an interruption
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<String>,
    /// Resume from the checkpoint, if there is one
    #[arg(long)]
    pub resume: bool,
}

/// What is fitted to what.
#[derive(ClapArgs, Debug, Serialize)]
pub struct DataArgs {
    /// A table: .csv or .tsv with a header line, .npy, .npz or .nc
    #[arg(long, value_name = "FILE")]
    pub data: Option<String>,
    /// Column that the program predicts; of several, with commas, it gives a list
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Minimise the program's own value: it sees whole columns as arrays
    #[arg(long)]
    pub objective: bool,
    /// Column of groups; an objective program is run for each of them
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Columns under one name, a vector in each row and a matrix of a whole series: obs=pc1..pc10 or obs=u,v
    #[arg(long, value_name = "NAME=COLUMNS")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matrix: Vec<String>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'
    #[arg(long, value_name = "WORDS")]
    pub missing: Option<String>,
    /// `literals`: fit the real literals of a program that has no (params ...)
    #[arg(long, value_name = "literals")]
    pub params: Option<String>,
    /// Fit only these parameters, with commas between them; the others stay where they start
    #[arg(long, value_name = "NAMES")]
    pub only: Option<String>,
    /// Start where another fit ended
    #[arg(long, value_name = "FIT.json")]
    pub start_from: Option<String>,
    /// Loss to minimise [default: mse; gaussian with --sigma; binomial with --trials]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<String>,
    /// Residual beyond which the huber loss is linear
    #[arg(long, value_name = "X", value_parser = quantity::real)]
    pub huber: Option<f64>,
    /// Degrees of freedom of the student-t loss
    #[arg(long, value_name = "N", value_parser = quantity::real)]
    pub df: Option<f64>,
    /// Column of weights
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    /// Column of standard deviations of the target, for gaussian and student-t
    #[arg(long, value_name = "COLUMN")]
    pub sigma: Option<String>,
    /// Column of numbers of trials, for binomial
    #[arg(long, value_name = "COLUMN")]
    pub trials: Option<String>,
    /// Rows that are not fitted, only scored: 0.3, tail:0.3, column:test, range:t:10:20, fold:2/5 or rolling:2/5
    #[arg(long, value_name = "ROWS")]
    pub holdout: Option<String>,
}

/// How it is searched.
#[derive(ClapArgs, Debug, Serialize)]
pub struct SearchArgs {
    /// auto, portfolio, lm, lbfgs, adam, cma, de, es, fd or random
    #[arg(long, alias = "optimiser", value_name = "NAME")]
    pub optimizer: Option<String>,
    /// Exactly M searches: the first starts at the program's values, the others around them, as --seed decides [default:
    /// further starts until no other optimum is expected]
    #[arg(long, value_name = "M", value_parser = quantity::count)]
    pub restarts: Option<u64>,
    /// Operations after which no further starts are drawn; 0 for the program's start alone
    #[arg(long, value_name = "W", value_parser = quantity::real)]
    pub search_work: Option<f64>,
    /// Search for parameters that enter linearly, too, instead of eliminating them (least squares)
    #[arg(long)]
    pub no_projection: bool,
    /// Limit of steps of a search
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub epochs: Option<u64>,
    /// Limit of points that all searches evaluate together
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub max_evals: Option<u64>,
    /// Time limit of all fits together, in seconds: the best so far is the result
    #[arg(long, value_name = "SECONDS", value_parser = quantity::seconds)]
    pub time_limit: Option<f64>,
    /// Stop when the loss is at or below this
    #[arg(long, value_name = "LOSS", value_parser = quantity::real, allow_hyphen_values = true)]
    pub stop_at: Option<f64>,
    /// Further steps of a search after --stop-at is reached
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub window: Option<u64>,
    /// Take the last point of a search instead of the best
    #[arg(long)]
    pub last: bool,
    /// adam, fd: step size
    #[arg(long, value_name = "R", value_parser = quantity::real)]
    pub rate: Option<f64>,
    /// adam: decay rate of the first moment
    #[arg(long, value_name = "B", value_parser = quantity::real)]
    pub beta1: Option<f64>,
    /// adam: decay rate of the second moment
    #[arg(long, value_name = "B", value_parser = quantity::real)]
    pub beta2: Option<f64>,
    /// adam: clip the gradients of each search to this norm
    #[arg(long, value_name = "NORM", value_parser = quantity::real)]
    pub clip: Option<f64>,
    /// adam: steps without progress before the step size is lowered
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub patience: Option<u64>,
    /// cma, de, es, random: points of a generation
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub population: Option<u64>,
    /// Standard errors: full, fast (unless they cost more than the search) or none [default: full]
    #[arg(long, value_name = "HOW")]
    pub errors: Option<String>,
    /// curvature, or profile: each interval by fits of all other parameters
    #[arg(long, value_name = "HOW")]
    pub intervals: Option<String>,
    /// Errors and intervals by N fits to rows drawn with replacement
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub bootstrap: Option<u64>,
    /// Report patterns in the residuals, and whether the parameters or the structure of the program are to blame
    #[arg(long)]
    pub diagnose: bool,
}
