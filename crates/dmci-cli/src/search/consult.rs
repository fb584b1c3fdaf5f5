//! Questions of a search to a language model, a command or a person, and what becomes of the answers.

use crate::args::model::ModelArgs;
use dmci::{Cancel, Report};
use dmci_driver::Consult;
use dmci_driver::request::wrong;
use dmci_llm::answer::{Hints, read as read_answer};
use dmci_llm::client::Client;
use dmci_llm::command::Command;
use dmci_llm::error::{Error, Kind};
use dmci_llm::folder::Folder;
use dmci_llm::http::{Endpoint, Model};
use dmci_llm::ledger::{Budget, Ledger, Price};
use dmci_llm::message::{Message, Provider, Request, Role};
use dmci_llm::record::Record;
use dmci_llm::replay::Replay;
use dmci_llm::secret::Secret;
use dmci_search::archive::Entry;
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, Rejection, read};
use dmci_search::lower::Lowered;
use dmci_search::prompt::{Briefing, Context, Known, VERSION};
use dmci_search::search::{Knowledge, Told};
use dmci_search::worker::Workshop;
use dmci_stats::diagnosis::{Question, Searched, diagnose};
use dmci_stats::residuals::Rows;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Programs that are wanted in an answer.
const COUNT: usize = 5;

/// Questions about mistakes after an answer.
const REPAIRS: usize = 3;

/// Bytes of an answer.
const LONGEST: usize = 4 << 20;

/// Who is asked, with the answers that are under way.
#[derive(Debug)]
pub struct Consultant {
    client: Client,
    request: Request,
    briefing: Briefing,
    answers: Mutex<HashMap<usize, Option<Told>>>,
    arrived: Condvar,
    cancel: Cancel,
    over: AtomicBool,
}

fn failed(error: Error) -> Report {
    wrong(error.message, &error.hint).spelled(dmci::Spelling::Flag)
}

