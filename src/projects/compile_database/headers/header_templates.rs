//! Fills in the templates of headers that a build configures: of autoconf (`#undef NAME`), CMake (`#cmakedefine`) and Meson (`#mesondefine`).
//!
//! A definition gets the value that a configuration on this machine would most probably give it; features that must be asked for are off.
//! `@NAME@` and `${NAME}` are replaced the same way. Other lines stay as they are.

/// Endings of templates, behind the header's name.
const ENDINGS: [&str; 9] =
    [".in", ".cmake", ".cmake.in", ".in.cmake", ".meson", ".meson.in", ".tmpl", ".template", "_in"];
/// Parts of names that stand for a number.
const NUMBERS: [&str; 9] = ["MAJOR", "MINOR", "PATCH", "MICRO", "TWEAK", "NUM", "SIZE", "LEVEL", "COUNT"];

/// The names that a template of the header `name` may have, best first.
pub(super) fn template_names(name: &str) -> Vec<String> {
    let mut names: Vec<String> = ENDINGS.iter().map(|ending| format!("{name}{ending}")).collect();
    if let Some((stem, extension)) = name.rsplit_once('.') {
        names.push(format!("{stem}.in.{extension}"));
        // The version of a library in its header's name: `foo.h.in` of `foo3.h`.
        let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        if plain.len() > 2 && plain != stem {
            names.push(format!("{plain}.{extension}.in"));
        }
    }
    names
}

/// Whether a file of this name may be a template of a header.
pub(crate) fn is_template(name: &str) -> bool {
    let header = |text: &str| [".h", ".hpp", ".hh", ".hxx", ".inc"].iter().any(|ending| text.ends_with(ending));
    let stem = ENDINGS.iter().filter_map(|ending| name.strip_suffix(ending)).find(|stem| header(stem));
    stem.is_some() || header(name) && name.contains(".in.")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilledTemplate {
    pub text: String,
    /// It holds the results of a configuration.
    pub is_configuration: bool,
}

/// Fills in a template. `value` tells the value of a definition, empty for one without; `None` if it isn't defined.
pub(crate) fn fill(template: &str, value: &dyn Fn(&str) -> Option<String>) -> FilledTemplate {
    let mut filled = FilledTemplate { text: String::with_capacity(template.len()), is_configuration: false };
    for line in template.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        match configured(line, value) {
            Some(text) => {
                filled.is_configuration = true;
                filled.text.push_str(&text);
            }
            None => filled.text.push_str(&substituted(line, value)),
        }
        filled.text.push_str(end);
    }
    filled
}

/// What a line becomes that a configuration decides.
fn configured(line: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let (word, rest) = directive.split_once([' ', '\t'])?;
    let rest = rest.trim();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    let behind = rest[end..].trim();
    if name.is_empty() {
        return None;
    }
    let defined = |value: &str| format!("#define {name} {value}").trim_end().to_owned();
    match word {
        // An `#undef` with something behind it is one that the header means.
        "undef" if behind.is_empty() => {
            Some(value(name).map_or_else(|| format!("/* #undef {name} */"), |value| defined(&value)))
        }
        "cmakedefine01" => Some(defined(if value(name).is_some() { "1" } else { "0" })),
        "cmakedefine" => Some(match value(name) {
            None => format!("/* #undef {name} */"),
            Some(own) if behind.contains(&format!("@{name}@")) || behind.contains(&format!("${{{name}}}")) => {
                defined(&own)
            }
            Some(_) => defined(&substituted(behind, value)),
        }),
        "mesondefine" => Some(value(name).map_or_else(|| format!("/* #undef {name} */"), |value| defined(&value))),
        _ => None,
    }
}

/// The line with `@NAME@` and `${NAME}` replaced: in a string by the name, elsewhere by a value.
fn substituted(line: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut found = String::new();
    let mut is_in_string = false;
    let mut rest = line;
    while let Some(at) = rest.find(['@', '$']) {
        let (open, close) = if rest[at..].starts_with('@') { ("@", "@") } else { ("${", "}") };
        let name = rest[at..].strip_prefix(open).and_then(|behind| {
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
            (end > 0 && behind[end..].starts_with(close)).then(|| &behind[..end])
        });
        // Strings begin and end between the names only.
        is_in_string ^= rest[..at].matches('"').count() % 2 == 1;
        let Some(name) = name else {
            found.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        found.push_str(&rest[..at]);
        let replacement = if is_in_string { name.to_owned() } else { plain_value(name, value) };
        rest = &rest[at + open.len() + name.len() + close.len()..];
        if replacement.is_empty() {
            // Nothing is left to paste.
            rest = rest.strip_prefix("##").unwrap_or(rest);
        }
        found.push_str(&replacement);
    }
    found.push_str(rest);
    found
}

fn plain_value(name: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let upper = name.to_ascii_uppercase();
    let is_check = ["HAVE_", "USE_", "ENABLE_", "WITH_"].iter().any(|part| upper.contains(part));
    match value(name) {
        _ if NUMBERS.iter().any(|part| upper.contains(part)) && !upper.starts_with("SIZEOF") => "0".into(),
        Some(value) => value,
        None if is_check => "0".into(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        ["HAVE_A", "SIZEOF_INT"].contains(&name).then(|| if name == "HAVE_A" { "1" } else { "4" }.to_owned())
    }

    #[test]
    fn templates_of_all_kinds_are_filled_in() {
        let text = "/* a */\n#undef HAVE_A\n  # undef  HAVE_B\n#undef min(x)\n#cmakedefine HAVE_A 1\n#cmakedefine HAVE_A @HAVE_A@\n\
                    #cmakedefine HAVE_B\n#cmakedefine01 HAVE_B\n#cmakedefine01 HAVE_A\n#mesondefine SIZEOF_INT\n\
                    #define V \"@VERSION@\"\n#define MAJOR @X_MAJOR@\n#define S ${SIZEOF_INT}\n#define B @HAVE_B@\n@PREFIX@ a@b ${ $x\n#define N @no";
        let wanted = "/* a */\n#define HAVE_A 1\n/* #undef HAVE_B */\n#undef min(x)\n#define HAVE_A 1\n#define HAVE_A 1\n\
                      /* #undef HAVE_B */\n#define HAVE_B 0\n#define HAVE_A 1\n#define SIZEOF_INT 4\n\
                      #define V \"VERSION\"\n#define MAJOR 0\n#define S 4\n#define B 0\n a@b ${ $x\n#define N @no";
        assert_eq!(fill(text, &value), FilledTemplate { text: wanted.into(), is_configuration: true });
        assert_eq!(fill("#define A(n) @B@##n\n", &value).text, "#define A(n) n\n");
        assert!(!fill("#define A @B@\n", &value).is_configuration);
        assert_eq!(fill("", &value).text, "");
    }

    #[test]
    fn templates_are_recognised_by_their_names() {
        assert!(["config.h.in", "x.h.cmake", "a.in.h", "b.hpp.in", "c.h.meson"].iter().all(|name| is_template(name)));
        assert!(!["Makefile.in", "x.h", "in.h", "a.cmake"].iter().any(|name| is_template(name)));
        assert!(template_names("foo3.h").contains(&"foo.h.in".to_owned()));
        assert!(!template_names("config.h").contains(&"config.in".to_owned()));
    }
}
