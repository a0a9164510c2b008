//! The visibility of a symbol by the rules of its language.

use crate::language::Language;
use codeyard_model::code::{SymbolKind, Visibility};

/// The symbol around another one, as far as visibility depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnclosingSymbol {
    pub(super) kind: SymbolKind,
    pub(super) visibility: Visibility,
    /// The visibility that the last `public:` or `private` line before it set.
    pub(super) access: Option<Visibility>,
    /// It implements an interface, so its members are public.
    pub(super) implements: bool,
}

/// The words that may mark a symbol in `language`, separated by blanks.
pub(super) fn markers(language: Language) -> &'static str {
    match language {
        Language::RUST => "pub crate",
        Language::TYPESCRIPT | Language::TSX | Language::JAVASCRIPT | Language::VUE | Language::SVELTE => {
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
        Language::ZIG => "pub export extern inline noinline threadlocal",
        Language::LUA => "local",
        Language::ELIXIR => "defp defnp defmacrop defguardp typep",
        Language::DART => "abstract base const external factory final interface late sealed static",
        _ => "",
    }
}

/// Whether members without a marker have the visibility of a container of this kind.
fn members_inherit(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Interface | SymbolKind::Trait | SymbolKind::Enum | SymbolKind::Const)
}

/// The visibility of the symbol `name`. `marker` holds its marker words, such as `pub(crate)` or `protected static`.
pub(super) fn visibility_of(
    language: Language,
    kind: SymbolKind,
    name: &str,
    marker: &str,
    around: Option<EnclosingSymbol>,
) -> Visibility {
    use Visibility::{Private, Public, Restricted};
    let has_word = |word: &str| {
        marker
            .split(' ')
            .any(|part| part.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('[')))
    };
    let inherited = || around.filter(|around| members_inherit(around.kind)).map(|around| around.visibility);
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
        Language::TYPESCRIPT | Language::TSX | Language::JAVASCRIPT | Language::VUE | Language::SVELTE => {
            if name.starts_with('#') || has_word("private") {
                Private
            } else if has_word("protected") {
                Restricted
            } else {
                match around {
                    Some(around) if around.kind != SymbolKind::Module => match around.kind {
                        // Symbols in a function are local; members of a type have the type's visibility.
                        SymbolKind::Fn | SymbolKind::Method => Private,
                        _ => around.visibility,
                    },
                    _ if has_word("export") => Public,
                    _ => Private,
                }
            }
        }
        Language::C if has_word("static") => Private,
        Language::CPP => match around {
            Some(EnclosingSymbol { access: Some(access), .. }) => access,
            Some(EnclosingSymbol { kind: SymbolKind::Class, .. }) => Private,
            None if has_word("static") => Private,
            _ => Public,
        },
        Language::RUBY if !marker.is_empty() => access(marker).unwrap_or(Public),
        Language::RUBY => around.and_then(|around| around.access).unwrap_or(Public),
        Language::JAVA | Language::CSHARP | Language::KOTLIN | Language::SWIFT | Language::SCALA | Language::PHP => {
            let scala_scope = marker.contains("private[") && !marker.contains("private[this");
            if has_word("public") || has_word("open") && language == Language::SWIFT {
                Public
            } else if has_word("protected") || has_word("internal") || has_word("package") || scala_scope {
                Restricted
            } else if has_word("private") || has_word("fileprivate") || has_word("file") {
                Private
            } else {
                inherited().unwrap_or_else(|| unmarked(language, kind, around))
            }
        }
        Language::ZIG if has_word("pub") || has_word("export") || kind == SymbolKind::Field => Public,
        Language::ZIG => inherited().unwrap_or(Private),
        _ => by_word_or_name(language, kind, name, marker),
    }
}

/// The visibility in a language where a word, or how the name begins, makes a symbol private.
fn by_word_or_name(language: Language, kind: SymbolKind, name: &str, marker: &str) -> Visibility {
    match language {
        Language::LUA | Language::ELIXIR if !marker.is_empty() => Visibility::Private,
        // Exported functions become public at the end.
        Language::ERLANG if kind == SymbolKind::Fn => Visibility::Private,
        Language::DART if name.starts_with('_') => Visibility::Private,
        Language::JULIA if name.starts_with('_') => Visibility::Restricted,
        _ => Visibility::Public,
    }
}

/// The visibility of a symbol without a marker.
fn unmarked(language: Language, kind: SymbolKind, around: Option<EnclosingSymbol>) -> Visibility {
    let is_member = around.is_some_and(|around| around.kind != SymbolKind::Module);
    match (language, kind) {
        (_, SymbolKind::Module | SymbolKind::Use) => Visibility::Public,
        (Language::JAVA | Language::SWIFT, _) => Visibility::Restricted,
        (Language::CSHARP, _) if is_member => Visibility::Private,
        (Language::CSHARP, _) => Visibility::Restricted,
        _ => Visibility::Public,
    }
}

/// The visibility that a line such as `public:` or `private` sets.
pub(super) fn access(text: &str) -> Option<Visibility> {
    let word = text.trim_end_matches(':').trim();
    match word.split_whitespace().next()? {
        "public" | "signals" | "Q_SIGNALS" => Some(Visibility::Public),
        "protected" => Some(Visibility::Restricted),
        "private" => Some(Visibility::Private),
        _ => None,
    }
}
