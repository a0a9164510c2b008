//! A plan never excludes a matching line, for any pattern and text, and it excludes many others.

use super::super::grams::{FOLDED, Gram, GramCollector, LONG_GRAM_BYTES, long_gram, trigram};
use super::super::{GramPlan, Pattern, PatternError};
use super::*;
use grep_searcher::{BinaryDetection, SearcherBuilder, sinks};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

pub(super) fn grams(text: &[u8]) -> BTreeSet<Gram> {
    thread_local! {
        static COLLECTOR: RefCell<GramCollector> = RefCell::new(GramCollector::new());
    }
    let mut found = Vec::new();
    COLLECTOR.with_borrow_mut(|collector| collector.collect(text, &mut found));
    let distinct: BTreeSet<_> = found.iter().copied().collect();
    assert_eq!(distinct.len(), found.len(), "a gram came twice");
    distinct
}

fn grams_by_definition(text: &[u8]) -> BTreeSet<Gram> {
    let mut found = BTreeSet::new();
    for line in text.split(|byte| *byte == b'\n') {
        for bytes in line.windows(LONG_GRAM_BYTES) {
            let bytes: [u8; LONG_GRAM_BYTES] = bytes.try_into().unwrap();
            let upper = bytes.iter().fold(0, |bits, byte| bits * 2 + u32::from(byte.is_ascii_uppercase()));
            found.insert(long_gram(bytes.map(|byte| FOLDED[usize::from(byte)])) + upper);
        }
        let line = line.to_ascii_lowercase();
        found.extend(line.windows(3).map(|bytes| trigram(bytes.try_into().unwrap())));
        if let [one, other] = line[..] {
            found.insert(trigram([one, other, b'\n']));
        }
    }
    found
}

/// The matching lines.
fn matched(pattern: &Pattern, text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut builder = SearcherBuilder::new();
    builder.binary_detection(BinaryDetection::none()).bom_sniffing(false).line_number(true);
    let sink = sinks::Bytes(|_, line| {
        lines.push(line.to_vec());
        Ok(true)
    });
    builder.build().search_slice(&pattern.matcher, text, sink).unwrap();
    lines
}

/// Characters with unusual case mappings (long s, Kelvin, sharp s, sigma), and some that aren't letters.
const CHARACTERS: &[&str] =
    &["a", "b", "c", "k", "s", "A", "K", "S", "_", "1", " ", "ſ", "\u{212a}", "ß", "ς", "Σ", "é"];

fn character() -> impl Strategy<Value = String> {
    prop::sample::select(CHARACTERS).prop_map(str::to_owned)
}

fn expression() -> impl Strategy<Value = String> {
    let class = prop::sample::select(
        &[
            ".", "\\w", "\\d", "\\s", "[a-c]", "[^a]", "[ks]", "[^ks_]", "[a\\n]", "[A-Z&&[^K]]",
            "(?-u:[\\x80-\\xff])", "\\p{Lu}", "(?i:k)", "(?i:[^s])", "(?s:.)", "[bB&&[^b]]", "(?-i:S)",
            "[\\x00-\\xff]", "(?-u:\\xc5)",
        ][..],
    );
    let look = prop::sample::select(&["^", "$", "\\b", "\\B", "\\A", "\\z", ""][..]);
    let word = prop::collection::vec(character(), 1..5).prop_map(|parts| parts.concat());
    let leaf =
        prop_oneof![4 => character(), 4 => word, 3 => class.prop_map(str::to_owned), 1 => look.prop_map(str::to_owned)];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let times =
            prop::sample::select(&["*", "+", "?", "{2}", "{3}", "{2,}", "{0,2}", "{1,3}", "{9}", "{0}", "*?"][..]);
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            3 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner.clone(), times).prop_map(|(part, times)| format!("(?:{part}){times}")),
            1 => inner.clone().prop_map(|part| format!("({part})")),
            1 => inner.prop_map(|part| format!("(?i:{part})")),
        ]
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => character().prop_map(String::into_bytes),
        2 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
        1 => Just("ab".repeat(9).into_bytes()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matching_lines_are_not_excluded(
        expression in expression(),
        texts in prop::collection::vec(text(), 1..8),
        case in prop::sample::select(CaseRule::ALL),
        word in any::<bool>(),
    ) {
        let query = TextQuery { pattern: expression, is_regex: true, case, word };
        let Ok(pattern) = Pattern::new(&query) else { return Ok(()) };
        for text in texts {
            for line in matched(&pattern, &text) {
                let plan = pattern.plan();
                prop_assert!(plan.is_satisfied(&grams(&line)), "{query:?} {plan:?} {:?}", String::from_utf8_lossy(&line));
            }
        }
    }

    /// Texts derived from the pattern nearly always match, so this test doesn't pass for lack of matches.
    #[test]
    fn texts_derived_from_the_pattern_are_not_excluded(
        pieces in prop::collection::vec((prop::collection::vec(character(), 0..7), 0..7_usize), 1..5),
        before in text(),
        after in text(),
        case in prop::sample::select(CaseRule::ALL),
    ) {
        let mut pattern = String::new();
        let mut text = before;
        for (chars, form) in pieces {
            let chars = chars.concat();
            let (expression, instance) = match form {
                0 => (chars.clone(), chars),
                1 => (format!("(?:x|{chars}|yy)"), chars),
                2 => (format!("(?:{chars})+"), chars.repeat(3)),
                3 => (format!("(?i:{chars})"), chars.to_uppercase()),
                4 => (format!("[{chars}x][a-c]?"), chars.chars().last().unwrap_or('x').to_string()),
                5 => (format!("(?:{chars}){{2}}(?:a|bb|ccccc)"), [&chars, &chars, "ccccc"].concat()),
                _ => (format!("{chars}.*"), format!("{chars}##")),
            };
            pattern.push_str(&expression);
            text.extend(instance.bytes());
        }
        text.extend(after);
        let Ok(pattern) = Pattern::new(&TextQuery { pattern, is_regex: true, case, word: false }) else { return Ok(()) };
        for line in matched(&pattern, &text) {
            prop_assert!(pattern.plan().is_satisfied(&grams(&line)));
        }
    }

    #[test]
    fn collected_grams_equal_the_definition(texts in prop::collection::vec(prop::collection::vec(
        prop_oneof![2 => Just(b'\n'), 4 => Just(b'a'), 4 => Just(b'B'), 2 => any::<u8>()], 0..60), 1..4)) {
        for text in texts {
            prop_assert_eq!(grams(&text), grams_by_definition(&text));
        }
    }
}

