//! The tantivy schema of the symbol index, and the document of a symbol: its terms, and the values that ranking reads
//! without decoding facts.

use std::collections::BTreeSet;

use tantivy::TantivyDocument;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

use crate::handles::stable_key;
use crate::{ContentNo, Facts, Language, ReferenceRole, Symbol};
use codeyard_model::code::{SymbolKind, Visibility};

use super::tokenizer::{content_words, normalize, truncate_str, words};

/// Longest name that the symbol index holds, in bytes; longer ones are cut.
const MAX_SYMBOL_NAME_BYTES: usize = 240;
/// Words of one symbol's comment, and of its signature, that the symbol index holds.
const MAX_SYMBOL_WORDS: usize = 120;

/// The format version. Increase it when documents change.
pub(super) const FORMAT: u32 = 5;
/// The number of comment words whose pairs are terms.
const PAIRED_WORDS: usize = 48;
/// The number of enclosing symbols whose names are terms.
const MAX_ANCESTORS: usize = 16;
/// Names with more words count as names with this many.
const MAX_NAME_WORDS: usize = 6;

/// The part of a name that the symbol index holds.
pub(super) fn indexed_name(name: &str) -> &str {
    truncate_str(name, MAX_SYMBOL_NAME_BYTES)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The name as one term.
    pub name: Field,
    /// The normalized name as one term. Its name on disk is `squeezed`.
    pub normalized: Field,
    /// The words of the name, each with the number of words in the name ([`name_term`]).
    pub words: Field,
    /// The names of enclosing symbols, normalized ([`scope_term`]), and their words.
    pub scope: Field,
    /// The words of the signature that aren't in the name.
    pub signature: Field,
    /// The words of the comment, and its pairs of words ([`pair_term`]).
    pub doc: Field,
    pub content: Field,
    /// The stable key ([`stable_key`]).
    pub stable: Field,
    /// A packed [`RankingInfo`].
    pub info: Field,
}

impl Fields {
    pub(super) fn schema() -> (Schema, Self) {
        let mut builder = Schema::builder();
        let terms = |tokenizer: &str| {
            let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer).set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing.set_index_option(IndexRecordOption::Basic))
        };
        let fields = Self {
            name: builder.add_text_field("name", terms("raw")),
            normalized: builder.add_text_field("squeezed", terms("raw")),
            words: builder.add_text_field("words", terms("whitespace")),
            scope: builder.add_text_field("scope", terms("whitespace")),
            signature: builder.add_text_field("signature", terms("whitespace")),
            doc: builder.add_text_field("doc", terms("whitespace")),
            content: builder.add_u64_field("content", FAST | INDEXED),
            stable: builder.add_u64_field("stable", INDEXED),
            info: builder.add_u64_field("info", FAST),
        };
        (builder.build(), fields)
    }

    pub(super) fn document(
        self,
        content: ContentNo,
        language: Language,
        facts: &Facts,
        ordinal: u32,
        symbol: &Symbol,
    ) -> TantivyDocument {
        let name = indexed_name(&symbol.name);
        let name_words = words(name);
        let mut doc_words = content_words(&symbol.doc);
        doc_words.truncate(MAX_SYMBOL_WORDS);
        let mut signature: Vec<String> = words(&symbol.signature);
        signature.retain(|word| !name_words.contains(word));
        signature.sort_unstable();
        signature.dedup();
        signature.truncate(MAX_SYMBOL_WORDS);
        let info = RankingInfo {
            kind: symbol.kind,
            language: language.number(),
            visibility: symbol.visibility,
            is_definition: symbol.is_definition,
            is_local: is_local(facts, symbol),
            is_test: is_test(facts, symbol),
            name_words: name_words.len().min(31),
            doc_words: doc_words.len(),
            signature_words: signature.len(),
            ordinal,
        };
        let mut document = TantivyDocument::default();
        document.add_text(self.name, name);
        document.add_text(self.normalized, normalize(name));
        // A search by words looks for the symbol, not for its imports. So an import is found by its full name, its last part
        // and the names that it imports only.
        if symbol.kind == SymbolKind::Use {
            for imported in imported_names(facts, symbol, name) {
                document.add_text(self.name, imported);
                document.add_text(self.normalized, normalize(imported));
            }
        } else {
            let bucket = name_words.len();
            document.add_text(self.words, joined(name_words.iter().map(|word| name_term(word, bucket))));
            document.add_text(self.scope, joined(scope_terms(language, facts, symbol)));
            document.add_text(self.signature, joined(signature));
            let pairs: Vec<String> =
                doc_words.windows(2).take(PAIRED_WORDS).map(|pair| pair_term(&pair[0], &pair[1])).collect();
            document.add_text(self.doc, joined(doc_words.into_iter().chain(pairs)));
        }
        document.add_u64(self.content, u64::from(content));
        document.add_u64(self.stable, stable_key(language, facts, ordinal as usize));
        document.add_u64(self.info, info.packed());
        document
    }
}

