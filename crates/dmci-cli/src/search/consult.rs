//! Questions of a search to a language model, a command or a person, and what becomes of the answers.

use crate::args::model::ModelArgs;
use crate::ask;
use dmci::{Cancel, Report};
use dmci_driver::request::wrong;
use dmci_driver::{Consult, talk};
use dmci_llm::answer::{Hints, read as read_answer};
use dmci_llm::client::Client;
use dmci_llm::message::{Message, Request, Role};
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, Rejection, read};
use dmci_search::prompt::{Briefing, Context};
use dmci_search::search::{Knowledge, Told};
use dmci_search::worker::Workshop;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};

/// Questions about mistakes after an answer.
const REPAIRS: usize = 3;

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

impl Consultant {
    /// Who the arguments name; none if they name nobody.
    pub fn new(
        args: &ModelArgs,
        run: Option<&Path>,
        workshop: &Workshop,
        cancel: &Cancel,
    ) -> Result<Option<Consultant>, Report> {
        let Some(who) = &args.ask.model else { return Ok(None) };
        if workshop.general().is_some() {
            let message = "a model proposes expressions of one row, and this search fills holes".into();
            return Err(wrong(message, "remove --model; the grammar fills holes"));
        }
        let beside = run.map(|path| PathBuf::from(format!("{}.calls.jsonl", path.display())));
        let calls = args.questions.or(args.discover.then_some(5));
        let client = ask::client(&args.ask, who, calls, args.calls.clone().or(beside))?;
        let request = ask::request(&args.ask, who)?;
        let briefing = talk::briefing(args.about.as_deref(), args.anonymous, workshop);
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
        let context = talk::context(workshop, known, &names);
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
                match read(&program.program, &contract).and_then(|candidate| workshop.admit(candidate)) {
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
        self.client.check_reached().map_err(ask::failed)?;
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
