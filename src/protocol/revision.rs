//! The MCP revisions that this server speaks, and in what they differ (`docs/internals/protocol.md#revisions`).
//!
//! Which endpoint speaks which of them is decided by the gateway. Invariants: a set is listed newest first; `initialize` never
//! negotiates a stateless revision, and an unknown revision is answered with [`Revision::DEFAULT`].

/// A revision of MCP. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2025-03-26: batches; no structured results, no version header, no prompts.
    V2025_03_26,
    /// 2025-06-18: structured results, prompts in the form of flat enumerations.
    V2025_06_18,
    /// 2025-11-25: prompts with titled choices and a mode.
    V2025_11_25,
    /// 2026-07-28: no sessions and no `initialize`; each request names its revision and its client's capabilities.
    V2026_07_28,
}

/// A set of revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionSet(u8);

impl Revision {
    /// Every revision, the newest first.
    pub const ALL: [Self; 4] = [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26];

    /// The revision that every endpoint speaks.
    pub const DEFAULT: Self = Self::V2025_11_25;

    /// The revision's name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Whether each request stands alone: without `initialize`, sessions, requests of the server and posted responses.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether an array of messages is a message.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether tools declare the schema of their results, and servers and tools have titles.
    pub fn has_structured_results(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether the server can ask a person through the client.
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a prompt names its mode and the titles of its choices as schemas.
    pub fn has_titled_choices(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl RevisionSet {
    /// Every revision.
    pub const ALL: Self = Self(0b1111);

    /// [`Revision::DEFAULT`] alone.
    pub const DEFAULT: Self = Self(1 << Revision::DEFAULT as u8);

    /// The set with `revision` in addition.
    #[must_use]
    pub const fn with(self, revision: Revision) -> Self {
        Self(self.0 | 1 << revision as u8)
    }

    /// Whether the set has `revision`.
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & (1 << revision as u8) != 0
    }

    /// Whether the set has a stateless revision.
    pub fn has_stateless(self) -> bool {
        self.iter().any(Revision::is_stateless)
    }

    /// The revisions, the newest first.
    pub fn iter(self) -> impl Iterator<Item = Revision> {
        Revision::ALL.into_iter().filter(move |revision| self.contains(*revision))
    }

    /// The revision of a session whose `initialize` asks for `requested`.
    pub fn negotiate(self, requested: &str) -> Revision {
        let known = Revision::parse(requested).filter(|revision| !revision.is_stateless() && self.contains(*revision));
        known.unwrap_or(Revision::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dates_in_order() {
        for pair in Revision::ALL.windows(2) {
            assert!(pair[0] > pair[1] && pair[0].as_str() > pair[1].as_str());
        }
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("2024-11-05"), None);
    }

    #[test]
    fn initialize_negotiates_sessions_only() {
        for (requested, of_all, of_one) in [
            ("2025-03-26", "2025-03-26", "2025-11-25"),
            ("2025-06-18", "2025-06-18", "2025-11-25"),
            ("2025-11-25", "2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25", "2025-11-25"),
            ("2024-11-05", "2025-11-25", "2025-11-25"),
            ("", "2025-11-25", "2025-11-25"),
        ] {
            assert_eq!(RevisionSet::ALL.negotiate(requested).as_str(), of_all);
            assert_eq!(RevisionSet::DEFAULT.negotiate(requested).as_str(), of_one);
        }
        let two = RevisionSet::DEFAULT.with(Revision::V2026_07_28);
        assert_eq!(two.iter().map(Revision::as_str).collect::<Vec<_>>(), ["2026-07-28", "2025-11-25"]);
        assert!(two.has_stateless() && !RevisionSet::DEFAULT.has_stateless());
    }
}
