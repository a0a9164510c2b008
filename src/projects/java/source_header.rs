//! Finds the package and the imports of a source of Java.
//!
//! It reads the text before the first declaration of a type, not a syntax tree. Invariant: any text gives an answer.

use std::collections::BTreeSet;

/// What a source says before its first declaration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SourceHeader {
    /// The package; empty without one.
    pub(super) package: String,
    /// The imported names, such as `a.b.C`, `a.b.*` and the static `a.b.C.d`.
    pub(super) imports: BTreeSet<String>,
}

impl SourceHeader {
    pub(super) fn of(text: &str) -> Self {
        let mut header = Self::default();
        let plain = without_comments(text);
        for statement in plain.split(';') {
            let statement = after_annotations(statement.trim_start());
            if let Some(name) = statement.strip_prefix("package").filter(|rest| rest.starts_with(char::is_whitespace)) {
                header.package = joined(name);
            } else if let Some(name) =
                statement.strip_prefix("import").filter(|rest| rest.starts_with(char::is_whitespace))
            {
                let name = name.trim_start();
                let of_members = name.strip_prefix("static").filter(|rest| rest.starts_with(char::is_whitespace));
                header.imports.insert(joined(of_members.unwrap_or(name)));
            } else if !statement.is_empty() {
                break;
            }
        }
        header
    }
}

/// A name without the spaces that it may have between its parts.
fn joined(name: &str) -> String {
    name.split_whitespace().collect()
}

/// What follows the annotations of a package.
fn after_annotations(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix('@') {
        let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$')).trim_start();
        // Arguments with parentheses in their strings are rare there.
        let after = name.strip_prefix('(').and_then(|arguments| Some(&arguments[arguments.find(')')? + 1..]));
        text = after.unwrap_or(name).trim_start();
        if text.len() == rest.len() {
            break;
        }
    }
    text
}

/// The text without comments, up to the first brace outside of them.
fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(at) = rest.find(['/', '{']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.find('\n'),
            [b'/', b'*', ..] => rest[2..].find("*/").map(|end| end + 4),
            [b'/', ..] => Some(1),
            _ => None,
        };
        plain.push(' ');
        let Some(end) = end else { return plain };
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_and_the_imports_are_found() {
        let text = "\u{feff}/* package x; */\n// import y.Z;\n@Ann(\"a\") @b.C\npackage a . b;\r\n\nimport c.D;import static e.F.*;\n\
                    import /* g.H; */ i.*;\n/** import j.K; */\npublic final class L { import m.N; }\nimport o.P;\n";
        let header = SourceHeader::of(text);
        let imports: Vec<&str> = header.imports.iter().map(String::as_str).collect();
        assert_eq!((header.package.as_str(), imports), ("a.b", vec!["c.D", "e.F.*", "i.*"]));
    }

    #[test]
    fn a_source_needs_neither() {
        for text in [
            "", "class A {}", "importer a;", "packages b;", "/* never closed package a;", "package", "@", "@A(", "// a",
        ] {
            assert_eq!(SourceHeader::of(text), SourceHeader::default(), "{text}");
        }
        assert_eq!(SourceHeader::of("import a.B; class C {}").imports.len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}|(package|import|static|[a.@(){;/*é \n\"]){0,20}") {
            SourceHeader::of(&text);
        }
    }
}
