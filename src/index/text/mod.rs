//! Text search: finds the contents that may hold a text by the grams of their lines, then searches those contents.
//!
//! A *gram* is three or five adjacent bytes of one line. A [`Segment`] is an immutable file that maps each gram to the parts of
//! contents that contain it. A [`Pattern`] is a compiled text or regular expression. Its [`plan::GramPlan`] says which grams a part must
//! contain so that the pattern can match in it. [`search`] runs the pattern over the remaining files, with the code that ripgrep uses.
//!
//! It stores no text and knows nothing about paths but their order. `docs/internals/decisions/text-index.md` says why it is built this way.
//!
//! Invariants: a plan never excludes a content that has a match. A segment's bytes depend only on its contents and their texts, not
//! on the order of insertion or on threads. A damaged segment gives an error, never a wrong answer. Search results are the same for
//! any number of threads.

mod analysis;
mod candidate_set;
mod checksum;
mod content_parts;
mod decode;
mod dictionary;
mod evaluation;
mod file_search;
mod footer;
#[cfg(fuzzing)]
pub mod fuzzing;
mod grams;
mod line_display;
pub(crate) mod line_ends;
mod line_pattern;
mod merge;
mod output;
mod pattern;
mod pattern_bytes;
mod plan;
mod posting_lists;
mod search;
mod segment;
mod sorted_runs;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use candidate_set::CandidateSet;
pub(crate) use decode::decode;
pub use line_pattern::LinePattern;
pub(crate) use merge::merge;
pub(crate) use output::SegmentInfo;
pub(crate) use pattern::{Pattern, TextQuery};
pub(crate) use search::{
    ContentSource, FileReadOutcome, LineMatch, SearchOptions, SearchedFile, TextMatches, UnreadReason, search,
};
pub(crate) use segment::Segment;
pub(crate) use writer::SegmentWriter;

#[cfg(test)]
pub(crate) use {
    candidate_set::{FilePiece, SegmentCandidates},
    content_parts::PartSpan,
    decode::is_binary,
    pattern::PatternError,
    plan::GramPlan,
};
