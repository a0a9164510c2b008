//! Finds the matches of a query in one line, to highlight them.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::pattern::{Pattern, TextQuery};
use codeyard_model::code::CaseRule;

/// A text or a regular expression whose matches in single lines can be found.
#[derive(Debug, Clone)]
pub struct LinePattern(RegexMatcher);

impl LinePattern {
    /// The pattern of a search in lines.
    ///
    /// # Errors
    /// It can't be searched for; the sentence says why.
    pub fn new(pattern: &str, is_regex: bool, case: CaseRule, word: bool) -> Result<Self, String> {
        let query = TextQuery { pattern: pattern.to_owned(), is_regex, case, word };
        Pattern::new(&query).map(|pattern| Self(pattern.matcher)).map_err(|error| error.to_string())
    }

    /// Whether there is a match in a line, even an empty one.
    pub fn is_match(&self, line: &str) -> bool {
        // The matcher has no errors.
        self.0.is_match(line.as_bytes()).unwrap_or_default()
    }

    /// The matches in a line that aren't empty, as byte offsets of begin and end, in order.
    pub fn ranges(&self, line: &str) -> Vec<(usize, usize)> {
        let mut ranges = Vec::new();
        // The matcher has no errors.
        let _ = self.0.find_iter(line.as_bytes(), |found| {
            if !found.is_empty() && line.is_char_boundary(found.start()) && line.is_char_boundary(found.end()) {
                ranges.push((found.start(), found.end()));
            }
            true
        });
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_found_by_the_rules_of_a_search() {
        let ranges = |pattern: &str, is_regex, word, line: &str| {
            LinePattern::new(pattern, is_regex, CaseRule::Smart, word).unwrap().ranges(line)
        };
        assert_eq!(ranges("ship", false, false, "Ship and ships"), [(0, 4), (9, 13)]);
        assert_eq!(ranges("ship", false, true, "Ship and ships"), [(0, 4)]);
        assert_eq!(ranges("S", false, false, "Ship and ships"), [(0, 1)]);
        assert_eq!(ranges(r"a.|d\b", true, false, "Ship and"), [(5, 7), (7, 8)]);
        assert_eq!(ranges("x*", true, false, "axxb"), [(1, 3)]);
        assert!(LinePattern::new("^x*", true, CaseRule::Smart, false).unwrap().is_match("a"));
        assert_eq!(ranges("ü", false, false, "aüb"), [(1, 3)]);
        assert!(LinePattern::new("(", true, CaseRule::Smart, false).is_err());
    }
}
