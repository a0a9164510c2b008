//! References by name: the uses in code of related languages and in templates, and those of a local name.

use std::collections::BTreeSet;

use async_lsp::lsp_types as lsp;

use super::conversion::{PositionConverter, source_markdown};
use super::fact_source::SyntacticError;
use super::handlers::{CursorWord, HandlerContext, symbols_named};
use super::templates;
use super::usages::{self, UsageScan};
use codeyard_index::extract::CodeName;
use codeyard_index::project::navigator::FileFacts;
use codeyard_model::limits::MAX_RAW_ITEMS_PAGED;

/// Templates that are read for the uses of one name.
const MAX_TEMPLATES: usize = 1_000;

/// Bytes of templates that are read for the uses of one name.
const MAX_TEMPLATE_BYTES: usize = 16 * 1024 * 1024;

/// The uses of a name in one template.
pub(crate) struct TemplateUses {
    /// The path, relative to the root.
    pub path: String,
    /// Where the name is.
    pub ranges: Vec<lsp::Range>,
}

impl HandlerContext<'_> {
    /// `textDocument/references`: all uses of the name in files of related languages and in templates; of a local name, those in its
    /// function.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn references(
        &self,
        at: &lsp::TextDocumentPositionParams,
        with_declaration: bool,
    ) -> Result<Vec<lsp::Location>, SyntacticError> {
        let Some(word) = self.word_at(at)? else { return Ok(Vec::new()) };
        // What is read is bounded, and the file of the question comes first.
        let mut scan = UsageScan::new(self.source, &word.cursor.word);
        let own = scan.read(&word.file);
        if let Some(places) = usages::local(&own, &word.file, &word.cursor) {
            let from = usize::from(!with_declaration);
            return self.local_locations(&word, places.get(from..).unwrap_or_default());
        }
        let CursorWord { file: current, cursor } = &word;
        let mut files = self.source.files_with(&cursor.word)?;
        files.retain(|file| current.shares_names_with(file));
        let own = own.uses();
        let mut locations = Vec::new();
        for file in files {
            let uses = if file.path == current.path { own.clone() } else { scan.read(&file).uses() };
            let uri = self.uri(&file.path)?;
            let ranges = self.ranges_of(&file, &cursor.word, &uses, with_declaration);
            locations.extend(ranges.into_iter().map(|range| lsp::Location::new(uri.clone(), range)));
            if locations.len() > MAX_RAW_ITEMS_PAGED {
                return Ok(locations);
            }
        }
        for template in self.template_uses(current, &cursor.word, MAX_RAW_ITEMS_PAGED - locations.len())? {
            let uri = self.uri(&template.path)?;
            locations.extend(template.ranges.into_iter().map(|range| lsp::Location::new(uri.clone(), range)));
        }
        Ok(locations)
    }

    /// The ranges of a name in one file: references of its facts, other uses, and declarations if they are wanted.
    fn ranges_of(&self, file: &FileFacts, word: &str, uses: &[CodeName], with_declaration: bool) -> Vec<lsp::Range> {
        let declared: BTreeSet<(u32, u32)> = symbols_named(&file.facts, word).map(|(_, at)| at).collect();
        let references = file.facts.references.iter().filter(|reference| reference.name == word);
        let places = references.map(|reference| (reference.line, reference.column));
        let places = places.chain(uses.iter().map(|place| (place.line, place.column)));
        let mut places: BTreeSet<(u32, u32)> = places.filter(|place| !declared.contains(place)).collect();
        if with_declaration {
            places.extend(declared);
        }
        if places.is_empty() {
            return Vec::new();
        }
        let converter = PositionConverter::for_names(self.source, &file.path, self.encoding);
        let mut ranges: Vec<lsp::Range> =
            places.into_iter().map(|(line, column)| converter.word_range(line, column, word)).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup();
        ranges
    }

    /// The uses of a name in templates. Ends with the template in which they become more than `limit`.
    pub(super) fn template_uses(
        &self,
        current: &FileFacts,
        word: &str,
        limit: usize,
    ) -> Result<Vec<TemplateUses>, SyntacticError> {
        let paths = self.source.paths_with(word, &|path| templates::is_template(path, current.language))?;
        let mut found = Vec::new();
        let mut count = 0;
        let mut bytes = 0;
        for path in paths.into_iter().take(MAX_TEMPLATES) {
            let Some(document) = self.source.text(&path) else { continue };
            bytes += document.text().len();
            if bytes > MAX_TEMPLATE_BYTES {
                break;
            }
            let places = templates::uses(&path, document.text(), word);
            if places.is_empty() {
                continue;
            }
            let converter = PositionConverter::for_names(self.source, &path, self.encoding);
            let range = |(line, column): (u32, u32)| converter.word_range(line + 1, column, word);
            count += places.len();
            found.push(TemplateUses { path, ranges: places.into_iter().map(range).collect() });
            if count > limit {
                break;
            }
        }
        Ok(found)
    }

    /// Places of a local name.
    pub(super) fn local_locations(
        &self,
        word: &CursorWord,
        places: &[CodeName],
    ) -> Result<Vec<lsp::Location>, SyntacticError> {
        let uri = self.uri(&word.file.path)?;
        let converter = PositionConverter::for_names(self.source, &word.file.path, self.encoding);
        let range = |place: &CodeName| converter.word_range(place.line, place.column, &word.cursor.word);
        Ok(places.iter().map(|place| lsp::Location::new(uri.clone(), range(place))).collect())
    }

    /// The line that binds a local name.
    pub(super) fn local_hover(&self, word: &CursorWord, binding: &CodeName) -> Option<lsp::Hover> {
        let document = self.source.text(&word.file.path)?;
        let line = document.line(binding.line.saturating_sub(1))?;
        let value = source_markdown(word.file.language, line.trim());
        let contents = lsp::HoverContents::Markup(lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value });
        Some(lsp::Hover { contents, range: Some(self.word_range(&word.file, &word.cursor)) })
    }
}
