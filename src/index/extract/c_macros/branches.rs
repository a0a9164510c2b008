//! Blanks the directives of an `#if` whose branches aren't whole, and all its branches but one.

use super::BlankedText;
use super::tokens::{CToken, TokenKind};

/// An `#if` without its `#endif` so far.
struct Conditional {
    /// The token indices of its directives so far.
    directives: Vec<usize>,
    /// The brace and parenthesis depth before it.
    braces: i32,
    parens: i32,
    /// Its branches can't be parsed as they are.
    is_partial: bool,
    /// The branch that is kept then: the first one, unless that is never compiled.
    kept: usize,
    /// The brace and parenthesis depth at the end of the kept branch.
    after: (i32, i32),
}

/// Conditionals nested deeper than this are not changed.
const MAX_DEPTH: usize = 200;

/// Blanks the branches of partial conditionals and removes their tokens.
pub(super) fn blank_partial_branches(buffer: &mut BlankedText<'_>, tokens: &mut Vec<CToken>, is_cpp: bool) {
    let mut conditionals: Vec<Conditional> = Vec::new();
    let mut braces = 0_i32;
    let mut parens = 0_i32;
    let mut removed: Vec<(usize, usize)> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].kind {
            TokenKind::Punctuation(b'{') => braces += 1,
            TokenKind::Punctuation(b'}') => {
                braces -= 1;
                if let Some(conditional) = conditionals.last_mut() {
                    conditional.is_partial |= braces < conditional.braces;
                }
            }
            TokenKind::Punctuation(b'(') => parens += 1,
            TokenKind::Punctuation(b')') => parens -= 1,
            TokenKind::If if conditionals.len() < MAX_DEPTH => {
                let never = is_never(buffer.word(tokens[at]), is_cpp);
                conditionals.push(Conditional {
                    directives: vec![at],
                    braces,
                    parens,
                    is_partial: parens > 0 || never,
                    kept: usize::from(never),
                    after: (braces, parens),
                });
            }
            TokenKind::Else | TokenKind::End => {
                let Some(mut conditional) = conditionals.pop() else { continue };
                let from = conditional.directives.last().map_or(0, |directive| directive + 1);
                let is_whole = (braces, parens) == (conditional.braces, conditional.parens);
                conditional.is_partial |= !is_whole || is_partial_branch(buffer, &tokens[from..at]);
                if conditional.directives.len() == conditional.kept + 1 {
                    conditional.after = (braces, parens);
                }
                conditional.directives.push(at);
                if tokens[at].kind == TokenKind::Else {
                    (braces, parens) = (conditional.braces, conditional.parens);
                    conditionals.push(conditional);
                } else if conditional.is_partial {
                    (braces, parens) = conditional.after;
                    blank(buffer, tokens, &conditional, &mut removed);
                    if let Some(outer) = conditionals.last_mut() {
                        outer.is_partial |= braces < outer.braces;
                    }
                }
            }
            _ => {}
        }
    }
    if !removed.is_empty() {
        remove(tokens, &mut removed);
    }
}

/// Whether the first branch is never compiled: `#if 0`, or in C a branch for C++ only.
fn is_never(directive: &str, is_cpp: bool) -> bool {
    let condition = directive.trim_start_matches('#').trim();
    let mut words = condition.split_whitespace();
    match words.next() {
        Some("if") if words.clone().next() == Some("0") => true,
        Some("if" | "ifdef") if !is_cpp => {
            let rest: String = words.collect();
            matches!(rest.split("/*").next(), Some("__cplusplus" | "defined(__cplusplus)" | "defined__cplusplus"))
        }
        _ => false,
    }
}

/// Whether a branch begins or ends inside a declaration or statement.
fn is_partial_branch(buffer: &BlankedText<'_>, branch: &[CToken]) -> bool {
    let (Some(first), Some(last)) = (branch.first(), branch.last()) else { return false };
    let begins = match first.kind {
        TokenKind::Word => buffer.word(*first) == "else",
        TokenKind::Punctuation(c) => b"|&?=<>.),/:".contains(&c),
        _ => false,
    };
    let ends = match last.kind {
        TokenKind::Punctuation(c) => !b";},:{".contains(&c),
        TokenKind::Word | TokenKind::Value => true,
        _ => false,
    };
    begins || ends
}

/// Blanks the directives of a conditional and all its branches but the kept one.
fn blank(
    buffer: &mut BlankedText<'_>,
    tokens: &[CToken],
    conditional: &Conditional,
    removed: &mut Vec<(usize, usize)>,
) {
    for (branch, pair) in conditional.directives.windows(2).enumerate() {
        let [from, to] = pair else { continue };
        let directive = tokens[*from];
        let next = tokens[*to];
        let end = if branch == conditional.kept { directive.end } else { next.start };
        buffer.blank(directive.start as usize..end as usize);
        removed.push((*from, if branch == conditional.kept { from + 1 } else { *to }));
    }
    if let Some(last) = conditional.directives.last() {
        buffer.blank(tokens[*last].start as usize..tokens[*last].end as usize);
        removed.push((*last, last + 1));
    }
}

fn remove(tokens: &mut Vec<CToken>, removed: &mut [(usize, usize)]) {
    removed.sort_unstable();
    let mut ranges = removed.iter().peekable();
    let mut at = 0;
    let mut until = 0;
    tokens.retain(|_| {
        while let Some((_, end)) = ranges.next_if(|(from, _)| *from <= at) {
            until = until.max(*end);
        }
        at += 1;
        at > until
    });
}
