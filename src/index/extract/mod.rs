//! Extracts the [`Facts`] of a source: its symbols and references.
//!
//! A grammar turns the source into a tree. The language's query (a data file in `config/queries`) says which nodes are symbols,
//! names, references and so on; `grammar` lists the captures. The rest is the same for all languages: `symbol_tree` nests
//! symbols and drops local ones, `signatures` and `source_text` make signatures, comments and markers, `visibility` applies each language's
//! rules. For C and C++, `c_macros` first blanks preprocessor constructs that the parser cannot read. For Rust, `item_macros` opens the macros
//! that contain items, and the result is parsed again. `syntax` only says whether a source parses.
//!
//! It isn't a compiler: names are spelt as in the source, and nothing is resolved.
//!
//! Invariants: extraction never fails and never panics. The same source gives the same facts on every machine. Time and memory are
//! bounded by the source's size and by [`crate::limits`].

mod c_macros;
mod captures;
mod depth;
mod grammar;
mod item_macros;
mod names;
mod signatures;
mod source_text;
mod symbol_tree;
mod syntax;
mod visibility;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, QueryCursor, StreamingIterator, Tree};

use super::facts::Facts;
use super::language::Language;
use crate::limits::{MAX_PARSED_BYTES, PARSE_BYTES_PER_STEP, PARSE_STEPS};
use captures::Captures;
use grammar::CompiledGrammar;
pub use syntax::first_syntax_error;

/// The version of the extraction rules. Facts of another version are extracted again.
pub const EXTRACTOR_VERSION: u32 = 3;

/// Matches of a query that may be in progress at a time.
const MAX_OPEN_MATCHES: u32 = 4_096;

/// The names of the languages whose grammar and query load, and of those whose don't. Both lists are sorted. A query that was not
/// used yet counts as one that loads.
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

/// Extracts the symbols and references of `source`. Where it cannot be parsed completely, the facts are what could be parsed, with
/// `has_errors` set.
pub fn extract(language: Language, source: &str) -> Facts {
    thread_local! {
        static PARSER: RefCell<(Parser, QueryCursor)> = RefCell::new((Parser::new(), QueryCursor::new()));
    }
    let nothing = || Facts { has_errors: true, ..Facts::default() };
    if source.len() > MAX_PARSED_BYTES || depth::exceeds_scanner(language, source) {
        return nothing();
    }
    // A `.h` file may be a C++ header.
    let language = if language == Language::C && c_macros::is_cpp(source) { Language::CPP } else { language };
    let Some(compiled) = grammar::compiled(language) else { return nothing() };
    let mut parsed_text = match language {
        Language::C | Language::CPP => c_macros::blank_macros(source, language == Language::CPP),
        _ => Cow::Borrowed(source),
    };
    PARSER.with_borrow_mut(|(parser, cursor)| {
        let Some(mut parsed) = parse(parser, compiled, &parsed_text) else { return nothing() };
        cursor.set_match_limit(MAX_OPEN_MATCHES);
        let mut captures = Captures::default();
        if language == Language::RUST
            && parsed.is_whole
            && let Some(opened) = item_macros::open(parser, &parsed.tree, source)
            && let Some(again) = parse(parser, compiled, &opened.text).filter(|again| again.is_whole)
        {
            captures.references = opened.names;
            (parsed, parsed_text) = (again, Cow::Owned(opened.text));
        }
        let root = parsed.tree.root_node();
        let mut matches = cursor.matches(&compiled.query, root, parsed_text.as_bytes());
        while let Some(query_match) = matches.next() {
            captures.add_match(query_match, compiled);
        }
        let mut facts = symbol_tree::build(language, source, &parsed_text, &mut captures);
        facts.has_errors = !parsed.is_whole || captures.is_cut || root.has_error();
        facts
    })
}

/// The tree of the source, or of its beginning if the parser ran out of steps.
struct ParsedSource {
    tree: Tree,
    is_whole: bool,
}

/// The tree of a whole text in the parser's language. `None` if the parser ran out of steps.
pub(crate) fn parse_all(parser: &mut Parser, source: &str) -> Option<Tree> {
    parse_part(parser, source.as_bytes(), PARSE_STEPS + source.len() / PARSE_BYTES_PER_STEP).ok()
}

/// The tree of a text, or how far the parser came in this number of steps.
fn parse_part(parser: &mut Parser, part: &[u8], steps: usize) -> Result<Tree, usize> {
    let (mut reached, mut steps) = (part.len(), steps);
    let mut progress = |state: &tree_sitter::ParseState| {
        reached = state.current_byte_offset();
        steps = steps.saturating_sub(1);
        if steps == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut |at, _| part.get(at..).unwrap_or_default(), None, Some(options));
    // Discards the state of an interrupted parse.
    parser.reset();
    tree.ok_or(reached)
}

fn parse(parser: &mut Parser, compiled: &CompiledGrammar, source: &str) -> Option<ParsedSource> {
    parser.set_language(&compiled.grammar).ok()?;
    let mut reached = source.len();
    // Each attempt parses less than half of what the one before reached.
    for attempt in 0..3 {
        let end = source_text::boundary(source, reached);
        let part = &source.as_bytes()[..end];
        match parse_part(parser, part, PARSE_STEPS / (1 + attempt) + part.len() / PARSE_BYTES_PER_STEP) {
            Ok(tree) => return Some(ParsedSource { tree, is_whole: attempt == 0 }),
            Err(at) => reached = at,
        }
        reached /= 2;
    }
    None
}
