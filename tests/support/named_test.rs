//! Checks that a test named by a document exists, runs and asserts something.
//!
//! It reads text instead of syntax trees and relies on the layout that rustfmt produces.

/// Returns the reason why `name` in `text` isn't a test that runs and asserts something.
pub fn check_test(text: &str, name: &str) -> Result<(), &'static str> {
    let (attributes, body) = function(text, name).ok_or("doesn't exist")?;
    if !attributes.contains("#[test]") && !attributes.contains("#[tokio::test") && !is_generated(attributes, text, name)
    {
        return Err("is not a test");
    }
    if attributes.contains("#[ignore") {
        return Err("is ignored");
    }
    if asserts(text, body, 3) { Ok(()) } else { Err("asserts nothing") }
}

/// The attributes and the body of the function `name`.
fn function<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let at = text.match_indices(&format!("fn {name}")).map(|(at, _)| at).find(|at| {
        let after = text[at + 3 + name.len()..].chars().next();
        matches!(after, Some('(' | '<'))
    })?;
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let indent = text[line..at].len() - text[line..at].trim_start().len();
    let attributes = text[..line].rfind("\n\n").map_or(&text[..line], |from| &text[from..line]);
    let close = format!("\n{}}}\n", " ".repeat(indent));
    let body = text[at..].find(&close).map_or(&text[at..], |end| &text[at..at + end]);
    Some((attributes, body))
}

/// Whether the function is inside a `proptest!` block, where its attribute makes it a test.
fn is_generated(attributes: &str, text: &str, name: &str) -> bool {
    attributes.contains("#[test]")
        || text.contains("proptest! {") && text.contains(&format!("fn {name}(")) && attributes.contains("proptest")
}

/// Whether a body asserts something, directly or through a function of the same file.
fn asserts(text: &str, body: &str, depth: usize) -> bool {
    const ASSERTIONS: [&str; 11] = [
        "assert", "panic!", "unwrap_err()", "unreachable!", ".is_right(", "check(", "judge(", "compare(",
        ".failed_as(", ".timed_out(", ".says(",
    ];
    if ASSERTIONS.iter().any(|word| body.contains(word)) {
        return true;
    }
    let words = body.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 3);
    depth > 0
        && words.into_iter().skip(1).any(|word| {
            body.contains(&format!("{word}("))
                && function(text, word).is_some_and(|(_, inner)| inner != body && asserts(text, inner, depth - 1))
        })
}

#[test]
fn a_test_without_an_assertion_is_refused() {
    let text = "\n\n#[test]\nfn empty() {\n    work();\n}\n\n#[test]\nfn real() {\n    proves();\n}\n\nfn proves() {\n    assert!(a);\n}\n\n#[ignore]\n#[test]\nfn slow() {\n    assert!(a);\n}\n";
    assert_eq!(check_test(text, "empty"), Err("asserts nothing"));
    assert_eq!(check_test(text, "real"), Ok(()));
    assert_eq!(check_test(text, "proves"), Err("is not a test"));
    assert_eq!(check_test(text, "slow"), Err("is ignored"));
    assert_eq!(check_test(text, "rea"), Err("doesn't exist"));
}
