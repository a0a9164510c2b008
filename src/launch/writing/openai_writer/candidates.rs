//! The blocks of a page that a language model may word anew, and whether what it wrote can stand in their place.
//!
//! Nothing of the model's text is trusted. Invariants: a block that is kept cites claims of the block that it replaces, names no code and no number that
//! isn't proven, keeps the code that the template names, and is one line of text without links, HTML or markup of the site.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::artifacts::facts::{Claim, EvidenceMap};
use crate::artifacts::page_claims::ClaimedBlock;
use crate::markdown::page_blocks::{BlockKind, PageBlock, blocks, options};
use crate::markdown::{cited_markdown, safe_markdown};
use crate::repository::product_sources::has_hidden_signs;
use crate::validation::gates::template_tokens;

/// Length of a block that a language model has written, in bytes.
const MAX_WRITTEN_BLOCK_BYTES: usize = 2_000;

/// Words outside code that a block has at least; labels such as `Version` stay as they are.
const MIN_PROSE_WORDS: usize = 3;
/// Languages in which a capital letter doesn't make a name.
const CAPITALISING_LOCALES: [&str; 2] = ["de", "lb"];

/// A block that may be reworded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its place among the blocks of the page.
    pub(super) block: usize,
    /// Its bytes in the body, the marker of a list item included.
    pub(super) range: Range<usize>,
    /// The marker of a list item with the space after it; empty for a paragraph.
    pub(super) marker: String,
    /// Its Markdown without the marker.
    pub(super) text: String,
    /// The last heading before it; empty if there is none.
    pub(super) heading: String,
    /// Its claims, all of which pages can use.
    pub(super) claims: BTreeSet<String>,
    words: Words,
}

/// What proves a text.
pub(super) struct Proofs<'p> {
    pub(super) evidence: &'p EvidenceMap,
    /// The names of the product and its platform, which need no proof.
    pub(super) known_names: [&'p str; 2],
    /// The language of the page.
    pub(super) locale: &'p str,
    /// The claims that the model was shown.
    pub(super) shown: &'p BTreeSet<String>,
}

/// A block in the place of a template's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reworded {
    /// Its Markdown with the marker of the template's block.
    pub(super) source: String,
    /// The digest of its text, and its claims.
    pub(super) claimed: ClaimedBlock,
}

/// The words of a block that is one paragraph, or one list item with one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Words {
    /// Text outside code.
    prose: String,
    code: Vec<String>,
}

impl Words {
    /// `None` for text with anything else: headings, links, images, HTML, code blocks, further blocks.
    fn of(source: &str) -> Option<Self> {
        let mut words = Self::default();
        let mut paragraphs = 0;
        let mut items = 0;
        for event in Parser::new_ext(source, options()) {
            match event {
                Event::Text(text) => words.prose.push_str(&text),
                Event::Code(text) => {
                    words.prose.push(' ');
                    words.code.push(text.into_string());
                }
                Event::SoftBreak | Event::HardBreak => words.prose.push(' '),
                Event::Start(Tag::Paragraph) => paragraphs += 1,
                Event::Start(Tag::Item) => items += 1,
                Event::Start(Tag::List(_) | Tag::Emphasis | Tag::Strong | Tag::Strikethrough)
                | Event::End(
                    TagEnd::Paragraph
                    | TagEnd::Item
                    | TagEnd::List(_)
                    | TagEnd::Emphasis
                    | TagEnd::Strong
                    | TagEnd::Strikethrough,
                ) => {}
                _ => return None,
            }
        }
        // The paragraph of an item in a tight list has no tag.
        (items + paragraphs == 1).then_some(words)
    }

    /// Whether characters that nobody sees could change what the words say.
    fn hide_something(&self) -> bool {
        let is_unseen = |c: char| {
            matches!(
                c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'
                    ..='\u{206f}'
            ) || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        };
        std::iter::once(&self.prose).chain(&self.code).any(|text| text.contains(is_unseen) || has_hidden_signs(text))
    }

    fn count(&self) -> usize {
        self.prose.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
    }
}

