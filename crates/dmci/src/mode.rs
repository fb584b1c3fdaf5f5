//! How a program is run.

use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error};
use std::fmt;
use std::sync::Arc;

/// How a program is run. All modes but [`Mode::Evaluator`] give the same values, output and errors.
///
/// ```
/// use dmci::{Mode, Program, RunOptions};
///
/// let program = Program::new("(map square '(1 2 3))");
/// for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
///     assert_eq!(program.run(&RunOptions { mode, ..RunOptions::default() })?.text, "(1 4 9)");
/// }
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// The program itself is compiled.
    Direct,
    /// The program is data for the compiled evaluator.
    #[default]
    Dmci,
    /// The evaluator runs the evaluator runs ... the program: this many evaluators in all.
    /// `Tower(0)` is `Direct`, `Tower(1)` is `Dmci`.
    Tower(u32),
    /// An evaluator that the user wrote: its name and text.
    Evaluator {
        /// File name, for messages.
        name: Arc<str>,
        /// The text: it defines `(evaluate forms env)` or `(scheme-eval-program forms env)`.
        text: Arc<str>,
    },
}

/// Deepest tower: every level costs more than ten times the one below.
const MAX_LEVELS: u32 = 4;

impl Mode {
    /// The mode with this name: `direct`, `dmci` or `tower:N`. (`eval:FILE` needs a file, which
    /// this crate does not read.)
    pub fn parse(name: &str) -> Result<Mode, Error> {
        match name {
            "direct" => Ok(Mode::Direct),
            "dmci" => Ok(Mode::Dmci),
            _ => match name.strip_prefix("tower:").and_then(|n| n.parse().ok()) {
                Some(n) if n <= MAX_LEVELS => Ok(Mode::Tower(n)),
                Some(_) => Err(usage(format!("a tower has at most {MAX_LEVELS} levels, got {name}"))),
                None => Err(usage(format!("unknown mode {name}"))),
            },
        }
    }

    /// Number of evaluators between the machine and the program.
    pub fn levels(&self) -> u32 {
        match self {
            Mode::Direct => 0,
            Mode::Dmci => 1,
            Mode::Tower(n) => *n,
            Mode::Evaluator { .. } => 1,
        }
    }
}

fn usage(message: String) -> Error {
    Diagnostic::error(ErrorCode::E0910, message).help("use direct, dmci, tower:2 or eval:FILE.scm")
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mode::Direct => write!(f, "direct"),
            Mode::Dmci => write!(f, "dmci"),
            Mode::Tower(n) => write!(f, "tower:{n}"),
            Mode::Evaluator { name, .. } => write!(f, "eval:{name}"),
        }
    }
}
