//! Who does the work of a search: some threads, each with a scorer. Results are told in the order of asking.

use super::kept::Kept;
use dmci::{Cancel, Report};
use dmci_search::score::Score;
use dmci_search::search::{Search, Told, Work};
use dmci_search::worker::Workshop;
use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Write};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What ends a run.
pub struct Limits<'a> {
    pub time: Duration,
    pub threads: usize,
    pub cancel: &'a Cancel,
    pub progress: bool,
}

/// A search that has come to its end.
pub struct Done {
    pub search: Search,
    pub elapsed: Duration,
    /// Seconds of all threads in proposals, fits and cross-validation.
    pub seconds: [f64; 3],
    pub threads: usize,
}

impl Done {
    /// A search at which somebody only looks.
    pub fn of(search: Search) -> Done {
        Done { search, elapsed: Duration::ZERO, seconds: [0.0; 3], threads: 0 }
    }
}

/// Runs a search until it is done, its time is over, or somebody interrupts it. Every result is in the journal before
/// the search is told; if it cannot be written, the search ends there, and nothing that was told is lost.
pub fn run(
    workshop: &Workshop,
    mut search: Search,
    mut pending: VecDeque<Work>,
    mut journal: Option<Kept>,
    limits: &Limits<'_>,
) -> Result<Done, Report> {
    let began = Instant::now();
    let mut seconds = [0.0; 3];
    std::thread::scope(|scope| -> Result<(), Report> {
        let (give, take) = mpsc::channel::<(u64, Work)>();
        let take = Arc::new(Mutex::new(take));
        let (done, results) = mpsc::channel::<(u64, Told, usize, f64)>();
        for _ in 0..limits.threads.max(1) {
            let (take, done) = (take.clone(), done.clone());
            scope.spawn(move || {
                let mut scorer = workshop.scorer();
                loop {
                    let next = take.lock().unwrap_or_else(|e| e.into_inner()).recv();
                    let Ok((number, work)) = next else { return };
                    let at = Instant::now();
                    let told = workshop.run(&work, &mut scorer);
                    let kind = match work {
                        Work::Propose { .. } => 0,
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
        let mut meter = Meter::new(limits.progress);
        loop {
            if began.elapsed() >= limits.time || limits.cancel.is_cancelled() {
                search.end();
            }
            while let Some(work) = pending.pop_front().or_else(|| search.ask()) {
                if give.send((asked, work)).is_err() {
                    break;
                }
                asked += 1;
            }
            if search.is_done() {
                break;
            }
            let Ok((number, result, kind, took)) = results.recv() else { break };
            seconds[kind] += took;
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&told) {
                if let Some(journal) = &mut journal {
                    journal.tell(workshop, &search, &result)?;
                }
                search.tell(result);
                told += 1;
            }
            meter.show(&search, began.elapsed(), limits.time);
        }
        meter.clear();
        drop(give);
        Ok(())
    })?;
    Ok(Done { search, elapsed: began.elapsed(), seconds, threads: limits.threads.max(1) })
}

/// A line on standard error that is drawn over and over, where somebody can see it.
struct Meter {
    shown: bool,
    last: Option<Instant>,
}

impl Meter {
    fn new(wanted: bool) -> Meter {
        Meter { shown: wanted && std::io::stderr().is_terminal(), last: None }
    }

    fn show(&mut self, search: &Search, elapsed: Duration, limit: Duration) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(200)) {
            return;
        }
        self.last = Some(Instant::now());
        let best = search.front().iter().map(|e| &e.score).min_by(|a, b| a.score.total_cmp(&b.score));
        let error = best.and_then(|s: &Score| s.validation).map_or(f64::NAN, f64::sqrt);
        let rate = search.evaluations() as f64 / elapsed.as_secs_f64().max(1e-9);
        let left = limit.saturating_sub(elapsed).as_secs();
        let mut err = std::io::stderr().lock();
        let _ = write!(
            err,
            "\r\x1b[2Kbest RMSE {error:.3e}  front {}  {} hypotheses, {rate:.0}/s  {left} s left",
            search.front().len(),
            search.evaluations()
        );
        let _ = err.flush();
    }

    fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
