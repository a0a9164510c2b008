//! What a word of C or C++ is by its spelling: a basic type, a qualifier, a statement's keyword, or a macro.

pub(super) fn looks_like_macro(word: &str) -> bool {
    let mut bytes = word.bytes();
    let is_capital =
        word.len() > 1 && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_capital || word.starts_with("__") && word.len() > 4
}

/// Keywords that a declaration may begin with and that no type precedes.
pub(super) fn begins_declaration(word: &str) -> bool {
    matches!(word, "class" | "struct" | "union" | "enum" | "template" | "namespace" | "using" | "typedef")
}

pub(super) fn is_basic(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"void"
            | b"char"
            | b"short"
            | b"int"
            | b"long"
            | b"float"
            | b"double"
            | b"signed"
            | b"unsigned"
            | b"_Bool"
            | b"bool"
            | b"auto"
    )
}

/// Compares bytes, because this runs for every word of a source.
pub(super) fn is_qualifier(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"const"
            | b"volatile"
            | b"static"
            | b"extern"
            | b"inline"
            | b"register"
            | b"typedef"
            | b"restrict"
            | b"virtual"
            | b"explicit"
            | b"friend"
            | b"constexpr"
            | b"mutable"
            | b"override"
            | b"final"
            | b"noexcept"
            | b"thread_local"
            | b"_Noreturn"
            | b"__inline"
            | b"__inline__"
            | b"__extension__"
            | b"__restrict"
            | b"__volatile__"
            | b"__const"
            | b"_Thread_local"
    )
}

/// Keywords that don't occur in a run of a declaration.
pub(super) fn is_statement(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"return"
            | b"case"
            | b"goto"
            | b"else"
            | b"sizeof"
            | b"if"
            | b"while"
            | b"for"
            | b"do"
            | b"switch"
            | b"new"
            | b"delete"
            | b"throw"
            | b"default"
            | b"using"
            | b"namespace"
            | b"template"
            | b"operator"
            | b"co_return"
            | b"requires"
            | b"concept"
            | b"public"
            | b"private"
            | b"protected"
            | b"asm"
            | b"__asm__"
            | b"__attribute__"
            | b"__declspec"
            | b"_Static_assert"
    )
}
