//! `search_code` with mode `auto`: decides by the form of the query whether lines, ranked symbols and files, or both are
//! the answer.
//!
//! | query | answer |
//! |---|---|
//! | with a phrase in quotation marks | the lines that contain it |
//! | a message | the lines that contain it, or as much of it as the source can have |
//! | a sentence that some lines contain word for word | some of these lines, then ranked rows |
//! | a name that no symbol has or begins with, but some lines contain | some of these lines, then ranked rows |
//! | anything else | ranked rows; lines if there are none |

use super::Project;
use super::line_search::{LineOrder, SearchScope, mark_cut};
use super::phrases::{LineAttempt, attempts, quoted_phrase};
use super::unknown_names::absent_phrase;
use crate::ranked::classify;
use codeyard_model::code::{
    CodeRefusal, Completeness, QueryIntent, RankingReasons, ResultRows, SearchMode, SearchQuery,
};

/// Lines before ranked rows.
const MAX_LINES_BEFORE_RANKED: usize = 3;

/// How the name that a query consists of was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameMatch {
    /// The query is a name that no symbol has.
    pub is_unknown: bool,
    /// The query is the name of a hit, ignoring case, separators and blanks.
    pub is_whole: bool,
    /// The name of a hit begins with the query.
    pub is_begun: bool,
}

/// The lines of the first attempt that has any.
enum FirstLines {
    Found(Box<ResultRows>),
    /// The time was up before a line was found.
    Cut,
    None,
}

impl Project {
    /// The rows of a query with mode `auto`.
    pub(super) fn search_auto(
        &self,
        query: &SearchQuery,
        scope: SearchScope<'_>,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let intent = classify(&query.text);
        let phrase = quoted_phrase(&query.text);
        let mut is_cut = false;
        if phrase.is_some() || intent == QueryIntent::Error {
            match self.first_lines(query, &attempts(&query.text, intent), scope)? {
                FirstLines::Found(lines) => return Ok(ResultRows { intent: Some(intent), ..*lines }),
                FirstLines::Cut => is_cut = true,
                FirstLines::None => {}
            }
        }
        let (mut ranked, name) = self.search_ranked(query, scope)?;
        if is_cut {
            mark_cut(&mut ranked.metadata);
        } else if let Some(phrase) = &phrase {
            ranked.metadata.warnings.push(absent_phrase(phrase));
            ranked.metadata.warnings.sort();
        }
        let attempts = match intent {
            _ if phrase.is_some() => Vec::new(),
            QueryIntent::NaturalLanguage if !name.is_whole => attempts(&query.text, intent),
            QueryIntent::Symbol if name.is_unknown && !name.is_begun => vec![LineAttempt::whole_word(&query.text)],
            QueryIntent::Symbol | QueryIntent::Path | QueryIntent::Error | QueryIntent::NaturalLanguage => Vec::new(),
        };
        if !attempts.is_empty() && !ranked.rows.is_empty() {
            let mut few = query.clone();
            few.shape.limit = few.shape.limit.min(MAX_LINES_BEFORE_RANKED);
            return Ok(match self.first_lines(&few, &attempts, scope)? {
                FirstLines::Found(lines) => before(*lines, ranked, query),
                FirstLines::Cut => {
                    mark_cut(&mut ranked.metadata);
                    ranked
                }
                FirstLines::None => ranked,
            });
        }
        if ranked.rows.is_empty() && intent != QueryIntent::Error {
            let as_text = SearchQuery { mode: SearchMode::Text, ..query.clone() };
            let mut lines = self.lines(&as_text, scope, LineOrder::CodeFirst)?;
            lines.metadata.warnings.extend(ranked.metadata.warnings);
            lines.metadata.warnings.sort();
            lines.metadata.warnings.dedup();
            return Ok(ResultRows { intent: Some(intent), asked: query.into(), ..lines });
        }
        Ok(ranked)
    }

    /// The lines that contain the query's text, or the phrase or the message in it.
    pub(super) fn message_lines(
        &self,
        query: &SearchQuery,
        scope: SearchScope<'_>,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let attempts = attempts(&query.text, classify(&query.text));
        let is_cut = match self.first_lines(query, &attempts, scope)? {
            FirstLines::Found(lines) => return Ok(*lines),
            FirstLines::Cut => true,
            FirstLines::None => false,
        };
        let as_text = SearchQuery { mode: SearchMode::Text, ..query.clone() };
        let mut lines = self.lines(&as_text, scope, LineOrder::CodeFirst)?;
        if is_cut {
            mark_cut(&mut lines.metadata);
        }
        Ok(ResultRows { asked: query.into(), ..lines })
    }

    /// The lines of the first attempt that has any.
    fn first_lines(
        &self,
        query: &SearchQuery,
        attempts: &[LineAttempt],
        scope: SearchScope<'_>,
    ) -> Result<FirstLines, Box<CodeRefusal>> {
        for attempt in attempts {
            let asked = SearchQuery {
                text: attempt.pattern.clone(),
                mode: if attempt.is_regex { SearchMode::Regex } else { SearchMode::Text },
                case: attempt.case(query.case),
                word: query.word || attempt.word,
                ..query.clone()
            };
            // A message with a line break or a very long one is no pattern.
            let Ok(lines) = self.lines(&asked, scope, LineOrder::CodeFirst) else { continue };
            if !lines.rows.is_empty() {
                return Ok(FirstLines::Found(Box::new(ResultRows { asked: query.into(), ..lines })));
            }
            if (scope.is_cancelled)() {
                return Ok(FirstLines::Cut);
            }
        }
        Ok(FirstLines::None)
    }
}

/// `lines`, then as many ranked rows as the limit allows.
fn before(lines: ResultRows, ranked: ResultRows, query: &SearchQuery) -> ResultRows {
    let limit = query.shape.limit;
    let count = lines.rows.len();
    let mut all = ranked;
    all.total += lines.total;
    all.rows.splice(0..0, lines.rows);
    all.rows.truncate(limit);
    let shown = all.rows.len();
    if let Some((_, reasons)) = &mut all.metadata.reasons {
        // Lines aren't ranked.
        reasons.splice(0..0, std::iter::repeat_n(RankingReasons::default(), count));
        reasons.truncate(shown);
    }
    if lines.metadata.completeness == Completeness::Partial {
        all.metadata.completeness = Completeness::Partial;
    }
    if all.total > shown && all.metadata.completeness == Completeness::Complete {
        all.metadata.completeness = Completeness::Truncated;
    }
    all.metadata.warnings.extend(lines.metadata.warnings);
    all.metadata.warnings.sort();
    all.metadata.warnings.dedup();
    all.metadata.safety_limit = all.metadata.safety_limit.or(lines.metadata.safety_limit);
    all.next.extend(lines.next);
    all
}
