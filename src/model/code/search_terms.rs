//! What a search takes from the query language: its text, its mode, and the conditions that rows must fulfil besides.
//!
//! Pure. Invariants: a query of words and phrases alone stays as it is written; with `CallArguments` a search becomes the same query again.

use super::kind::SymbolKind;
use super::query::{CaseRule, SearchMode, SearchQuery};
use super::query_language::{
    FilterName, LanguageError, ParsedSearch, QueryTerm, TermSubject, case_rule, name_expression,
};

/// A condition on a line: it contains a text or matches an expression, or it doesn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCondition {
    /// The text or the expression.
    pub pattern: String,
    /// Whether it is an expression.
    pub is_regex: bool,
    /// Whether lines that match are left out.
    pub is_excluded: bool,
}

impl SearchQuery {
    /// Reads the text as a query of the language (`docs/internals/reference/query-language.md`). In the modes `text` and `regex` it is taken
    /// literally.
    ///
    /// # Errors
    /// [`LanguageError`].
    pub fn with_language(mut self) -> Result<Self, LanguageError> {
        if matches!(self.mode, SearchMode::Text | SearchMode::Regex) {
            return Ok(self);
        }
        let parsed = ParsedSearch::parse(&self.text)?;
        let is_only_text = |term: &QueryTerm| {
            !term.is_excluded && matches!(term.subject, TermSubject::Word(_) | TermSubject::Phrase(_))
        };
        if parsed.terms.iter().all(is_only_text) {
            return Ok(self);
        }
        self.parsed = parsed;
        let names: Vec<String> = self.required_names().map(str::to_owned).collect();
        let has_kind = self.required(FilterName::Kind).next().is_some();
        let has_expression = self.has_name_expression();
        let case = self.required(FilterName::Case).last().and_then(case_rule);
        match self.primary() {
            Some(_) if self.mode == SearchMode::Symbol || has_kind || has_expression || !names.is_empty() => {
                return Err(LanguageError::LinesHaveNoKind);
            }
            Some((pattern, is_regex)) => {
                self.text = pattern;
                self.mode = if is_regex { SearchMode::Regex } else { SearchMode::Text };
                self.case = case.unwrap_or(self.case);
            }
            None => {
                let words = self.words(false).map(str::to_owned);
                self.text = words.chain(names.iter().cloned()).collect::<Vec<_>>().join(" ");
                // A listing is of symbols if any term is about symbols, else of files.
                let is_of_symbols = self.text.is_empty() && self.has_symbol_filter();
                if has_kind || has_expression || is_of_symbols || !names.is_empty() {
                    self.mode = SearchMode::Symbol;
                } else if self.mode == SearchMode::Auto {
                    self.case = case.unwrap_or(self.case);
                }
            }
        }
        Ok(self)
    }

    /// Whether the query only filters: what passes is listed, because there is nothing to rank by.
    pub fn is_listing(&self) -> bool {
        let is_ranked = matches!(self.mode, SearchMode::Auto | SearchMode::Symbol);
        is_ranked && !self.parsed.terms.is_empty() && self.text.is_empty()
    }

    /// Whether names must match an expression: `sym:/^parse/`.
    pub fn has_name_expression(&self) -> bool {
        self.required(FilterName::Sym).any(|value| name_expression(value).is_some())
    }

    /// The values of `sym:` that are names and not expressions.
    fn required_names(&self) -> impl Iterator<Item = &str> {
        self.required(FilterName::Sym).filter(|value| name_expression(value).is_none())
    }

    fn has_symbol_filter(&self) -> bool {
        let is_of_symbols = |name| matches!(name, FilterName::Sym | FilterName::Kind);
        self.parsed
            .terms
            .iter()
            .any(|term| matches!(&term.subject, TermSubject::Filter(name, _) if is_of_symbols(*name)))
    }

    /// Whether case matters where names are compared with an expression.
    pub fn name_case(&self) -> CaseRule {
        self.required(FilterName::Case).last().and_then(case_rule).unwrap_or_default()
    }

