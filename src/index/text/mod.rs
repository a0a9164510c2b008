//! Text search: which contents may hold a text, by the grams of their lines, and which lines do.
//!
//! A *gram* is three or five bytes that stand side by side on one line. A [`Segment`] is an immutable file that says for each gram
//! which parts of which contents have it. A [`Pattern`] is what is looked for; its [`Plan`] says which grams a part must have so that
//! the pattern can match in it at all; [`search`] runs the pattern over what is left, with the same code that ripgrep runs.
//!
//! It isn't a store: it keeps no text, and knows nothing of paths but their order.
//!
//! Invariants: a plan never excludes a content that has a match; a segment's bytes depend on the contents and their texts only, not
//! on the order in which they were added, nor on threads; a damaged segment gives an error, never another answer; what a search
//! finds is the same for any number of threads.

mod analysis;
mod check;
mod decode;
mod dictionary;
mod evaluate;
mod footer;
mod grams;
mod letters;
mod lists;
mod merge;
mod narrowed;
mod output;
mod parts;
mod pattern;
mod plan;
mod runs;
mod search;
mod segment;
mod show;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use decode::decode;
pub(crate) use merge::merge;
pub(crate) use narrowed::Narrowed;
pub(crate) use output::SegmentInfo;
pub(crate) use pattern::{Ask, Pattern};
pub(crate) use search::{Found, FoundLine, Options, Read, Searched, Source, Why, search};
pub(crate) use segment::Segment;
pub(crate) use writer::SegmentWriter;

#[cfg(test)]
pub(crate) use {
    decode::is_binary,
    narrowed::{Candidates, Piece},
    parts::Span,
    pattern::PatternError,
    plan::Plan,
};
