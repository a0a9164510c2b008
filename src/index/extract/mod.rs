//! Extracts the [`Facts`] of a source: its symbols and references.
//!
//! A grammar turns the source into a tree. The language's query (a data file in `config/queries`) says which nodes are symbols,
//! names, references and so on; `grammar` lists the captures. The rest is the same for all languages: `symbol_tree` nests
//! symbols and drops local ones, `signatures` and `source_text` make signatures, comments and markers, `visibility` applies each language's
//! rules. Where a grammar can't read a text, `blanked_text` has blanks. For C and C++, `c_macros` first blanks preprocessor constructs that the parser cannot read. For Vue and Svelte,
//! `script_sections` blanks what isn't a script. `schema_extensions`, `shell_lines` and `kotlin_syntax` do the same for what the grammars of
//! GraphQL, of Dockerfiles and of Kotlin can't read. For Rust, `item_macros` opens the macros that contain items, and the result is parsed again. `repair` empties the
//! bodies that a grammar can't read. `syntax` only says
//! whether a source parses, `code_names` where a name stands in its code, `name_places` which of its places are
//! local to a function, and `plain_uses` the same of all names at once; all three ask `name_context` what the nodes around a name say.
//!
//! It isn't a compiler: names are spelt as in the source, and nothing is resolved.
//!
//! Invariants: extraction never fails and never panics. The same source gives the same facts on every machine. Time and memory are
//! bounded by the source's size and by [`crate::limits`]: `work_budget` counts what may cost more than linear time.

mod blanked_text;
mod c_macros;
mod captures;
mod code_names;
mod code_text;
mod depth;
mod doc_comments;
mod grammar;
mod item_macros;
mod kotlin_syntax;
mod name_context;
mod name_places;
mod names;
mod parsing;
mod plain_uses;
mod query_run;
mod repair;
mod schema_extensions;
mod script_sections;
mod shell_lines;
mod signatures;
mod source_text;
mod symbol_tree;
mod syntax;
mod visibility;
mod work_budget;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;

use parking_lot::Mutex;
use tree_sitter::{Parser, Tree};

use super::facts::Facts;
use super::language::Language;
use crate::limits::MAX_PARSED_BYTES;
use captures::Captures;
pub use code_names::{CodeName, CodeWord, code_words, is_no_name, names_in_code};
pub use name_places::NamePlaces;
use plain_uses::AllNames;
use query_run::QueryRunner;
pub use syntax::first_syntax_error;
use work_budget::WorkBudget;

/// Sources larger than this are parsed one at a time, in bytes, because the tree of one may take hundreds of megabytes.
const LARGE_SOURCE_BYTES: usize = 256 * 1024;

/// The version of the extraction rules. Facts of another version are extracted again.
pub const EXTRACTOR_VERSION: u32 = 6;

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

impl Language {
    /// Whether this build of the index has a grammar for it, and its query compiles. Without one, files are searched as text.
    pub fn has_grammar(self) -> bool {
        grammar::is_available(self)
    }

    /// The languages that this build has a grammar for.
    #[cfg(test)]
    pub(crate) fn with_grammar() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|language| language.has_grammar()).collect()
    }
}

/// Extracts the symbols and references of `source`. Where it has syntax errors, the facts are what could be parsed, with `has_errors` set.
/// A source that costs more than its budget has no facts, with `is_too_complex` set.
pub fn extract(language: Language, source: &str) -> Facts {
    extract_within(language, source, &WorkBudget::of_source(source.len()).for_language(language))
}

/// [`extract`] within this budget.
fn extract_within(language: Language, source: &str, budget: &WorkBudget) -> Facts {
    thread_local! {
        static PARSER: RefCell<(Parser, QueryRunner)> = RefCell::new((Parser::new(), QueryRunner::new()));
    }
    if source.len() > MAX_PARSED_BYTES {
        return Facts { has_errors: true, ..Facts::default() };
    }
    if depth::exceeds_scanner(language, source) {
        return Facts::too_complex();
    }
    // A `.h` file may be a C++ header.
    let language = if language == Language::C && c_macros::is_cpp(source) { Language::CPP } else { language };
    let Some(compiled) = grammar::compiled(language) else { return Facts { has_errors: true, ..Facts::default() } };
    let mut parsed_text = readable(language, source);
    // One at a time, because the tree of such a source may take hundreds of megabytes.
    static LARGE_SOURCE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = (source.len() > LARGE_SOURCE_BYTES).then(|| LARGE_SOURCE.lock());
    PARSER.with_borrow_mut(|(parser, query)| {
        let mut captures = Captures::default();
        let tree = parser.set_language(&compiled.grammar).ok().and_then(|()| {
            let tree = parsing::parse(parser, parsed_text.as_bytes(), budget)?;
            if language != Language::RUST {
                return Some(tree);
            }
            let opened = item_macros::open(parser, &tree, source, budget);
            captures.references = opened.names;
            captures.symbols = opened.symbols;
            let Some(text) = opened.text else { return Some(tree) };
            let again = parsing::parse(parser, text.as_bytes(), budget);
            parsed_text = Cow::Owned(text);
            again
        });
        let Some(mut tree) = tree.filter(|_| !budget.is_spent()) else { return Facts::too_complex() };
        let has_errors = tree.root_node().has_error();
        let names = AllNames::read(language, compiled, &tree, &parsed_text, source);
        if has_errors && let Some((text, repaired)) = repair::repaired(parser, language, &parsed_text, &tree) {
            (parsed_text, tree) = (Cow::Owned(text), repaired);
        }
        query.collect(compiled, &tree, &parsed_text, budget, &mut captures);
        if budget.is_spent() {
            return Facts::too_complex();
        }
        let Some(mut facts) = symbol_tree::build(language, source, &parsed_text, &mut captures) else {
            return Facts::too_complex();
        };
        facts.has_errors = captures.is_cut || has_errors;
        facts.plain_uses = names.plain_uses(&facts);
        facts
    })
}

/// The text that the language's grammar can read: `source`, with other bytes in the places that it can't.
fn readable(language: Language, source: &str) -> Cow<'_, str> {
    match language {
        Language::C | Language::CPP => c_macros::blank_macros(source, language == Language::CPP),
        Language::VUE | Language::SVELTE => script_sections::only_scripts(source),
        Language::GRAPHQL => schema_extensions::readable(source),
        Language::KOTLIN => kotlin_syntax::readable(source),
        Language::DOCKERFILE => shell_lines::without_commands(source),
        _ => Cow::Borrowed(source),
    }
}

/// The tree of a whole text in the parser's language. `None`: the text is too complex.
pub(crate) fn parse_all(parser: &mut Parser, source: &str) -> Option<Tree> {
    parsing::parse(parser, source.as_bytes(), &WorkBudget::of_source(source.len()))
}

/// [`extract`], with the work that it spent and the work that it was allowed.
#[cfg(test)]
pub(crate) fn extract_counted(language: Language, source: &str) -> (Facts, (u64, u64)) {
    let budget = WorkBudget::of_source(source.len()).for_language(language);
    (extract_within(language, source, &budget), budget.figures())
}