    /// The values of a filter that rows must fulfil, one of them for most filters.
    pub fn required(&self, name: FilterName) -> impl Iterator<Item = &str> {
        self.values(name, false)
    }

    /// The values of a filter that leave rows out.
    pub fn excluded(&self, name: FilterName) -> impl Iterator<Item = &str> {
        self.values(name, true)
    }

    fn values(&self, name: FilterName, is_excluded: bool) -> impl Iterator<Item = &str> {
        self.parsed.terms.iter().filter_map(move |term| match &term.subject {
            TermSubject::Filter(found, value) if *found == name && term.is_excluded == is_excluded => {
                Some(value.as_str())
            }
            _ => None,
        })
    }

    /// The kinds that rows must have one of, and those that leave rows out.
    pub fn kinds(&self) -> (Vec<SymbolKind>, Vec<SymbolKind>) {
        let kinds = |is_excluded| self.values(FilterName::Kind, is_excluded).filter_map(SymbolKind::parse).collect();
        (kinds(false), kinds(true))
    }

    fn words(&self, is_excluded: bool) -> impl Iterator<Item = &str> {
        self.parsed.terms.iter().filter_map(move |term| match &term.subject {
            TermSubject::Word(word) if term.is_excluded == is_excluded => Some(word.as_str()),
            _ => None,
        })
    }

    /// The pattern that lines are searched for, and whether it is an expression: the longest phrase, else the first expression.
    fn primary(&self) -> Option<(String, bool)> {
        let positive = || self.parsed.terms.iter().filter(|term| !term.is_excluded);
        let phrases = positive().filter_map(|term| match &term.subject {
            TermSubject::Phrase(text) => Some(text),
            _ => None,
        });
        let longest = phrases.max_by_key(|text| text.len()).map(|text| (text.clone(), false));
        longest.or_else(|| {
            positive().find_map(|term| match &term.subject {
                TermSubject::Regex(pattern) => Some((pattern.clone(), true)),
                _ => None,
            })
        })
    }

    /// Whether the query of the language is about lines: it has a phrase or an expression.
    fn is_about_lines(&self) -> bool {
        self.primary().is_some()
    }

    /// The conditions on matching lines besides the text: what the terms exclude, and in a query about lines all that they require.
    pub fn line_conditions(&self) -> Vec<LineCondition> {
        let is_about_lines = self.is_about_lines();
        let condition = |term: &QueryTerm| {
            let (pattern, is_regex) = match &term.subject {
                TermSubject::Word(text) | TermSubject::Phrase(text) => (text.clone(), false),
                TermSubject::Regex(pattern) => (pattern.clone(), true),
                TermSubject::Filter(..) => return None,
            };
            let counts = term.is_excluded || is_about_lines;
            counts.then_some(LineCondition { pattern, is_regex, is_excluded: term.is_excluded })
        };
        self.parsed.terms.iter().filter_map(condition).collect()
    }

    /// Whether ranked rows must fulfil conditions that the ranked search doesn't know.
    pub fn restricts_rows(&self) -> bool {
        let (_, excluded) = self.kinds();
        let has_names = self.values(FilterName::Sym, false).chain(self.values(FilterName::Sym, true)).next().is_some();
        let excludes_text =
            self.parsed.terms.iter().any(|term| term.is_excluded && !matches!(term.subject, TermSubject::Filter(..)));
        has_names || excludes_text || !excluded.is_empty() || self.kinds().0.len() > 1
    }

