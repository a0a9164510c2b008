//! `go.mod` and `go.work`: lines of directives, single or in parentheses.

use crate::values::{ManifestValues, value};

/// The name of the manifest of a module.
pub const MANIFEST: &str = "go.mod";
/// The name of the file that joins modules.
pub const WORKSPACE: &str = "go.work";

/// One line of a directive: `require example.com/a v1.0.0 // indirect`.
struct Directive<'t> {
    /// From 1.
    line: u32,
    verb: &'t str,
    arguments: &'t str,
    comment: &'t str,
}

/// The modules that a `go.mod` names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GoModule<'t> {
    /// Its own name.
    pub module: Option<&'t str>,
    /// Those that it requires and imports itself.
    pub requires: Vec<&'t str>,
}

impl<'t> GoModule<'t> {
    /// What the text names.
    pub fn parse(text: &'t str) -> Self {
        let mut found = Self::default();
        for Directive { verb, arguments, comment, .. } in directives(text) {
            let name = unquoted(arguments.split_whitespace().next().unwrap_or_default());
            match verb {
                "module" if !name.is_empty() => found.module = Some(name),
                // Of the module itself only what it requires directly is imported.
                "require" if !name.is_empty() && comment.trim() != "indirect" => found.requires.push(name),
                _ => {}
            }
        }
        found
    }
}

/// The folders that a `go.work` uses.
pub fn used_folders(text: &str) -> Vec<&str> {
    let used = directives(text).into_iter().filter(|directive| directive.verb == "use");
    used.map(|directive| unquoted(directive.arguments)).filter(|path| !path.is_empty()).collect()
}

/// The name of a module and the version of Go that it needs.
pub(crate) fn metadata(text: &str) -> ManifestValues {
    let all = directives(text);
    let of = |verb: &str| {
        let directive = all.iter().find(|directive| directive.verb == verb)?;
        value(unquoted(directive.arguments), directive.line)
    };
    let requires = of("go").and_then(|version| value(&format!("Go {}", version.text), version.line));
    ManifestValues { name: of("module"), requires, ..ManifestValues::default() }
}

/// The directives in their order. A line that isn't understood is left out.
fn directives(text: &str) -> Vec<Directive<'_>> {
    let mut found = Vec::new();
    let mut block = None;
    for (number, line) in (1..).zip(text.lines()) {
        // In a path with a version `//` doesn't occur.
        let (line, comment) = line.split_once("//").unwrap_or((line, ""));
        let mut rest = line.trim();
        let verb = match block {
            Some(verb) => verb,
            None => {
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                let verb = &rest[..end];
                rest = rest[end..].trim_start();
                if let Some(inner) = rest.strip_prefix('(') {
                    rest = inner;
                    block = Some(verb);
                }
                verb
            }
        };
        if block.is_some()
            && let Some(inner) = rest.strip_suffix(')')
        {
            rest = inner;
            block = None;
        }
        let arguments = rest.trim();
        if !arguments.is_empty() {
            found.push(Directive { line: number, verb, arguments, comment });
        }
    }
    found
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_lines_and_blocks() {
        let text = "go 1.24 // use ./no\n\nuse ./a\nuse `./b b` // why\nuser ./no\nuse (\n\t./c\n\t\"../d\" // d\n\n)\n\
                    replace x => ./no\nuse (./e)\nuse .\n";
        assert_eq!(used_folders(text), ["./a", "./b b", "./c", "../d", "./e", "."]);
        assert!(used_folders("").is_empty());
    }

    #[test]
    fn modules_and_what_they_require() {
        let text = "module \"a.org/a\" // a\nrequire a.org/b v1\nrequire (\n\ta.org/c v1 // c\n\ta.org/d v1 // indirect\n)\nreplace (\n\ta.org/e => ../e\n)\nretract v1\n";
        let found = GoModule::parse(text);
        assert_eq!((found.module, &found.requires[..]), (Some("a.org/a"), &["a.org/b", "a.org/c"][..]));
        assert_eq!(GoModule::parse("module\nrequire (\nmodule )"), GoModule { module: None, requires: vec!["module"] });
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}|(module|require|use|go|[( )a./\"\n`]){0,24}") {
            GoModule::parse(&text);
            used_folders(&text);
            metadata(&text);
        }
    }
}
