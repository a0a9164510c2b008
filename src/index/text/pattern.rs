//! What is looked for: a text or a regular expression, read exactly as ripgrep reads it.
//!
//! Invariant: the matcher and the plan are made from the same words with the same settings, so that they can't disagree.

use super::plan::Plan;
use crate::limits::{MAX_PATTERN_BYTES, MAX_REGEX_BYTES, REGEX_CACHE_BYTES};
use codeyard_model::code::CaseRule;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSet, ClassSetItem, Literal, parse};
use regex_syntax::hir::Look;
use std::fmt;

/// How deep groups may be nested, as in ripgrep.
const MAX_NESTING: u32 = 250;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    /// As it was given.
    pub pattern: String,
    /// It is a regular expression, not a text.
    pub is_regex: bool,
    /// See there.
    pub case: CaseRule,
    /// Only where no letter, digit or underscore stands before or after it.
    pub word: bool,
}

/// Something that can be searched for.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(super) matcher: RegexMatcher,
    plan: Plan,
    /// Whether a line matches hangs on this line only, not on where the text begins or ends.
    pub(super) by_line: bool,
}

/// Why a pattern can't be searched for. Its text says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// More than [`MAX_PATTERN_BYTES`].
    TooLong,
    /// It could only match more than one line.
    LineBreak,
    /// It could only match what files that are searched don't hold.
    Nul,
    /// Not a regular expression: what is wrong, and the letter where, from 1, if that is known.
    Syntax(String, Option<usize>),
    /// Compiled it would take more than [`MAX_REGEX_BYTES`].
    TooLarge,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "The query is longer than {MAX_PATTERN_BYTES} bytes. Search for a part of it.")
            }
            Self::LineBreak => f.write_str(
                "The query holds a line break, but lines are searched one by one. Search for one of its lines, and ask for \
                 more context lines.",
            ),
            Self::Nul => f.write_str(
                "The query can only match a NUL byte, and files that hold one aren't searched. Leave it out of the query.",
            ),
            Self::Syntax(what, at) => {
                write!(f, "The query isn't a regular expression: {what}")?;
                if let Some(at) = at {
                    write!(f, ", at letter {at}")?;
                }
                f.write_str(". Correct it, or search for it letter by letter with mode \"text\".")
            }
            Self::TooLarge => write!(
                f,
                "The regular expression takes more than {} MiB when it is compiled. Use smaller repetition counts, or \
                 `(?-u:...)` around classes such as \\w.",
                MAX_REGEX_BYTES >> 20
            ),
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Reads what is asked for.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub(crate) fn new(ask: &Ask) -> Result<Self, PatternError> {
        if ask.pattern.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong);
        }
        let source = if ask.is_regex { ask.pattern.clone() } else { regex_syntax::escape(&ask.pattern) };
        // What stands around it, as in ripgrep, keeps the parts of an alternation together.
        let source = format!("(?:{source})");
        let ast = parsed(&source).map_err(|error| misread(&ask.pattern, &error))?;
        let is_insensitive = match ask.case {
            CaseRule::Sensitive => false,
            CaseRule::Insensitive => true,
            CaseRule::Smart => Letters::of(&ast).mean_both_cases(),
        };
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).unicode(true).octal(false).case_insensitive(is_insensitive).word(ask.word);
        builder.fixed_strings(!ask.is_regex).line_terminator(Some(b'\n')).ban_byte(Some(0));
        builder.nest_limit(MAX_NESTING).size_limit(MAX_REGEX_BYTES).dfa_size_limit(REGEX_CACHE_BYTES);
        let mut parser = ParserBuilder::new();
        parser.utf8(false).multi_line(true).unicode(true).octal(false).nest_limit(MAX_NESTING);
        let hir = parser.case_insensitive(is_insensitive).build().parse(&source).map_err(|error| match error {
            regex_syntax::Error::Translate(error) => syntax(error.kind(), &source, error.span().start.offset, OPENED),
            error => PatternError::Syntax(error.to_string(), None),
        })?;
        let matcher = builder.build(&ask.pattern).map_err(|error| match error.kind() {
            ErrorKind::NotAllowed(_) => PatternError::LineBreak,
            ErrorKind::Banned(_) => PatternError::Nul,
            ErrorKind::Regex(text) if text.contains("size limit") => PatternError::TooLarge,
            _ => PatternError::Syntax(error.to_string(), None),
        })?;
        let looks = hir.properties().look_set();
        let by_line = !looks.contains(Look::Start) && !looks.contains(Look::End);
        Ok(Self { matcher, plan: Plan::of(&hir), by_line })
    }

    /// Which grams a content must have so that this can match in it.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Bytes that stand before the pattern in what is parsed.
const OPENED: usize = "(?:".len();

fn parsed(source: &str) -> Result<Ast, Box<ast::Error>> {
    parse::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(source).map_err(Box::new)
}

/// What is wrong with `pattern`: said of the pattern as it was given, if it is wrong without what was put around it.
fn misread(pattern: &str, around: &ast::Error) -> PatternError {
    match parsed(pattern) {
        Err(error) => syntax(error.kind(), pattern, error.span().start.offset, 0),
        Ok(_) => PatternError::Syntax(around.kind().to_string(), None),
    }
}

/// The error at this byte of `source`, in which the pattern begins at `from`.
fn syntax(what: &dyn fmt::Display, source: &str, offset: usize, from: usize) -> PatternError {
    let before = source.get(from..offset).map(|before| before.chars().count() + 1);
    PatternError::Syntax(what.to_string(), before)
}

/// The letters that a pattern itself holds: not those of classes such as `\pL`.
#[derive(Default)]
struct Letters {
    any: bool,
    any_upper: bool,
}

impl Letters {
    fn of(ast: &Ast) -> Self {
        let mut letters = Self::default();
        letters.add(ast);
        letters
    }

    /// What `CaseRule::Smart` asks.
    fn mean_both_cases(&self) -> bool {
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
