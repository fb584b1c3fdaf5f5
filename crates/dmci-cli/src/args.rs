//! The command line as data: options, help and examples.

pub mod compare;
pub mod completions;
pub mod data;
pub mod emit;
pub mod fit;
pub mod forecast;
pub mod model;
pub mod predict;
pub mod repro;
pub mod sample;
pub mod search;

use crate::quantity;
use clap::{Args as ClapArgs, Parser, Subcommand};
use compare::{COMPARE_EXAMPLES, Compare};
use completions::{COMPLETIONS_EXAMPLES, Completions, MAN_EXAMPLES, Man};
use data::{DATA_EXAMPLES, Data};
use emit::{EMIT_EXAMPLES, Emit};
use fit::{FIT_EXAMPLES, Fit};
use forecast::{FORECAST_EXAMPLES, Forecast};
use predict::{PREDICT_EXAMPLES, Predict};
use repro::{REPRO_EXAMPLES, Repro};
use sample::{SAMPLE_EXAMPLES, Sample};
use search::{SAME_EXAMPLES, SCORE_EXAMPLES, SEARCH_EXAMPLES, Same, Score, Search};
use serde::Serialize;
use std::path::PathBuf;

/// The whole command line.
#[derive(Parser, Debug)]
#[command(name = "dmci", version, about = "Run, differentiate, fit, check, compile and inspect Scheme programs", max_term_width = 100, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dmci run -e '(+ 1 2)'                  the value of an expression
  dmci run examples/predator-prey.scm    a program in a file
  dmci grad model.scm --set a=1.5        its value and its derivative by a
  dmci fit model.scm --data rows.csv --target y --plot fit.svg
  dmci predict fit.json --data new.csv   new rows from a fit that --out wrote, with intervals
  dmci check model.scm                   all mistakes in a program, without running it
  dmci explain E0301                     what an error code means and how to repair it
  dmci repl                              try things out

Exit codes: 0 fine, 1 the program or its data are wrong, 2 the command line is wrong,
3 a limit was reached, 70 a bug in dmci, 130 interrupted.";

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a program and print its output and its value
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Differentiate the value of a program
    #[command(after_help = GRAD_EXAMPLES)]
    Grad(Grad),
    /// Evaluate a program for every row of a table
    #[command(after_help = EVAL_EXAMPLES)]
    Eval(Eval),
    /// Fit the parameters of a program to the rows of a table
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Box<Fit>),
    /// Predict new rows from a fit, with confidence and prediction intervals
    #[command(after_help = PREDICT_EXAMPLES)]
    Predict(Box<Predict>),
    /// Fit several models to the same rows and compare them
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<Compare>),
    /// Forecast from several origins and score the forecasts beside baselines
    #[command(after_help = FORECAST_EXAMPLES)]
    Forecast(Box<Forecast>),
    /// Draw from the posterior of a program with priors
    #[command(after_help = SAMPLE_EXAMPLES)]
    Sample(Box<Sample>),
    /// Find a program that predicts a column of a table
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(Box<Search>),
    /// Fit programs to a table, one JSON object a line: what a worker of a search does
    #[command(after_help = SCORE_EXAMPLES)]
    Score(Box<Score>),
    /// Say whether two programs describe the same family of functions
    #[command(after_help = SAME_EXAMPLES)]
    Same(Same),
    /// Write a program in another language: C, NumPy, JAX, PyTorch, SymPy, LaTeX
    #[command(after_help = EMIT_EXAMPLES)]
    Emit(Box<Emit>),
    /// Run the experiments of the paper and print our numbers beside its own
    #[command(after_help = REPRO_EXAMPLES)]
    Repro(Box<Repro>),
    /// List the data that studies need, or prepare them from what you downloaded
    #[command(after_help = DATA_EXAMPLES)]
    Data(Data),
    /// Show the operations that a program does on its parameters
    #[command(after_help = TAPE_EXAMPLES)]
    Tape(Tape),
    /// Evaluate what you type, one entry after the other
    #[command(after_help = REPL_EXAMPLES)]
    Repl(Repl),
    /// Report all mistakes in programs without running them
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Compile a program to an .ncg file
    #[command(after_help = COMPILE_EXAMPLES)]
    Compile(Compile),
    /// Show the size of a program, or one of its stages on the way to the machine
    #[command(after_help = INFO_EXAMPLES)]
    Info(Info),
    /// Explain an error code
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Show what a search tells a language model
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(Box<Prompt>),
    /// Print completions of the command line for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the manual page of dmci or of one of its commands
    #[command(after_help = MAN_EXAMPLES)]
    Man(Man),
    /// Serve agents by the Model Context Protocol, on standard input and output
    #[command(after_help = MCP_EXAMPLES)]
    Mcp(Mcp),
}

