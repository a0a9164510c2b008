//! Lists of names in sentences. Invariant: at most a given number is named, and the others are counted.

/// The first names, at most `most`, and how many more there are.
pub fn listed(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_counted() {
        assert_eq!(listed(&["a", "b"], 2), "a, b");
        assert_eq!(listed(&["a".to_owned(), "b".to_owned(), "c".to_owned()], 2), "a, b and 1 more");
        assert_eq!(listed(&[""; 0], 2), "");
    }
}