/// The blocks of `body` that can be reworded. `claimed` is the list of its blocks.
pub(super) fn candidates(
    body: &str,
    claimed: &[ClaimedBlock],
    evidence: &EvidenceMap,
    allow_inference: bool,
) -> Vec<Candidate> {
    let is_usable = |id: &String| {
        evidence
            .claims
            .get(id)
            .is_some_and(|claim| !claim.evidence.is_empty() && (allow_inference || !claim.is_inferred))
    };
    let mut heading = String::new();
    let mut found = Vec::new();
    for (number, (block, claimed)) in blocks(body, 1).into_iter().zip(claimed).enumerate() {
        if block.kind == BlockKind::Heading {
            heading.clone_from(&block.text);
        }
        let is_prose = matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem);
        if !is_prose || claimed.claims.is_empty() || !claimed.claims.iter().all(is_usable) {
            continue;
        }
        found.extend(candidate(body, &block, number, &heading, claimed));
    }
    found
}

fn candidate(body: &str, block: &PageBlock, number: usize, heading: &str, claimed: &ClaimedBlock) -> Option<Candidate> {
    let source = body[block.range.clone()].trim_end();
    let marker = if block.kind == BlockKind::ListItem { marker(source)? } else { "" };
    let text = &source[marker.len()..];
    let words = Words::of(source).filter(|words| words.count() >= MIN_PROSE_WORDS)?;
    if source.contains('\n') {
        return None;
    }
    Some(Candidate {
        block: number,
        range: block.range.start..block.range.start + source.len(),
        marker: marker.to_owned(),
        text: text.to_owned(),
        heading: heading.to_owned(),
        claims: claimed.claims.iter().cloned().collect(),
        words,
    })
}

/// The marker of a list item with the space after it.
fn marker(source: &str) -> Option<&str> {
    let digits = source.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &source[digits..];
    let is_marker = if digits == 0 { rest.starts_with(['-', '*', '+']) } else { rest.starts_with(['.', ')']) };
    let text = rest.get(1..).filter(|_| is_marker)?;
    let spaces = text.len() - text.trim_start_matches(' ').len();
    (spaces > 0).then(|| &source[..digits + 1 + spaces])
}

/// What a model wrote for `candidate`, with its marks, as a block of the page; or the word of
/// `docs/internals/reference/contract-launch.md#writers` that says why it can't be one.
pub(super) fn reworded(candidate: &Candidate, written: &str, proofs: &Proofs<'_>) -> Result<Reworded, &'static str> {
    if written.len() > MAX_WRITTEN_BLOCK_BYTES {
        return Err("too_long");
    }
    let (clean, claims) = cited(written);
    if claims.is_disjoint(&candidate.claims) {
        return Err("uncited");
    }
    if !claims.is_subset(proofs.shown) {
        return Err("unknown_claim");
    }
    let words = Words::of(&clean).ok_or("not_prose")?;
    if words.hide_something() {
        return Err("hidden_signs");
    }
    proofs.check(candidate, &words, &claims)?;
    let source = format!("{}{}", candidate.marker, safe_markdown::line(&clean));
    // What is written has to show what was checked, and nothing else.
    let shown = blocks(&source, 1);
    let [block] = shown.as_slice() else { return Err("not_prose") };
    let is_item = block.kind == BlockKind::ListItem;
    let is_same_kind = is_item != candidate.marker.is_empty() && (is_item || block.kind == BlockKind::Paragraph);
    if !is_same_kind || blocks(&clean, 1).first().is_none_or(|checked| checked.text != block.text) {
        return Err("not_prose");
    }
    let claimed = ClaimedBlock { sha256: block.sha256.clone(), claims: claims.into_iter().collect() };
    Ok(Reworded { source, claimed })
}

/// The text without marks, and the claims of all marks.
fn cited(written: &str) -> (String, BTreeSet<String>) {
    let (clean, blocks) = cited_markdown::read(&cited_markdown::from_model(written));
    (clean.trim().to_owned(), blocks.into_iter().flat_map(|block| block.claims).collect())
}

impl Proofs<'_> {
    /// Whether a text says nothing that can be checked and isn't proven.
    fn check(&self, candidate: &Candidate, words: &Words, claims: &BTreeSet<String>) -> Result<(), &'static str> {
        let cited: Vec<&Claim> = claims.iter().filter_map(|id| self.evidence.claims.get(id)).collect();
        let mut texts: Vec<&str> = cited.iter().map(|claim| claim.text.as_str()).collect();
        texts.extend(self.known_names);
        // What a template made of claims is proven by these claims.
        if claims.is_superset(&candidate.claims) {
            texts.push(&candidate.words.prose);
            texts.extend(candidate.words.code.iter().map(String::as_str));
        }
        let proven: BTreeSet<&str> = texts.iter().flat_map(|text| numbers(text)).collect();
        // Scripts need these two inside of words. In a number they would make two of one.
        let prose = words.prose.replace(['\u{200c}', '\u{200d}'], "");
        if numbers(&prose).any(|number| !proven.contains(number)) {
            return Err("unproven_number");
        }
        let places = cited.iter().flat_map(|claim| &claim.evidence).map(|place| place.path.as_str());
        let named: Vec<&str> = texts.iter().copied().chain(places).collect();
        if words.code.iter().any(|code| !named.iter().any(|text| names(text, code))) {
            return Err("unproven_code");
        }
        if candidate.words.code.iter().any(|code| !words.code.contains(code)) {
            return Err("code_left_out");
        }
        let is_markup = words.prose.contains("[[") || template_tokens::has_token(&words.prose);
        if is_markup || addresses(&words.prose).next().is_some() {
            return Err("not_prose");
        }
        let proven: BTreeSet<String> = named.iter().flat_map(|text| parts(text)).map(str::to_lowercase).collect();
        let is_proven = |name: &str| proven.contains(&name.to_lowercase());
        if proper_names(&prose, self.locale).all(is_proven) { Ok(()) } else { Err("unproven_name") }
    }
}