const RUN_EXAMPLES: &str = "\
Examples:
  dmci run model.scm
  dmci run model.scm --set x=1.5 --set 'rates=(0.1 0.2)' --json
  dmci run -e '(map square (iota 5))'
  echo '(display 42)' | dmci run -
  dmci run model.scm --mode direct --fuel 10M --time 5
  dmci run sums.calc --mode eval:examples/languages/calc.scm

The value of the last form is printed as `write` prints it; an unspecified value is not printed.";

/// Arguments of `run`.
#[derive(ClapArgs, Debug)]
pub struct Run {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub options: RunArgs,
    /// Print one JSON object: {"value": ..., "output": "..."} or {"error": [...], "output": "..."}
    #[arg(long)]
    pub json: bool,
}

/// Where a program comes from.
#[derive(ClapArgs, Debug)]
#[group(required = true, multiple = false)]
pub struct ProgramArgs {
    /// A program in Scheme, an .ncg file, or - for standard input
    pub file: Option<PathBuf>,
    /// The program itself
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true)]
    pub expression: Option<String>,
}

/// What may be done to make many rows fast. No result depends on it.
#[derive(ClapArgs, Debug)]
pub struct SwitchArgs {
    /// Record the two outcomes of a decision as separate paths
    #[arg(long)]
    pub no_joins: bool,
    /// Unroll loops
    #[arg(long)]
    pub no_loops: bool,
    /// Disable common-subexpression elimination
    #[arg(long)]
    pub no_merge: bool,
    /// Disable dead-code elimination
    #[arg(long)]
    pub no_dead: bool,
    /// Disable hoisting of what depends on parameters or data alone
    #[arg(long)]
    pub no_stage: bool,
    /// Do not split small vectors and matrices into scalars
    #[arg(long)]
    pub no_split: bool,
}

/// How a program is run. Names and meanings are those of `RunSettings`, which has the defaults.
#[derive(ClapArgs, Debug, Serialize)]
pub struct RunArgs {
    /// Define a name before the program runs: a number, list, string or symbol
    #[arg(long, value_name = "NAME=DATUM")]
    #[serde(skip)]
    pub set: Vec<String>,
    /// direct, dmci, tower:N or eval:FILE.scm
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Seed of random numbers
    #[arg(long, value_name = "N", value_parser = quantity::seed)]
    pub seed: Option<u64>,
    /// Temperature of soft-choice: low ones make choices sharp
    #[arg(long, value_name = "T", value_parser = quantity::real)]
    pub temperature: Option<f64>,
    /// soft-choice takes the likeliest option; its derivative stays that of the soft choice
    #[arg(long)]
    pub hard: bool,
    /// Add Gumbel noise to the logits of soft-choice, from the seed
    #[arg(long)]
    pub gumbel: bool,
    /// Round every operation to single precision
    #[arg(long)]
    pub f32: bool,
    /// Let sqrt and log take at least 1e-8, as the paper's system does
    #[arg(long)]
    pub clamps: bool,
    /// Limit of steps (calls and loop edges): 500000, 10M
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub fuel: Option<u64>,
    /// Limit of memory: 64M, 2G
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub heap: Option<u64>,
    /// Limit of nested calls: 10000, 1M
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub depth: Option<u64>,
    /// Limit of output: 64K, 10M
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub output_limit: Option<u64>,
    /// Time limit in seconds (for all rows together; in a fit: per evaluation of all rows)
    #[arg(long, value_name = "SECONDS", value_parser = quantity::seconds)]
    pub time: Option<f64>,
}

