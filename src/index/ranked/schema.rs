//! How a symbol becomes a document of tantivy: its terms, and what ranking reads of it without decoding facts.

use tantivy::TantivyDocument;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

use crate::limits::{MAX_SYMBOL_NAME_BYTES, MAX_SYMBOL_WORDS};
use crate::project::handles::stable_key;
use crate::{ContentNo, Facts, Language, Symbol};
use codeyard_model::code::{SymbolKind, Visibility};

use super::tokenizer::{truncate_str, is_stop_word, normalize, words};

/// Goes up whenever documents are made in another way.
pub(super) const FORMAT: u32 = 3;
/// Words of a comment whose pairs are terms too.
const PAIRED_WORDS: usize = 48;
/// Names around a symbol that are terms.
const MAX_ANCESTORS: usize = 16;
/// Names of more words than this are told apart no further.
const MOST_NAME_WORDS: usize = 6;

/// The fields, by what they are for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The name as it's spelt: one term.
    pub name: Field,
    /// The name normalized: one term.
    pub normalized: Field,
    /// The name's words, each with how many words the name has ([`name_term`]).
    pub words: Field,
    /// The names around it normalized ([`scope_term`]), and their words.
    pub scope: Field,
    /// The signature's words that the name doesn't have.
    pub signature: Field,
    /// The comment's words, and its pairs of words ([`pair_term`]).
    pub doc: Field,
    /// The number of its content.
    pub content: Field,
    /// FeatureKind its stable handle is made of.
    pub stable: Field,
    /// An [`RankingInfo`].
    pub info: Field,
}

impl Fields {
    /// The schema and its fields.
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

    /// The document of one symbol.
    pub(super) fn document(
        self,
        content: ContentNo,
        language: Language,
        facts: &Facts,
        ordinal: u32,
        symbol: &Symbol,
    ) -> TantivyDocument {
        let name = truncate_str(&symbol.name, MAX_SYMBOL_NAME_BYTES);
        let name_words = words(name);
        let mut doc_words: Vec<String> = words(&symbol.doc).into_iter().filter(|word| !is_stop_word(word)).collect();
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
            name_words: name_words.len().min(31),
            doc_words: doc_words.len(),
            signature_words: signature.len(),
            ordinal,
        };
        let mut document = TantivyDocument::default();
        document.add_text(self.name, name);
        document.add_text(self.normalized, normalize(name));
        // Whoever searches by words wants what is there, not who imports it: an import is found by its whole name and by the
        // last part of it only.
        if symbol.kind == SymbolKind::Use {
            let last =
                name.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').find(|part| !part.is_empty());
            if let Some(last) = last.filter(|last| *last != name) {
                document.add_text(self.name, last);
                document.add_text(self.normalized, normalize(last));
            }
        } else {
            let bucket = name_words.len();
            document.add_text(self.words, joined(name_words.iter().map(|word| name_term(word, bucket))));
            document.add_text(self.scope, joined(scope_terms(facts, symbol)));
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

/// The term of a word of a name that has so many words.
pub(super) fn name_term(word: &str, name_words: usize) -> String {
    format!("{word}:{}", name_words.clamp(1, MOST_NAME_WORDS))
}

/// All terms of a word of a name.
pub(super) fn name_terms(word: &str) -> impl Iterator<Item = String> {
    (1..=MOST_NAME_WORDS).map(move |count| name_term(word, count))
}

/// The term of a whole name around a symbol.
pub(super) fn scope_term(normalized: &str) -> String {
    format!("={normalized}")
}

/// The term of two words that follow each other.
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

fn scope_terms(facts: &Facts, symbol: &Symbol) -> Vec<String> {
    let mut terms = Vec::new();
    let mut take = |name: &str| {
        terms.push(scope_term(&normalize(truncate_str(name, MAX_SYMBOL_NAME_BYTES))));
        for part in name.split(['.', ':']).filter(|part| part.len() < name.len() && !part.is_empty()) {
            terms.push(scope_term(&normalize(truncate_str(part, MAX_SYMBOL_NAME_BYTES))));
        }
        terms.extend(words(truncate_str(name, MAX_SYMBOL_NAME_BYTES)));
    };
    let mut at = Some(symbol);
    for _ in 0..MAX_ANCESTORS {
        let Some(here) = at else { break };
        if let Some(scope) = &here.scope {
            take(scope);
        }
        at = here.parent.and_then(|parent| facts.symbols.get(parent as usize));
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
        let Some(here) = parent.and_then(|parent| facts.symbols.get(parent as usize)) else { return false };
        if matches!(here.kind, SymbolKind::Fn | SymbolKind::Method) {
            return true;
        }
        parent = here.parent;
    }
    false
}

/// FeatureKind ranking reads of a symbol, in one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankingInfo {
    /// See there.
    pub kind: SymbolKind,
    /// [`Language::number`].
    pub language: u8,
    /// See there.
    pub visibility: Visibility,
    /// See [`Symbol::is_definition`].
    pub is_definition: bool,
    /// It stands in a function.
    pub is_local: bool,
    /// Words of the name, at most 31.
    pub name_words: usize,
    /// Words of the comment, at most 255.
    pub doc_words: usize,
    /// Words of the signature, at most 255.
    pub signature_words: usize,
    /// Its index in [`Facts::symbols`], below 2^24.
    pub ordinal: u32,
}

impl RankingInfo {
    /// As the index holds it. The ordinal lies highest, so that neighbours differ little.
    pub(super) fn packed(self) -> u64 {
        let small = |number: usize, most: u64| (number as u64).min(most);
        u64::from(self.kind as u8)
            | u64::from(self.is_local) << 7
            | u64::from(self.language) << 8
            | u64::from(self.visibility as u8) << 16
            | u64::from(self.is_definition) << 18
            | small(self.name_words, 31) << 19
            | small(self.doc_words, 255) << 24
            | small(self.signature_words, 255) << 32
            | u64::from(self.ordinal) << 40
    }

    /// From what the index holds; `None` if no build of ours wrote it.
    pub(super) fn unpacked(number: u64) -> Option<Self> {
        let byte = |shift: u32| (number >> shift) as u8;
        Some(Self {
            kind: SymbolKind::from_number(byte(0) & 0x7f)?,
            language: byte(8),
            visibility: Visibility::from_number(byte(16) & 3)?,
            is_definition: number >> 18 & 1 == 1,
            is_local: number >> 7 & 1 == 1,
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
    fn what_is_packed_comes_back() {
        let info = RankingInfo {
            kind: SymbolKind::Use,
            language: 17,
            visibility: Visibility::Private,
            is_definition: true,
            is_local: true,
            name_words: 31,
            doc_words: 120,
            signature_words: 3,
            ordinal: (1 << 24) - 1,
        };
        assert_eq!(RankingInfo::unpacked(info.packed()), Some(info));
        let other = RankingInfo { kind: SymbolKind::Fn, is_definition: false, is_local: false, ordinal: 0, ..info };
        assert_eq!(RankingInfo::unpacked(other.packed()), Some(other));
        assert_eq!(RankingInfo::unpacked(0xff), None);
    }
}
