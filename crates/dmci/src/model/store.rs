//! The paths that a model keeps: how lanes find them, and which are given up when there are too many.

use super::path::Path;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How lanes come to a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// They start, with a row of reals, by far the most common.
    Reals,
    /// They start, with rows of this signature.
    Signature(Arc<str>),
    /// They leave a path at a guard.
    Edge(PathId, u32),
}

/// A path, by a number that is never used again.
pub(super) type PathId = u64;

#[derive(Debug)]
struct Kept {
    path: Arc<Path>,
    origin: Origin,
    bytes: usize,
    /// The last call whose lanes came by.
    visited: AtomicU64,
    /// Paths for lanes that leave this one, by guard.
    next: Vec<(u32, PathId)>,
}

/// What may be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub paths: usize,
    pub bytes: usize,
}

/// Kept paths, of all signatures.
///
/// The one that no lane has stayed on for the longest time is given up first, but never one that the same
/// call has used: then lanes are walked, since giving up what the next call needs again would help
/// nobody. Paths that were reached from the one that is given up stay: a path is the same as the ones
/// reached from it up to the guard where they part, so the one that parts last takes its place. A
/// signature goes with its last path. Where a lane finds its path is a matter of speed only: the guards
/// of a path decide whether it is the lane's.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: FxHashMap<PathId, Kept>,
    next: FxHashMap<Origin, PathId>,
    bytes: usize,
    recorded: PathId,
    evicted: u64,
    /// The call that last gave up paths.
    call: u64,
    /// Paths that it may still give up, the first one last.
    spare: Vec<PathId>,
    /// Paths that it has given up, with where lanes on their way to them are to go instead.
    gone: FxHashMap<PathId, (Origin, Option<(u32, PathId)>)>,
}

impl Store {
    /// The path that lanes of this origin come to.
    pub fn find(&self, origin: &Origin, call: u64) -> Option<(PathId, Arc<Path>)> {
        let id = *self.next.get(&self.resolve(origin))?;
        let kept = self.kept.get(&id)?;
        kept.visited.store(call, Ordering::Relaxed);
        Some((id, kept.path.clone()))
    }

    /// Keeps a path that was recorded for a lane of this origin; `None` if there is no room.
    pub fn keep(&mut self, origin: &Origin, path: &Arc<Path>, call: u64, budget: Budget) -> Option<PathId> {
        let origin = self.resolve(origin);
        let bytes = path.bytes() + size(&origin);
        if budget.paths == 0 || bytes > budget.bytes || self.next.contains_key(&origin) {
            return None;
        }
        let id = self.recorded;
        self.recorded += 1;
        path.used.store(call, Ordering::Relaxed);
        let visited = AtomicU64::new(call);
        self.kept.insert(id, Kept { path: path.clone(), origin: origin.clone(), bytes, visited, next: Vec::new() });
        self.bytes += bytes;
        self.link(origin, id);
        while self.kept.len() > budget.paths || self.bytes > budget.bytes {
            let Some(victim) = self.spare(call) else {
                self.give_up(id);
                self.evicted -= 1;
                return None;
            };
            self.give_up(victim);
        }
        Some(id)
    }

    /// All paths, with how lanes come to them.
    pub fn all(&self) -> Vec<(PathId, Origin, Arc<Path>)> {
        self.kept.iter().map(|(&id, kept)| (id, kept.origin.clone(), kept.path.clone())).collect()
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// How many paths were given up.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Lets lanes of an origin come to a path.
    fn link(&mut self, origin: Origin, id: PathId) {
        if let Origin::Edge(from, guard) = origin
            && let Some(kept) = self.kept.get_mut(&from)
        {
            kept.next.push((guard, id));
        }
        if let Some(kept) = self.kept.get_mut(&id) {
            kept.origin = origin.clone();
        }
        self.next.insert(origin, id);
    }

    fn unlink(&mut self, origin: &Origin, id: PathId) {
        self.next.remove(origin);
        if let Origin::Edge(from, _) = origin
            && let Some(kept) = self.kept.get_mut(from)
        {
            kept.next.retain(|next| next.1 != id);
        }
    }

    /// Where lanes go that left a path which this call has given up since.
    fn resolve(&self, origin: &Origin) -> Origin {
        let mut origin = origin.clone();
        while let Origin::Edge(from, guard) = origin
            && let Some((before, heir)) = self.gone.get(&from)
        {
            origin = match *heir {
                Some((parting, heir)) if guard != parting => Origin::Edge(heir, guard.min(parting)),
                _ => before.clone(),
            };
        }
        origin
    }

    /// The path to give up next, if there is one that this call has not used.
    fn spare(&mut self, call: u64) -> Option<PathId> {
        if self.call != call {
            self.call = call;
            self.gone.clear();
            let age = |kept: &Kept| {
                let visited = kept.visited.load(Ordering::Relaxed) >= call;
                (visited, kept.path.used.load(Ordering::Relaxed))
            };
            let idle = self.kept.iter().map(|(&id, kept)| (age(kept), id)).filter(|(age, _)| age.1 < call);
            let mut idle: Vec<_> = idle.collect();
            idle.sort_unstable_by_key(|&(age, id)| (std::cmp::Reverse(age), id));
            self.spare = idle.into_iter().map(|(_, id)| id).collect();
        }
        while let Some(id) = self.spare.pop() {
            if self.kept.get(&id).is_some_and(|kept| kept.path.used.load(Ordering::Relaxed) < call) {
                return Some(id);
            }
        }
        None
    }

    fn give_up(&mut self, id: PathId) {
        let Some(kept) = self.kept.remove(&id) else { return };
        self.bytes -= kept.bytes;
        self.evicted += 1;
        self.unlink(&kept.origin, id);
        let heir = kept.next.iter().copied().max();
        self.gone.insert(id, (kept.origin.clone(), heir));
        let Some((_, heir)) = heir else { return };
        for (guard, path) in kept.next {
            self.next.remove(&Origin::Edge(id, guard));
            if path != heir {
                self.link(Origin::Edge(heir, guard), path);
            }
        }
        let text = size(&kept.origin);
        if let Some(kept) = self.kept.get_mut(&heir) {
            kept.bytes += text;
            self.bytes += text;
        }
        self.link(kept.origin, heir);
    }
}

/// Memory that it takes to find a path, roughly.
fn size(origin: &Origin) -> usize {
    256 + if let Origin::Signature(text) = origin { 2 * text.len() } else { 0 }
}