/// The provider and whether it is paid for by tokens.
fn provider(args: &ModelArgs, who: &str, time: Duration) -> Result<Box<dyn Provider>, Error> {
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

impl Consultant {
    /// Who the arguments name; none if they name nobody.
    pub fn new(
        args: &ModelArgs,
        run: Option<&Path>,
        workshop: &Workshop,
        cancel: &Cancel,
    ) -> Result<Option<Consultant>, Report> {
        let Some(who) = &args.model else { return Ok(None) };
        if workshop.general().is_some() {
            let message = "a model proposes expressions of one row, and this search fills holes".into();
            return Err(wrong(message, "remove --model; the grammar fills holes"));
        }
        let client = Consultant::client(args, run, who).map_err(failed)?;
        let extra = match args.extra.as_deref().map(serde_json::from_str::<serde_json::Value>) {
            None => serde_json::Map::new(),
            Some(Ok(serde_json::Value::Object(fields))) => fields,
            Some(_) => return Err(wrong("--extra is not a JSON object".into(), "write --extra '{\"top_p\": 0.9}'")),
        };
        let request = Request {
            model: if args.endpoint.is_some() { who.clone() } else { String::new() },
            max_tokens: args.max_tokens,
            temperature: args.model_temperature,
            reasoning: args.reasoning.clone(),
            extra,
            prompt_version: VERSION.into(),
            ..Request::default()
        };
        let briefing = briefing(args.about.as_deref(), args.anonymous, workshop);
        let found = Consultant {
            client,
            request,
            briefing,
            answers: Mutex::default(),
            arrived: Condvar::new(),
            cancel: cancel.clone(),
            over: AtomicBool::new(false),
        };
        let first = found.client.estimate(&found.request_of(found.briefing.round(&Context::default())), 1);
        if let Some(warning) = first.warning() {
            crate::output::complain(&format!("warning: {warning}"));
        }
        Ok(Some(found))
    }

    fn client(args: &ModelArgs, run: Option<&Path>, who: &str) -> Result<Client, Error> {
        let time = Duration::try_from_secs_f64(args.call_time).unwrap_or(Duration::MAX);
        let provider = provider(args, who, time)?;
        let mut budget = match provider.is_paid() {
            true => Budget::paid(args.money.as_deref(), args.price.as_deref().map(price).transpose()?)?,
            false => Budget::default(),
        };
        budget.calls = args.questions.or(args.discover.then_some(5));
        let beside = run.map(|path| PathBuf::from(format!("{}.calls.jsonl", path.display())));
        let record = args.calls.clone().or(beside).map(|path| Record::open(&path)).transpose()?.map(Arc::new);
        let client = Client::new(provider, Ledger::new(budget, record.clone()), record);
        Ok(match args.rate_limit {
            Some(rate) if rate > 0.0 => client.with_rate(rate),
            _ => client,
        })
    }

    fn request_of(&self, question: String) -> Request {
        let messages = vec![Message::new(Role::System, self.briefing.system()), Message::new(Role::User, question)];
        Request { messages, ..self.request.clone() }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    /// One question with its repairs.
    fn consult(&self, workshop: &Workshop, number: usize, known: &Knowledge) -> Told {
        let names = self.briefing.names();
        let contract = Contract { inputs: &names, operations: &workshop.operations, size: workshop.size };
        let shown = |entry: &Entry| Known {
            program: entry.candidate.program(&names, &entry.score.values),
            score: entry.score.score,
            error: entry.score.validation.unwrap_or(entry.score.loss).sqrt(),
            nodes: entry.score.nodes,
        };
        let context = Context {
            parents: known.parents.iter().map(shown).collect(),
            residuals: known.parents.first().map(|best| residuals(workshop, best, &names)),
            tried: known.tried.iter().map(shown).collect(),
            rejects: known.rejects.clone(),
        };
        let parents: Vec<String> = context.parents.iter().map(|p| p.program.clone()).collect();
        let hints = Hints { inputs: &names, parents: &parents };
        let mut request = self.request_of(self.briefing.round(&context));
        // The same words may be asked twice: a restarted island knows what it knew before.
        request.sample = number as u64;
        let (mut candidates, mut rejects): (Vec<Candidate>, Vec<(String, Rejection)>) = Default::default();
        for _ in 0..=REPAIRS {
            let Ok(answer) = self.client.ask(&request, &|| self.is_over()) else { break };
            let mut wrong = Vec::new();
            for program in read_answer(&answer.text, &hints).programs {
                match read(&program.program, &contract) {
                    Ok(candidate) => candidates.push(candidate),
                    Err(why) => wrong.push((program.program, why)),
                }
            }
            let question = self.briefing.repair(&wrong);
            let mend = !wrong.is_empty();
            rejects.extend(wrong);
            if !mend {
                break;
            }
            request.messages.push(Message::new(Role::Assistant, answer.text));
            request.messages.push(Message::new(Role::User, question));
        }
        Told::Consulted(candidates, rejects)
    }

    /// What was asked and spent, for people; an error if nobody ever answered.
    pub fn summary(&self) -> Result<String, Report> {
        self.client.check_reached().map_err(failed)?;
        let (tally, spent) = (self.client.tally(), self.client.spent());
        let mut text = format!(
            "{}: {} questions, {} answers, {} from the record",
            self.client.describe(),
            tally.asked,
            tally.answered,
            tally.cached
        );
        if spent.usage.input > 0 {
            text += &format!(", {} + {} tokens", spent.usage.input, spent.usage.output);
        }
        if spent.money.0 > 0 {
            text += &format!(", cost {:.4}", spent.money.amount());
        }
        if let Some(error) = tally.last_error.filter(|_| tally.failed > 0) {
            text += &format!("; {} failed, the last one: {}", tally.failed, error.message);
        }
        Ok(text + "\n")
    }
}

impl Consult for Consultant {
    fn begin(&self, number: usize) -> bool {
        let mut answers = self.answers.lock().unwrap_or_else(|e| e.into_inner());
        let new = !answers.contains_key(&number);
        answers.entry(number).or_insert(None);
        new
    }

    fn ask_ahead(&self, workshop: &Workshop, number: usize, known: &Knowledge) {
        let told = self.consult(workshop, number, known);
        self.answers.lock().unwrap_or_else(|e| e.into_inner()).insert(number, Some(told));
        self.arrived.notify_all();
    }

    fn answer(&self, workshop: &Workshop, number: usize, known: &Knowledge) -> Told {
        if self.begin(number) {
            self.ask_ahead(workshop, number, known);
        }
        let mut answers = self.answers.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            if let Some(Some(_)) = answers.get(&number)
                && let Some(Some(told)) = answers.remove(&number)
            {
                return told;
            }
            answers = self.arrived.wait(answers).unwrap_or_else(|e| e.into_inner());
        }
    }

    fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What a model is told about the problem.
pub fn briefing(about: Option<&str>, anonymous: bool, workshop: &Workshop) -> Briefing {
    let data = &workshop.data;
    let range = |(name, column): (&String, &Vec<f64>)| {
        let low = column.iter().copied().fold(f64::INFINITY, f64::min);
        (name.clone(), low, column.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let words =
        about.map_or_else(|| format!("Find a law that predicts {} from the inputs.", data.target), str::to_string);
    let found = Briefing {
        words,
        target: data.target.clone(),
        inputs: data.inputs.iter().zip(&data.open.columns).map(range).collect(),
        rows: data.open.len(),
        operations: workshop.operations.clone(),
        size: workshop.size,
        count: COUNT,
    };
    if anonymous { found.anonymous() } else { found }
}

/// The residual report of a fitted program over the open rows.
fn residuals(workshop: &Workshop, entry: &Entry, names: &[String]) -> String {
    let (data, score) = (&workshop.data, &entry.score);
    let model = Lowered::new(&entry.candidate.expr, data.inputs.len());
    let residuals = workshop.scorer().errors(&model, &data.open, &score.values);
    let weight = |r: usize| data.open.root_weights.as_ref().map_or(1.0, |w| w[r]);
    let pairs = residuals.iter().zip(&data.open.target).enumerate();
    let predictions = pairs.map(|(r, (e, y))| y - e / weight(r)).collect();
    let inputs = names.iter().cloned().zip(data.open.columns.iter().cloned()).collect();
    let searched = Searched {
        converged: score.converged,
        starts: score.starts.0 as usize,
        reached: score.starts.1 as usize,
        ..Searched::default()
    };
    let rows = Rows { residuals, predictions, inputs };
    let deviation = data.variance.sqrt();
    let question = Question {
        rows: &rows,
        groups: None,
        deviation,
        known_noise: false,
        parameters: score.values.len(),
        searched: &searched,
    };
    diagnose(&question).text()
}
