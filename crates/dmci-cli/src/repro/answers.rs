//! Answers of language models to the questions of experiments: recorded, or asked for and then recorded.

use crate::args::model::AskArgs;
use crate::{ask, files, output};
use dmci::Report;
use dmci_driver::request::wrong;
use dmci_llm::answer::{Hints, read};
use dmci_llm::client::Client;
use dmci_llm::message::{Answer, Message, Request, Role};
use dmci_llm::record::Event;
use dmci_repro::ask::{Question, Reply, Source, Speaker};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A line of `answers.jsonl`: a recorded answer, as `replay:` reads it, with its place in the experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    /// The name of the question.
    id: String,
    /// The hash of its messages.
    prompt: String,
    #[serde(flatten)]
    event: Event,
}

/// The answers of one experiment.
pub struct Answers {
    path: PathBuf,
    lines: Mutex<HashMap<String, Line>>,
    live: Option<Live>,
}

/// Who is asked, and where the answers go.
struct Live {
    client: Client,
    request: Request,
    file: Mutex<File>,
}

impl Answers {
    /// The record of an experiment below a folder. With a model in the arguments, what it lacks is asked for.
    pub fn open(folder: &Path, experiment: &str, args: &AskArgs) -> Result<Answers, Report> {
        let path = folder.join(experiment).join("answers.jsonl");
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(files::cannot_read(&name, &error)),
        };
        let mut lines = HashMap::new();
        for (at, text) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(text).map_err(|error| {
                let help = "delete the line; a question without an answer is asked again with --model";
                wrong(format!("line {} of {name} is not a recorded answer: {error}", at + 1), help)
            })?;
            lines.insert(line.id.clone(), line);
        }
        let live = args.model.as_deref().map(|who| -> Result<Live, Report> {
            files::make_folder(&folder.join(experiment))?;
            let ledger = args.endpoint.is_some().then(|| folder.join(experiment).join("calls.jsonl"));
            let file = OpenOptions::new().create(true).append(true).open(&path);
            let file = file.map_err(|error| files::cannot_write(&path, &error, "--out"))?;
            let (client, request) = (ask::client(args, who, None, ledger)?, ask::request(args, who)?);
            Ok(Live { client, request, file: Mutex::new(file) })
        });
        Ok(Answers { path, lines: Mutex::new(lines), live: live.transpose()? })
    }

    /// An answer, or why there is none.
    pub fn ask(&self, question: &Question) -> Result<Reply, String> {
        let role = |speaker: &Speaker| match speaker {
            Speaker::System => Role::System,
            Speaker::User => Role::User,
            Speaker::Model => Role::Assistant,
        };
        let messages: Vec<Message> =
            question.messages.iter().map(|(who, text)| Message::new(role(who), text.as_str())).collect();
        let prompt = Request { messages: messages.clone(), ..Request::default() }.key();
        let known = self.lines.lock().unwrap_or_else(|e| e.into_inner()).get(&question.id).cloned();
        let line = match (known, &self.live) {
            (Some(line), None) => line,
            (Some(line), Some(_)) if line.prompt == prompt => line,
            (_, Some(live)) => self.ask_live(live, question, messages, &prompt)?,
            (None, None) => {
                return Err(format!(
                    "{} has no answer to {}; record one with --model",
                    self.path.display(),
                    question.id
                ));
            }
        };
        let Event::Answer { prompt_version, time, answer, .. } = line.event else {
            return Err(format!("the line {} of {} is not an answer", question.id, self.path.display()));
        };
        let hints = Hints { inputs: &question.inputs, parents: &question.parents };
        let programs = read(&answer.text, &hints).programs.into_iter().map(|found| found.program).collect();
        let Answer { text, model, usage, .. } = answer;
        let tokens = usage.map(|u| (u.input, u.output));
        Ok(Reply {
            text,
            programs,
            same_prompt: line.prompt == prompt,
            source: Source { model, tokens, time, prompt_version },
        })
    }

    fn ask_live(&self, live: &Live, question: &Question, messages: Vec<Message>, prompt: &str) -> Result<Line, String> {
        let prompt_version = question.prompt_version.clone();
        let request = Request { messages, prompt_version, ..live.request.clone() };
        let answer = live.client.ask(&request, &|| false).map_err(|error| error.message)?;
        let event = Event::answer(&request, &answer);
        let line = Line { id: question.id.clone(), prompt: prompt.into(), event };
        let mut lines = self.lines.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = lines.get(&question.id).filter(|known| known.prompt == line.prompt) {
            // Another loop asked the same at the same time.
            return Ok(known.clone());
        }
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        let mut file = live.file.lock().unwrap_or_else(|e| e.into_inner());
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|error| format!("{} cannot be written: {error}", self.path.display()))?;
        output::complain(&format!("answered: {}", question.id));
        lines.insert(question.id.clone(), line.clone());
        Ok(line)
    }
}
