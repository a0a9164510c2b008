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

/// The known name of which `name` is the last part, behind a `.` or a `_`: people leave out what a name begins with.
pub fn ending_in<'n>(name: &str, mut known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    known.find(|known| known.strip_suffix(name).is_some_and(|rest| rest.ends_with(['.', '_'])))
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
    fn a_name_may_be_the_end_of_a_known_one() {
        let known = ["search_code", "vscode.lsp.hover"];
        let ending_in = |name| ending_in(name, known.into_iter());
        assert_eq!((ending_in("code"), ending_in("lsp.hover")), (Some("search_code"), Some("vscode.lsp.hover")));
        assert_eq!((ending_in("over"), ending_in("search_code")), (None, None));
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
