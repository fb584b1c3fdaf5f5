//! Which lane is at which place of a loop.

use super::LoopSpace;
use crate::block::STAYED;

/// Rounds up to which lanes are counted to be put into their order: there are not many more than lanes.
const MOST_COUNTED: u64 = 1024;

/// Whether no lane has left the path; all are looked at, which is faster than to stop at one.
pub(crate) fn all_stayed(failed: &[u32]) -> bool {
    failed.iter().fold(STAYED, |all, &mark| all & mark) == STAYED
}

impl LoopSpace {
    /// Takes the lanes that have not left the path; how many there are.
    pub(super) fn take_lanes(&mut self, failed: &[u32]) -> usize {
        self.lanes.clear();
        self.in_order = all_stayed(failed);
        if self.in_order {
            self.lanes.extend(0..failed.len() as u32);
        } else {
            self.lanes.extend((0..failed.len() as u32).filter(|&lane| failed[lane as usize] == STAYED));
        }
        self.lanes.len()
    }

    /// Puts lanes that have done so many rounds each into the order of these, those with most of them first.
    pub(super) fn put_in_order(&mut self, rounds: &[u64]) {
        self.rounds_at.clear();
        let all = rounds.first().copied().unwrap_or(0);
        if self.in_order && rounds.iter().fold(0, |differ, &r| differ | (r ^ all)) == 0 {
            return self.rounds_at.resize(rounds.len(), all as usize);
        }
        self.rounds.clear();
        self.rounds.extend_from_slice(rounds);
        if !self.lanes.is_sorted_by_key(|&lane| std::cmp::Reverse(rounds[lane as usize])) {
            self.sort_lanes();
        }
        self.rounds_at.extend(self.lanes.iter().map(|&lane| rounds[lane as usize] as usize));
    }

    /// Sorts them.
    fn sort_lanes(&mut self) {
        let LoopSpace { lanes, rounds, begins, gone: sorted, .. } = self;
        let most = lanes.iter().map(|&lane| rounds[lane as usize]).max().unwrap_or(0);
        self.in_order = false;
        if most > MOST_COUNTED {
            return lanes.sort_unstable_by_key(|&lane| (std::cmp::Reverse(rounds[lane as usize]), lane));
        }
        let fewer = |lane: u32| (most - rounds[lane as usize]) as usize;
        begins.clear();
        begins.resize(most as usize + 2, 0);
        lanes.iter().for_each(|&lane| begins[fewer(lane) + 1] += 1);
        (1..begins.len()).for_each(|i| begins[i] += begins[i - 1]);
        sorted.clear();
        sorted.resize(lanes.len(), 0);
        for &lane in &*lanes {
            let place = &mut begins[fewer(lane)];
            sorted[*place as usize] = lane;
            *place += 1;
        }
        std::mem::swap(lanes, sorted);
    }

    /// A lane takes the place of one that is done, with what some rows have.
    pub(super) fn move_lane(&mut self, from: usize, to: usize, rows: impl Iterator<Item = usize>, width: usize) {
        if from == to {
            return;
        }
        self.in_order = false;
        self.lanes[to] = self.lanes[from];
        rows.for_each(|s| self.rows[s * width + to] = self.rows[s * width + from]);
    }
}
