//! Searches of an agent: one that goes on by itself while the agent proposes programs of its own.

use super::wrong;
use dmci::{Cancel, Report};
use dmci_limits::{Alarm, within};
use dmci_search::archive::{Entry, better_front};
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, Rejection, read};
use dmci_search::judge::baselines;
use dmci_search::search::{Search, Settings};
use dmci_search::worker::Workshop;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Searches at the same time at most.
const MOST: usize = 4;

/// Starts of a proposed program.
const STARTS: usize = 16;

/// All searches, by number.
#[derive(Default)]
pub struct Sessions(Mutex<BTreeMap<u64, Arc<Session>>>);

/// One search.
pub struct Session {
    workshop: Workshop,
    state: Mutex<State>,
    cancel: Cancel,
    began: Instant,
}

#[derive(Default)]
struct State {
    front: Vec<Entry>,
    evaluations: u64,
    proposed: u64,
    done: bool,
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Session>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Begins a search; it ends by itself when its time is over.
    pub fn start(&self, workshop: Workshop, settings: Settings, time: Duration) -> Result<u64, Report> {
        let mut all = self.all();
        if all.values().filter(|s| !s.state().done).count() >= MOST {
            return Err(wrong(format!("{MOST} searches are running"), "wait for one of them to end"));
        }
        let number = all.keys().last().map_or(1, |n| n + 1);
        let session =
            Arc::new(Session { workshop, state: Mutex::default(), cancel: Cancel::default(), began: Instant::now() });
        all.insert(number, session.clone());
        let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || session.run(settings, time));
        thread.map_err(|error| wrong(format!("no thread for the search: {error}"), "try again"))?;
        Ok(number)
    }

    /// The search of a number.
    pub fn get(&self, number: Option<u64>) -> Result<Arc<Session>, Report> {
        let all = self.all();
        let found = number.and_then(|n| all.get(&n)).cloned();
        found.ok_or_else(|| {
            let known: Vec<String> = all.keys().map(u64::to_string).collect();
            let help = if known.is_empty() {
                "begin one with search_start".into()
            } else {
                format!("there are {}", known.join(", "))
            };
            wrong("there is no search of this number".into(), &help)
        })
    }

    /// Ends all of them.
    pub fn end(&self) {
        self.all().values().for_each(|s| s.cancel.cancel());
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn run(&self, settings: Settings, time: Duration) {
        let first: Vec<Candidate> =
            baselines(self.workshop.data.inputs.len(), &self.workshop.operations).into_iter().map(|(_, c)| c).collect();
        let mut search = Search::new(settings, first);
        let mut scorer = self.workshop.scorer();
        let alarm = Alarm::new(self.cancel.clone(), time.saturating_sub(self.began.elapsed()));
        while let Some(work) = search.ask() {
            let told = within(&alarm, || self.workshop.run(&work, &mut scorer));
            // What was stopped has no meaning.
            if alarm.rings() || alarm.rang() {
                break;
            }
            search.tell(told);
            let mut state = self.state();
            search.front().iter().for_each(|entry| {
                better_front(&mut state.front, entry);
            });
            state.evaluations = search.evaluations();
        }
        self.state().done = true;
    }

    /// The front and how far the search is.
    pub fn status(&self) -> Json {
        let state = self.state();
        let front: Vec<Json> = state.front.iter().map(|entry| self.shown(entry)).collect();
        json!({
            "done": state.done,
            "seconds": self.began.elapsed().as_secs_f64(),
            "hypotheses": state.evaluations,
            "proposed_by_agent": state.proposed,
            "inputs": self.workshop.data.inputs,
            "front": front,
        })
    }

    fn shown(&self, entry: &Entry) -> Json {
        let score = &entry.score;
        json!({
            "program": entry.candidate.program(&self.workshop.data.inputs, &score.values),
            "formula": entry.candidate.formula(&self.workshop.data.inputs, &score.values),
            "nodes": score.nodes,
            "score": score.score,
            "validated_rmse": score.validation.map(f64::sqrt),
        })
    }

    /// Fits, validates and ranks programs of the agent; what is better than the front enters it.
    pub fn propose(&self, programs: &[String], cancel: &Cancel) -> Json {
        let inputs = &self.workshop.data.inputs;
        let contract = Contract { inputs, operations: &self.workshop.operations, size: self.workshop.size };
        let mut scorer = self.workshop.scorer();
        let mut list = Vec::new();
        for text in programs {
            if cancel.is_cancelled() {
                break;
            }
            let scored = read(text, &contract).and_then(|c| self.workshop.admit(c)).and_then(|candidate| {
                let score = scorer.converge(&candidate, STARTS)?;
                let score = scorer.validate(&candidate, &score);
                Ok(Entry { candidate: Candidate { values: score.values.clone(), ..candidate }, score })
            });
            let mut state = self.state();
            state.proposed += 1;
            list.push(match scored {
                Ok(entry) => {
                    let before = state.front.clone();
                    let mut shown = self.shown(&entry);
                    if entry.score.validation.is_some_and(f64::is_finite) {
                        better_front(&mut state.front, &entry);
                    }
                    shown["entered_front"] = Json::Bool(state.front != before);
                    shown["hard_to_fit"] = Json::Bool(entry.score.is_hard_to_fit());
                    shown
                }
                Err(Rejection { stage, code, message, hint, .. }) => {
                    json!({"program": text, "rejected": {"stage": stage.name(), "code": code, "message": message, "hint": hint}})
                }
            });
        }
        json!({"results": list, "best": self.status()["front"].as_array().and_then(|f| {
            f.iter().min_by(|a, b| a["score"].as_f64().unwrap_or(f64::INFINITY).total_cmp(&b["score"].as_f64().unwrap_or(f64::INFINITY))).cloned()
        })})
    }
}