fn plan(pattern: &str, flags: &str) -> GramPlan {
    Pattern::new(&query(pattern, flags)).unwrap().plan().clone()
}

fn excludes(pattern: &str, flags: &str, text: &str) -> bool {
    !plan(pattern, flags).is_satisfied(&grams(text.as_bytes()))
}

#[test]
fn plans_exclude_texts_without_the_required_grams() {
    assert!(excludes("struct", "F", "a strut, a truck, instruments"));
    assert!(excludes("struct Foo", "Fi", "struct\nFoo"));
    assert!(excludes("foo.*bar", "", "only foo here"));
    assert!(excludes("foo.*bar", "", "only bar here"));
    assert!(!excludes("foo.*bar", "", "bar and then foo"));
    assert!(excludes("(foo|bar)baz", "", "foo bar baz"));
    assert!(excludes("\\w+_init\\(", "", "some_init ("));
    assert!(excludes("ab[cd]ef", "", "abc def abd"));
    assert!(excludes("(abc)+", "", "ab bc ca"));
    assert!(excludes("a{4}", "", "aa bb"));
    assert!(excludes("x(?:ab|cd){2}y", "", "xab cdy"));
    assert!(excludes("^use std::(fs|io);$", "", "use std::path;"));
    assert!(excludes("qz", "F", "qa az zq"));
    assert!(excludes("task_struct", "Fi", "task_list struct"));
    // Long grams: these texts have all trigrams, but not adjacent.
    assert!(excludes("selector", "F", "selec elect ecto ctor"));
    assert!(excludes("read to size", "F", "read tool to sizes ad to"));
    assert!(excludes("timed", "F", "time imedia tim ime med"));
    assert!(excludes("(timed|select)", "", "time imedia selec lect"));
    // Long grams respect case.
    assert!(excludes("Helper", "F", "the helper") && excludes("helper", "F", "HELPER Helper"));
    assert!(!excludes("Helper", "Fi", "the hELPer") && !excludes("(?i:H)elper", "", "helper"));
    assert!(excludes("(?i:H)elper", "", "hElper"));
    assert!(excludes("[hH]elper", "", "HELPER") && !excludes("[hH]elper", "", "Helper"));
    // Grams across a concatenation.
    assert!(excludes("foo[12]bar", "", "foo1 o1b bar 1ba oo1"));
    assert!(excludes("some_(read|write)_thing", "", "some_red read_ _thing write some_w e_thi d_thi"));
    assert!(excludes("\\bsome_\\w{3,}_[a-c]_thing", "", "some_long_word some__ _a thing b_thing"));
    assert!(excludes("kkkkkkkkssssssss", "i", "kkk kks kss"));
    for everything in ["", "x", ".*", "a?", "[a-z]+", "(|abc)", "^$", "\\w\\w"] {
        assert_eq!(plan(everything, ""), GramPlan::All, "{everything}");
    }
    assert_eq!(plan("[a&&b]cd", ""), GramPlan::Nothing);
}

#[test]
fn plans_stay_small() {
    let words: Vec<String> = (0..400).map(|number| format!("(?i:somekksword{number:03})")).collect();
    for pattern in [words.join("|").chars().take(4_000).collect(), "k".repeat(4_000), "[a-f]{4}".repeat(400)] {
        let Ok(pattern) = Pattern::new(&query(&pattern, "i")) else { continue };
        assert!(format!("{:?}", pattern.plan()).len() < 300_000);
    }
    assert!(excludes(&"abc def ".repeat(400), "F", "abc def, abc deg"));
}

#[test]
fn pattern_errors_say_what_is_wrong_and_what_to_do() {
    let error = |pattern: &str, flags: &str| Pattern::new(&query(pattern, flags)).unwrap_err();
    assert_eq!(error("a\nb", "F"), PatternError::LineBreak);
    assert_eq!(error("a\\nb", ""), PatternError::LineBreak);
    assert!(error("a\nb", "").to_string().ends_with("more context lines."));
    assert_eq!(error("a\\x00", ""), PatternError::Nul);
    assert_eq!(error(&"x".repeat(4_097), "F"), PatternError::TooLong);
    assert_eq!(error("((\\w{90}){90}){90}", ""), PatternError::TooLarge);
    let text = error("ab(c", "").to_string();
    assert_eq!(
        text,
        "The query isn't a regular expression: unclosed group, at character 3. Correct it, or search for the literal text with mode \
         \"text\"."
    );
    assert!(error("é[z-a]", "").to_string().contains("at character 3"));
    assert!(error("\\p{Nonsense}", "").to_string().contains("property"));
}
