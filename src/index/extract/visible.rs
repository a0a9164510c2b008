//! How far a symbol can be seen, by the rules of its language.

use crate::language::Language;
use codeyard_model::code::{SymbolKind, Visibility};

/// What is known of what a symbol stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    pub(super) kind: SymbolKind,
    pub(super) visibility: Visibility,
    /// What `public:` or `private` above said last.
    pub(super) access: Option<Visibility>,
    /// It implements an interface: what stands in it is as visible as that.
    pub(super) implements: bool,
}

/// The words that may mark a symbol in `language`, with blanks between.
pub(super) fn markers(language: Language) -> &'static str {
    match language {
        Language::RUST => "pub crate",
        Language::TYPESCRIPT | Language::TSX | Language::JAVASCRIPT => {
            "export default declare public private protected static abstract readonly override accessor"
        }
        Language::C | Language::CPP => "static extern virtual explicit friend inline constexpr",
        Language::JAVA => {
            "public private protected static final abstract default native synchronized transient volatile \
             strictfp sealed"
        }
        Language::CSHARP => {
            "public private protected internal static sealed abstract virtual override readonly partial \
             extern async new unsafe required file const"
        }
        Language::KOTLIN => {
            "public private protected internal open abstract sealed final override data inline lateinit const \
             suspend operator companion"
        }
        Language::SWIFT => {
            "public private fileprivate internal open package static class final override mutating lazy weak \
             convenience required indirect nonisolated"
        }
        Language::SCALA => "private protected public final sealed abstract implicit lazy override case inline",
        Language::RUBY => "public private protected private_class_method module_function",
        Language::PHP => "public private protected static abstract final readonly var",
        _ => "",
    }
}

/// Whether members of this kind of symbol are as visible as it is, unless they say otherwise.
fn hands_on(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Interface | SymbolKind::Trait | SymbolKind::Enum | SymbolKind::Const)
}

/// How far `name` can be seen; `head` is its source up to its name.
pub(super) fn visibility(
    language: Language,
    kind: SymbolKind,
    name: &str,
    marker: &str,
    around: Option<Around>,
) -> Visibility {
    use Visibility::{Private, Public, Restricted};
    let says = |word: &str| {
        marker
            .split(' ')
            .any(|said| said.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('[')))
    };
    let inherited = || around.filter(|around| hands_on(around.kind)).map(|around| around.visibility);
    match language {
        Language::RUST => match marker {
            "pub" => Public,
            "" if kind == SymbolKind::Impl => Public,
            "" if around.is_some_and(|around| around.implements) => Public,
            "" => inherited().unwrap_or(Private),
            _ => Restricted,
        },
        Language::PYTHON => match name {
            special if special.len() > 4 && special.starts_with("__") && special.ends_with("__") => Public,
            hidden if hidden.starts_with("__") => Private,
            hidden if hidden.starts_with('_') => Restricted,
            _ => Public,
        },
        Language::GO => {
            let is_public = name.chars().next().is_some_and(char::is_uppercase);
            if is_public || matches!(kind, SymbolKind::Module | SymbolKind::Use) { Public } else { Restricted }
        }
        Language::TYPESCRIPT | Language::TSX | Language::JAVASCRIPT => {
            if name.starts_with('#') || says("private") {
                Private
            } else if says("protected") {
                Restricted
            } else {
                match around {
                    Some(around) if around.kind != SymbolKind::Module => match around.kind {
                        // What stands in a function stays there; what stands in a type is as visible as that.
                        SymbolKind::Fn | SymbolKind::Method => Private,
                        _ => around.visibility,
                    },
                    _ if says("export") => Public,
                    _ => Private,
                }
            }
        }
        Language::C if says("static") => Private,
        Language::CPP => match around {
            Some(Around { access: Some(access), .. }) => access,
            Some(Around { kind: SymbolKind::Class, .. }) => Private,
            None if says("static") => Private,
            _ => Public,
        },
        Language::RUBY if !marker.is_empty() => access(marker).unwrap_or(Public),
        Language::RUBY => around.and_then(|around| around.access).unwrap_or(Public),
        Language::JAVA | Language::CSHARP | Language::KOTLIN | Language::SWIFT | Language::SCALA | Language::PHP => {
            let scala_scope = marker.contains("private[") && !marker.contains("private[this");
            if says("public") || says("open") && language == Language::SWIFT {
                Public
            } else if says("protected") || says("internal") || says("package") || scala_scope {
                Restricted
            } else if says("private") || says("fileprivate") || says("file") {
                Private
            } else {
                inherited().unwrap_or_else(|| unmarked(language, kind, around))
            }
        }
        _ => Public,
    }
}

/// Where nothing is said.
fn unmarked(language: Language, kind: SymbolKind, around: Option<Around>) -> Visibility {
    let is_member = around.is_some_and(|around| around.kind != SymbolKind::Module);
    match (language, kind) {
        (_, SymbolKind::Module | SymbolKind::Use) => Visibility::Public,
        (Language::JAVA | Language::SWIFT, _) => Visibility::Restricted,
        (Language::CSHARP, _) if is_member => Visibility::Private,
        (Language::CSHARP, _) => Visibility::Restricted,
        _ => Visibility::Public,
    }
}

/// What a line such as `public:` or `private` says.
pub(super) fn access(text: &str) -> Option<Visibility> {
    let word = text.trim_end_matches(':').trim();
    match word.split_whitespace().next()? {
        "public" | "signals" | "Q_SIGNALS" => Some(Visibility::Public),
        "protected" => Some(Visibility::Restricted),
        "private" => Some(Visibility::Private),
        _ => None,
    }
}
