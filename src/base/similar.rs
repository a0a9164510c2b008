//! Finds the known name that a misspelt one is most likely meant to be.

/// Characters of a name that are compared. Longer than any name that is known anywhere.
const MAX_COMPARED_CHARS: usize = 65;

/// The known name with the fewest edits from `name`, if it is similar enough for a spelling error; among equals the first in alphabetical
/// order.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let max_edits = (name.chars().count() / 3).clamp(1, 4);
    let ranked = known.map(|known| (distance(name, known), known));
    ranked.filter(|(edits, _)| *edits <= max_edits).min().map(|(_, known)| known)
}

/// Levenshtein distance, ignoring case. `-` and `_` count as the same. Long names are truncated to bound the time.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.to_lowercase().replace('-', "_").chars().take(MAX_COMPARED_CHARS).collect::<String>();
    strsim::levenshtein(&fold(a), &fold(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_changed_characters() {
        for (a, b, changes) in
            [("", "", 0), ("a", "", 1), ("listne", "listen", 2), ("no-auth", "no_auth", 0), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), changes, "{a} {b}");
            assert_eq!(distance(b, a), changes, "{b} {a}");
        }
    }

    #[test]
    fn only_a_spelling_error_has_a_nearest_name() {
        let known = ["search_code", "locate_symbol", "sync_repo"];
        let nearest = |name| nearest(name, known.into_iter());
        assert_eq!(nearest("serch-code"), Some("search_code"));
        assert_eq!(nearest("Locate_Symbols"), Some("locate_symbol"));
        for none in ["", "x", "rename", "search_code_of_all_the_workspaces"] {
            assert_eq!(nearest(none), None, "{none}");
        }
    }
}
