//! The arguments of `dmci emit`.

use super::{OptionalProgram, RunArgs, SwitchArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

pub const EMIT_EXAMPLES: &str = "\
Examples:
  dmci emit model.scm --to c --data rows.csv --out model.c
  dmci emit model.scm --to numpy --set x=1.5
  dmci emit --fit fit.json --to latex        a fitted model, with its numbers behind it
  dmci emit --fit fit.json --to infix        and with its numbers in it
  dmci emit -e '(if (< x a) (* b x) (* b a))' --to latex --wrt a,b --set a=1.0 --set b=2.0 --set x=0.5

Languages: c (C99), numpy (or cupy), jax, torch, sympy, latex, infix (the formula of a program that is one). The source takes parameters and inputs as
arguments and gives the value and, except for latex, the gradient. It holds every path that the rows of
--data, or the one row of --set, take: both arms of joined decisions, loops as loops. Numbers that take
another path give NaN and a flag. Parameters are those of --wrt, or of (params ...); the inputs are the
columns, or the other names of --set. A program that gives a list of n numbers needs --outputs n.
With --f32 the source rounds every operation to single precision; sympy and latex cannot.";

/// Arguments of `emit`.
#[derive(ClapArgs, Debug)]
pub struct Emit {
    #[command(flatten)]
    pub program: OptionalProgram,
    /// The language: c, numpy, jax, torch, sympy, latex or infix
    #[arg(long, value_name = "LANGUAGE")]
    pub to: String,
    #[command(flatten)]
    pub options: RunArgs,
    /// Rows whose paths are exported: .csv or .tsv with a header line, .npy or .npz
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The program of a fit that dmci fit --out has written, with its fitted values and its data
    #[arg(long, value_name = "FIT.json")]
    pub fit: Option<PathBuf>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'; rows that miss something are left out
    #[arg(long, value_name = "WORDS")]
    pub missing: Option<String>,
    /// Parameters, with commas between them
    #[arg(long, value_name = "NAMES")]
    pub wrt: Option<String>,
    /// How many numbers the program gives, as a list
    #[arg(long, value_name = "N", default_value = "1")]
    pub outputs: usize,
    /// What the functions are called; without, the name of the file
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub switches: SwitchArgs,
    /// Write the source to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Report errors as one JSON object
    #[arg(long)]
    pub json: bool,
}
