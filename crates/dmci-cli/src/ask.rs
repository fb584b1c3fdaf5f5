//! Who answers the questions of a search or of an experiment, as options name them.

use crate::args::model::AskArgs;
use dmci::Report;
use dmci_driver::request::wrong;
use dmci_llm::client::Client;
use dmci_llm::command::Command;
use dmci_llm::error::{Error, Kind};
use dmci_llm::folder::Folder;
use dmci_llm::http::{Endpoint, Model};
use dmci_llm::ledger::{Budget, Ledger, Price};
use dmci_llm::message::{Provider, Request};
use dmci_llm::record::Record;
use dmci_llm::replay::Replay;
use dmci_llm::secret::Secret;
use dmci_search::prompt::VERSION;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of an answer.
const LONGEST: usize = 4 << 20;

/// An error of a provider as a report.
pub fn failed(error: Error) -> Report {
    wrong(error.message, &error.hint).spelled(dmci::Spelling::Flag)
}

/// The provider and whether it is paid for by tokens.
fn provider(args: &AskArgs, who: &str, time: Duration) -> Result<Box<dyn Provider>, Error> {
    let local = |path: &str, error: std::io::Error| {
        Error::new(Kind::Local, format!("cannot read {path}: {error}"), "check the path")
    };
    if let Some(line) = who.strip_prefix("command:") {
        return Ok(Box::new(Command::new(line, time, LONGEST)?));
    }
    if let Some(path) = who.strip_prefix("folder:") {
        return Ok(Box::new(Folder::new(Path::new(path), time, LONGEST as u64)?));
    }
    if let Some(path) = who.strip_prefix("replay:") {
        let text = std::fs::read_to_string(path).map_err(|error| local(path, error))?;
        return Ok(Box::new(Replay::new(&text, path)?));
    }
    let Some(url) = &args.endpoint else {
        let hint = "name its URL with --endpoint, or write command:LINE, folder:PATH or replay:FILE";
        return Err(Error::new(Kind::Settings, format!("nobody says where the model {who} is"), hint));
    };
    let key = match &args.key_env {
        Some(name) => std::env::var(name).map_err(|_| {
            let message = format!("the environment variable {name} has no key");
            Error::new(Kind::Settings, message, "set it, or leave --key-env out for an endpoint without a key")
        })?,
        None => String::new(),
    };
    let mut endpoint = Endpoint::new(url, Secret::new(&key));
    endpoint.timeout = time;
    Ok(Box::new(Model::new(endpoint)?))
}

fn price(text: &str) -> Result<Price, Error> {
    let numbers: Vec<f64> = text.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    match numbers[..] {
        [input, output] => Ok(Price { input, output }),
        _ => Err(Error::new(Kind::Settings, format!("{text} is not a price"), "write --price 0.25,1.0")),
    }
}

/// The client that asks `who`, at most `calls` times. A record serves as ledger and as cache: recorded answers are not asked
/// for again.
pub fn client(args: &AskArgs, who: &str, calls: Option<u64>, record: Option<PathBuf>) -> Result<Client, Report> {
    let made = || -> Result<Client, Error> {
        let time = Duration::try_from_secs_f64(args.call_time).unwrap_or(Duration::MAX);
        let provider = provider(args, who, time)?;
        let mut budget = match provider.is_paid() {
            true => Budget::paid(args.money.as_deref(), args.price.as_deref().map(price).transpose()?)?,
            false => Budget::default(),
        };
        budget.calls = calls;
        let record = record.map(|path| Record::open(&path)).transpose()?.map(Arc::new);
        let client = Client::new(provider, Ledger::new(budget, record.clone()), record);
        Ok(match args.rate_limit {
            Some(rate) if rate > 0.0 => client.with_rate(rate),
            _ => client,
        })
    };
    made().map_err(failed)
}

/// A question without messages: the model and its settings.
pub fn request(args: &AskArgs, who: &str) -> Result<Request, Report> {
    let extra = match args.extra.as_deref().map(serde_json::from_str::<serde_json::Value>) {
        None => serde_json::Map::new(),
        Some(Ok(serde_json::Value::Object(fields))) => fields,
        Some(_) => return Err(wrong("--extra is not a JSON object".into(), "write --extra '{\"top_p\": 0.9}'")),
    };
    Ok(Request {
        model: if args.endpoint.is_some() { who.into() } else { String::new() },
        max_tokens: args.max_tokens,
        temperature: args.model_temperature,
        reasoning: args.reasoning.clone(),
        extra,
        prompt_version: VERSION.into(),
        ..Request::default()
    })
}
