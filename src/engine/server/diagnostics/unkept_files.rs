//! The files that a server has reported diagnostics on and that have no place of their own.
//!
//! Only a digest of each name is kept. Invariant: it is empty only if no such file is left that the server hasn't reported since.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use crate::limits::MAX_UNKEPT_DIAGNOSTIC_FILES;

/// Files without a place.
#[derive(Debug, Default)]
pub(super) struct UnkeptFiles {
    digests: HashSet<u64>,
    hasher: RandomState,
    /// There were more than are remembered.
    too_many: bool,
}

impl UnkeptFiles {
    /// This file has diagnostics that are not kept.
    pub(super) fn insert(&mut self, uri: &str) {
        if self.digests.len() >= MAX_UNKEPT_DIAGNOSTIC_FILES {
            self.too_many = true;
            return;
        }
        self.digests.insert(self.hasher.hash_one(uri));
    }

    /// This file has a place again, or no diagnostics.
    pub(super) fn remove(&mut self, uri: &str) {
        if !self.digests.is_empty() {
            self.digests.remove(&self.hasher.hash_one(uri));
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.digests.is_empty() && !self.too_many
    }
}
