//! The options of commands that ask a language model.

use crate::quantity;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Who answers questions, and what that may cost.
#[derive(ClapArgs, Clone, Debug)]
pub struct AskArgs {
    /// Who is asked: the name of a model at --endpoint, command:LINE, folder:PATH or replay:CALLS.jsonl
    #[arg(long, value_name = "WHO", help_heading = "Language models")]
    pub model: Option<String>,
    /// URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL", requires = "model", help_heading = "Language models")]
    pub endpoint: Option<String>,
    /// Environment variable that holds the key of the endpoint
    #[arg(long, value_name = "VARIABLE", requires = "endpoint", help_heading = "Language models")]
    pub key_env: Option<String>,
    /// Most money that the model may cost, or none for one that is free; needed with --endpoint
    #[arg(long, value_name = "CAP", requires = "endpoint", help_heading = "Language models")]
    pub money: Option<String>,
    /// Price of a million tokens, in and out: 0.25,1.0
    #[arg(long, value_name = "IN,OUT", requires = "endpoint", help_heading = "Language models")]
    pub price: Option<String>,
    /// Most tokens of an answer
    #[arg(long, value_name = "N", default_value = "4000", value_parser = quantity::count, help_heading = "Language models")]
    pub max_tokens: u64,
    /// Temperature of the model [default: the server's]
    #[arg(long, value_name = "T", requires = "endpoint", value_parser = quantity::real, help_heading = "Language models")]
    pub model_temperature: Option<f64>,
    /// How hard a reasoning model thinks: low, medium, high, or what the server knows
    #[arg(long, value_name = "EFFORT", requires = "endpoint", help_heading = "Language models")]
    pub reasoning: Option<String>,
    /// Further fields of the request as a JSON object
    #[arg(long, value_name = "JSON", requires = "endpoint", help_heading = "Language models")]
    pub extra: Option<String>,
    /// Most calls a minute
    #[arg(long, value_name = "N", requires = "endpoint", value_parser = quantity::real, help_heading = "Language models")]
    pub rate_limit: Option<f64>,
    /// Time limit of a call in seconds
    #[arg(long, value_name = "SECONDS", default_value = "180", value_parser = quantity::seconds, help_heading = "Language models")]
    pub call_time: f64,
}

/// Who proposes programs in a search, and what they are told.
#[derive(ClapArgs, Clone, Debug)]
pub struct ModelArgs {
    #[command(flatten)]
    pub ask: AskArgs,
    /// Keep all calls in a file: the ledger, and answers that are not asked for again [default: RUN.calls.jsonl with --out]
    #[arg(long, value_name = "CALLS.jsonl", requires = "model", help_heading = "Language models")]
    pub calls: Option<PathBuf>,
    /// Most questions to the model, repairs included [default: 5 with --discover, otherwise as many as the budget allows]
    #[arg(long, value_name = "N", requires = "model", value_parser = quantity::count, help_heading = "Language models")]
    pub questions: Option<u64>,
    /// What the data are, for the model
    #[arg(long, value_name = "TEXT", help_heading = "Language models")]
    pub about: Option<String>,
    /// Tell the model nothing but x1, x2, ... and y
    #[arg(long, conflicts_with = "about", help_heading = "Language models")]
    pub anonymous: bool,
    /// The paper's loop: the model proposes, programs are fitted, their residuals go back; nobody else proposes
    #[arg(long, requires = "model", conflicts_with = "proposer", help_heading = "Language models")]
    pub discover: bool,
}