    /// The text and the mode that decode to this query, with its other arguments.
    pub(super) fn written(&self) -> (String, SearchMode) {
        if self.parsed.terms.is_empty() {
            return (self.text.clone(), self.mode);
        }
        let are_lines = matches!(self.mode, SearchMode::Text | SearchMode::Regex);
        if !are_lines || self.is_about_lines() {
            return (self.parsed.to_string(), if are_lines { SearchMode::Auto } else { self.mode });
        }
        // Lines that a ranked query fell back to: their text as a phrase, with the same conditions.
        let subject = match self.mode {
            SearchMode::Regex => TermSubject::Regex(self.text.clone()),
            _ => TermSubject::Phrase(self.text.clone()),
        };
        let stays = |term: &&QueryTerm| match &term.subject {
            TermSubject::Filter(name, _) => !matches!(name, FilterName::Sym | FilterName::Kind),
            _ => term.is_excluded,
        };
        let conditions = self.parsed.terms.iter().filter(stays).cloned();
        let terms = std::iter::once(QueryTerm::new(false, subject)).chain(conditions);
        (ParsedSearch { terms: terms.collect() }.to_string(), SearchMode::Auto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> SearchQuery {
        SearchQuery { text: text.to_owned(), ..SearchQuery::default() }.with_language().unwrap()
    }

    #[test]
    fn words_and_phrases_alone_stay_as_they_are() {
        for text in ["parse config", "\"two words\"", "expected \"x\" but got", "std::vec", "Foo: bar"] {
            let found = query(text);
            assert_eq!((found.text.as_str(), found.mode, found.parsed.terms.len()), (text, SearchMode::Auto, 0));
        }
        let literal = SearchQuery { text: "lang:rust x".into(), mode: SearchMode::Text, ..SearchQuery::default() };
        assert_eq!(literal.clone().with_language(), Ok(literal));
    }

    #[test]
    fn terms_decide_text_and_mode() {
        let shown = |text: &str| {
            let found = query(text);
            (found.text.clone(), found.mode)
        };
        assert_eq!(shown("parse it lang:rust"), ("parse it".into(), SearchMode::Auto));
        assert_eq!(shown("sym:Foo::bar"), ("Foo::bar".into(), SearchMode::Symbol));
        assert_eq!(shown("parse kind:fn"), ("parse".into(), SearchMode::Symbol));
        assert_eq!(shown("render -test"), ("render".into(), SearchMode::Auto));
        assert_eq!(shown("/a+/ lang:go"), ("a+".into(), SearchMode::Regex));
        assert_eq!(shown("\"a\" \"long one\" lang:go word"), ("long one".into(), SearchMode::Text));
        assert_eq!(query("/a+/ case:yes").case, CaseRule::Sensitive);
        for (text, mode) in [
            ("lang:rust", SearchMode::Auto),
            ("path:src -vendor", SearchMode::Auto),
            ("repo:a path:b", SearchMode::Auto),
            ("lang:py kind:class", SearchMode::Symbol),
            ("path:src -kind:fn", SearchMode::Symbol),
            ("sym:/^parse_/ lang:go", SearchMode::Symbol),
        ] {
            assert_eq!((shown(text), query(text).is_listing()), ((String::new(), mode), true), "{text}");
        }
        assert!(!query("x sym:/^parse/").is_listing() && !query("sym:parse").is_listing());
        assert_eq!(shown("sym:/^parse/ sym:config"), ("config".into(), SearchMode::Symbol));
        let refused = SearchQuery { text: "\"a\" kind:fn".into(), ..SearchQuery::default() }.with_language();
        assert_eq!(refused, Err(LanguageError::LinesHaveNoKind));
    }

    #[test]
    fn conditions_are_what_the_text_does_not_say() {
        let conditions = query("\"a b\" word -/c/ -d").line_conditions();
        let shown: Vec<_> = conditions.iter().map(|of| (of.pattern.as_str(), of.is_regex, of.is_excluded)).collect();
        assert_eq!(shown, [("a b", false, false), ("word", false, false), ("c", true, true), ("d", false, true)]);
        let excluded = query("word -d").line_conditions();
        assert_eq!(excluded.len(), 1, "words are the text itself");
        assert!(
            query("x -d").restricts_rows()
                && query("sym:x").restricts_rows()
                && query("x kind:fn kind:method").restricts_rows()
        );
        assert!(!query("x kind:fn lang:rust path:src").restricts_rows());
        let kinds = query("x kind:function -kind:use").kinds();
        assert_eq!(kinds, (vec![SymbolKind::Fn], vec![SymbolKind::Use]));
    }
}
