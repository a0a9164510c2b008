//! Markdown whose blocks name their claims, as templates and models write it, and the clean page that readers see.
//!
//! Templates mark a block with [`cite`], which uses characters that no page holds; models write `[[claim:ID]]`, which [`from_model`] turns into the
//! same. A mark belongs to the block that it stands in, or to the one before it. Invariants: a clean page has no mark; each of its blocks is listed once,
//! in its order. Source: `docs/internals/reference/contract-launch.md#claims`.

use std::collections::BTreeSet;

use crate::artifacts::page_claims::ClaimedBlock;
use crate::markdown::page_blocks::{PageBlock, blocks};

/// The characters around a mark. Text from a repository never holds them: [`without_marks`].
const BEGIN: char = '\u{E000}';
const END: char = '\u{E001}';

pub(crate) fn cite(claims: &[&str]) -> String {
    if claims.is_empty() { String::new() } else { format!("{BEGIN}{}{END}", claims.join(",")) }
}

/// `text` with nothing that looks like a mark.
pub(crate) fn without_marks(text: &str) -> String {
    text.replace([BEGIN, END], "\u{FFFD}")
}

/// What a model wrote, with the marks of templates.
pub fn from_model(text: &str) -> String {
    let mut rest = without_marks(text);
    let mut cited = String::new();
    while let Some(at) = rest.find("[[claim:") {
        let Some(end) = rest[at..].find("]]") else { break };
        let inner = rest[at + "[[claim:".len()..at + end].to_owned();
        let ids: Vec<&str> = inner.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
        cited.push_str(&rest[..at]);
        cited.push_str(&cite(&ids));
        rest.drain(..at + end + 2);
    }
    cited + &rest
}

/// The clean text of a body, and its blocks with their claims.
pub(crate) fn read(cited: &str) -> (String, Vec<ClaimedBlock>) {
    let (clean, marks) = strip(cited);
    let found = blocks(&clean, 1);
    let mut claims: Vec<BTreeSet<String>> = vec![BTreeSet::new(); found.len()];
    for (at, ids) in marks {
        if let Some(block) = block_at(&found, at) {
            claims[block].extend(ids);
        }
    }
    let listed = found
        .into_iter()
        .zip(claims)
        .map(|(block, claims)| ClaimedBlock { sha256: block.sha256, claims: claims.into_iter().collect() });
    (clean, listed.collect())
}

/// The block that a mark at `at` belongs to: the smallest around it, or the last one that begins before it.
fn block_at(found: &[PageBlock], at: usize) -> Option<usize> {
    let around = (0..found.len()).filter(|index| found[*index].range.start <= at && at <= found[*index].range.end);
    let smallest = around.min_by_key(|index| (found[*index].range.len(), usize::MAX - index));
    smallest.or_else(|| (0..found.len()).rfind(|index| found[*index].range.start <= at))
}

/// The text without marks, and where each was. A mark on a line of its own takes the line with it.
fn strip(cited: &str) -> (String, Vec<(usize, Vec<String>)>) {
    let mut clean = String::with_capacity(cited.len());
    let mut marks = Vec::new();
    for line in cited.split_inclusive('\n') {
        let mut rest = line;
        let mut kept = String::new();
        let mut found: Vec<(usize, Vec<String>)> = Vec::new();
        while let Some((before, after)) = rest.split_once(BEGIN) {
            let Some((inner, after)) = after.split_once(END) else { break };
            kept.push_str(before.trim_end_matches(' '));
            found.push((kept.len(), inner.split(',').map(str::to_owned).collect()));
            rest = after;
        }
        kept.push_str(&rest.replace([BEGIN, END], ""));
        let is_own_line = !found.is_empty() && kept.trim().is_empty();
        let start = clean.len();
        if is_own_line {
            // The end of the block before it.
            let end = clean.trim_end().len();
            marks.extend(found.into_iter().map(|(_, ids)| (end, ids)));
        } else {
            marks.extend(found.into_iter().map(|(at, ids)| (start + at, ids)));
            clean.push_str(&kept);
        }
    }
    (clean, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "clm_aaaaaaaaaaaa";
    const B: &str = "clm_bbbbbbbbbbbb";

    fn claims(cited: &str) -> (String, Vec<Vec<String>>) {
        let (clean, blocks) = read(cited);
        (clean, blocks.into_iter().map(|block| block.claims).collect())
    }

    #[test]
    fn marks_belong_to_their_blocks_and_leave_no_trace() {
        let a = cite(&[A]);
        let b = cite(&[A, B]);
        let cited = format!(
            "## Title\n\nText. {a}\n\n- one {a}\n  - two {b}\n- three\n\n| x | y |\n|---|---|\n| 1 | 2 {b} |\n\n```py\nx\n```\n{a}\n\nEnd.\n"
        );
        let (clean, claims) = claims(&cited);
        assert_eq!(
            clean,
            "## Title\n\nText.\n\n- one\n  - two\n- three\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```py\nx\n```\n\nEnd.\n"
        );
        let one = vec![A.to_owned()];
        let two = vec![A.to_owned(), B.to_owned()];
        let none = Vec::new();
        assert_eq!(
            claims,
            [none.clone(), one.clone(), one.clone(), two.clone(), none.clone(), none.clone(), two, one, none]
        );
    }

    #[test]
    fn a_model_writes_marks_in_words() {
        let (clean, found) =
            claims(&from_model(&format!("Fast. [[claim:{A}, {B}]]\n\nNo mark. \u{E000}x\u{E001} [[claim:\n")));
        assert_eq!(found, [vec![A.to_owned(), B.to_owned()], Vec::new()]);
        assert_eq!(clean, "Fast.\n\nNo mark. \u{FFFD}x\u{FFFD} [[claim:\n");
    }

    #[test]
    fn text_of_a_repository_makes_no_mark() {
        let text = without_marks(&format!("x{}y", cite(&[A])));
        assert_eq!(claims(&text).1, [Vec::<String>::new()]);
    }
}
