//! The text of a page of the tool `lsp`: above the result how many there are and the cursor, below it the other sentences.

/// The result, and all sentences as `metadata.hint` has them. `has_next` says that there is a next page. The result has no empty line.
pub fn page_text(text: &str, has_next: bool) -> (&str, String) {
    let (above, page) = match has_next {
        true => text.split_once("\n\n").unwrap_or_else(|| panic!("no line above the result: {text}")),
        false => ("", text),
    };
    let (result, below) = page.split_once("\n\n").unwrap_or((page, ""));
    let sentences: Vec<&str> = [above, below].into_iter().filter(|part| !part.is_empty()).collect();
    (result, sentences.join(" "))
}
