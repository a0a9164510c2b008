//! Names of symbols, without quotes and qualifiers.

use super::captures::{ByteSpan, ReferenceCapture, SymbolCapture};
use super::source_text;
use crate::facts::ReferenceRole;
use crate::language::Language;
use codeyard_model::code::SymbolKind;

/// The most bytes of a name; longer names are cut.
pub(super) const MAX_NAME: usize = 300;

/// The text of a range of the source.
pub(super) fn slice(source: &str, span: ByteSpan) -> &str {
    source.get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// The name of a symbol in the source.
pub(super) struct SymbolName {
    pub(super) text: String,
    /// The scope, if the source names one.
    pub(super) scope: Option<String>,
    /// The offset of the name.
    pub(super) start: u32,
}

/// The symbol's name.
pub(super) fn symbol_name(language: Language, source: &str, found: SymbolCapture) -> SymbolName {
    let raw = slice(source, found.name);
    let scope = found.scope.map(|scope| source_text::one_line(slice(source, scope), MAX_NAME));
    let scope = scope.filter(|scope| !scope.is_empty());
    let cut = |name: &str| source_text::one_line(name, MAX_NAME);
    let (text, scope, start) = match language {
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
        // `defmodule One.Two` declares the module `Two` in `One`.
        Language::ELIXIR if !matches!(found.kind, SymbolKind::Use | SymbolKind::Fn) && last_part(language, raw) > 0 => {
            let after = last_part(language, raw);
            let (outer, name) = raw.split_at(after);
            let at = found.name.start + u32::try_from(after).unwrap_or(0);
            (cut(name), Some(cut(outer.trim_end_matches('.'))), at)
        }
        _ => {
            let bare = unquoted(language, raw);
            let skipped = u32::try_from(raw.find(bare).unwrap_or(0)).unwrap_or(0);
            (cut(bare), scope, found.name.start + skipped)
        }
    };
    SymbolName { text, scope, start }
}

/// A name without its language's quotes or sigils.
fn unquoted(language: Language, raw: &str) -> &str {
    let bare = match language {
        Language::RUBY => raw.strip_prefix(':').unwrap_or(raw),
        // `:name`, `name: ` and `"name"`.
        Language::ELIXIR => raw.trim().trim_start_matches(':').trim_end_matches(':').trim_matches('"'),
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

/// Where the last part of a qualified name begins, in languages whose parsers have one token for the whole name.
fn last_part(language: Language, name: &str) -> usize {
    let separator = match language {
        Language::ELIXIR => ".",
        // `--from=stage`
        Language::DOCKERFILE => "=",
        _ => return 0,
    };
    name.rfind(separator).map_or(0, |at| at + separator.len()).min(name.len().saturating_sub(1))
}

/// The part of a reference that is the name of a symbol.
pub(super) fn referenced_name(language: Language, source: &str, reference: &ReferenceCapture) -> ByteSpan {
    let span = reference.span;
    match (language, reference.role) {
        (Language::GO, ReferenceRole::Import) => imported_package(source, span),
        (Language::ELIXIR | Language::DOCKERFILE, _) => {
            let after = u32::try_from(last_part(language, slice(source, span))).unwrap_or(0);
            ByteSpan { start: span.start + after, end: span.end }
        }
        _ => span,
    }
}

/// The package in the path of an import of Go: `client` in `"example.org/client/v2"`.
fn imported_package(source: &str, path: ByteSpan) -> ByteSpan {
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
