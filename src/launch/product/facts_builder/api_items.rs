//! The items of the public API with signatures, doc comments and evidence, bounded by whole modules.

use std::collections::{BTreeMap, BTreeSet};

use codeyard_model::code::SymbolKind;
use codeyard_runs::stage::{StageError, StopFlag};

use super::ClaimLedger;
use crate::artifacts::facts::ApiItem;
use crate::limits::MAX_API_ITEMS;
use crate::product::doc_comment::{self, one_sentence};
use crate::public_api::Selection;
use crate::repository::product_sources::{ParsedSource, has_hidden_signs, without_hidden_signs};

/// Lines of a definition that are evidence for it.
const MAX_DEFINITION_LINES: usize = 60;

/// Longest name of an item.
const MAX_NAME_BYTES: usize = 240;

/// The items, by module, then by place, and how many are left out.
pub(super) fn items(
    files: &[ParsedSource],
    selections: Vec<Selection>,
    ledger: &mut ClaimLedger,
    stop: &StopFlag,
) -> Result<(Vec<ApiItem>, usize), StageError> {
    let (selections, omitted) = bounded(sorted(files, selections));
    let mut items = Vec::with_capacity(selections.len());
    for selection in selections {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        items.extend(item(&files[selection.file], selection, ledger));
    }
    Ok((items, omitted))
}

fn sorted(files: &[ParsedSource], mut selections: Vec<Selection>) -> Vec<Selection> {
    let line = |selection: &Selection| files[selection.file].symbols[selection.symbol].name_line;
    selections.sort_by(|a, b| {
        let path = |selection: &Selection| files[selection.file].path();
        let place = |selection: &Selection| (line(selection), selection.symbol);
        let modules = a.module.cmp(&b.module).then_with(|| path(a).cmp(path(b)));
        modules.then_with(|| place(a).cmp(&place(b))).then_with(|| a.qualified.cmp(&b.qualified))
    });
    // The same declaration again, such as one for each platform.
    let mut seen = BTreeSet::new();
    selections.retain(|selection| {
        let symbol = &files[selection.file].symbols[selection.symbol];
        seen.insert((selection.module.clone(), selection.qualified.clone(), symbol.kind, symbol.signature.clone()))
    });
    selections
}

/// As many whole modules as the limit allows: first those nearest to the top. One module that is larger than the limit is cut.
fn bounded(selections: Vec<Selection>) -> (Vec<Selection>, usize) {
    let total = selections.len();
    if total <= MAX_API_ITEMS {
        return (selections, 0);
    }
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for selection in &selections {
        *sizes.entry(&selection.module).or_default() += 1;
    }
    let mut modules: Vec<(&str, usize)> = sizes.into_iter().collect();
    let depth = |module: &str| module.matches(['.', '/', '\\']).count() + module.matches("::").count();
    modules.sort_by_key(|(module, _)| (depth(module), (*module).to_owned()));
    let mut kept: BTreeSet<String> = BTreeSet::new();
    let mut left = MAX_API_ITEMS;
    for (at, (module, size)) in modules.into_iter().enumerate() {
        if size <= left || at == 0 {
            kept.insert(module.to_owned());
            left = left.saturating_sub(size);
        }
    }
    let mut selections: Vec<Selection> =
        selections.into_iter().filter(|selection| kept.contains(&selection.module)).collect();
    selections.truncate(MAX_API_ITEMS);
    let omitted = total - selections.len();
    (selections, omitted)
}

fn item(source: &ParsedSource, selection: Selection, ledger: &mut ClaimLedger) -> Option<ApiItem> {
    if [&selection.module, &selection.qualified].into_iter().any(|name| has_hidden_signs(name)) {
        return None;
    }
    let symbol = &source.symbols[selection.symbol];
    let doc = doc_comment::of_symbol(source, symbol);
    let definition_end = (symbol.line_end as usize).min(symbol.name_line as usize + MAX_DEFINITION_LINES);
    let evidence = source.source.evidence(doc.first_line, doc.last_line.max(definition_end))?;
    let place = if selection.module.is_empty() { String::new() } else { format!(" of `{}`", selection.module) };
    let below = selection.parent.as_deref().and_then(|parent| selection.qualified.strip_prefix(parent));
    let name = below.map_or(selection.qualified.as_str(), |below| below.trim_start_matches(['.', ':', '#'])).to_owned();
    // What a parser makes of a macro that it can't read.
    if selection.qualified.contains(['{', ';', '\n']) || selection.qualified.len() > MAX_NAME_BYTES {
        return None;
    }
    let signature = without_hidden_signs(symbol.signature.trim());
    let about = one_sentence(&doc.text);
    let separator = if about.is_empty() { "" } else { ": " };
    let text = format!("`{}`{place} is `{signature}`{separator}{about}", selection.qualified);
    let claim = ledger.add(&text, vec![evidence])?;
    // `exports.name = function` is a method to the index.
    let kind = match symbol.kind {
        SymbolKind::Method if selection.parent.is_none() => SymbolKind::Fn,
        kind => kind,
    };
    Some(ApiItem {
        kind: kind.as_str().to_owned(),
        name,
        qualified_name: selection.qualified,
        module: selection.module,
        parent: selection.parent,
        signature,
        doc: doc.text,
        language: source.language.name().to_owned(),
        path: source.path().to_owned(),
        line: symbol.line_start,
        claim,
    })
}