const GRAD_EXAMPLES: &str = "\
Examples:
  dmci grad -e '(* a (exp (- (* b t))))' --set a=2.5 --set b=0.8 --set t=1
  dmci grad model.scm --set a=1 --set b=2 --wrt a,b --hessian
  dmci grad model.scm --wrt literals          by every real literal, shown in the text
  dmci grad model.scm --set 'w=(0.1 0.2)' --json

Without --wrt: by the parameters of the program's (params ...), or else by every --set value that
is written with a point or an exponent. The gradient is exact: that of the path the program took.";

/// Arguments of `grad`.
#[derive(ClapArgs, Debug)]
pub struct Grad {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub options: RunArgs,
    /// What to differentiate by: names with commas between them, or `literals`
    #[arg(long, value_name = "NAMES")]
    pub wrt: Option<String>,
    /// Second derivatives too
    #[arg(long)]
    pub hessian: bool,
    /// Print one JSON object: {"value": ..., "grad": {"a": ...}}
    #[arg(long)]
    pub json: bool,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  dmci eval model.scm --data rows.csv
  dmci eval model.scm --data rows.csv --set a=1.5 --grad --out results.csv
  dmci eval --fit fit.json --data new.csv
  dmci eval model.scm --data rows.csv --missing 'NA,' --json

Columns bind the names that the program mentions; a name that is a column cannot be given with --set. A
column is exact if all its fields are integers, real if all are numbers, and text otherwise. Rows that
fail are reported and give nan; so do rows that miss something the program reads. --time is for all rows
together: those that are not done by then fail. With --json all is one object: {\"values\": [...],
\"gradients\": {\"a\": [...]}, \"outputs\": [...], \"failures\": [{\"row\": 2, \"error\": [...]}]}, where rows
without a value have null; gradients and outputs are there with --grad and --output. Of an objective that
was fitted it is {\"results\": {...}}, with {\"groups\": {\"A\": {...}}} besides if it has groups: then the loss is the sum.";

/// Arguments of `eval`.
#[derive(ClapArgs, Debug)]
pub struct Eval {
    #[command(flatten)]
    pub program: OptionalProgram,
    #[command(flatten)]
    pub options: RunArgs,
    /// A table: .csv or .tsv with a header line, .npy or .npz
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'
    #[arg(long, value_name = "WORDS")]
    pub missing: Option<String>,
    /// The program and the parameters of a fit that dmci fit --out has written
    #[arg(long, value_name = "FIT.json")]
    pub fit: Option<PathBuf>,
    /// Derivatives by the parameters too: --wrt, or (params ...), or the reals of --set
    #[arg(long)]
    pub grad: bool,
    /// Parameters, with commas between them
    #[arg(long, value_name = "NAMES")]
    pub wrt: Option<String>,
    #[command(flatten)]
    pub switches: SwitchArgs,
    /// Add a column with the printed output of each row
    #[arg(long)]
    pub output: bool,
    /// Write the results to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object: {"values": [...], "failures": [{"row": ..., "error": [...]}]}
    #[arg(long)]
    pub json: bool,
}

/// Where a program comes from, if not from a fit.
#[derive(ClapArgs, Debug)]
pub struct OptionalProgram {
    /// A program in Scheme, an .ncg file, or - for standard input
    #[arg(required_unless_present_any = ["expression", "fit"], conflicts_with = "fit")]
    pub file: Option<PathBuf>,
    /// The program itself
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["file", "fit"])]
    pub expression: Option<String>,
}

const TAPE_EXAMPLES: &str = "\
Examples:
  dmci tape -e '(if (< x 1.) (* x x) (- (* 2 x) 1))' --set x=0.5
  dmci tape model.scm --mode direct --no-joins --plan
  dmci tape model.scm --data rows.csv        all recordings that the rows of a table need

Every decision on a number that depends on a parameter or an input is listed with its place, with what
became of it, and why nothing better: joined (both arms are recorded, one recording serves both), ends a
loop (one round is recorded, lanes may differ in their number), guarded (another outcome is another recording), checked (what exact integers need), pinned (another
value is another recording). Without joins and loops the tape is the same in every mode.";

/// Arguments of `tape`.
#[derive(ClapArgs, Debug)]
pub struct Tape {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub options: RunArgs,
    /// What counts as a parameter: names with commas between them, or `literals`
    #[arg(long, value_name = "NAMES")]
    pub wrt: Option<String>,
    /// Run the program for every row of a CSV file, twice, and count recordings, paths and rows on known paths
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'; rows that miss something are left out
    #[arg(long, value_name = "WORDS", requires = "data")]
    pub missing: Option<String>,
    #[command(flatten)]
    pub switches: SwitchArgs,
    /// Show the plan that the executor runs, too
    #[arg(long, conflicts_with = "data")]
    pub plan: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const REPL_EXAMPLES: &str = "\
Examples:
  dmci repl
  dmci repl --set x=1.5 --mode direct
  dmci repl --no-history

An entry ends with the line that closes its last parenthesis. Ctrl-C stops an evaluation, Ctrl-D
ends the session, Tab completes names. The entry :help lists more commands.";

/// Arguments of `repl`.
#[derive(ClapArgs, Debug)]
pub struct Repl {
    #[command(flatten)]
    pub options: RunArgs,
    /// Neither read nor write ~/.dmci_history
    #[arg(long)]
    pub no_history: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  dmci check model.scm
  dmci check models/*.scm --json
  dmci check model.scm --set x=0        x counts as defined
  dmci check model.scm --data rows.csv  and so do the columns of a table, which are looked at, too
  dmci check -e '(define (f x) (+ x y))'
  dmci check model.scm --units --data rows.csv --target y
  dmci check model.scm --units=x=m,t=s

Syntax, unbound names and wrong numbers of arguments are found; all of them are reported. With --data, the
columns that the program reads are listed, and warnings name those that are constant, the same as another one,
or texts that are compared with a symbol. With --units, dimensions that disagree are errors, and those of
parameters without a unit are worked out: (params (g free 9.8 (unit \"m/s^2\")) (k free 1.0)).";

/// Arguments of `check`.
#[derive(ClapArgs, Debug)]
pub struct Check {
    /// Programs in Scheme, .ncg files, or - for standard input
    #[arg(required_unless_present = "expression")]
    pub files: Vec<PathBuf>,
    /// A program itself
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// Take a name as defined
    #[arg(long, value_name = "NAME=DATUM")]
    pub set: Vec<String>,
    /// Take the columns of a table as defined
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Say where dimensions disagree; units of columns stand in the table's line #units: or here: --units=x=m,t=s
    #[arg(long, value_name = "COLUMN=UNIT,...", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub units: Option<String>,
    /// The column whose unit the program's value must have
    #[arg(long, value_name = "COLUMN", requires = "units")]
    pub target: Option<String>,
    #[command(flatten)]
    pub limits: CheckLimits,
    /// Print one JSON object: {"ok": ..., "files": [{"file": "...", "diagnostics": [...]}]}
    #[arg(long)]
    pub json: bool,
}

/// What checking may take. Names and meanings are those of `RunSettings`, which has the defaults.
#[derive(ClapArgs, Debug, Serialize)]
pub struct CheckLimits {
    /// Limit of memory: 64M, 2G
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub heap: Option<u64>,
    /// Time limit in seconds, for each program
    #[arg(long, value_name = "SECONDS", value_parser = quantity::seconds)]
    pub time: Option<f64>,
}

const COMPILE_EXAMPLES: &str = "\
Examples:
  dmci compile model.scm -o model.ncg
  dmci run model.ncg
  dmci compile --evaluator -o eval.ncg

The same program gives the same bytes.";

/// Arguments of `compile`.
#[derive(ClapArgs, Debug)]
pub struct Compile {
    /// A program in Scheme, an .ncg file, or - for standard input
    #[arg(required_unless_present = "evaluator")]
    pub file: Option<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "X.ncg")]
    pub output: PathBuf,
    /// Compile the evaluator of the dmci mode instead of a program
    #[arg(long, conflicts_with = "file")]
    pub evaluator: bool,
    /// Report errors as one JSON object
    #[arg(long)]
    pub json: bool,
}

const INFO_EXAMPLES: &str = "\
Examples:
  dmci info model.scm                  sizes and compile time
  dmci info model.ncg --stage graph    the compiled form
  dmci info -e '(let loop ((i 0)) (if (< i 9) (loop (+ i 1)) i))' --stage bytecode
  dmci info --evaluator                the evaluator of the dmci mode

Stages: core (after macro expansion), anf (every intermediate value has a name), graph (the
ComputeGraph), bytecode (what the machine runs).";

/// Arguments of `info`.
#[derive(ClapArgs, Debug)]
pub struct Info {
    /// A program in Scheme, an .ncg file, or - for standard input
    #[arg(required_unless_present_any = ["expression", "evaluator"], conflicts_with_all = ["expression", "evaluator"])]
    pub file: Option<PathBuf>,
    /// The program itself
    #[arg(short, long = "eval", value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "evaluator")]
    pub expression: Option<String>,
    /// The evaluator of the dmci mode
    #[arg(long)]
    pub evaluator: bool,
    /// Print a stage: core, anf, graph or bytecode
    #[arg(long, value_name = "STAGE", value_parser = ["core", "anf", "graph", "bytecode"])]
    pub stage: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  dmci explain E0301
  dmci explain --list";

/// Arguments of `explain`.
#[derive(ClapArgs, Debug)]
pub struct Explain {
    /// The code, as error messages show it
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub code: Option<String>,
    /// List all codes
    #[arg(long)]
    pub list: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const MCP_EXAMPLES: &str = "\
Examples:
  dmci mcp --allow data

An agent looks at tables, checks, runs, fits and compares programs, proposes programs to a search and exports what it
found. Tables are read from the allowed folders only, and nothing is written. As the configuration of a client:
  {\"mcpServers\": {\"dmci\": {\"command\": \"dmci\", \"args\": [\"mcp\", \"--allow\", \"data\"]}}}";

/// Arguments of `mcp`.
#[derive(ClapArgs, Debug)]
pub struct Mcp {
    /// Folder whose tables may be read, with all that is in it; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub allow: Vec<PathBuf>,
}

const PROMPT_EXAMPLES: &str = "\
Examples:
  dmci prompt
  dmci prompt --data rows.csv --target y --part question
  dmci prompt --data rows.csv --target y --part grammar > rows.gbnf

Parts: card (the language on one page), system (the card and the contract), question (the first question about the rows),
grammar (GBNF, for servers that constrain output), schema (a JSON schema, for the same), version.";

/// Arguments of `prompt`.
#[derive(ClapArgs, Debug)]
pub struct Prompt {
    #[command(flatten)]
    pub rows: search::RowArgs,
    /// What the data are, for the model
    #[arg(long, value_name = "TEXT")]
    pub about: Option<String>,
    /// Tell the model nothing but x1, x2, ... and y
    #[arg(long, conflicts_with = "about")]
    pub anonymous: bool,
    /// card, system, question, grammar, schema or version [default: system and question; without a table card]
    #[arg(long, value_name = "PART", value_parser = ["card", "system", "question", "grammar", "schema", "version"])]
    pub part: Option<String>,
    /// Nesting of the grammar
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub depth: u8,
}
