//! Names of symbols, without quotes and qualifiers.

use super::captures::{ByteSpan, SymbolCapture};
use super::source_text;
use crate::language::Language;
use codeyard_model::code::SymbolKind;

/// The most bytes of a name; longer names are cut.
pub(super) const MAX_NAME: usize = 300;

/// The text of a range of the source.
pub(super) fn slice(source: &str, span: ByteSpan) -> &str {
    source.get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// The symbol's name, its scope if the source names one, and the offset of the name.
pub(super) fn symbol_name(language: Language, source: &str, found: SymbolCapture) -> (String, Option<String>, u32) {
    let raw = slice(source, found.name);
    let scope = found.scope.map(|scope| source_text::one_line(slice(source, scope), MAX_NAME));
    let scope = scope.filter(|scope| !scope.is_empty());
    let cut = |name: &str| source_text::one_line(name, MAX_NAME);
    match language {
        // `Class::member`: the name follows the last `::` outside of `<>`.
        Language::C | Language::CPP if found.kind != SymbolKind::Use => {
            let name = raw.split('(').next().filter(|name| name.starts_with("operator ")).unwrap_or(raw);
            match last_colons(name) {
                Some(at) if !name[..at].trim().is_empty() => {
                    let after = u32::try_from(at + 2).unwrap_or(0);
                    (cut(&name[at + 2..]), Some(cut(&without_arguments(&name[..at]))), found.name.start + after)
                }
                _ => (cut(name), scope, found.name.start),
            }
        }
        // The path of an import spans several nodes.
        Language::SCALA if found.kind == SymbolKind::Use => {
            let rest = ByteSpan { start: found.name.start, end: found.span.end };
            (cut(slice(source, rest)), scope, found.name.start)
        }
        _ => {
            let bare = unquoted(language, raw);
            let skipped = u32::try_from(raw.find(bare).unwrap_or(0)).unwrap_or(0);
            (cut(bare), scope, found.name.start + skipped)
        }
    }
}

/// A name without its language's quotes or sigils.
fn unquoted(language: Language, raw: &str) -> &str {
    let bare = match language {
        Language::RUBY => raw.strip_prefix(':').unwrap_or(raw),
        Language::BASH => raw.trim_end_matches('='),
        _ => ['"', '\'', '`'].into_iter().find_map(|sign| raw.strip_prefix(sign)?.strip_suffix(sign)).unwrap_or(raw),
    };
    if bare.is_empty() { raw } else { bare }
}

/// A C++ qualifier without template arguments.
fn without_arguments(scope: &str) -> String {
    let mut depth = 0_usize;
    let mut bare = String::new();
    for c in scope.trim_start_matches("::").chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    bare
}

/// The last `::` outside of `<>`.
fn last_colons(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    if let Some(at) = name.find("operator") {
        return name[..at].rfind("::").filter(|colons| name[*colons + 2..at].trim().is_empty());
    }
    let mut depth = 0_usize;
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b'>' => depth += 1,
            b'<' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && bytes[at - 1] == b':' => return Some(at - 1),
            _ => {}
        }
    }
    None
}

/// The package in the path of an import of Go: `client` in `"example.org/client/v2"`.
pub(super) fn imported_package(source: &str, path: ByteSpan) -> ByteSpan {
    let text = slice(source, path);
    let bare = text.trim_matches(['"', '`']);
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|n| n.parse::<u32>().is_ok());
    let bare = match bare.rsplit_once('/') {
        Some((before, version)) if is_version(version) => before,
        _ => bare,
    };
    let start = text.find(bare).unwrap_or(0);
    let from = start + bare.rfind('/').map_or(0, |at| at + 1);
    let end = start + bare.len();
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    ByteSpan { start: path.start + small(from), end: path.start + small(end) }
}
