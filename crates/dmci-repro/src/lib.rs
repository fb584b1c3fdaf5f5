//! The paper's experiments, ours beside theirs: protocols, tables, claims, figures and result files.
//!
//! **Invariant:** nothing here touches files, the terminal or the network; what an experiment measures decides
//! its tables, claims and figures alone, so that they can be made again from a result file.

pub mod a;
pub mod adam;
pub mod ask;
pub mod d;
pub mod descent;
pub mod e;
pub mod f;
pub mod fits;
pub mod g;
pub mod h;
pub mod hand;
pub mod i;
pub mod j;
pub mod k;
pub mod l;
pub mod lim;
pub mod m;
pub mod numbers;
pub mod predict;
pub mod raws;
pub mod record;
pub mod schema;
pub mod searches;
pub mod sources;
pub mod table;
pub mod task;
pub mod timing;
pub mod torch;
pub mod train;
pub mod w;

use dmci::Report;
use dmci_plot::figure::Figure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use table::{Claim, Table};

/// Precision, seeds and size of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Few seeds and small sizes.
    pub quick: bool,
    /// Single precision, as in the reference.
    pub single: bool,
    /// Only those runs that the paper completed.
    pub paper_seeds: bool,
}

/// What experiments need from outside.
pub struct Host<'a> {
    /// Runs a Python script with JAX on an input and gives what it prints, or says why not.
    pub python: &'a dyn Fn(&str, &str) -> Result<String, String>,
    /// The bytes of a file of shared data, if there is one.
    pub shared: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Answers a question to a language model, or says why not. Experiments ask from several threads.
    pub ask: ask::Ask<'a>,
}

impl Host<'_> {
    /// A host that has nothing.
    pub fn nothing() -> Host<'static> {
        let ask = &|_: &ask::Question| Err("there is nobody to ask".into());
        Host { python: &|_, _| Err("there is no Python".into()), shared: &|_| None, ask }
    }

    /// The text of a file of shared data, if there is one.
    pub fn shared_text(&self, name: &str) -> Option<String> {
        String::from_utf8((self.shared)(name)?).ok()
    }
}

/// What an experiment measured, and what follows from it.
pub trait Experiment: Serialize + DeserializeOwned {
    /// The tables.
    fn tables(&self) -> Vec<Table>;
    /// The claims.
    fn claims(&self) -> Vec<Claim>;
    /// The figures.
    fn figures(&self) -> Vec<Figure>;
    /// Hashes of its programs and data, by name.
    fn hashes() -> Vec<(String, String)>;
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub measured: Value,
    /// The tables.
    pub tables: Vec<Table>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Hashes of programs and data.
    pub hashes: Vec<(String, String)>,
}

fn outcome<E: Experiment>(experiment: &E) -> Outcome {
    let measured = serde_json::to_value(experiment).unwrap_or_default();
    let (tables, claims, figures) = (experiment.tables(), experiment.claims(), experiment.figures());
    Outcome { measured, tables, claims, figures, hashes: E::hashes() }
}

macro_rules! experiments {
    ($($name:literal $type:ty, $title:literal;)*) => {
        /// The experiments: their letters and what they ask.
        pub const EXPERIMENTS: &[(&str, &str)] = &[$(($name, $title)),*];

        /// Runs an experiment; `None` if there is none of that name.
        pub fn run(name: &str, settings: &Settings, host: &Host) -> Option<Result<Outcome, Report>> {
            match name {
                $($name => Some(<$type>::run(settings, host).map(|e| outcome(&e))),)*
                _ => None,
            }
        }

        /// Tables, claims and figures from what was measured before.
        pub fn rebuild(name: &str, measured: &Value) -> Result<Outcome, String> {
            match name {
                $($name => {
                    let measured: $type = serde_json::from_value(measured.clone()).map_err(|e| e.to_string())?;
                    Ok(outcome(&measured))
                })*
                _ => Err(format!("there is no experiment {name}")),
            }
        }
    };
}

experiments! {
    "a" a::A, "gradient fidelity: six programs, ten seeds, five methods";
    "b" fits::B, "programs as a language model writes them: fifteen models, four methods";
    "c" fits::C, "recursive models: eight models, four methods";
    "d" d::D, "structural search: every candidate is a new program";
    "e" e::E, "operators found by descent over soft choices";
    "f" f::F, "a language model in the loop: proposes programs, which are fitted, and reads their residuals";
    "g" g::G, "programs composed of programs, and swapped while running";
    "h" h::H, "many lanes at once, large models, populations, jax.vmap";
    "i" i::I, "calibration with 6 to 126 parameters";
    "j" j::J, "many distinct programs, each used once";
    "k" k::K, "influenza forecasts by programs, and whether a search may trust its fitness";
    "l" l::L, "battery capacity fade: structures as programs, scored as in the paper and honestly";
    "lim" lim::Lim, "a linear inverse model of ENSO: a Kalman likelihood as a program, scored as in the paper and honestly";
    "m" m::M, "misspecification: models fitted to data of their neighbours (not in the paper)";
    "w" w::W, "programs that a language model writes under one prompt: the funnel and the fits";
}
