//! Who does the work of a search: some threads, each with a scorer. Results are told in the order of asking.

use crate::control::Control;
use dmci::{Cancel, Report};
use dmci_limits::{Alarm, within};
use dmci_search::search::{Knowledge, Search, Told, Work};
use dmci_search::worker::Workshop;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Somebody slow whom a search asks for programs: a language model, a command, a person.
pub trait Consult: Debug + Sync {
    /// Notes a question before its answer is needed. Whether it is a new one, which must then be asked.
    fn begin(&self, number: usize) -> bool;

    /// Asks, and keeps the answer.
    fn ask_ahead(&self, workshop: &Workshop, number: usize, known: &Knowledge);

    /// The answer: the one that is under way, or a new one.
    fn answer(&self, workshop: &Workshop, number: usize, known: &Knowledge) -> Told;

    /// Ends all questions: the search is over.
    fn stop(&self);
}

/// What ends a run, and who is asked in it.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The time after which it ends.
    pub time: Duration,
    /// The threads that do the work.
    pub threads: usize,
    /// Who may interrupt it.
    pub cancel: &'a Cancel,
    /// Who is asked for programs, if anybody.
    pub consultant: Option<&'a dyn Consult>,
}

/// How often a run that waits looks whether somebody interrupts it.
const LOOK: Duration = Duration::from_millis(20);

/// The part of its time that a run leaves for the judgement.
const JUDGING: u32 = 20;

impl Limits<'_> {
    /// When the search has to end, so that there is time to judge what it found.
    fn searching(&self) -> Duration {
        self.time - self.time / JUDGING
    }

    /// Judges what was found in the time that is left. What takes longer is left out (see [`dmci_search::judge::judge`]).
    pub fn judging<R>(&self, done: &Done, judge: impl FnOnce() -> R) -> R {
        within(&Alarm::new(self.cancel.clone(), self.time.saturating_sub(done.began.elapsed())), judge)
    }
}

/// A search that has come to its end.
#[derive(Debug)]
pub struct Done {
    /// Its state.
    pub search: Search,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub elapsed: Duration,
    /// Seconds of all threads in proposals, fits and cross-validation.
    pub seconds: [f64; 3],
    /// Threads that worked; none if somebody only looks.
    pub threads: usize,
    /// Control arms, if somebody asked for them.
    pub controls: Vec<Control>,
}

impl Done {
    /// A search at which somebody only looks.
    pub fn of(search: Search) -> Done {
        Done {
            search,
            began: Instant::now(),
            elapsed: Duration::ZERO,
            seconds: [0.0; 3],
            threads: 0,
            controls: Vec::new(),
        }
    }
}

/// Runs a search until it is done, its time is over, or somebody interrupts it: work that is under way then is stopped, and
/// the search is not told of it. `keep` is given every result before the
/// search is told, and ends the run with its error: what it kept is all that was told. `watch` is called after results.
pub fn run(
    workshop: &Workshop,
    mut search: Search,
    mut pending: VecDeque<Work>,
    limits: &Limits<'_>,
    keep: &mut dyn FnMut(&Search, &Told) -> Result<(), Report>,
    watch: &mut dyn FnMut(&Search, Duration),
) -> Result<Done, Report> {
    let began = Instant::now();
    let mut seconds = [0.0; 3];
    std::thread::scope(|scope| -> Result<(), Report> {
        let (give, take) = mpsc::channel::<(u64, Work)>();
        let take = Arc::new(Mutex::new(take));
        let (done, results) = mpsc::channel::<(u64, Option<Told>, usize, f64)>();
        for _ in 0..limits.threads.max(1) {
            let (take, done) = (take.clone(), done.clone());
            scope.spawn(move || {
                let mut scorer = workshop.scorer();
                let alarm = Alarm::new(limits.cancel.clone(), limits.searching().saturating_sub(began.elapsed()));
                loop {
                    let next = take.lock().unwrap_or_else(|e| e.into_inner()).recv();
                    let Ok((number, work)) = next else { return };
                    let at = Instant::now();
                    let told = match (&work, limits.consultant) {
                        (Work::Consult { number, known, .. }, Some(asked)) => {
                            Some(asked.answer(workshop, *number, known))
                        }
                        // What was stopped has no meaning.
                        _ => Some(within(&alarm, || workshop.run(&work, &mut scorer))).filter(|_| !alarm.rang()),
                    };
                    let kind = match work {
                        Work::Propose { .. } | Work::Consult { .. } => 0,
                        Work::Score { .. } => 1,
                        Work::Validate { .. } => 2,
                    };
                    if done.send((number, told, kind, at.elapsed().as_secs_f64())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let (mut asked, mut told) = (0, 0);
        let mut waiting: BTreeMap<u64, Told> = BTreeMap::new();
        loop {
            if began.elapsed() >= limits.searching() || limits.cancel.is_cancelled() {
                search.end();
                break;
            }
            while let Some(work) = pending.pop_front().or_else(|| search.ask()) {
                if give.send((asked, work)).is_err() {
                    break;
                }
                asked += 1;
            }
            for work in search.ahead() {
                if let (Work::Consult { number, known, .. }, Some(asked)) = (work, limits.consultant)
                    && asked.begin(*number)
                {
                    let (number, known) = (*number, known.clone());
                    scope.spawn(move || asked.ask_ahead(workshop, number, &known));
                }
            }
            if search.is_done() {
                break;
            }
            // Whoever is slow must not keep the clock from ending the search.
            let left = limits.searching().saturating_sub(began.elapsed());
            let (number, result, kind, took) = match results.recv_timeout(LOOK.min(left)) {
                Ok(done) => done,
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            seconds[kind] += took;
            let Some(result) = result else { continue };
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&told) {
                if let Err(report) = keep(&search, &result) {
                    limits.consultant.iter().for_each(|asked| asked.stop());
                    return Err(report);
                }
                search.tell(result);
                told += 1;
            }
            watch(&search, began.elapsed());
        }
        limits.consultant.iter().for_each(|asked| asked.stop());
        drop(give);
        Ok(())
    })?;
    Ok(Done { search, began, elapsed: began.elapsed(), seconds, threads: limits.threads.max(1), controls: Vec::new() })
}
