//! Public items of the crates say what they are. Fields and variants needn't: a comment there says what the name can't, such as a unit.

use crate::source::sources;

/// Whether the line begins an item that needs a comment: a public one, or a method of a public trait.
fn needs_comment(line: &str, is_in_trait: bool) -> bool {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub ") {
        Some(item) => item,
        None if is_in_trait && line.starts_with("    ") && !line.starts_with("     ") => item,
        None => return false,
    };
    let item = ["async ", "const ", "unsafe "].iter().fold(item, |rest, word| match rest.strip_prefix(word) {
        Some(after) if after.contains("fn ") => after,
        _ => rest,
    });
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "union "]
        .iter()
        .any(|word| item.starts_with(word))
}

/// Whether a comment, or a macro's variable for one, stands above `lines[at]` and its attributes.
fn has_comment(lines: &[&str], at: usize) -> bool {
    let mut is_in_attribute = false;
    for line in lines[..at].iter().rev().map(|line| line.trim()) {
        match line {
            _ if line.starts_with("///") || line.starts_with("#[doc") || line.starts_with("$(#[") => return true,
            _ if line.starts_with("#[") => is_in_attribute = false,
            _ if line.ends_with(")]") => is_in_attribute = true,
            _ if is_in_attribute => {}
            _ => return false,
        }
    }
    false
}

#[test]
fn public_items_have_comments() {
    let mut silent = Vec::new();
    let mut count = 0;
    for source in sources() {
        let lines = source.code();
        let mut is_in_trait = false;
        for (at, line) in lines.iter().enumerate() {
            if needs_comment(line, is_in_trait) {
                count += 1;
                if !has_comment(&lines, at) {
                    silent.push(format!("{}: {}", source.path, line.trim()));
                }
            }
            is_in_trait = match *line {
                "}" => false,
                _ => is_in_trait || line.starts_with("pub trait ") && line.ends_with('{'),
            };
        }
    }
    assert!(count > 2_000, "the public items weren't found");
    assert_eq!(silent, Vec::<String>::new());
}
