//! The search as a state machine: `ask` gives work, `tell` takes its result. Results are told in the order in which
//! work was asked for, so nothing depends on who did it, on how many threads, or when.

use crate::archive::{Archive, Entry, better_front};
use crate::candidate::Candidate;
use crate::funnel::{Rejection, Stage};
use crate::score::Score;
use dmci_stats::random::Stream;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Who makes candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proposer {
    /// All small expressions, in order.
    Enumeration,
    /// Sparse sums.
    Library,
    /// Changes of what is there.
    Grammar,
    /// Expressions by chance: a control.
    Random,
    /// A language model, a program or a person, told what the search knows.
    Model,
    /// Products of powers and simple factors, and sums of monomials, by regression.
    Decomposition,
}

impl Proposer {
    /// All of them.
    pub const ALL: [Proposer; 6] = [
        Proposer::Enumeration,
        Proposer::Library,
        Proposer::Grammar,
        Proposer::Random,
        Proposer::Model,
        Proposer::Decomposition,
    ];

    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Proposer::Enumeration => "enumeration",
            Proposer::Library => "library",
            Proposer::Grammar => "grammar",
            Proposer::Random => "random",
            Proposer::Model => "model",
            Proposer::Decomposition => "decomposition",
        }
    }
}

/// What a search is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// Islands.
    pub islands: usize,
    /// Proposers with their shares.
    pub proposers: Vec<(Proposer, f64)>,
    /// New hypotheses that are scored at most.
    pub evaluations: Option<u64>,
    /// The mean square on rows that took no part at which a search is over: there is nothing left to explain.
    pub exact_at: f64,
    /// Whether proposals change what was found. Without, all are made from nothing: a control.
    pub evolve: bool,
    /// Whether a hypothesis that was fitted is never fitted again.
    pub deduplicate: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let proposers = vec![
            (Proposer::Enumeration, 1.0),
            (Proposer::Decomposition, 1.0),
            (Proposer::Library, 1.0),
            (Proposer::Grammar, 3.0),
        ];
        Settings { seed: 0, islands: 4, proposers, evaluations: None, exact_at: 0.0, evolve: true, deduplicate: true }
    }
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Candidates are wanted.
    Propose {
        /// For whom.
        island: usize,
        /// From whom.
        proposer: Proposer,
        /// How often this proposer has been asked, by all islands.
        number: usize,
        /// What may be changed.
        parents: Vec<Candidate>,
        /// The seed and the number of the stream.
        random: (u64, u64),
    },
    /// Candidates are wanted from somebody who is slow and must be told what the search knows.
    Consult {
        /// For whom.
        island: usize,
        /// How often somebody was asked.
        number: usize,
        /// What the search knows.
        known: Knowledge,
    },
    /// Candidates are to be fitted.
    Score {
        /// For whom.
        island: usize,
        /// From whom they come.
        proposer: Proposer,
        /// All new.
        candidates: Vec<Candidate>,
    },
    /// Fitted candidates are to be cross-validated.
    Validate {
        /// For whom.
        island: usize,
        /// From whom they come.
        proposer: Proposer,
        /// With what is known of them.
        entries: Vec<(Candidate, Score)>,
    },
}

/// What a search knows when it asks somebody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Knowledge {
    /// The best programs, the best first, and others that differ from them.
    pub parents: Vec<Entry>,
    /// The latest answers that were tried.
    pub tried: Vec<Entry>,
    /// The latest answers that were no candidates, and why.
    pub rejects: Vec<(String, Rejection)>,
}

/// The result of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// Candidates.
    Proposed(Vec<Candidate>),
    /// Candidates of somebody who was asked, and texts that were none.
    Consulted(Vec<Candidate>, Vec<(String, Rejection)>),
    /// A score for each candidate, or the stage at which it left the funnel.
    Scored(Vec<Result<Score, Stage>>),
    /// A score for each entry.
    Validated(Vec<Score>),
}