/// The last part of the name of an import, and the names that it imports, without its own name.
fn imported_names<'f>(facts: &'f Facts, import: &Symbol, name: &'f str) -> BTreeSet<&'f str> {
    let last =
        name.rsplit(|character: char| !character.is_alphanumeric() && character != '_').find(|part| !part.is_empty());
    let from = facts.references.partition_point(|reference| reference.line < import.line_start);
    let references = facts.references[from..].iter().take_while(|reference| reference.line <= import.line_end);
    let imported = references.filter(|reference| reference.role == ReferenceRole::Import);
    let imported = imported.map(|reference| truncate_str(&reference.name, MAX_SYMBOL_NAME_BYTES));
    let mut names: BTreeSet<&str> = last.into_iter().chain(imported.take(MAX_SYMBOL_WORDS)).collect();
    names.remove(name);
    names
}

/// The term for a word of a name that has this many words.
pub(super) fn name_term(word: &str, name_words: usize) -> String {
    format!("{word}:{}", name_words.clamp(1, MAX_NAME_WORDS))
}

/// All terms for a word of a name.
pub(super) fn name_terms(word: &str) -> impl Iterator<Item = String> {
    (1..=MAX_NAME_WORDS).map(move |count| name_term(word, count))
}

/// The term for the full name of an enclosing symbol.
pub(super) fn scope_term(normalized: &str) -> String {
    format!("={normalized}")
}

/// The term for two consecutive words.
pub(super) fn pair_term(one: &str, two: &str) -> String {
    format!("{one}_{two}")
}

fn joined(terms: impl IntoIterator<Item = String>) -> String {
    let mut all = String::new();
    for term in terms {
        all.push_str(&term);
        all.push(' ');
    }
    all
}

