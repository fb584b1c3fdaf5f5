//! Questions and answers of a run: recorded answers first, then the budget, the rate limit, the call and its retries.

use crate::error::{Error, cancelled};
use crate::ledger::{Estimate, Ledger, Spent};
use crate::message::{Answer, Provider, Request, Stop, wait};
use crate::record::{Event, Record};
use crate::retry::{Retries, luck};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A provider with everything around it.
pub struct Client {
    provider: Box<dyn Provider>,
    ledger: Ledger,
    record: Option<Arc<Record>>,
    cache: Mutex<HashMap<String, Answer>>,
    retries: Retries,
    pace: Pace,
    tally: Mutex<Tally>,
}

/// How questions went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Questions.
    pub asked: u64,
    /// Questions that the provider answered.
    pub answered: u64,
    /// Questions that a recorded answer served.
    pub cached: u64,
    /// Questions without an answer.
    pub failed: u64,
    /// Why the last of them had none.
    pub last_error: Option<Error>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("provider", &self.provider.describe()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client. Answers in the record are not asked for again.
    pub fn new(provider: Box<dyn Provider>, ledger: Ledger, record: Option<Arc<Record>>) -> Client {
        let events = record.as_ref().map(|r| r.events()).unwrap_or_default();
        let known = events.into_iter().filter_map(|event| match event {
            Event::Answer { key, answer, .. } if !key.is_empty() => Some((key, answer)),
            _ => None,
        });
        let cache = Mutex::new(known.collect());
        let (retries, pace) = (Retries::default(), Pace::default());
        Client { provider, ledger, record, cache, retries, pace, tally: Mutex::default() }
    }

    /// With other retries.
    pub fn with_retries(mut self, retries: Retries) -> Client {
        self.retries = retries;
        self
    }

    /// With so many calls a minute at most.
    pub fn with_rate(mut self, calls_per_minute: f64) -> Client {
        let gap = Duration::try_from_secs_f64(60.0 / calls_per_minute).unwrap_or_default();
        self.pace = Pace { gap, next: Mutex::new(None) };
        self
    }

    /// What was spent.
    pub fn spent(&self) -> Spent {
        self.ledger.spent()
    }

    /// How questions went.
    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Who answers.
    pub fn describe(&self) -> String {
        self.provider.describe()
    }

    /// What rounds of so many calls would cost.
    pub fn estimate(&self, request: &Request, calls: u64) -> Estimate {
        self.ledger.estimate(request, calls)
    }

    /// An error if questions were asked and none was ever answered: such a run is none.
    pub fn check_reached(&self) -> Result<(), Error> {
        let tally = self.tally();
        match tally.last_error {
            Some(error) if tally.answered + tally.cached == 0 => {
                let message =
                    format!("{} never answered ({} questions): {}", self.describe(), tally.asked, error.message);
                Err(Error { message, ..error })
            }
            _ => Ok(()),
        }
    }

    /// One answer.
    pub fn ask(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error> {
        let known = self.cache.lock().unwrap_or_else(|e| e.into_inner()).get(&request.key()).cloned();
        let result = match &known {
            Some(answer) => Ok(answer.clone()),
            None => self.ask_provider(request, stop),
        };
        let mut tally = self.tally.lock().unwrap_or_else(|e| e.into_inner());
        tally.asked += 1;
        match &result {
            Ok(_) if known.is_some() => tally.cached += 1,
            Ok(_) => tally.answered += 1,
            Err(error) => {
                tally.failed += 1;
                tally.last_error = Some(error.clone());
            }
        }
        result
    }

    fn ask_provider(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error> {
        let key = request.key();
        let mut failed = 0;
        loop {
            if !self.pace.wait(stop) {
                return Err(cancelled());
            }
            // A retry is a new reservation: what a failed call cost, nobody knows.
            let reservation = self.ledger.reserve(request, stop)?;
            let error = match self.provider.ask(request, stop) {
                Ok(answer) => {
                    if let Some(record) = &self.record {
                        record.write(&Event::answer(request, &answer))?;
                    }
                    reservation.settle(answer.usage)?;
                    self.cache.lock().unwrap_or_else(|e| e.into_inner()).insert(key, answer.clone());
                    return Ok(answer);
                }
                Err(error) => error,
            };
            if error.may_cost() && self.provider.is_paid() {
                drop(reservation);
            } else {
                reservation.release()?;
            }
            failed += 1;
            if !error.is_passing() {
                return Err(error);
            }
            let Some(time) = self.retries.wait(failed, error.after, luck(&key, failed)) else {
                let tried = if failed == 1 { String::new() } else { format!(" ({failed} times)") };
                let asked = error.after.map_or(String::new(), |t| format!("; it asks to wait {} s", t.as_secs()));
                return Err(Error { message: format!("{}{tried}{asked}", error.message), ..error });
            };
            if !wait(time, stop) {
                return Err(cancelled());
            }
        }
    }
}

/// Calls one after the other with a gap between them.
#[derive(Debug, Default)]
struct Pace {
    gap: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    fn wait(&self, stop: Stop<'_>) -> bool {
        if self.gap.is_zero() {
            return !stop();
        }
        let now = Instant::now();
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
            let turn = next.map_or(now, |t| t.max(now));
            *next = Some(turn + self.gap);
            turn
        };
        wait(turn.saturating_duration_since(now), stop)
    }
}