impl Told {
    /// Its bytes in a journal: those of every number survive.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("lists of numbers can be written")
    }

    /// Reads what [`Told::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Told> {
        postcard::from_bytes(bytes).ok()
    }

    /// What it is, for readers of a journal.
    pub fn kind(&self) -> &'static str {
        match self {
            Told::Proposed(_) => "proposed",
            Told::Consulted(..) => "consulted",
            Told::Scored(_) => "scored",
            Told::Validated(_) => "validated",
        }
    }
}

/// Counts of the funnel of one proposer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Candidates that were proposed.
    pub proposed: u64,
    /// Those that had been tried before.
    pub duplicates: u64,
    /// By the stage at which they left.
    pub rejected: BTreeMap<Stage, u64>,
    /// Hypotheses that were fitted, on the lowest rung at least.
    pub screened: u64,
    /// Hypotheses whose fit to all open rows converged.
    pub converged: u64,
    /// Hypotheses that were cross-validated.
    pub validated: u64,
    /// Places of an archive that were taken or improved.
    pub kept: u64,
    /// Operations on numbers.
    pub work: u64,
}

/// What one island has.
#[derive(Clone, Debug, Default)]
struct Island {
    archive: Archive,
    step: u64,
    /// The last step at which its best score fell.
    improved: u64,
    best: f64,
    done: bool,
    /// Whether it waits for somebody slow.
    waits: bool,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    islands: Vec<Island>,
    queue: VecDeque<Work>,
    asked: VecDeque<Work>,
    /// Hypotheses by their numbers: on which islands and by which proposers they were found, as bits.
    seen: FxHashMap<u64, (u32, u32)>,
    asked_of: BTreeMap<Proposer, usize>,
    exhausted: Vec<Proposer>,
    /// Archive places gained and work spent, by proposer.
    counts: BTreeMap<Proposer, Counts>,
    /// The best of every complexity.
    front: Vec<Entry>,
    evaluations: u64,
    /// Steps that are left once nothing is left to explain.
    grace: Option<u64>,
    ended: bool,
    /// Steps of all islands.
    steps: u64,
    /// Questions that were put and whose answers are told at a later step.
    ahead: VecDeque<(u64, Work)>,
    /// Questions in a row that had no answer.
    silent: u32,
    /// The latest answers that were tried, and texts that were none.
    tried: VecDeque<Entry>,
    rejects: VecDeque<(String, Rejection)>,
}

/// Steps between migrations.
const MIGRATION: u64 = 8;

/// Steps without an improvement after which an island begins again.
const STAGNATION: u64 = 40;

/// Parents of a proposal.
const PARENTS: usize = 24;

/// Steps of all islands between a question to somebody slow and its answer.
const LAG: u64 = 16;

/// Questions under way at most.
const QUESTIONS: usize = 4;

/// Questions in a row without an answer after which nobody is asked again.
const SILENT: u32 = 3;

/// Programs, earlier answers and rejects that somebody is shown.
const SHOWN: usize = 6;

/// Steps of all islands after there is nothing left to explain: for a simpler one.
const GRACE: u64 = 12;

impl Search {
    /// A search that has not begun. Seeds are scored first.
    pub fn new(settings: Settings, seeds: Vec<Candidate>) -> Search {
        let islands = settings.islands.max(1);
        let mut search = Search {
            islands: vec![Island { best: f64::INFINITY, ..Island::default() }; islands],
            queue: VecDeque::new(),
            asked: VecDeque::new(),
            seen: FxHashMap::default(),
            asked_of: BTreeMap::new(),
            exhausted: Vec::new(),
            counts: BTreeMap::new(),
            front: Vec::new(),
            evaluations: 0,
            grace: None,
            ended: false,
            steps: 0,
            ahead: VecDeque::new(),
            silent: 0,
            tried: VecDeque::new(),
            rejects: VecDeque::new(),
            settings,
        };
        for island in 0..islands {
            if island == 0 && !seeds.is_empty() {
                let list = search.new_ones(0, Proposer::Grammar, seeds.clone());
                search.queue.push_back(Work::Score { island, proposer: Proposer::Grammar, candidates: list });
            } else {
                search.next_step(island);
            }
        }
        search
    }