fn scope_terms(language: Language, facts: &Facts, symbol: &Symbol) -> Vec<String> {
    let mut terms = Vec::new();
    // The package that a file of Go names: as a qualifier, not as words.
    if language == Language::GO
        && let Some(package) = facts.symbols.first().filter(|first| first.kind == SymbolKind::Module)
    {
        terms.push(scope_term(&normalize(truncate_str(&package.name, MAX_SYMBOL_NAME_BYTES))));
    }
    let mut take = |name: &str| {
        terms.push(scope_term(&normalize(truncate_str(name, MAX_SYMBOL_NAME_BYTES))));
        for part in name.split(['.', ':']).filter(|part| part.len() < name.len() && !part.is_empty()) {
            terms.push(scope_term(&normalize(truncate_str(part, MAX_SYMBOL_NAME_BYTES))));
        }
        terms.extend(words(truncate_str(name, MAX_SYMBOL_NAME_BYTES)));
    };
    let mut at = Some(symbol);
    for _ in 0..MAX_ANCESTORS {
        let Some(symbol) = at else { break };
        if let Some(scope) = &symbol.scope {
            take(scope);
        }
        at = symbol.parent.and_then(|parent| facts.symbols.get(parent as usize));
        if let Some(parent) = at {
            take(&parent.name);
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn is_local(facts: &Facts, symbol: &Symbol) -> bool {
    let mut parent = symbol.parent;
    for _ in 0..MAX_ANCESTORS {
        let Some(symbol) = parent.and_then(|parent| facts.symbols.get(parent as usize)) else { return false };
        if matches!(symbol.kind, SymbolKind::Fn | SymbolKind::Method) {
            return true;
        }
        parent = symbol.parent;
    }
    false
}

/// Whether the symbol is a test by its name, or is in a module or class of tests.
fn is_test(facts: &Facts, symbol: &Symbol) -> bool {
    let is_function = matches!(symbol.kind, SymbolKind::Fn | SymbolKind::Method);
    if is_function && symbol.name.starts_with("test_") {
        return true;
    }
    let mut at = Some(symbol);
    for _ in 0..MAX_ANCESTORS {
        let Some(symbol) = at else { return false };
        if symbol.kind == SymbolKind::Module && matches!(symbol.name.as_str(), "test" | "tests") {
            return true;
        }
        at = symbol.parent.and_then(|parent| facts.symbols.get(parent as usize));
    }
    false
}

/// The properties of a symbol that ranking reads, packed into one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankingInfo {
    pub kind: SymbolKind,
    /// [`Language::number`].
    pub language: u8,
    pub visibility: Visibility,
    /// See [`Symbol::is_definition`].
    pub is_definition: bool,
    /// Whether it is inside a function.
    pub is_local: bool,
    /// Whether it is a test by its name or its enclosing symbols.
    pub is_test: bool,
    /// The number of words in the name, at max 31.
    pub name_words: usize,
    /// The number of words in the comment, at max 255.
    pub doc_words: usize,
    /// The number of words in the signature, at max 255.
    pub signature_words: usize,
    /// The index in [`Facts::symbols`], below 2^24.
    pub ordinal: u32,
}

impl RankingInfo {
    /// The number that the index stores. The ordinal is in the highest bits, so that neighbours differ little and
    /// compress well.
    pub(super) fn packed(self) -> u64 {
        let small = |number: usize, max: u64| (number as u64).min(max);
        u64::from(self.kind as u8)
            | u64::from(self.is_test) << 6
            | u64::from(self.is_local) << 7
            | u64::from(self.language) << 8
            | u64::from(self.visibility as u8) << 16
            | u64::from(self.is_definition) << 18
            | small(self.name_words, 31) << 19
            | small(self.doc_words, 255) << 24
            | small(self.signature_words, 255) << 32
            | u64::from(self.ordinal) << 40
    }

    /// The inverse of [`Self::packed`]; `None`: the number is invalid.
    pub(super) fn unpacked(number: u64) -> Option<Self> {
        let byte = |shift: u32| (number >> shift) as u8;
        Some(Self {
            kind: SymbolKind::from_number(byte(0) & 0x3f)?,
            language: byte(8),
            visibility: Visibility::from_number(byte(16) & 3)?,
            is_definition: number >> 18 & 1 == 1,
            is_local: number >> 7 & 1 == 1,
            is_test: number >> 6 & 1 == 1,
            name_words: usize::from(byte(19) & 31),
            doc_words: usize::from(byte(24)),
            signature_words: usize::from(byte(32)),
            ordinal: (number >> 40) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_round_trips() {
        let info = RankingInfo {
            kind: SymbolKind::Use,
            language: 17,
            visibility: Visibility::Private,
            is_definition: true,
            is_local: true,
            is_test: false,
            name_words: 31,
            doc_words: 120,
            signature_words: 3,
            ordinal: (1 << 24) - 1,
        };
        assert_eq!(RankingInfo::unpacked(info.packed()), Some(info));
        let other = RankingInfo {
            kind: SymbolKind::Fn,
            is_definition: false,
            is_local: false,
            is_test: true,
            ordinal: 0,
            ..info
        };
        assert_eq!(RankingInfo::unpacked(other.packed()), Some(other));
        assert_eq!(RankingInfo::unpacked(0x3f), None);
    }
}