/// The numbers of a text, each as it is written: `1.2.0` is one.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_numeric() && !matches!(c, '.' | ','));
    parts.map(|part| part.trim_matches(['.', ','])).filter(|part| !part.is_empty())
}

/// Whether `text` holds `code`, not only as a part of a longer name.
fn names(text: &str, code: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(code).any(|(at, _)| {
        let continues_before = code.starts_with(is_name) && text[..at].ends_with(is_name);
        let continues_after = code.ends_with(is_name) && text[at + code.len()..].starts_with(is_name);
        !continues_before && !continues_after
    })
}

/// The parts of words that names consist of.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty())
}

/// The words that name something: those with a capital letter inside of a sentence, acronyms, and names of code outside of code spans.
fn proper_names<'t>(prose: &'t str, locale: &str) -> impl Iterator<Item = &'t str> {
    // Every noun has a capital letter there.
    let capitals_count = !CAPITALISING_LOCALES.contains(&locale.split(['-', '_']).next().unwrap_or_default());
    let mut is_start = true;
    prose.split_whitespace().flat_map(move |word| {
        let was_start = is_start;
        is_start = word.trim_end_matches(['"', '\'', ')', '\u{201d}']).ends_with(['.', '!', '?', ':', ';']);
        let inner = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_code = word.contains("()") || inner.contains("::") || inner.contains('.');
        parts(word).enumerate().filter_map(move |(place, part)| {
            let begins_sentence = was_start && place == 0;
            let has_capital = part.chars().next().is_some_and(char::is_uppercase);
            let has_capital_inside = part.chars().skip(1).any(char::is_uppercase);
            let is_capitalised = capitals_count && has_capital && !begins_sentence && part != "I";
            let is_long = part.chars().nth(1).is_some();
            (part.contains('_') || has_capital_inside || is_capitalised || (is_code && is_long)).then_some(part)
        })
    })
}

