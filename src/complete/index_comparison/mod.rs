//! The comparison with the code index: what the code index has of a name that the answer of a language server lacks.
//!
//! [`NameRecord`] reads the index, which depends on the name alone, so it is made while the server is asked; it blocks. [`rule`] compares it
//! with the answer. The index knows names, not what they mean. Invariants: nothing is added to an answer; only sources whose language shares
//! names with that of the question count, and only names in code, as their grammar sees it; files that have changed since they were indexed
//! don't count; the same index and answer give the same result.

mod name_words;
mod record;
mod rule;

pub use self::record::{AskedName, NameRecord, RecordFailure};
pub use self::rule::{AnswerPlaces, ComparedOperation};
