//! Says that a name doesn't exist, and which ones are nearly the same. Pure.

use crate::ranked::normalize;
use codeyard_model::code::{LocateQuery, ResultRow};

/// Names that a sentence lists.
const MAX_LISTED_NAMES: usize = 5;
/// Characters of the query that a sentence repeats.
const MAX_REPEATED_CHARS: usize = 80;

/// How these warnings begin.
const BEGINNING: &str = "No symbol is named '";

/// Whether a warning says that a name doesn't exist. Where several roots answer, it is true only if all say so.
pub fn is_unknown_name_warning(warning: &str) -> bool {
    warning.starts_with(BEGINNING)
}

/// The warning that no symbol has this name. `nearest` are names without case and separators, nearest first; `rows` has
/// their spellings.
pub(super) fn unknown_name(name: &str, nearest: &[String], rows: &[ResultRow]) -> String {
    let mut listed: Vec<&str> = Vec::new();
    for near in nearest {
        for row in rows.iter().filter(|row| normalize(&row.name) == *near) {
            if listed.len() < MAX_LISTED_NAMES && !listed.contains(&row.name.as_str()) {
                listed.push(&row.name);
            }
        }
    }
    let name = repeated(name);
    match listed.as_slice() {
        [] => format!("{BEGINNING}{name}'."),
        [one] => format!("{BEGINNING}{name}'. The nearest name is {one}."),
        several => format!("{BEGINNING}{name}'. The nearest names are {}.", several.join(", ")),
    }
}

/// The warning that symbols of this name have another kind or language than the query asks for.
pub(super) fn not_of_kind(name: &str, query: &LocateQuery, rows: &[ResultRow]) -> String {
    let mut kinds: Vec<&str> = rows.iter().filter_map(|row| row.kind).map(|kind| kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind = query.kind.map_or("symbol", |kind| kind.as_str());
    let language = query.shape.language.as_ref().map(|language| format!(" in {language}")).unwrap_or_default();
    let paths: Vec<&str> = rows.first().map(|row| row.path.as_str()).into_iter().collect();
    format!(
        "No {kind}{language} is named '{}', but another symbol is: {} in {}. Repeat the call without kind and language.",
        repeated(name),
        kinds.join(", "),
        paths.join(", ")
    )
}

fn repeated(name: &str) -> String {
    name.chars().take(MAX_REPEATED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> ResultRow {
        ResultRow { name: name.into(), ..ResultRow::default() }
    }

    #[test]
    fn nearest_names_are_listed_as_they_are_spelt() {
        let rows = [row("getArguments"), row("get_argument"), row("other"), row("getArgument")];
        let nearest = ["getargument".to_owned(), "getarguments".to_owned(), "gone".to_owned()];
        assert_eq!(
            unknown_name("get_argumnet", &nearest, &rows),
            "No symbol is named 'get_argumnet'. The nearest names are get_argument, getArgument, getArguments."
        );
        assert_eq!(unknown_name("x", &nearest[2..], &rows), "No symbol is named 'x'.");
        assert_eq!(
            unknown_name("x", &nearest[1..], &rows),
            "No symbol is named 'x'. The nearest name is getArguments."
        );
        assert!(unknown_name(&"é".repeat(500), &[], &[]).chars().count() < 120);
    }
}