/// The words that a site shows as links though they have no markup.
fn addresses(prose: &str) -> impl Iterator<Item = &str> {
    prose.split_whitespace().filter(|word| {
        let word = word.to_ascii_lowercase();
        word.contains("://") || word.contains("www.") || word.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::SCHEMA_VERSION;
    use crate::artifacts::facts::Evidence;

    const A: &str = "clm_aaaaaaaaaaaa";
    const B: &str = "clm_bbbbbbbbbbbb";
    const INFERRED: &str = "clm_cccccccccccc";

    fn evidence() -> EvidenceMap {
        let claim = |text: &str, is_inferred: bool| {
            let place = Evidence { path: "src/sort_2.py".into(), line_start: 41, line_end: 43, sha256: "0".repeat(64) };
            Claim { text: text.into(), is_inferred, evidence: vec![place] }
        };
        let claims = [
            (A.to_owned(), claim("Sorts 7 tables with `sort_all(x)`, since 1.2.0", false)),
            (B.to_owned(), claim("Needs Python 3.9", false)),
            (INFERRED.to_owned(), claim("Fast enough for all", true)),
        ];
        EvidenceMap { schema_version: SCHEMA_VERSION.into(), commit: "b".repeat(40), claims: claims.into() }
    }

    fn found(cited: &str) -> Vec<Candidate> {
        let (body, claimed) = cited_markdown::read(cited);
        candidates(&body, &claimed, &evidence(), false)
    }

    fn mark(claim: &str) -> String {
        cited_markdown::cite(&[claim])
    }

    /// The block in the place of a list item about sorting.
    fn written(text: &str) -> Result<String, &'static str> {
        let candidate = found(&format!("* It sorts all tables {}\n", mark(A))).remove(0);
        let evidence = evidence();
        let shown = [A.to_owned(), B.to_owned()].into();
        let proofs = Proofs { evidence: &evidence, known_names: ["Tidy5", "python"], locale: "en", shown: &shown };
        reworded(&candidate, text, &proofs).map(|block| {
            let kept = blocks(&block.source, 1);
            assert_eq!(kept[0].sha256, block.claimed.sha256);
            block.source
        })
    }

    #[test]
    fn only_prose_with_usable_claims_can_be_reworded() {
        let a = mark(A);
        let b = mark(B);
        let inferred = mark(INFERRED);
        let unknown = mark("clm_000000000000");
        let body = format!(
            "# It has a title {a}\n\nIt sorts all tables {a}\n\nNobody claims this here\n\nIt may be fast {inferred}\n\nIt is not known {unknown}\n\n\
             See [the other page](/x) for it {a}\n\n- It sorts all of it {a}\n- Version: `1` {b}\n\n1. It needs a Python {b}\n   - and it nests more {b}\n\n\
             | It sorts all tables |\n|---|\n| It sorts all tables {a} |\n\n```\nit sorts all tables\n```\n{a}\n\n<p>it sorts all tables</p> {a}\n\n\
             > It is a quotation\n> of two lines {a}\n"
        );
        let texts: Vec<(String, String, String)> =
            found(&body).into_iter().map(|found| (found.marker, found.text, found.heading)).collect();
        let heading = "It has a title".to_owned();
        assert_eq!(
            texts,
            [
                (String::new(), "It sorts all tables".to_owned(), heading.clone()),
                ("- ".to_owned(), "It sorts all of it".to_owned(), heading.clone()),
                ("- ".to_owned(), "and it nests more".to_owned(), heading),
            ]
        );
    }

    #[test]
    fn cited_prose_takes_the_place_of_the_templates() {
        for (text, expected) in [
            ("Puts *tables* in order. [[claim:A]]", "* Puts tables in order."),
            ("- An item [[claim:A]]", "* An item"),
            ("Two\nlines [[claim:B, A]]", "* Two lines"),
            ("`sort_all(x)` sorts 7 tables since 1.2.0. [[claim:A]]", "* `sort_all(x)` sorts 7 tables since 1.2.0."),
            ("See `src/sort_2.py` of Tidy5 [[claim:A]]", "* See `src/sort_2.py` of Tidy5"),
            ("Python 3.9 is enough [[claim:A]] [[claim:B]]", "* Python 3.9 is enough"),
            ("a * b [c] &lt; 'd' [[claim:A]]", "* a \\* b \\[c\\] &lt; 'd'"),
        ] {
            let text = text.replace("claim:A", &format!("claim:{A}")).replace("claim:B", &format!("claim:{B}"));
            let text = text.replace(", A]]", &format!(", {A}]]"));
            assert_eq!(written(&text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_proven_text_is_refused() {
        let long = "word ".repeat(500);
        for (text, reason) in [
            ("No mark", "uncited"),
            ("Another claim [[claim:B]]", "uncited"),
            ("[[claim:A]]", "uncited"),
            ("Not shown [[claim:A,clm_cccccccccccc]]", "unknown_claim"),
            ("Made up [[claim:A,clm_999999999999]]", "unknown_claim"),
            ("Sorts 8 tables [[claim:A]]", "unproven_number"),
            ("Sorts 77 tables [[claim:A]]", "unproven_number"),
            ("Since 1.2 [[claim:A]]", "unproven_number"),
            ("Since 2.1.0 [[claim:A]]", "unproven_number"),
            ("Ready in \u{663} steps, \u{bd} the time [[claim:A]]", "unproven_number"),
            ("Needs 41 lines [[claim:A]]", "unproven_number"),
            ("Needs Python 3.9 [[claim:A]]", "unproven_number"),
            ("Call `drop_all()` [[claim:A]]", "unproven_code"),
            ("Call `sort` [[claim:A]]", "unproven_code"),
            ("# It sorts [[claim:A]]", "not_prose"),
            ("It sorts\n=== \n[[claim:A]]", "not_prose"),
            ("It sorts [[claim:A]]\n\nand more", "not_prose"),
            ("- one [[claim:A]]\n- two", "not_prose"),
            ("> quote [[claim:A]]", "not_prose"),
            ("```\nsort_all(x)\n```\n[[claim:A]]", "not_prose"),
            ("| a |\n|---|\n| b [[claim:A]] |", "not_prose"),
            ("<b>It</b> sorts [[claim:A]]", "not_prose"),
            ("<script>x</script> [[claim:A]]", "not_prose"),
            ("It [sorts](https://x.example) [[claim:A]]", "not_prose"),
            ("It ![sorts](x.png) [[claim:A]]", "not_prose"),
            ("<https://x.example> [[claim:A]]", "not_prose"),
            ("See https://x.example [[claim:A]]", "not_prose"),
            ("See WWW.x.example [[claim:A]]", "not_prose"),
            ("Ask me@x.example [[claim:A]]", "not_prose"),
            ("{{< ref \"x\" >}} [[claim:A]]", "not_prose"),
            ("It {{ .Site }} sorts [[claim:A]]", "not_prose"),
            ("TODO: say how it sorts [[claim:A]]", "not_prose"),
            ("It {% sorts %} <% x %> [[claim:A]]", "not_prose"),
            ("It sorts [[claim:A]] [[claim:", "not_prose"),
            ("It sorts [[Page]] [[claim:A]]", "not_prose"),
            ("It sorts[^1] [[claim:A]]\n\n[^1]: note", "not_prose"),
            ("---\n[[claim:A]]", "uncited"),
            ("[x]: https://x.example\n[[claim:A]]", "uncited"),
            ("It \u{202e}sorts\u{202c} [[claim:A]]", "hidden_signs"),
            ("It\u{200b} sorts [[claim:A]]", "hidden_signs"),
            ("It&#8203; sorts [[claim:A]]", "hidden_signs"),
            ("It `sort_all(x)&#x202e;` sorts \u{e0041} [[claim:A]]", "hidden_signs"),
            ("It sorts 7\u{200d}7 tables [[claim:A]]", "unproven_number"),
            (&format!("{long}[[claim:A]]"), "too_long"),
        ] {
            let text = text.replace("claim:A", &format!("claim:{A}")).replace("claim:B", &format!("claim:{B}"));
            assert_eq!(written(&text), Err(reason), "{text}");
        }
    }

    #[test]
    fn names_that_nobody_has_proven_are_refused() {
        for text in [
            "Sorts tables of Postgres",
            "Faster than `sort_all(x)` of Pandas",
            "sqlXyz is sorted",
            "Sorts REST tables",
            "Call drop_all first",
            "First call drop() on it",
            "Sorts std::fs tables",
            "Sorts tidy.other tables",
            "It sorts. (On Windows too)",
        ] {
            assert_eq!(written(&format!("{text} [[claim:{A}]]")), Err("unproven_name"), "{text}");
        }
        for text in [
            "Tables, e.g. with words. They are sorted: All of them! What I want?",
            "The Python tables of Tidy5's users",
            "Call sort_all() with x, as in src.py",
            "Sorts it with \"Tidy5.\" That is all.",
            "\u{e9}t\u{e9} \u{4e2d}\u{6587}",
        ] {
            let written = written(&format!("{text} [[claim:{A}]]"));
            assert!(written.is_ok(), "{text}: {written:?}");
        }
        assert_eq!(proper_names("Die Tabelle der HTML-Seite", "de-AT").collect::<Vec<_>>(), ["HTML"]);
    }

    #[test]
    fn code_that_the_template_names_stays() {
        let candidate = found(&format!("It needs Python `3.9` here {}\n", mark(B))).remove(0);
        let evidence = evidence();
        let shown = [A.to_owned(), B.to_owned()].into();
        let proofs = Proofs { evidence: &evidence, known_names: ["", ""], locale: "en", shown: &shown };
        let with =
            |text: &str| reworded(&candidate, &format!("{text} [[claim:{B}]]"), &proofs).map(|block| block.source);
        assert_eq!(with("It needs Python"), Err("code_left_out"));
        assert_eq!(with("Use Python `3.9`").as_deref(), Ok("Use Python `3.9`"));
    }
}
