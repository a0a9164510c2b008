//! The operations that a scope allows or doesn't.

use codeyard_base::words;

words! {
    /// What a call does, whichever catalog or path it comes by.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Operation {
        /// Navigation, symbols and diagnostics of language servers.
        Lsp => "lsp",
        /// Search, symbols and outlines of the code index, and its state.
        Search => "search",
        /// Building and updating the code index.
        Index => "index",
        /// Runs.
        Launch => "launch",
        /// Changing text in an editor's session.
        Edit => "edit",
        /// Reading the admin API.
        AdminRead => "admin:read",
        /// Changing the service by the admin API. It includes reading.
        AdminWrite => "admin:write",
    }
    /// The word in commands, configurations and scopes.
    fn as_str;
    /// The operation of this word.
    fn parse;
}

impl Operation {
    /// What it allows, in words for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Lsp => "ask language servers",
            Self::Search => "search the code index",
            Self::Index => "build and update the code index",
            Self::Launch => "start and steer runs",
            Self::Edit => "edit text in sessions",
            Self::AdminRead => "read the admin API",
            Self::AdminWrite => "change the service by the admin API",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct OperationSet(u8);

/// A word that is no operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no operation; they are {all}", all = OperationSet::ALL.to_words())]
pub struct WrongOperation(pub String);

impl OperationSet {
    /// None.
    pub const NONE: Self = Self(0);
    /// All that callers of tools and editors do: what a credential may that names no operations.
    pub const CALLS: Self = Self(
        Operation::Lsp.bit()
            | Operation::Search.bit()
            | Operation::Index.bit()
            | Operation::Launch.bit()
            | Operation::Edit.bit(),
    );
    /// All of the admin API.
    pub const ADMIN: Self = Self(Operation::AdminRead.bit() | Operation::AdminWrite.bit());
    /// All.
    pub const ALL: Self = Self(Self::CALLS.0 | Self::ADMIN.0);

    /// The operations of these words. One that includes others brings them along.
    ///
    /// # Errors
    /// A word is no operation.
    pub fn parse<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Self, WrongOperation> {
        let parse = |word: &str| Operation::parse(word).ok_or_else(|| WrongOperation(word.to_owned()));
        words.into_iter().try_fold(Self::NONE, |set, word| Ok(set.with(parse(word)?)))
    }

    /// The set with one more, and with what that includes.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Self {
        let included = match operation {
            Operation::AdminWrite => Operation::AdminRead.bit(),
            _ => 0,
        };
        Self(self.0 | operation.bit() | included)
    }

    /// Whether the set has it.
    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & operation.bit() != 0
    }

    /// Those that both sets have.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The operations, in their order.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| self.contains(*operation))
    }

    /// The words, with commas between them.
    pub fn to_words(self) -> String {
        let words: Vec<&str> = self.iter().map(Operation::as_str).collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_from_words_and_writing_includes_reading() {
        let set = OperationSet::parse(["search", "lsp"]).unwrap();
        assert_eq!((set.to_words(), set.contains(Operation::Launch)), ("lsp, search".to_owned(), false));
        let admin = OperationSet::parse(["admin:write"]).unwrap();
        assert_eq!(admin, OperationSet::ADMIN);
        assert_eq!(set.intersection(admin), OperationSet::NONE);
        assert_eq!(OperationSet::ALL.iter().count(), Operation::ALL.len());
        let wrong = OperationSet::parse(["lsp", "Search"]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "`Search` is no operation; they are lsp, search, index, launch, edit, admin:read, admin:write"
        );
    }
}
