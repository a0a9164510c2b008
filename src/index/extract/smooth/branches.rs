//! Branches of `#if` that aren't whole: their directives go, and all branches but one.

use super::Page;
use super::tokens::{Kind, Token};

/// An `#if` that isn't closed yet.
struct Group {
    /// Its directives so far, as places in the tokens.
    directives: Vec<usize>,
    braces: i32,
    parens: i32,
    /// Its branches can't be parsed as they are.
    is_odd: bool,
    /// The branch that stays if they can't: the first, unless that is never compiled.
    kept: usize,
    /// What is open where the kept branch ends.
    after: (i32, i32),
}

/// Groups deeper than this are left as they are.
const DEEPEST: usize = 200;

/// Blanks odd branches, and takes their tokens out.
pub(super) fn straighten(page: &mut Page<'_>, tokens: &mut Vec<Token>, is_cpp: bool) {
    let mut groups: Vec<Group> = Vec::new();
    let (mut braces, mut parens) = (0_i32, 0_i32);
    let mut gone: Vec<(usize, usize)> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].kind {
            Kind::Sign(b'{') => braces += 1,
            Kind::Sign(b'}') => {
                braces -= 1;
                if let Some(group) = groups.last_mut() {
                    group.is_odd |= braces < group.braces;
                }
            }
            Kind::Sign(b'(') => parens += 1,
            Kind::Sign(b')') => parens -= 1,
            Kind::If if groups.len() < DEEPEST => {
                let never = is_never(page.word(tokens[at]), is_cpp);
                groups.push(Group {
                    directives: vec![at],
                    braces,
                    parens,
                    is_odd: parens > 0 || never,
                    kept: usize::from(never),
                    after: (braces, parens),
                });
            }
            Kind::Else | Kind::End => {
                let Some(mut group) = groups.pop() else { continue };
                let from = group.directives.last().map_or(0, |directive| directive + 1);
                let is_whole = (braces, parens) == (group.braces, group.parens);
                group.is_odd |= !is_whole || is_torn(page, &tokens[from..at]);
                if group.directives.len() == group.kept + 1 {
                    group.after = (braces, parens);
                }
                group.directives.push(at);
                if tokens[at].kind == Kind::Else {
                    (braces, parens) = (group.braces, group.parens);
                    groups.push(group);
                } else if group.is_odd {
                    (braces, parens) = group.after;
                    blank(page, tokens, &group, &mut gone);
                    if let Some(outer) = groups.last_mut() {
                        outer.is_odd |= braces < outer.braces;
                    }
                }
            }
            _ => {}
        }
    }
    if !gone.is_empty() {
        remove(tokens, &mut gone);
    }
}

/// `#if 0`, and in C what only C++ sees.
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

/// Whether a branch begins or ends in the middle of something.
fn is_torn(page: &Page<'_>, branch: &[Token]) -> bool {
    let (Some(first), Some(last)) = (branch.first(), branch.last()) else { return false };
    let begins = match first.kind {
        Kind::Word => page.word(*first) == "else",
        Kind::Sign(sign) => b"|&?=<>.),/:".contains(&sign),
        _ => false,
    };
    let ends = match last.kind {
        Kind::Sign(sign) => !b";},:{".contains(&sign),
        Kind::Word | Kind::Value => true,
        _ => false,
    };
    begins || ends
}

/// Blanks the directives of a group and all branches but the one that stays.
fn blank(page: &mut Page<'_>, tokens: &[Token], group: &Group, gone: &mut Vec<(usize, usize)>) {
    for (branch, pair) in group.directives.windows(2).enumerate() {
        let [from, to] = pair else { continue };
        let (directive, next) = (tokens[*from], tokens[*to]);
        let end = if branch == group.kept { directive.end } else { next.start };
        page.blank(directive.start as usize, end as usize);
        gone.push((*from, if branch == group.kept { from + 1 } else { *to }));
    }
    if let Some(last) = group.directives.last() {
        page.blank(tokens[*last].start as usize, tokens[*last].end as usize);
        gone.push((*last, last + 1));
    }
}

fn remove(tokens: &mut Vec<Token>, gone: &mut [(usize, usize)]) {
    gone.sort_unstable();
    let mut ranges = gone.iter().peekable();
    let (mut at, mut until) = (0, 0);
    tokens.retain(|_| {
        while let Some((_, end)) = ranges.next_if(|(from, _)| *from <= at) {
            until = until.max(*end);
        }
        at += 1;
        at > until
    });
}
