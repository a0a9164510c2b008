//! Tests of the query language: what is part of it, what only looks like it, errors, and the round trip.

use super::*;

fn parsed(text: &str) -> ParsedSearch {
    ParsedSearch::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn word(text: &str) -> QueryTerm {
    QueryTerm::word(text.to_owned())
}

fn term(is_excluded: bool, subject: TermSubject) -> QueryTerm {
    QueryTerm::new(is_excluded, subject)
}

fn filter(name: FilterName, value: &str) -> QueryTerm {
    term(false, TermSubject::Filter(name, value.to_owned()))
}

fn phrase(text: &str) -> QueryTerm {
    term(false, TermSubject::Phrase(text.to_owned()))
}

fn regex(text: &str) -> QueryTerm {
    term(false, TermSubject::Regex(text.to_owned()))
}

fn not(of: QueryTerm) -> QueryTerm {
    QueryTerm { is_excluded: true, ..of }
}

#[test]
fn each_kind_of_term_is_parsed() {
    let cases = [
        ("parse lang:rust", vec![word("parse"), filter(FilterName::Lang, "rust")]),
        (
            "repo:django path:src/auth x",
            vec![filter(FilterName::Repo, "django"), filter(FilterName::Path, "src/auth"), word("x")],
        ),
        ("sym:Foo::bar kind:fn", vec![filter(FilterName::Sym, "Foo::bar"), filter(FilterName::Kind, "fn")]),
        (r#"path:"a b" x"#, vec![filter(FilterName::Path, "a b"), word("x")]),
        (r#""two words" x"#, vec![phrase("two words"), word("x")]),
        (r#""say \"no\" \\ \n""#, vec![phrase(r#"say "no" \ \n"#)]),
        (r"/fn \w+_init\(/", vec![regex(r"fn \w+_init\(")]),
        (r"/a\/b/ x", vec![regex("a/b"), word("x")]),
        ("render -test", vec![word("render"), not(word("test"))]),
        (
            r#"x -"a b" -/c+/ -path:vendor"#,
            vec![word("x"), not(phrase("a b")), not(regex("c+")), not(filter(FilterName::Path, "vendor"))],
        ),
        ("x case:yes", vec![word("x"), filter(FilterName::Case, "yes")]),
        ("lang:rust -x", vec![filter(FilterName::Lang, "rust"), not(word("x"))]),
        ("kind:class", vec![filter(FilterName::Kind, "class")]),
        (
            r"sym:/^parse_\w+ x\/y/ lang:go",
            vec![filter(FilterName::Sym, r"/^parse_\w+ x\/y/"), filter(FilterName::Lang, "go")],
        ),
        (r#"sym:"/a b/" -sym:/c$/"#, vec![filter(FilterName::Sym, "/a b/"), not(filter(FilterName::Sym, "/c$/"))]),
        ("path:/src/ x", vec![filter(FilterName::Path, "/src/"), word("x")]),
    ];
    for (text, terms) in cases {
        assert_eq!(parsed(text).terms, terms, "{text}");
    }
}

#[test]
fn text_that_looks_like_the_language_is_text() {
    for text in [
        "std::vec", "path::Path", "sym::Foo", "http://x.org/a", "Foo: bar", "lang: rust", "key:value", "TypeError:x",
        "src/jwt.rs:parse", "a -> b", "a - b", "x --verbose", "x -1", "/usr/bin/env", "/usr/bin/ x", "// a comment /",
        "/* a comment */", "a / b / c", "x:=1", "\"unclosed text", "print(\"a b\")", "it\"s", "\"\"", "-Wall",
        "-Wall -Werror", "-/path", "operator-", "Lang:rust",
    ] {
        let words: Vec<QueryTerm> = text.split_whitespace().map(word).collect();
        let found = parsed(text);
        assert_eq!(found.terms, words, "{text}");
    }
    assert_eq!(parsed("").terms, []);
}

#[test]
fn errors_name_what_is_valid() {
    let error = |text: &str| ParsedSearch::parse(text).expect_err(text).to_string();
    for text in ["file:a.rs x", "language:go x", "foo:bar lang:rust", "x repos:a"] {
        let error = error(text);
        assert!(error.contains("repo: lang: path: sym: kind: case:") && error.contains("in quotes"), "{error}");
    }
    assert!(error("x kind:klass").contains("struct"), "{}", error("x kind:klass"));
    assert!(error("x case:maybe").contains("smart"));
    assert!(error("x repo:a/b").contains("`*`"));
    for text in ["case:yes", "-path:src -vendor", "-\"a b\"", "-kind:fn case:no -x"] {
        assert_eq!(ParsedSearch::parse(text), Err(LanguageError::NothingToFind), "{text}");
    }
    let many = "x ".repeat(MAX_QUERY_TERMS + 1);
    assert_eq!(ParsedSearch::parse(&many), Err(LanguageError::TooManyTerms));
    assert!(MISTAKEN_FILTERS.is_sorted());
    assert!(MISTAKEN_FILTERS.iter().all(|name| FilterName::parse(name).is_none()));
}

#[test]
fn a_phrase_in_quotes_hides_the_language() {
    assert_eq!(parsed("\"lang:rust\"").terms, [phrase("lang:rust")]);
    assert_eq!(parsed("gcc \"-Wall\"").terms, [word("gcc"), phrase("-Wall")]);
    assert_eq!(parsed("\"file:a\" lang:go").terms, [phrase("file:a"), filter(FilterName::Lang, "go")]);
}

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

#[test]
fn any_text_is_parsed_without_a_panic_and_what_is_written_is_read_again() {
    let pieces = [
        " ", "  ", "\t", "\n", "-", "--", "\"", "\\", "\\\"", "/", "\\/", "//", "/*", "*/", ":", "::", "lang:",
        "repo:", "path:", "sym:", "kind:", "case:", "fn", "rust", "yes", "a", "Foo", "ä", "x.y", "(", "->", "=",
        "file:", "_", "1", "é̀",
    ];
    let mut numbers = Numbers(7);
    let mut read = 0;
    let mut refused = 0;
    for _ in 0..60_000 {
        let count = 1 + numbers.below(12);
        let text: String = (0..count).map(|_| pieces[numbers.below(pieces.len())]).collect();
        match ParsedSearch::parse(&text) {
            Ok(found) => {
                let written = found.to_string();
                assert_eq!(ParsedSearch::parse(&written).as_ref(), Ok(&found), "{text:?} became {written:?}");
                read += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 10_000 && refused > 1_000, "{read} {refused}");
}

/// A word that begins with a quote or a slash takes in what follows as soon as there is a second one.
#[test]
fn the_text_of_a_query_with_an_unclosed_mark_means_the_same() {
    for (text, terms) in [
        (r#""x path:"a" y""#, vec![word("\"x"), filter(FilterName::Path, "a"), word("y\"")]),
        (r#"/x path:"a/" y/"#, vec![word("/x"), filter(FilterName::Path, "a/"), word("y/")]),
        (r#"/x path:"a\/ b""#, vec![word("/x"), filter(FilterName::Path, r"a\/ b")]),
    ] {
        let found = parsed(text);
        assert_eq!(found.terms, terms, "{text}");
        assert_eq!(parsed(&found.to_string()), found, "{text} became {found}");
    }
}
