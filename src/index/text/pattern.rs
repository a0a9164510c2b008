//! Search patterns: a text or a regular expression, parsed exactly as ripgrep parses it.
//!
//! Invariant: the matcher and the gram plan come from the same text with the same settings, so they agree.

use super::plan::GramPlan;
use crate::limits::MAX_PATTERN_BYTES;
use codeyard_model::code::CaseRule;
use grep_matcher::Matcher;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSet, ClassSetItem, Literal, parse};
use regex_syntax::hir::Look;
use std::fmt;

/// Largest compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 16 * 1024 * 1024;
/// Cache of a regular expression's states in each searching thread, in bytes; a full cache is cleared.
const REGEX_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// The deepest nesting of groups, as in ripgrep.
const MAX_NESTING: u32 = 250;

/// A text or a regular expression to search for, and how to match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextQuery {
    /// The text or regular expression.
    pub pattern: String,
    /// `pattern` is a regular expression, not a text.
    pub is_regex: bool,
    /// How letter case is matched.
    pub case: CaseRule,
    /// A match must not have a letter, digit or underscore before or after it.
    pub word: bool,
}

/// A compiled search pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(super) matcher: RegexMatcher,
    plan: GramPlan,
    /// What matching lines must also match, or must not, if the flag is set.
    pub(super) conditions: Vec<(RegexMatcher, bool)>,
    /// Whether a line matches depends on this line only, not on the text's beginning or end.
    pub(super) is_line_local: bool,
}

/// Why a pattern cannot be searched for. The text of the error says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// More than [`MAX_PATTERN_BYTES`].
    TooLong,
    /// It can only match more than one line.
    LineBreak,
    /// It can only match a NUL byte, which searched files don't contain.
    Nul,
    /// Not a regular expression: the reason, and the position in characters, from 1, if it is known.
    Syntax(String, Option<usize>),
    /// The compiled expression takes more than [`MAX_REGEX_BYTES`].
    TooLarge,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "The query is longer than {MAX_PATTERN_BYTES} bytes. Search for a part of it.")
            }
            Self::LineBreak => f.write_str(
                "The query contains a line break, but each line is searched separately. Search for one of its lines, and request \
                 more context lines.",
            ),
            Self::Nul => f.write_str(
                "The query can only match a NUL byte, and files that contain one aren't searched. Remove it from the query.",
            ),
            Self::Syntax(what, at) => {
                write!(f, "The query isn't a regular expression: {what}")?;
                if let Some(at) = at {
                    write!(f, ", at character {at}")?;
                }
                f.write_str(". Correct it, or search for the literal text with mode \"text\".")
            }
            Self::TooLarge => write!(
                f,
                "The compiled regular expression takes more than {} MiB. Use smaller repetition counts, or \
                 `(?-u:...)` around classes such as \\w.",
                MAX_REGEX_BYTES >> 20
            ),
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Compiles a query.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub(crate) fn new(query: &TextQuery) -> Result<Self, PatternError> {
        if query.pattern.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong);
        }
        let source = if query.is_regex { query.pattern.clone() } else { regex_syntax::escape(&query.pattern) };
        // The group keeps an alternation together, as in ripgrep.
        let source = format!("(?:{source})");
        let ast = parsed(&source).map_err(|error| syntax_error_of(&query.pattern, &error))?;
        let is_insensitive = match query.case {
            CaseRule::Sensitive => false,
            CaseRule::Insensitive => true,
            CaseRule::Smart => LiteralCase::of(&ast).ignores_case(),
        };
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).unicode(true).octal(false).case_insensitive(is_insensitive).word(query.word);
        builder.fixed_strings(!query.is_regex).line_terminator(Some(b'\n')).ban_byte(Some(0));
        builder.nest_limit(MAX_NESTING).size_limit(MAX_REGEX_BYTES).dfa_size_limit(REGEX_CACHE_BYTES);
        let mut parser = ParserBuilder::new();
        parser.utf8(false).multi_line(true).unicode(true).octal(false).nest_limit(MAX_NESTING);
        let hir = parser.case_insensitive(is_insensitive).build().parse(&source).map_err(|error| match error {
            regex_syntax::Error::Translate(error) => {
                syntax_error(error.kind(), &source, error.span().start.offset, PREFIX_BYTES)
            }
            error => PatternError::Syntax(error.to_string(), None),
        })?;
        let matcher = builder.build(&query.pattern).map_err(|error| match error.kind() {
            ErrorKind::NotAllowed(_) => PatternError::LineBreak,
            ErrorKind::Banned(_) => PatternError::Nul,
            ErrorKind::Regex(text) if text.contains("size limit") => PatternError::TooLarge,
            _ => PatternError::Syntax(error.to_string(), None),
        })?;
        let look_arounds = hir.properties().look_set();
        let is_line_local = !look_arounds.contains(Look::Start) && !look_arounds.contains(Look::End);
        Ok(Self { matcher, plan: GramPlan::of(&hir), conditions: Vec::new(), is_line_local })
    }

    /// The same pattern, for lines that also match the patterns of `conditions`, and don't match those with a set flag.
    pub(crate) fn with_conditions(mut self, conditions: impl IntoIterator<Item = (Self, bool)>) -> Self {
        for (pattern, is_excluded) in conditions {
            self.is_line_local &= pattern.is_line_local;
            self.conditions.push((pattern.matcher, is_excluded));
        }
        self
    }

    /// Whether a line of this text has a match.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.matcher.is_match(text).unwrap_or(true)
    }

    /// The grams that a content must contain so that this pattern can match in it.
    pub(crate) fn plan(&self) -> &GramPlan {
        &self.plan
    }
}

