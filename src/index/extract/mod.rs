//! From a source to its [`Facts`]: what it declares, and what it names.
//!
//! A grammar makes a tree of the source, the language's query (`config/queries`, data) says which nodes are symbols, names,
//! references and so on ([`grammar`] lists the captures), and everything else is the same for all languages: nesting, kinds of
//! members, what is local ([`nest`]), signatures, comments, markers ([`text`]) and visibility ([`visible`]). C and C++ are smoothed
//! first, because their parser doesn't know what the preprocessor would have done ([`smooth`]).
//!
//! It isn't a compiler: names are as they are spelt, and nothing is resolved.
//!
//! Invariants: it never fails and never panics; the same source gives the same facts on every machine; time and memory are bounded by
//! the source's size and by `base::limits`, whatever is in it.

mod depth;
mod found;
mod grammar;
mod names;
mod nest;
mod smooth;
mod text;
mod visible;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, QueryCursor, StreamingIterator, Tree};

use super::facts::Facts;
use super::language::Language;
use crate::limits::{MAX_PARSED_BYTES, PARSE_BYTES_PER_STEP, PARSE_STEPS};
use found::Finds;
use grammar::Compiled;

/// The revision of what is extracted: facts of another revision are made anew.
pub const FEATURES: u32 = 1;

/// Matches of a query that may be begun at a time.
const MATCHES_AT_A_TIME: u32 = 4_096;

/// The languages whose grammar and query load, and those whose don't, as far as they were tried; each sorted.
pub fn grammars() -> (Vec<&'static str>, Vec<&'static str>) {
    let (available, missing): (Vec<Language>, Vec<Language>) =
        Language::ALL.iter().partition(|language| grammar::is_available(**language));
    let names = |languages: Vec<Language>| {
        let mut names: Vec<&'static str> = languages.into_iter().map(Language::name).collect();
        names.sort_unstable();
        names
    };
    (names(available), names(missing))
}

/// What `source` declares and names. Never fails: what can't be parsed gives what could be, and says so.
pub fn extract(language: Language, source: &str) -> Facts {
    thread_local! {
        static TOOLS: RefCell<(Parser, QueryCursor)> = RefCell::new((Parser::new(), QueryCursor::new()));
    }
    let nothing = || Facts { has_errors: true, ..Facts::default() };
    if source.len() > MAX_PARSED_BYTES || depth::is_too_deep(language, source) {
        return nothing();
    }
    // A header of C++ looks like one of C by its name.
    let language = if language == Language::C && smooth::is_cpp(source) { Language::CPP } else { language };
    let Some(compiled) = grammar::compiled(language) else { return nothing() };
    let smoothed = match language {
        Language::C | Language::CPP => smooth::smooth(source, language == Language::CPP),
        _ => Cow::Borrowed(source),
    };
    TOOLS.with_borrow_mut(|(parser, cursor)| {
        let Some(parsed) = parse(parser, compiled, &smoothed) else { return nothing() };
        cursor.set_match_limit(MATCHES_AT_A_TIME);
        let mut finds = Finds::default();
        let root = parsed.tree.root_node();
        let mut matches = cursor.matches(&compiled.query, root, smoothed.as_bytes());
        while let Some(found) = matches.next() {
            finds.take(found, compiled);
        }
        let mut facts = nest::nest(language, source, &smoothed, &mut finds);
        facts.has_errors = !parsed.is_whole || finds.is_cut || root.has_error();
        facts
    })
}

/// A tree of the source, or of as much of its beginning as there were steps for.
struct Parsed {
    tree: Tree,
    is_whole: bool,
}

fn parse(parser: &mut Parser, compiled: &Compiled, source: &str) -> Option<Parsed> {
    parser.set_language(&compiled.grammar).ok()?;
    let mut reached = source.len();
    // Each attempt reads less than half of what the one before came to.
    for attempt in 0..3 {
        let end = text::boundary(source, reached);
        let part = &source.as_bytes()[..end];
        let mut steps = PARSE_STEPS / (1 + attempt) + part.len() / PARSE_BYTES_PER_STEP;
        let mut progress = |state: &tree_sitter::ParseState| {
            reached = state.current_byte_offset();
            steps = steps.saturating_sub(1);
            if steps == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = parser.parse_with_options(&mut |at, _| part.get(at..).unwrap_or_default(), None, Some(options));
        // What was begun is not gone on with.
        parser.reset();
        if let Some(tree) = tree {
            return Some(Parsed { tree, is_whole: attempt == 0 });
        }
        reached /= 2;
    }
    None
}
