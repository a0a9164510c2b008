//! The lookup of symbols by name or by full name, as rows have them.

use super::manifest_view::ManifestView;
use super::row_builder::RowBuilder;
use super::symbol_search::{refuse_store_error, refuse_symbol_index_error};
use super::{Project, QueryContext};
use crate::ranked::{RankedHit, RankedHits, RankedQuery};
use codeyard_model::code::{CodeRefusal, DetailLevel};

/// Symbols of one name among which the one with a full name is looked for.
const MAX_SAME_NAMES: usize = 200;
/// Parts of a full name that are looked up.
const MAX_NAME_PARTS: usize = 32;

impl Project {
    /// The symbols of this name. A full name, as rows have it, may hold separators of its own, such as those of a namespace of PHP.
    pub(super) fn named(
        &self,
        query: &RankedQuery<'_>,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<RankedHits, Box<CodeRefusal>> {
        let refuse = |error| refuse_symbol_index_error(&error, context);
        let weights = self.settings().weights;
        let mut found = view.ranked.locate(query, &weights).map_err(refuse)?;
        if last_parts(query.text).next().is_none() {
            return Ok(found);
        }
        let mut builder = RowBuilder::new(self, context, view, DetailLevel::Signature);
        let text = query.text.trim();
        // Whether the symbol has the full name, and whether that is its own name as well.
        let mut named = |hit: &RankedHit| {
            let row = builder.row(hit).map_err(|error| refuse_store_error(&error, context))?;
            let is_same = row.qualified_name.as_deref() == Some(text);
            Ok::<(bool, bool), Box<CodeRefusal>>((is_same, row.name == text))
        };
        for hit in &found.hits {
            if named(hit)? == (true, false) {
                return Ok(found);
            }
        }
        for last in last_parts(query.text) {
            let limit = query.limit.max(MAX_SAME_NAMES);
            let others = view.ranked.locate(&RankedQuery { text: last, limit, ..*query }, &weights).map_err(refuse)?;
            let known = found.hits.len();
            for hit in others.hits {
                if named(&hit)? == (true, false) {
                    found.hits.push(hit);
                }
            }
            if found.hits.len() > known {
                found.total += found.hits.len() - known;
                break;
            }
        }
        Ok(found)
    }
}

/// The parts of a full name that begin behind a separator, longest first.
fn last_parts(name: &str) -> impl Iterator<Item = &str> {
    let name = name.trim();
    let separators = name.match_indices(['.', ':', '\\', '#', '/', ' ']).map(|(at, sign)| &name[at + sign.len()..]);
    separators.filter(|part| !part.is_empty() && !part.starts_with(':')).take(MAX_NAME_PARTS)
}
