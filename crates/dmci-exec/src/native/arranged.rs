//! Code for each way in which leaves are arranged in lists: lanes have parameters or rows of their own, or share them.

use super::lists::Direct;
use std::sync::{Arc, OnceLock};

/// Arrangements that code is made for: all that the lanes of a model can have, and one that nobody knows.
const MOST: usize = 5;

/// What was made for an arrangement, which may be nothing.
#[derive(Debug)]
struct Made {
    arrangement: Option<u64>,
    direct: Option<Arc<Direct>>,
}

/// Code by arrangement, in the order in which it was made. What was made stays, so it is found without a lock.
#[derive(Debug, Default)]
pub(super) struct Arranged([OnceLock<Made>; MOST]);

impl Arranged {
    /// The code for an arrangement, which is made if that pays with what there is for so many others.
    pub fn find_or_make(
        &self,
        arrangement: Option<u64>,
        pays: impl Fn(usize) -> bool,
        make: impl Fn() -> Option<Direct>,
    ) -> Option<&Arc<Direct>> {
        for (others, place) in self.0.iter().enumerate() {
            let made = match place.get() {
                Some(made) => made,
                // Another thread may make something else at the same time.
                None if pays(others) => place.get_or_init(|| Made { arrangement, direct: make().map(Arc::new) }),
                None => return None,
            };
            if made.arrangement == arrangement {
                return made.direct.as_ref();
            }
        }
        None
    }

    /// The code for an arrangement, if it was made.
    pub fn find(&self, arrangement: Option<u64>) -> Option<&Arc<Direct>> {
        self.find_or_make(arrangement, |_| false, || None)
    }
}