/// Bytes before the pattern in the parsed expression.
const PREFIX_BYTES: usize = "(?:".len();

fn parsed(source: &str) -> Result<Ast, Box<ast::Error>> {
    parse::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(source).map_err(Box::new)
}

/// The syntax error of `pattern`. The position refers to the pattern itself, if it is also wrong without the group around it.
fn syntax_error_of(pattern: &str, around: &ast::Error) -> PatternError {
    match parsed(pattern) {
        Err(error) => syntax_error(error.kind(), pattern, error.span().start.offset, 0),
        Ok(_) => PatternError::Syntax(around.kind().to_string(), None),
    }
}

/// The error at byte `offset` of `source`. The pattern begins at byte `from`.
fn syntax_error(what: &dyn fmt::Display, source: &str, offset: usize, from: usize) -> PatternError {
    let before = source.get(from..offset).map(|before| before.chars().count() + 1);
    PatternError::Syntax(what.to_string(), before)
}

/// Whether a pattern's literals contain letters in upper case. Classes such as `\pL` don't count.
#[derive(Default)]
struct LiteralCase {
    any: bool,
    any_upper: bool,
}

impl LiteralCase {
    fn of(ast: &Ast) -> Self {
        let mut literals = Self::default();
        literals.add(ast);
        literals
    }

    /// Whether [`CaseRule::Smart`] ignores case for this pattern.
    fn ignores_case(&self) -> bool {
        self.any && !self.any_upper
    }

    fn add(&mut self, ast: &Ast) {
        match ast {
            Ast::Literal(literal) => self.add_literal(literal),
            Ast::ClassBracketed(class) => self.add_set(&class.kind),
            Ast::Repetition(repetition) => self.add(&repetition.ast),
            Ast::Group(group) => self.add(&group.ast),
            Ast::Alternation(parts) => parts.asts.iter().for_each(|part| self.add(part)),
            Ast::Concat(parts) => parts.asts.iter().for_each(|part| self.add(part)),
            Ast::Empty(_) | Ast::Flags(_) | Ast::Dot(_) | Ast::Assertion(_) => {}
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) => {}
        }
    }

    fn add_set(&mut self, set: &ClassSet) {
        match set {
            ClassSet::Item(item) => self.add_item(item),
            ClassSet::BinaryOp(operation) => {
                self.add_set(&operation.lhs);
                self.add_set(&operation.rhs);
            }
        }
    }

    fn add_item(&mut self, item: &ClassSetItem) {
        match item {
            ClassSetItem::Literal(literal) => self.add_literal(literal),
            ClassSetItem::Range(range) => {
                self.add_literal(&range.start);
                self.add_literal(&range.end);
            }
            ClassSetItem::Bracketed(class) => self.add_set(&class.kind),
            ClassSetItem::Union(union) => union.items.iter().for_each(|item| self.add_item(item)),
            ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) => {}
            ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) => {}
        }
    }

    fn add_literal(&mut self, literal: &Literal) {
        self.any = true;
        self.any_upper |= literal.c.is_uppercase();
    }
}
