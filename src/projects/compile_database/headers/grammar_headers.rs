//! The headers that parser generators write: the tokens of a grammar of yacc, bison or lemon.
//!
//! The tokens are numbered in the order of the grammar, as the generators do. The actions of the grammar are not read.

use std::collections::BTreeSet;

/// The first number of a token of yacc.
const FIRST_TOKEN: usize = 258;
/// The token that lemon adds to a grammar without naming it is 0.
const FIRST_LEMON_TOKEN: usize = 1;

/// The names of the grammars that a header `name` may be made from.
pub(super) fn grammar_names(name: &str) -> Vec<String> {
    let Some(stem) =
        [".tab.h", ".tab.hh", ".tab.hpp", ".h", ".hh", ".hpp"].iter().find_map(|end| name.strip_suffix(end))
    else {
        return Vec::new();
    };
    let plain = stem.strip_suffix("_tab").or_else(|| stem.strip_suffix(".y")).unwrap_or(stem);
    [".y", ".yy", ".ypp", ".y++", ".lemon"].iter().map(|end| format!("{plain}{end}")).collect()
}

/// Whether a file of this name is a grammar.
pub(super) fn is_grammar(name: &str) -> bool {
    [".y", ".yy", ".ypp", ".y++", ".lemon"].iter().any(|end| name.ends_with(end))
}

/// The header of a grammar. `None` if it has no tokens.
pub(super) fn header(grammar: &str) -> Option<String> {
    let text = without_comments(grammar);
    let is_yacc = text.lines().any(|line| line.trim_end() == "%%");
    if is_yacc { of_yacc(&text) } else { of_lemon(&text) }
}

fn of_yacc(text: &str) -> Option<String> {
    let declarations = text.split("\n%%").next().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut tokens = Vec::new();
    let mut is_token = false;
    for word in words(declarations) {
        if word.starts_with('%') {
            is_token = ["%token", "%left", "%right", "%nonassoc", "%precedence"].contains(&word);
        } else if is_token && is_name(word) && word.starts_with(|c: char| c.is_ascii_uppercase()) && seen.insert(word) {
            tokens.push(word);
        }
    }
    if tokens.is_empty() {
        return None;
    }
    let named: String =
        tokens.iter().enumerate().map(|(at, name)| format!("  {name} = {},\n", FIRST_TOKEN + at)).collect();
    let required = ["requires", "provides"]
        .iter()
        .filter_map(|kind| block(declarations, &format!("%code {kind}")))
        .collect::<Vec<_>>()
        .join("\n");
    let value = match block(declarations, "%union") {
        Some(members) => format!("typedef union YYSTYPE {{{members}}} YYSTYPE;\n"),
        None => "#ifndef YYSTYPE\ntypedef int YYSTYPE;\n#endif\n".to_owned(),
    };
    Some(format!("{required}\nenum yytokentype {{\n{named}}};\n{value}extern YYSTYPE yylval;\nint yyparse();\n"))
}

/// The text in braces behind a directive.
fn block<'a>(text: &'a str, directive: &str) -> Option<&'a str> {
    let behind = &text[text.find(directive)? + directive.len()..];
    let open = behind.find('{')?;
    let mut depth = 0;
    for (at, c) in behind[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&behind[open + 1..open + at]);
        }
    }
    None
}

/// Tokens of lemon are the symbols in capitals.
fn of_lemon(text: &str) -> Option<String> {
    if !text.contains("::=") {
        return None;
    }
    let all = words(text);
    let prefix = all.windows(2).find(|pair| pair[0] == "%token_prefix").map_or("", |pair| pair[1]);
    let mut seen = BTreeSet::new();
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut previous = "";
    for word in all {
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            // A label behind a symbol is in parentheses.
            _ if depth == 0
                && previous != "("
                && previous != "%token_prefix"
                && is_token_of_lemon(word)
                && seen.insert(word) =>
            {
                tokens.push(word);
            }
            _ => {}
        }
        previous = word;
    }
    let lines =
        tokens.iter().enumerate().map(|(at, name)| format!("#define {prefix}{name} {}\n", FIRST_LEMON_TOKEN + at));
    (!tokens.is_empty()).then(|| lines.collect())
}

fn is_token_of_lemon(word: &str) -> bool {
    is_name(word)
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && !word.contains(|c: char| c.is_ascii_lowercase())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Names with a leading `%` or none, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let start = usize::from(first == '%');
        let end = rest[start..].find(|c: char| !is_of_name(c)).map_or(rest.len(), |end| end + start);
        let end = if end == 0 { first.len_utf8() } else { end };
        if !first.is_whitespace() {
            found.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        found.push_str(&rest[..at]);
        let behind = &rest[at..];
        let end = if behind.starts_with("/*") {
            behind.find("*/").map(|end| end + 2)
        } else if behind.starts_with("//") {
            behind.find('\n')
        } else {
            found.push('/');
            Some(1)
        };
        rest = end.map_or("", |end| &behind[end..]);
    }
    found.push_str(rest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_yacc_are_numbered_in_order() {
        let text = "%{\n#include <x.h>\n%}\n%code requires { struct node; }\n%union { int number; struct { int x; } y; } /* %token NO */\n\
                    %token <number> NUMBER \"number\" NAME\n%token END 0\n%left '+' PLUS\n%type <number> expr\n%%\nexpr: NUMBER OTHER;\n";
        let header = header(text).unwrap();
        for part in [
            "struct node;",
            "NUMBER = 258,\n  NAME = 259,\n  END = 260,\n  PLUS = 261,\n}",
            "union YYSTYPE { int number; struct { int x; } y; } YYSTYPE",
            "yylval",
        ] {
            assert!(header.contains(part), "{part}: {header}");
        }
        assert!(!header.contains("NO") && !header.contains("OTHER"));
    }

    #[test]
    fn tokens_of_lemon_are_the_symbols_in_capitals() {
        let text = "%token_prefix TK_\n%include { #define NOT 1 }\n%left OR.\n// NOT\ncmd ::= BEGIN trans(Y). { f(NOT); }\ncmd(A) ::= OR(X) PLUS|MINUS.\n";
        let wanted = "#define TK_OR 1\n#define TK_BEGIN 2\n#define TK_PLUS 3\n#define TK_MINUS 4\n";
        assert_eq!(header(text).as_deref(), Some(wanted));
        assert_eq!([header("all: x.y\n"), header("%%\n"), header("/*"), header("/ü")], [None, None, None, None]);
    }

    #[test]
    fn grammars_are_found_by_the_name_of_their_header() {
        for name in ["parse.h", "parse.tab.h", "parse_tab.h", "parse.tab.hh"] {
            assert!(grammar_names(name).contains(&"parse.y".to_owned()), "{name}");
        }
        assert!(grammar_names("parse.c").is_empty());
    }
}
