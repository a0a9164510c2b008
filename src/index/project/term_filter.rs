//! The conditions that the query language sets for ranked rows: names, kinds, and what is left out. Pure.

use super::QueryContext;
use super::symbol_search::invalid_argument;
use crate::LinePattern;
use codeyard_model::code::{
    CaseRule, CodeRefusal, Completeness, FilterName, RankingReasons, ResultRow, ResultRows, SearchQuery, SymbolKind,
    name_expression,
};

/// Rows are first built for this many times the requested ones, because some are left out.
const RESTRICTED_OVERFETCH: usize = 20;
/// The limit of rows that are built for one answer.
const MAX_BUILT_ROWS: usize = 1_000;

/// A value of `sym:`.
enum NameTerm {
    /// A part of the name, or of the name with those around it.
    Part(String),
    /// An expression that the name alone matches.
    Expression(LinePattern),
}

/// The conditions of one query.
pub(super) struct TermFilter {
    kinds: Vec<SymbolKind>,
    excluded_kinds: Vec<SymbolKind>,
    names: Vec<NameTerm>,
    excluded_names: Vec<NameTerm>,
    is_case_sensitive: bool,
    excluded_texts: Vec<LinePattern>,
}

impl TermFilter {
    /// The conditions of a query; `None` if it has none.
    ///
    /// # Errors
    /// An expression isn't valid.
    pub(super) fn of_query(query: &SearchQuery, context: &QueryContext) -> Result<Option<Self>, Box<CodeRefusal>> {
        let allowed = "an expression as ripgrep reads it";
        Self::of(query).map_err(|why| invalid_argument(&why, "query", "no_pattern", allowed, context))
    }

    /// The conditions of a query; `None` if it has none.
    ///
    /// # Errors
    /// A sentence about an expression that isn't valid.
    fn of(query: &SearchQuery) -> Result<Option<Self>, String> {
        if !query.restricts_rows() {
            return Ok(None);
        }
        let (kinds, excluded_kinds) = query.kinds();
        let name = |value: &str| match name_expression(value) {
            Some(pattern) => LinePattern::new(&pattern, true, query.name_case(), false).map(NameTerm::Expression),
            None => Ok(NameTerm::Part(value.to_owned())),
        };
        let excluded = query.line_conditions().into_iter().filter(|condition| condition.is_excluded);
        let case = if query.case == CaseRule::Sensitive { CaseRule::Sensitive } else { CaseRule::Insensitive };
        let patterns = excluded.map(|condition| LinePattern::new(&condition.pattern, condition.is_regex, case, false));
        Ok(Some(Self {
            kinds,
            excluded_kinds,
            names: query.required(FilterName::Sym).map(name).collect::<Result<_, _>>()?,
            excluded_names: query.excluded(FilterName::Sym).map(name).collect::<Result<_, _>>()?,
            is_case_sensitive: query.required(FilterName::Case).any(|value| matches!(value, "yes" | "sensitive")),
            excluded_texts: patterns.collect::<Result<_, _>>()?,
        }))
    }

    /// How many rows to build at first so that `limit` are probably left.
    pub(super) fn built_rows(limit: usize) -> usize {
        limit.saturating_mul(RESTRICTED_OVERFETCH).min(Self::most_built_rows(limit))
    }

    /// How many rows to build at most so that `limit` are left.
    pub(super) fn most_built_rows(limit: usize) -> usize {
        MAX_BUILT_ROWS.max(limit)
    }

    /// Leaves out the rows that don't fulfil the conditions, and then those above `limit`.
    pub(super) fn restrict(&self, rows: &mut ResultRows, limit: usize) {
        let before = rows.rows.len();
        let mut reasons = rows.metadata.reasons.take().map(|(level, reasons)| (level, reasons.into_iter()));
        let mut kept: Vec<RankingReasons> = Vec::new();
        let mut at = 0;
        rows.rows.retain(|row| {
            let reason = reasons.as_mut().and_then(|(_, reasons)| reasons.next());
            let passes = self.passes(row);
            if passes && at < limit {
                kept.extend(reason);
            }
            at += usize::from(passes);
            passes
        });
        rows.total = rows.total.saturating_sub(before - rows.rows.len());
        rows.rows.truncate(limit);
        rows.metadata.completeness = match (rows.metadata.completeness, rows.total > rows.rows.len()) {
            (Completeness::Complete, true) => Completeness::Truncated,
            (Completeness::Truncated, false) => Completeness::Complete,
            (other, _) => other,
        };
        rows.metadata.reasons = reasons.map(|(level, _)| (level, kept));
    }

    fn passes(&self, row: &ResultRow) -> bool {
        let has_kind =
            |kinds: &[SymbolKind]| row.kind.is_some_and(|kind| kinds.iter().any(|wanted| wanted.covers(kind)));
        (self.kinds.is_empty() || has_kind(&self.kinds))
            && !has_kind(&self.excluded_kinds)
            && self.names.iter().all(|name| self.has_name(row, name))
            && !self.excluded_names.iter().any(|name| self.has_name(row, name))
            && !self.excluded_texts.iter().any(|pattern| has_text(row, pattern))
    }

    /// Whether a symbol of this name can pass: the name matches each expression, and none that leaves rows out.
    pub(super) fn passes_name(&self, name: &str) -> bool {
        let matches = |term: &NameTerm| match term {
            NameTerm::Expression(pattern) => Some(pattern.is_match(name)),
            NameTerm::Part(_) => None,
        };
        self.names.iter().all(|term| matches(term) != Some(false))
            && !self.excluded_names.iter().any(|term| matches(term) == Some(true))
    }