    /// The next piece of work, if there is one before something is told.
    pub fn ask(&mut self) -> Option<Work> {
        let work = self.queue.pop_front()?;
        self.asked.push_back(work.clone());
        Some(work)
    }

    /// Questions whose answers will be asked for at a later step: whoever is slow may begin with them.
    pub fn ahead(&self) -> impl Iterator<Item = &Work> {
        self.ahead.iter().map(|(_, work)| work)
    }

    /// The work whose result is told next.
    pub fn first_asked(&self) -> Option<&Work> {
        self.asked.front()
    }

    /// Whether all work was told and none is left.
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && self.asked.is_empty()
    }

    /// Lets islands come to an end: what was asked for is still told.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Hypotheses that were scored.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The best of every complexity that is better than all simpler ones, the simplest first.
    pub fn front(&self) -> &[Entry] {
        &self.front
    }

    /// What the archives of all islands hold, island by island.
    pub fn elites(&self) -> impl Iterator<Item = &Entry> {
        self.islands.iter().flat_map(|island| island.archive.elites())
    }

    /// The counts of the funnel by proposer.
    pub fn counts(&self) -> &BTreeMap<Proposer, Counts> {
        &self.counts
    }

    /// On how many islands, and by how many proposers, a hypothesis was found.
    pub fn agreement(&self, hash: u64) -> (u32, u32) {
        self.seen.get(&hash).map_or((0, 0), |(islands, proposers)| (islands.count_ones(), proposers.count_ones()))
    }

    /// Takes the result of the work that was asked for first among what was not told yet. False if it does not fit.
    pub fn tell(&mut self, told: Told) -> bool {
        let Some(work) = self.asked.pop_front() else { return false };
        match (work, told) {
            (Work::Propose { island, proposer, .. }, Told::Proposed(list)) => {
                if list.is_empty() && matches!(proposer, Proposer::Enumeration | Proposer::Decomposition) {
                    self.exhausted.push(proposer);
                }
                let candidates = self.new_ones(island, proposer, list);
                self.queue.push_back(Work::Score { island, proposer, candidates });
            }
            (Work::Consult { island, .. }, Told::Consulted(list, rejects)) => {
                // Who has nothing to say several times in a row is not asked again.
                self.silent = if list.is_empty() && rejects.is_empty() { self.silent + 1 } else { 0 };
                if self.silent >= SILENT {
                    self.exhausted.push(Proposer::Model);
                }
                let counts = self.counts.entry(Proposer::Model).or_default();
                counts.proposed += rejects.len() as u64;
                for (text, why) in rejects {
                    *counts.rejected.entry(why.stage).or_default() += 1;
                    self.rejects.push_back((text, why));
                }
                let least = self.rejects.len().saturating_sub(SHOWN);
                self.rejects.drain(..least);
                let candidates = self.new_ones(island, Proposer::Model, list);
                self.queue.push_back(Work::Score { island, proposer: Proposer::Model, candidates });
            }
            (Work::Score { island, proposer, candidates }, Told::Scored(list)) if list.len() == candidates.len() => {
                self.scored(island, proposer, candidates, list);
            }
            (Work::Validate { island, proposer, entries }, Told::Validated(list)) if list.len() == entries.len() => {
                self.validated(island, proposer, entries, list);
            }
            (work, _) => {
                self.asked.push_front(work);
                return false;
            }
        }
        true
    }

    /// Those that were never tried, within the budget.
    fn new_ones(&mut self, island: usize, proposer: Proposer, list: Vec<Candidate>) -> Vec<Candidate> {
        let counts = self.counts.entry(proposer).or_default();
        counts.proposed += list.len() as u64;
        let mut new = Vec::new();
        for candidate in list {
            let found = self.seen.entry(candidate.hash).or_insert((0, 0));
            if *found == (0, 0) || !self.settings.deduplicate {
                new.push(candidate);
            } else {
                counts.duplicates += 1;
            }
            found.0 |= 1 << (island % 32);
            found.1 |= 1 << proposer as u32;
        }
        let left = self.settings.evaluations.map_or(u64::MAX, |most| most.saturating_sub(self.evaluations));
        new.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        self.evaluations += new.len() as u64;
        new
    }

    fn scored(
        &mut self,
        island: usize,
        proposer: Proposer,
        candidates: Vec<Candidate>,
        list: Vec<Result<Score, Stage>>,
    ) {
        let counts = self.counts.entry(proposer).or_default();
        let archive = &mut self.islands[island].archive;
        let mut entries = Vec::new();
        for (candidate, result) in candidates.into_iter().zip(list) {
            match result {
                Err(stage) => *counts.rejected.entry(stage).or_default() += 1,
                Ok(score) => {
                    counts.screened += 1;
                    counts.work += score.work;
                    counts.converged += u64::from(score.converged);
                    if proposer == Proposer::Model {
                        self.tried.push_back(Entry { candidate: candidate.clone(), score: score.clone() });
                        let least = self.tried.len().saturating_sub(SHOWN);
                        self.tried.drain(..least);
                    }
                    // No cheap score enters an archive or a population.
                    if score.rung > 0 {
                        let fitted = Candidate { values: score.values.clone(), ..candidate };
                        if archive.would_take(&score) {
                            entries.push((fitted.clone(), score.clone()));
                        }
                        archive.drift(Entry { candidate: fitted, score });
                    }
                }
            }
        }
        entries.sort_by(|a, b| a.1.score.total_cmp(&b.1.score));
        entries.truncate(MOST_VALIDATED);
        if entries.is_empty() {
            self.after(island, proposer);
        } else {
            self.queue.push_back(Work::Validate { island, proposer, entries });
        }
    }

    fn validated(&mut self, island: usize, proposer: Proposer, entries: Vec<(Candidate, Score)>, list: Vec<Score>) {
        let counts = self.counts.entry(proposer).or_default();
        let state = &mut self.islands[island];
        for ((candidate, before), score) in entries.into_iter().zip(list) {
            counts.validated += 1;
            counts.work += score.work.saturating_sub(before.work);
            if score.validation.is_none_or(|v| !v.is_finite()) {
                continue;
            }
            if score.validation.is_some_and(|v| v <= self.settings.exact_at) {
                self.grace.get_or_insert(GRACE * self.settings.islands as u64);
            }
            let entry = Entry { candidate: Candidate { values: score.values.clone(), ..candidate }, score };
            if entry.score.score < state.best - 1e-9 {
                (state.best, state.improved) = (entry.score.score, state.step);
            }
            better_front(&mut self.front, &entry);
            counts.kept += u64::from(state.archive.take(entry));
        }
        self.after(island, proposer);
    }

    /// Whether answers are told at a later step: not if nobody else makes candidates meanwhile.
    fn lags(&self) -> bool {
        self.settings.proposers.iter().any(|(p, w)| *p != Proposer::Model && *w > 0.0 && !self.exhausted.contains(p))
    }

    /// After the work of a proposal: the next step, unless the island went on while somebody was asked.
    fn after(&mut self, island: usize, proposer: Proposer) {
        if proposer != Proposer::Model || self.islands[island].waits {
            self.islands[island].waits = false;
            self.next_step(island);
        }
    }

    /// A question to somebody slow.
    fn question(&mut self, island: usize) -> Work {
        let asked = self.asked_of.entry(Proposer::Model).or_default();
        let number = *asked;
        *asked += 1;
        let mut parents: Vec<Entry> = self.front.clone();
        parents.sort_by(|a, b| a.score.score.total_cmp(&b.score.score));
        parents.truncate(SHOWN / 2);
        let others = self.islands[island].archive.best(SHOWN);
        for entry in others {
            if parents.len() < SHOWN && parents.iter().all(|p| p.candidate.hash != entry.candidate.hash) {
                parents.push(entry);
            }
        }
        let (tried, rejects) = (self.tried.iter().cloned().collect(), self.rejects.iter().cloned().collect());
        Work::Consult { island, number, known: Knowledge { parents, tried, rejects } }
    }

    /// Begins the next step of an island, unless the budget is spent.
    fn next_step(&mut self, island: usize) {
        let spent = self.settings.evaluations.is_some_and(|most| self.evaluations >= most);
        if let Some(grace) = &mut self.grace {
            *grace = grace.saturating_sub(1);
        }
        if spent || self.ended || self.grace == Some(0) {
            self.islands[island].done = true;
            return;
        }
        let count = self.islands.len();
        let step = {
            let state = &mut self.islands[island];
            state.step += 1;
            state.step
        };
        let random = (self.settings.seed, (island as u64) << 40 | step << 1);
        let mut stream = Stream::new(random.0, random.1 | 1);
        if count > 1 && step.is_multiple_of(MIGRATION) {
            // From the neighbour on the ring.
            let guests: Vec<Entry> = self.islands[(island + 1) % count].archive.best(3);
            guests.into_iter().for_each(|entry| self.islands[island].archive.drift(entry));
        }
        if step - self.islands[island].improved > STAGNATION {
            let front = self.front.clone();
            let state = &mut self.islands[island];
            state.improved = step;
            state.best = f64::INFINITY;
            state.archive = Archive::default();
            front.into_iter().for_each(|entry| state.archive.drift(entry));
        }
        self.steps += 1;
        while let Some((_, work)) = self.ahead.pop_front_if(|(due, _)| *due <= self.steps) {
            self.queue.push_back(work);
        }
        // Once there is nothing left to explain, its numbers are made exact and its parts dropped.
        let is_grammar = |(p, w): &(Proposer, f64)| *p == Proposer::Grammar && *w > 0.0;
        let simplify = self.grace.is_some() && self.settings.proposers.iter().any(is_grammar);
        let mut chosen = if simplify { Some(Proposer::Grammar) } else { self.choose(&mut stream) };
        if chosen == Some(Proposer::Model) {
            if !self.lags() {
                let work = self.question(island);
                self.islands[island].waits = true;
                return self.queue.push_back(work);
            }
            if self.ahead.len() < QUESTIONS {
                let work = self.question(island);
                self.ahead.push_back((self.steps + LAG, work));
            }
            chosen = self.choose_among(&mut stream, |p| p != Proposer::Model);
        }
        let Some(proposer) = chosen else {
            self.islands[island].done = true;
            return;
        };
        let asked = self.asked_of.entry(proposer).or_default();
        let number = *asked;
        *asked += 1;
        let count = if self.settings.evolve { PARENTS } else { 0 };
        let parents = self.islands[island].archive.parents(count, &mut stream);
        self.queue.push_back(Work::Propose { island, proposer, number, parents, random });
    }

    /// A proposer by its share and by what it has gained for its work, never quite without a chance.
    fn choose(&self, stream: &mut Stream) -> Option<Proposer> {
        self.choose_among(stream, |_| true)
    }

    fn choose_among(&self, stream: &mut Stream, wanted: impl Fn(Proposer) -> bool) -> Option<Proposer> {
        let rate =
            |p: Proposer| self.counts.get(&p).map_or(1.0, |c| (c.kept as f64 + 1.0) / (c.screened as f64 + 20.0));
        let usable = |(p, w): &(Proposer, f64)| *w > 0.0 && !self.exhausted.contains(p) && wanted(*p);
        let list: Vec<(Proposer, f64)> = self.settings.proposers.iter().copied().filter(usable).collect();
        // What has not been asked yet goes first, in order.
        if let Some((new, _)) = list.iter().find(|(p, _)| !self.asked_of.contains_key(p)) {
            return Some(*new);
        }
        let most = list.iter().map(|(p, _)| rate(*p)).fold(0.0, f64::max);
        let weights: Vec<f64> = list.iter().map(|(p, w)| w * (0.1 + rate(*p) / most)).collect();
        let mut at = stream.uniform() * weights.iter().sum::<f64>();
        for ((proposer, _), weight) in list.iter().zip(&weights) {
            at -= weight;
            if at <= 0.0 {
                return Some(*proposer);
            }
        }
        list.last().map(|(p, _)| *p)
    }
}

/// Candidates of a batch that are cross-validated at most.
const MOST_VALIDATED: usize = 8;
