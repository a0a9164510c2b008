//! The call sites of functions in sources of C, by rules on the text alone: what ripgrep would find, without what is no call.
//!
//! Comments, strings, `#if 0`, bodies of `#define`, members (`x.f(`, `x->f(`), declarations and definitions are no calls. A function counts
//! only if the tree has one definition of its name, which isn't static, and no macro of its name: so that no site can mean another one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The shortest name that is looked for.
const MIN_NAME: usize = 5;
/// Functions with fewer or more sites aren't asked about.
const SITES: std::ops::RangeInclusive<usize> = 3..=80;
/// Words before a name that don't make it a declaration.
const KEYWORDS: [&str; 6] = ["return", "else", "do", "case", "goto", "sizeof"];

/// A function and the places that call it: files and lines, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CalledFunction {
    pub name: String,
    pub file: PathBuf,
    pub line: usize,
    pub character: usize,
    pub calls: BTreeSet<(PathBuf, usize)>,
}

/// What one name is used for.
#[derive(Default)]
struct NameUses {
    definitions: Vec<(PathBuf, usize, usize, bool)>,
    calls: BTreeSet<(PathBuf, usize)>,
    is_macro: bool,
}

/// The functions of these files that can be asked about, in an order that depends only on their names.
pub(crate) fn functions(files: &[(PathBuf, String)]) -> Vec<CalledFunction> {
    let mut uses: BTreeMap<String, NameUses> = BTreeMap::new();
    for (path, text) in files {
        read(path, text, &mut uses);
    }
    let mut found: Vec<CalledFunction> = uses
        .into_iter()
        .filter_map(|(name, uses)| match &uses.definitions[..] {
            [(file, line, character, false)]
                if !uses.is_macro
                    && SITES.contains(&uses.calls.len())
                    && file.extension().is_some_and(|ending| ending == "c") =>
            {
                Some(CalledFunction { name, file: file.clone(), line: *line, character: *character, calls: uses.calls })
            }
            _ => None,
        })
        .collect();
    let scattered =
        |name: &str| name.bytes().fold(7_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    found.sort_by_key(|function| (scattered(&function.name), function.name.clone()));
    found
}

fn read(path: &Path, text: &str, uses: &mut BTreeMap<String, NameUses>) {
    let mut code = without_comments(text);
    for name in blank_directives(&mut code) {
        uses.entry(name).or_default().is_macro = true;
    }
    let mut depth = 0_usize;
    let mut line = 0;
    let mut line_start = 0;
    let mut statement = 0;
    let mut at = 0;
    while at < code.len() {
        match code[at] {
            b'\n' => (line, line_start) = (line + 1, at + 1),
            // A brace in the first column begins or ends a function, whatever the branches before it left open.
            b'{' => (depth, statement) = (if at == line_start { 1 } else { depth + 1 }, at + 1),
            b'}' => (depth, statement) = (if at == line_start { 0 } else { depth.saturating_sub(1) }, at + 1),
            b';' => statement = at + 1,
            byte if is_of_name(byte) => {
                let end = at + code[at..].iter().position(|byte| !is_of_name(*byte)).unwrap_or(code.len() - at);
                let name = String::from_utf8_lossy(&code[at..end]).into_owned();
                let open = end + blanks(&code[end..]);
                if name.len() >= MIN_NAME && code.get(open) == Some(&b'(') {
                    let head = String::from_utf8_lossy(&code[statement..at]).into_owned();
                    let own = uses.entry(name).or_default();
                    if depth == 0 {
                        if begins_body(&code, open) {
                            let is_static = head.split_whitespace().any(|word| word == "static");
                            own.definitions.push((path.to_path_buf(), line, at - line_start, is_static));
                        }
                    } else if is_call(&head) {
                        own.calls.insert((path.to_path_buf(), line));
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Whether what stands between the statement's begin and a name leaves it a call.
fn is_call(head: &str) -> bool {
    let head = head.trim_end();
    if head.ends_with('.') || head.ends_with("->") {
        return false;
    }
    let is_type = head.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '*' || c.is_whitespace());
    let words: Vec<&str> =
        head.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    !is_type || words.is_empty() || words.iter().any(|word| KEYWORDS.contains(word))
}

/// Whether a body follows the parameters that open at `open`.
fn begins_body(code: &[u8], open: usize) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return code.get(at + 1 + blanks(&code[at + 1..])) == Some(&b'{');
        }
    }
    false
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn blanks(code: &[u8]) -> usize {
    code.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(code.len())
}

/// The text with comments, strings and characters as blanks; every line and column stays.
fn without_comments(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let end = match code[at] {
            b'/' if code[at..].starts_with(b"/*") => {
                code[at + 2..].windows(2).position(|pair| pair == b"*/").map_or(code.len(), |end| at + end + 4)
            }
            b'/' if code[at..].starts_with(b"//") => {
                code[at..].iter().position(|byte| *byte == b'\n').map_or(code.len(), |end| at + end)
            }
            quote @ (b'"' | b'\'') => {
                let mut end = at + 1;
                while end < code.len() && code[end] != quote && code[end] != b'\n' {
                    end += if code[end] == b'\\' { 2 } else { 1 };
                }
                (end + 1).min(code.len())
            }
            _ => {
                at += 1;
                continue;
            }
        };
        code[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end;
    }
    code
}

/// Blanks directives and what `#if 0` leaves out. Returns the names of the macros.
fn blank_directives(code: &mut [u8]) -> Vec<String> {
    let mut macros = Vec::new();
    let mut depth: usize = 0;
    let mut off: Option<usize> = None;
    let mut at = 0;
    while at < code.len() {
        let mut end = at + code[at..].iter().position(|byte| *byte == b'\n').unwrap_or(code.len() - at);
        let text = String::from_utf8_lossy(&code[at..end]).into_owned();
        let is_directive = text.trim_start().starts_with('#');
        if let Some(directive) = text.trim_start().strip_prefix('#').map(str::trim) {
            while code[at..end].trim_ascii_end().ends_with(b"\\") && end < code.len() {
                end += 1 + code[end + 1..].iter().position(|byte| *byte == b'\n').unwrap_or(code.len() - end - 1);
            }
            let (word, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
            match word {
                "if" | "ifdef" | "ifndef" => {
                    depth += 1;
                    if word == "if" && rest.trim() == "0" {
                        off.get_or_insert(depth);
                    }
                }
                "else" | "elif" => off = off.filter(|off| *off != depth),
                "endif" => {
                    off = off.filter(|off| *off != depth);
                    depth = depth.saturating_sub(1);
                }
                "define" if off.is_none() => {
                    macros.push(rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
                }
                _ => {}
            }
        }
        if is_directive || off.is_some() {
            code[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            if let Some(first) = code.get_mut(at).filter(|byte| is_directive && **byte != b'\n') {
                *first = b';';
            }
        }
        at = end + 1;
    }
    macros
}

#[test]
fn only_calls_are_call_sites() {
    let text = "int target(int a);\nstatic char *other(void);\nint\ntarget(int a)\n{\n  /* target(1) */ char *s = \"target(1)\";\n\
                \x20 x.target(1); y->target(2); (void)target(3);\n  int target(int);\n#if 0\n  target(4);\n#else\n  return target(5);\n#endif\n\
                #define M \\\n  target(6)\n  if (a) target(7); else target(8);\n#ifdef X\n  target(9);\n#endif\n}\n\
                static int unique(void) { return target(1) + third(2); }\nEXPORT(int) third(int b) { return 1; }\n";
    let found = functions(&[("a.c".into(), text.to_owned())]);
    let lines: Vec<usize> = found.iter().flat_map(|function| function.calls.iter().map(|(_, line)| *line)).collect();
    assert_eq!(found.len(), 1, "others are called too rarely: {found:?}");
    assert_eq!((found[0].name.as_str(), found[0].line, found[0].character), ("target", 3, 0));
    assert_eq!(lines, [6, 11, 15, 17, 20]);
    let again = [("a.c".into(), text.to_owned()), ("b.c".into(), "static int target(void) { return 1; }\n".to_owned())];
    assert!(functions(&again).is_empty(), "a second definition makes its sites ambiguous");
    let renamed = [("a.c".into(), text.to_owned()), ("b.h".into(), "#define target(x) x\n".to_owned())];
    assert!(functions(&renamed).is_empty(), "a macro of the name too");
    for text in ["(", "#", "/*", "\"\\", "#if 0", "#define A \\", "target("] {
        functions(&[("a.c".into(), text.to_owned())]);
    }
}