    /// The warning of an answer with too few rows, although not all hits were compared with the conditions.
    pub(super) fn too_many_hits(compared: usize) -> String {
        format!(
            "Only the first {compared} matches were compared with sym: and with what the query leaves out. Narrow it with path:, lang: or kind:."
        )
    }

    /// Whether the name of a row matches the expression, or contains the part, ignoring separators, and case unless it matters.
    fn has_name(&self, row: &ResultRow, wanted: &NameTerm) -> bool {
        let wanted = match wanted {
            NameTerm::Part(wanted) => wanted,
            NameTerm::Expression(pattern) => return row.kind.is_some() && pattern.is_match(&row.name),
        };
        if row.kind.is_none() {
            return false;
        }
        // A file's module is a name around a symbol only where the query names several, and as it is written: `vault` isn't `Vault`.
        let names_several = wanted.contains("::") || wanted.contains('.');
        if names_several && row.qualified_name.as_ref().is_some_and(|name| name.contains(wanted.as_str())) {
            return true;
        }
        let name = own_names(row);
        if self.is_case_sensitive {
            return name.contains(wanted.as_str());
        }
        let normalized = |text: &str| -> String {
            text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let wanted = normalized(wanted);
        !wanted.is_empty() && normalized(name).contains(&wanted)
    }
}

/// The name of a row and the names around it in the source.
fn own_names(row: &ResultRow) -> &str {
    let name = row.qualified_name.as_deref().unwrap_or(&row.name);
    row.module.as_deref().and_then(|module| name.strip_prefix(module)).unwrap_or(name)
}

fn has_text(row: &ResultRow, pattern: &LinePattern) -> bool {
    let texts = [Some(row.name.as_str()), Some(own_names(row)), row.signature.as_deref(), Some(row.path.as_str())];
    texts.into_iter().flatten().any(|text| !pattern.ranges(text).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::{AnswerMetadata, ExplainLevel};

    fn row(path: &str, kind: SymbolKind, name: &str) -> ResultRow {
        ResultRow {
            path: path.into(),
            kind: Some(kind),
            name: name.rsplit("::").next().unwrap_or(name).into(),
            qualified_name: Some(name.into()),
            ..ResultRow::default()
        }
    }

    fn left(text: &str, limit: usize) -> Vec<String> {
        let query = SearchQuery { text: text.into(), ..SearchQuery::default() }.with_language().unwrap();
        let rows = vec![
            row("src/a.rs", SymbolKind::Fn, "Vault::unlock"),
            row("tests/a.rs", SymbolKind::Fn, "test_unlock"),
            row("src/b.rs", SymbolKind::Struct, "Unlock"),
            row("src/c.rs", SymbolKind::Method, "Door::un_lock"),
        ];
        let reasons = (0..4_u8).map(|n| RankingReasons { final_score: f64::from(n), ..RankingReasons::default() });
        let metadata =
            AnswerMetadata { reasons: Some((ExplainLevel::Full, reasons.collect())), ..AnswerMetadata::default() };
        let mut found = ResultRows {
            total: rows.len(),
            rows,
            intent: None,
            next: vec![],
            detail: Default::default(),
            compact: false,
            asked: Default::default(),
            metadata,
        };
        TermFilter::of(&query).unwrap().unwrap().restrict(&mut found, limit);
        let cut = if found.total > found.rows.len() { Completeness::Truncated } else { Completeness::Complete };
        assert_eq!(found.metadata.completeness, cut, "{text}");
        let reasons = found.metadata.reasons.unwrap().1;
        assert_eq!(reasons.len(), found.rows.len());
        let places = ["Vault::unlock", "test_unlock", "Unlock", "Door::un_lock"];
        for (row, reason) in found.rows.iter().zip(reasons) {
            assert_eq!(places[reason.final_score as usize], row.qualified_name.as_deref().unwrap());
        }
        found.rows.into_iter().map(|row| row.qualified_name.unwrap()).collect()
    }

    #[test]
    fn rows_that_do_not_fulfil_the_terms_are_left_out_with_their_reasons() {
        assert_eq!(left("unlock -test", 9), ["Vault::unlock", "Unlock", "Door::un_lock"]);
        assert_eq!(left("unlock kind:struct kind:method", 9), ["Unlock", "Door::un_lock"]);
        assert_eq!(left("unlock -kind:fn", 9), ["Unlock"]);
        assert_eq!(left("unlock kind:function kind:enum", 9), ["Vault::unlock", "test_unlock", "Door::un_lock"]);
        assert_eq!(left("sym:un_lock", 9), ["Vault::unlock", "test_unlock", "Unlock", "Door::un_lock"]);
        assert_eq!(left("sym:un_lock case:yes", 9), ["Door::un_lock"]);
        assert_eq!(left("sym:Vault::unlock", 9), ["Vault::unlock"]);
        assert_eq!(left("unlock -sym:vault -/^tests/", 9), ["Unlock", "Door::un_lock"]);
        assert_eq!(left("unlock -test", 1), ["Vault::unlock"]);
        assert_eq!(left("sym:/^un/", 9), ["Vault::unlock", "Unlock", "Door::un_lock"]);
        assert_eq!(left("sym:/^Un/", 9), ["Unlock"]);
        assert_eq!(left("sym:/^UN/ case:no -sym:/_/", 9), ["Vault::unlock", "Unlock"]);
        let listing =
            SearchQuery { text: "sym:/^un/ -sym:/k$/".into(), ..SearchQuery::default() }.with_language().unwrap();
        let names = TermFilter::of(&listing).unwrap().unwrap();
        assert!(names.passes_name("unload") && !names.passes_name("unlock") && !names.passes_name("load"));
        let bad = SearchQuery { text: "sym:/(/".into(), ..SearchQuery::default() }.with_language().unwrap();
        assert!(TermFilter::of(&bad).is_err());
    }
}
