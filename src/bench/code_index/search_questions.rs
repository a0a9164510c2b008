//! The twenty search questions about a repository: the same kinds for every repository, with random words of its files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use crate::questions::SeededRandom;

/// Number of files whose words are counted.
const SAMPLE: usize = 1_500;
/// Size in bytes above which a file is not used.
const MAX_BYTES: u64 = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternKind {
    /// As literal text.
    Text,
    /// As a regular expression.
    Regex,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchQuestion {
    /// The kind of question, for the notes.
    pub kind: &'static str,
    pub pattern: String,
    /// How the pattern is interpreted.
    pub pattern_kind: PatternKind,
    pub ignores_case: bool,
    /// Whether only whole words match.
    pub is_word: bool,
}

/// Statistics of the words in a sample of files.
struct WordSample {
    /// Words with the number of files that contain them, rarest first; equal ones in random order.
    by_files: Vec<(String, usize)>,
    /// The word that is in the most lines.
    commonest: String,
    /// Three consecutive words of a line.
    phrases: Vec<String>,
    /// Names before an opening parenthesis.
    called: Vec<String>,
    files: usize,
}

/// The questions, in a fixed order of kinds.
pub(super) fn questions(files: &[PathBuf], seed: u64) -> Vec<SearchQuestion> {
    let words = WordSample::of(files, seed);
    let text = |kind, pattern: String| SearchQuestion {
        kind,
        pattern,
        pattern_kind: PatternKind::Text,
        ignores_case: false,
        is_word: false,
    };
    let regex = |kind, pattern: String| SearchQuestion { pattern_kind: PatternKind::Regex, ..text(kind, pattern) };
    // A share of the files of the sample, and an index among the words with about that share.
    let near = |share: f64, nth: usize| words.near(share, nth);
    let phrase = |nth: usize| words.phrases.get(nth).cloned().unwrap_or_else(|| near(0.02, nth));
    let called = words.called.first().cloned().unwrap_or_else(|| near(0.02, 3));
    vec![
        text("a rare name", near(0.0, 0)),
        text("a rare name", near(0.0, 1)),
        text("a name here and there", near(0.01, 0)),
        text("a name here and there", near(0.01, 1)),
        text("a common name", near(0.1, 0)),
        text("the commonest name", words.commonest.clone()),
        text("a text with spaces", phrase(0)),
        text("a text with spaces", phrase(1)),
        text("a call", format!("{called}(")),
        text("a text without a match", "qzxvkjwq_zzyx".to_owned()),
        SearchQuestion { ignores_case: true, ..text("in any case", near(0.01, 2).to_uppercase()) },
        SearchQuestion { ignores_case: true, ..text("in any case", near(0.0, 2).to_lowercase()) },
        SearchQuestion { is_word: true, ..text("a word", near(0.03, 0)) },
        SearchQuestion { is_word: true, ..text("a word", near(0.1, 1)) },
        regex("one of three", format!("{}|{}|{}", near(0.0, 3), near(0.01, 3), near(0.01, 4))),
        regex("one of two", format!("({}|{})", near(0.02, 1), near(0.0, 4))),
        regex("an expression with a name", format!(r"{}\w*\s*\(", near(0.02, 2))),
        regex("an expression with a name", format!(r"^\s+\w+.*\b{}\b", near(0.05, 0))),
        regex("an expression without a text", r"\b[A-Z]{2}[0-9]{3}[a-z]{2}".to_owned()),
        text("two letters", "qz".to_owned()),
    ]
}

impl WordSample {
    fn of(files: &[PathBuf], seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let mut files = files.to_vec();
        random.shuffle(&mut files);
        let small = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| found.len() <= MAX_BYTES);
        let texts: Vec<String> =
            files.iter().filter(small).take(SAMPLE).filter_map(|path| fs::read_to_string(path).ok()).collect();
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut phrases = Vec::new();
        let mut called = Vec::new();
        for text in &texts {
            let mut here: BTreeMap<&str, usize> = BTreeMap::new();
            for line in text.lines() {
                let mut in_line: Vec<&str> = words(line).collect();
                if let [_, first, second, third, ..] = *in_line
                    && let Some(at) = line.find(&format!("{first} {second} {third}"))
                {
                    phrases.push(line[at..at + first.len() + second.len() + third.len() + 2].to_owned());
                }
                let name = in_line.iter().find(|word| word.len() > 8 && line.contains(&format!("{word}(")));
                called.extend(name.map(|name| (*name).to_owned()));
                in_line.sort_unstable();
                in_line.dedup();
                in_line.into_iter().for_each(|word| *here.entry(word).or_default() += 1);
            }
            for (word, lines) in here {
                let count = counts.entry(word).or_default();
                (count.0, count.1) = (count.0 + 1, count.1 + lines);
            }
        }
        let mut all: Vec<(&str, usize, usize)> =
            counts.iter().map(|(word, (files, lines))| (*word, *files, *lines)).collect();
        all.sort_unstable();
        let commonest = all.iter().max_by_key(|(_, _, lines)| *lines).map_or("the", |(word, ..)| word).to_owned();
        random.shuffle(&mut all);
        all.sort_by_key(|(_, files, _)| *files);
        let by_files = all.iter().map(|(word, files, _)| ((*word).to_owned(), *files)).collect();
        [&mut phrases, &mut called].into_iter().for_each(|drawn| random.shuffle(drawn));
        Self { by_files, commonest, phrases, called, files: texts.len() }
    }

    /// The `nth` word that is in about this share of the files.
    fn near(&self, share: f64, nth: usize) -> String {
        // A small whole number, so the conversion is exact.
        let wanted = ((self.files as f64 * share).round() as usize).max(1);
        let fits = |word: &str| word.len() >= 5 && (wanted > 1 || word.len() >= 10);
        let mut near: Vec<&(String, usize)> = self.by_files.iter().filter(|(word, _)| fits(word)).collect();
        near.sort_by_key(|(_, files)| files.abs_diff(wanted));
        near.get(nth).map_or_else(|| "return".to_owned(), |(word, _)| word.clone())
    }
}

/// The ASCII names in a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = line.split(move |letter: char| !is_part(letter));
    words.filter(|word| word.len() > 1 && !word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questions_depend_only_on_the_seed_and_use_words_of_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for number in 0..40 {
            let path = dir.path().join(format!("f{number}.c"));
            let text =
                format!("int quite_unlike_{number}(void)\nreturn common_thing(of_all, the_words, number_{number});\n");
            fs::write(&path, text).unwrap();
            files.push(path);
        }
        let question = questions(&files, 3);
        assert_eq!(question, questions(&files, 3));
        assert_ne!(question, questions(&files, 4));
        assert_eq!(question.len(), 20);
        assert!(question[0].pattern.starts_with("quite_unlike_"), "{}", question[0].pattern);
        assert!(question.iter().all(|question| !question.pattern.is_empty()));
    }
}
