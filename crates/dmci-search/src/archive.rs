//! What an island keeps: the best of every kind, and a population that drifts.

use crate::candidate::Candidate;
use crate::score::Score;
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A candidate with its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// With its fitted parameters.
    pub candidate: Candidate,
    /// Of rung 1 in a population, of rung 2 in an archive.
    pub score: Score,
}

/// The kinds of candidates, each with its best, and a population in which the oldest makes room.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    cells: BTreeMap<(u32, u32), Entry>,
    population: VecDeque<Entry>,
}

/// The size of a population.
const POPULATION: usize = 160;

/// Candidates among which the best is taken as a parent.
const TOURNAMENT: usize = 5;

/// The cell of a candidate: the logarithm of its complexity in half octaves, and its parameters.
fn cell(score: &Score) -> (u32, u32) {
    let nodes = score.nodes.max(1) as u32;
    // Half octaves of a whole number, without a logarithm.
    let octave = nodes.ilog2();
    let half = u32::from(u64::from(nodes) * u64::from(nodes) >= 1u64 << (2 * octave + 1));
    (2 * octave + half, score.values.len().min(8) as u32)
}

impl Archive {
    /// Whether a converged candidate may enter the archive once it is validated: it is better than what is there by
    /// the score of its own rung.
    pub fn would_take(&self, score: &Score) -> bool {
        self.cells.get(&cell(score)).is_none_or(|held| {
            let cheaper = held.score.loss * 1.2 + f64::MIN_POSITIVE;
            score.loss < cheaper && (score.loss < held.score.loss || score.nodes < held.score.nodes)
        })
    }

    /// Puts a validated candidate into its cell if it is better. Whether it is.
    pub fn take(&mut self, entry: Entry) -> bool {
        let key = cell(&entry.score);
        let better = self.cells.get(&key).is_none_or(|held| entry.score.score < held.score.score);
        if better {
            self.cells.insert(key, entry);
        }
        better
    }

    /// Adds to the population; the oldest makes room.
    pub fn drift(&mut self, entry: Entry) {
        self.population.push_back(entry);
        if self.population.len() > POPULATION {
            self.population.pop_front();
        }
    }

    /// All cells.
    pub fn elites(&self) -> impl Iterator<Item = &Entry> {
        self.cells.values()
    }

    /// The best of the archive.
    pub fn best(&self, count: usize) -> Vec<Entry> {
        let mut list: Vec<&Entry> = self.cells.values().collect();
        list.sort_by(|a, b| a.score.score.total_cmp(&b.score.score));
        list.into_iter().take(count).cloned().collect()
    }

    /// Parents: a third from all cells alike, the rest the best of a few of the population.
    pub fn parents(&self, count: usize, stream: &mut Stream) -> Vec<Candidate> {
        let elites: Vec<&Entry> = self.cells.values().collect();
        let mut list = Vec::new();
        for i in 0..count {
            let elite = !elites.is_empty() && (i % 3 == 0 || self.population.is_empty());
            let chosen = if elite {
                Some(elites[stream.below(elites.len())])
            } else if self.population.is_empty() {
                None
            } else {
                let drawn = (0..TOURNAMENT).map(|_| &self.population[stream.below(self.population.len())]);
                drawn.min_by(|a, b| a.score.score.total_cmp(&b.score.score))
            };
            list.extend(chosen.map(|entry| entry.candidate.clone()));
        }
        list
    }
}

/// Puts an entry into a front of complexity against error, and drops what it beats. The simplest come first.
pub fn better_front(front: &mut Vec<Entry>, entry: &Entry) {
    let error = |e: &Entry| e.score.validation.unwrap_or(f64::INFINITY);
    let beaten = |a: &Entry, by: &Entry| by.score.nodes <= a.score.nodes && error(by) <= error(a);
    if front.iter().any(|held| beaten(entry, held)) {
        return;
    }
    front.retain(|held| !beaten(held, entry));
    let at = front.partition_point(|held| held.score.nodes < entry.score.nodes);
    front.insert(at, entry.clone());
}
