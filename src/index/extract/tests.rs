//! The complete outline of one sample for each language, and properties of the facts of any source.

use std::fmt::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::facts::{MAX_DOC, MAX_SIGNATURE, Reference, ReferenceRole};
use crate::limits::{MAX_FILE_KEYS, MAX_KEY_DEPTH};
use codeyard_model::code::{SymbolKind, Visibility};

fn samples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("extract/samples")
}

/// The sample of a language.
pub(super) fn sample(language: Language) -> String {
    std::fs::read_to_string(samples().join(format!("{}.txt", language.name()))).unwrap()
}

/// The languages whose grammars are so large that they aren't on by default. The feature `all-languages` turns them on.
const LARGE: [&str; 3] = ["julia", "ocaml", "ocaml-interface"];

/// Formats facts as in the `.outline` files.
fn outline(facts: &Facts) -> String {
    let mut text = String::new();
    if facts.has_errors {
        text.push_str("with errors\n");
    }
    for (at, symbol) in facts.symbols.iter().enumerate() {
        let mut depth = 0;
        let mut parent = symbol.parent;
        while let Some(outer) = parent {
            depth += 1;
            parent = facts.symbols[outer as usize].parent;
        }
        let _ = write!(
            text,
            "{}{}{} {} {}-{} {}:{} [{}] {}",
            "  ".repeat(depth),
            symbol.kind.as_str(),
            if symbol.is_definition { "" } else { "?" },
            facts.qualified_name(at),
            symbol.line_start,
            symbol.line_end,
            symbol.name_line,
            symbol.name_column,
            symbol.marker,
            symbol.visibility.as_str(),
        );
        let _ = writeln!(text, " | {} | {:?}", symbol.signature, symbol.doc);
    }
    for reference in &facts.references {
        let within = reference.within.map_or("-", |at| facts.symbols[at as usize].name.as_str());
        let Reference { role, name, line, column, .. } = reference;
        let _ = writeln!(text, "{role:?} {name} {line}:{column} in {within}");
    }
    text
}

#[test]
fn outlines_of_samples_are_as_expected() {
    let rewrite = std::env::var_os("CODEYARD_REWRITE").is_some();
    let mut different = Vec::new();
    for language in &Language::with_grammar() {
        let name = language.name();
        let source = std::fs::read_to_string(samples().join(format!("{name}.txt"))).unwrap();
        let facts = extract(*language, &source);
        check(&source, &facts);
        assert!(facts.symbols.len() > 5, "{name}");
        let path = samples().join(format!("{name}.outline"));
        let ours = outline(&facts);
        if rewrite {
            std::fs::write(path, &ours).unwrap();
        } else if std::fs::read_to_string(path).unwrap() != ours {
            different.push(format!("{name}:\n{ours}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn all_grammars_and_queries_load() {
    for language in Language::with_grammar() {
        assert_eq!(grammar::compile(language).err(), None, "{}", language.name());
    }
    let (available, missing) = grammars();
    assert_eq!(available.len() + missing.len(), Language::ALL.len());
    assert!(available.is_sorted());
    // Those that are a feature of their own.
    assert!(missing.iter().all(|name| LARGE.contains(name)), "{missing:?}");
}

/// Checks properties of the facts of any source.
fn check(source: &str, facts: &Facts) {
    let lines: Vec<&str> = source.split('\n').collect();
    let widths: Vec<usize> = lines.iter().map(|line| line.encode_utf16().count()).collect();
    let place = |line: u32, column: u32| {
        let at = line as usize - 1;
        assert!(column as usize <= widths[at], "{line}:{column} of {:?}", lines[at]);
    };
    let mut last = 0;
    for (at, symbol) in facts.symbols.iter().enumerate() {
        assert!(symbol.parent.is_none_or(|parent| (parent as usize) < at));
        assert!(1 <= symbol.line_start && symbol.line_start <= symbol.line_end, "{symbol:?}");
        assert!(symbol.line_start <= symbol.name_line && symbol.name_line <= symbol.line_end, "{symbol:?}");
        assert!(symbol.line_end as usize <= lines.len(), "{symbol:?}");
        assert!(last <= symbol.line_start, "{symbol:?}");
        last = symbol.line_start;
        place(symbol.name_line, symbol.name_column);
        assert!(!symbol.name.is_empty() && !symbol.name.contains('\n'), "{symbol:?}");
        assert!(symbol.signature.len() <= MAX_SIGNATURE && !symbol.signature.contains('\n'), "{symbol:?}");
        assert!(symbol.doc.len() <= MAX_DOC, "{symbol:?}");
        assert!(!facts.qualified_name(at).is_empty());
    }
    let mut last = (0, 0);
    for reference in &facts.references {
        assert!(last <= (reference.line, reference.column), "{reference:?}");
        last = (reference.line, reference.column);
        place(reference.line, reference.column);
        assert!(reference.within.is_none_or(|at| (at as usize) < facts.symbols.len()));
    }
}

fn any_language() -> impl Strategy<Value = Language> {
    prop::sample::select(Language::with_grammar())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_does_not_panic(language in any_language(), bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        check(&text, &extract(language, &text));
    }

    #[test]
    fn arbitrary_punctuation_does_not_panic(language in any_language(), text in "([a-z_:;,.(){}<>\\[\\]#*&=\"'`@!|$%/\\\\ \n\t-]|ä|😀|class |fn |#if 0\n|#else\n){0,120}") {
        check(&text, &extract(language, &text));
    }

    #[test]
    fn cut_samples_give_stable_facts(language in any_language(), from in 0.0..0.5_f64, to in 0.0..1.0_f64) {
        let source = sample(language);
        let place = |part: f64| source_text::boundary(&source, (source.len() as f64 * part) as usize);
        let from = place(from.min(to));
        let to = place(to);
        let text = &source[from..to];
        let facts = extract(language, text);
        check(text, &facts);
        prop_assert_eq!(facts, extract(language, text));
    }
}

#[test]
fn deep_nesting_does_not_panic() {
    for language in Language::ALL {
        for (open, close) in
            [("(", ")"), ("{", "}"), ("[", "]"), ("class A { void f() { ", "} }"), ("- ", ""), ("#if 1\n{", "}")]
        {
            let text = format!("{}{}", open.repeat(1_000), close.repeat(1_000));
            check(&text, &extract(*language, &text));
            check(&open.repeat(1_000), &extract(*language, &open.repeat(1_000)));
        }
    }
}

/// Scanners of some grammars abort the process on very deep nesting.
#[test]
fn sources_too_deep_for_a_scanner_are_not_parsed() {
    let mut steps = String::new();
    for depth in 0..600 {
        steps.push_str(&format!("{}if a:\n", " ".repeat(depth)));
    }
    let words = (0..40).map(|at| format!("<<{}{at}", "A".repeat(24))).collect::<Vec<_>>().join(", ");
    for (language, source) in [
        (Language::YAML, "- ".repeat(400)),
        (Language::YAML, steps.clone()),
        (Language::PYTHON, steps),
        (Language::RUBY, format!("f({words})\n")),
        (Language::BASH, "cat <<A\n".repeat(300)),
        (Language::GO, "[{".repeat(100_000)),
        (Language::DART, format!("var x = {}", "List<".repeat(6_000))),
        (Language::ZIG, format!("const x = {}a;", "/*".repeat(15_000))),
        (Language::HCL, "\"a\" ".repeat(15_000)),
        (Language::HCL, format!("x = a{}", ".b".repeat(15_000))),
        (Language::OCAML, format!("let x = {}a", "a; ".repeat(15_000))),
        (Language::OCAML_INTERFACE, format!("val x : {}a", "a * ".repeat(15_000))),
        (Language::OCAML, format!("let x = \"[\"\nlet y = {}a", "a; ".repeat(15_000))),
        (Language::OCAML, format!("let x = [\nlet y = {}a", "a; ".repeat(15_000))),
        (Language::HASKELL, "+a\n".repeat(5_000)),
        (Language::HASKELL, "/* a\n".repeat(5_000)),
        (Language::HCL, "\"\"\"\n".repeat(5_000)),
        (Language::RUBY, format!("f(<<{})\n", "A".repeat(1_013))),
    ] {
        assert!(extract(language, &source).has_errors, "{}", language.name());
    }
    let closed = extract(Language::BASH, &"cat <<A\nb\nA\n".repeat(300));
    assert!(!closed.has_errors && !closed.is_too_complex);
    if Language::OCAML.has_grammar() {
        let fine = extract(Language::OCAML, &format!("let a = [{}]\n", "1; ".repeat(9_000)));
        assert!(!fine.has_errors && fine.symbols.len() == 1);
    }
    let comments = format!("{}\nconst a = 1;\n", format!("{}\n", "/".repeat(100)).repeat(100));
    let fine = extract(Language::ZIG, &comments);
    assert!(!fine.has_errors && fine.symbols.len() == 1);
    let fine = extract(Language::ZIG, &format!("const a = \"{}\";\n", "=".repeat(600)));
    assert!(!fine.has_errors && fine.symbols.len() == 1);
    let fine = extract(Language::HCL, &format!("a = \"{}\"\n", ".".repeat(6_000)));
    assert!(!fine.has_errors && fine.symbols.len() == 1);
    let lines = format!("{{-\n{}-}}\na = \"b\"\n", "* c\n".repeat(5_000));
    let fine = extract(Language::HASKELL, &lines);
    assert!(!fine.has_errors && fine.symbols.len() == 1);
    for element in ["1 << 3, ", "'<', ", "b <= c, "] {
        let fine = extract(Language::DART, &format!("var a = [{}];\n", element.repeat(1_500)));
        assert!(!fine.has_errors && fine.symbols.len() == 1, "{element}");
    }
    for element in ["A(1, 'b'),\n", "{'a': 1, 'b': 2},\n"] {
        let fine = extract(Language::DART, &format!("const a = [\n{}];\n", element.repeat(8_000)));
        assert!(!fine.has_errors && fine.symbols.len() == 1, "{element}");
    }
    let fine = extract(Language::DART, &format!("var a = [{}];\n", "b < c, ".repeat(900)));
    assert!(!fine.has_errors && fine.symbols.len() == 1);
    let fine = extract(Language::RUBY, "class A\n  def b\n    c(<<-X, <<~Y)\n    X\n    Y\n  end\nend\n");
    assert!(!fine.has_errors && fine.symbols.len() == 2);
}

#[test]
fn oversized_sources_are_reported_as_erroneous() {
    let facts = extract(Language::RUST, &" ".repeat(MAX_PARSED_BYTES + 1));
    assert!(facts.has_errors && facts.symbols.is_empty());
}

#[test]
fn comment_lookup_is_linear_in_a_long_list() {
    // If each line were compared up to the comment, this test would read 100 GB.
    let lines: String =
        (0..60_000).map(|at| format!("#define REGISTER_{at}_BASE_INDEX_OF_SOME_LENGTH 0x{at:04x}\n")).collect();
    let facts = extract(Language::C, &format!("/* Registers. */\n{lines}"));
    assert_eq!(facts.symbols.len(), 60_000);
    assert_eq!((&*facts.symbols[0].doc, &*facts.symbols[1].doc), ("Registers.", ""));
}

#[test]
fn data_file_keys_are_limited_in_depth_and_number() {
    let deep = "{\"k\":".repeat(9) + "1" + &"}".repeat(9);
    assert_eq!(extract(Language::JSON, &deep).symbols.len(), MAX_KEY_DEPTH);
    let keys: Vec<String> = (0..MAX_FILE_KEYS + 10).map(|at| format!("\"k{at}\": 1")).collect();
    assert_eq!(extract(Language::JSON, &format!("{{{}}}", keys.join(","))).symbols.len(), MAX_FILE_KEYS);
}

#[test]
fn cpp_headers_are_parsed_as_cpp() {
    let facts = extract(Language::C, "namespace a {\nclass B : public C {\n public:\n  void m();\n};\n}\n");
    assert_eq!(facts.qualified_name(2), "a::B::m");
    assert_eq!(facts.symbols[2].visibility, Visibility::Public);
    assert!(!facts.has_errors);
    let plain = extract(Language::C, "/*\nclass of things\n*/\nint class;\nint new(int template);\n");
    assert!(!plain.has_errors);
    assert_eq!(plain.symbols[0].name, "class");
}

#[test]
fn c_functions_survive_macros_and_conditionals() {
    for (source, expected) in [
        ("FORCE_INLINE size_t f(int a) { return a; }\nint g(void) { return 1; }", "f g"),
        ("API(int) f(void);\nEXPORT static INLINE thing_t *g(void) { return 0; }", "f g"),
        ("static int __init f(void)\n{\n\treturn 0;\n}\nasmlinkage long g(int a) { return a; }", "f g"),
        ("int f(void) __acquires(lock) NOINLINE\n{ return 0; }\nint g(void) { return 1; }", "f g"),
        ("int f(char __user *a, const void __iomem *b) { return 0; }\nint g(void) { return 1; }", "f g"),
        ("#ifdef A\nint f(int a)\n#else\nint f(long a)\n#endif\n{ return a; }\nint g(void) { return 1; }", "f g"),
        (
            "int f(int a) {\n#ifdef A\n  if (a) {\n#else\n  if (!a) {\n#endif\n    a++;\n  }\n  return a;\n}\nint g(void) { return 1; }",
            "f g",
        ),
        ("int f(int a\n#ifdef A\n, int b\n#endif\n) { return a; }\nint g(void) { return 1; }", "f g"),
        ("int f(a, b) int a; thing_t b; { return a; }\nint g(void) { return 1; }", "f g"),
        (
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\nAPI int f(void);\n#ifdef __cplusplus\n}\n#endif\nint g(void);",
            "f g",
        ),
        ("#if 0\n}}}\n#else\nint f(void) { return 0; }\n#endif\nint g(void) { return 1; }", "f g"),
    ] {
        let facts = extract(Language::C, source);
        let functions = facts.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Fn);
        let names: Vec<&str> = functions.map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{source}");
        let others = facts.symbols.iter().filter(|symbol| symbol.kind != SymbolKind::Fn).count();
        assert_eq!((others, facts.has_errors), (0, false), "{source}");
    }
    let facts = extract(
        Language::C,
        "struct PACKED a { int b __aligned(8); char c[4] __aligned(8); } __packed;\nstatic int d __read_mostly = 5;",
    );
    let names: Vec<&str> = facts.symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!((names.join(" ").as_str(), facts.has_errors), ("a b c d", false));
}

/// Sources with comments, attributes, defaults and generics in awkward places: language, source, name, signature.
const UGLY: &[(&str, &str, &str, &str)] = &[
    (
        "python",
        "@deco(\n  a={'x': 1},  # why\n)\nasync def f(\n    a: int,  # first\n    b: dict = {'k': [1]},\n    *args, **kw\n) -> 'X':  # done\n    pass\n",
        "f",
        "async def f( a: int, b: dict = {'k': [1]}, *args, **kw ) -> 'X'",
    ),
    ("python", "class A(B, metaclass=M):  # a comment\n    x = 1  # one\n", "A", "class A(B, metaclass=M)"),
    ("python", "class A:\n    x: int = 1  # one\n", "x", "x: int = 1"),
    ("python", "TABLE = {\n    'a': 1,  # {\n    'b': [2],\n}\n", "TABLE", "TABLE = { … }"),
    ("python", "def f(x=')'): return x  # x\n", "f", "def f(x=')')"),
    (
        "rust",
        "#[inline] // fast\n#[must_use = \"it's {\"]\npub(crate) unsafe fn f<'a, T: Into<Vec<u8>>>(\n    a: &'a [u8], // the bytes\n    b: impl Fn(u8) -> [u8; { 1 + 2 }],\n) -> Result<(), ()>\nwhere\n    T: Send, /* must */\n{\n}\n",
        "f",
        "pub(crate) unsafe fn f<'a, T: Into<Vec<u8>>>( a: &'a [u8], b: impl Fn(u8) -> [u8; { 1 + 2 }], ) -> Result<(), ()> where T: Send",
    ),
    (
        "rust",
        "/// Doc.\n#[derive(Debug)]\npub struct S<const N: usize = { 1 }> /* x */ {\n    a: u8, // one\n}\n",
        "S",
        "pub struct S<const N: usize = { 1 }>",
    ),
    ("rust", "struct S {\n    #[serde(default)]\n    pub a: Option<u8>, // one {\n}\n", "a", "pub a: Option<u8>"),
    (
        "rust",
        "pub const X: &[(&str, u8)] = &[\n    (\"a]\", 1), // one\n    (\"b\", 2),\n];\n",
        "X",
        "pub const X: &[(&str, u8)] = &[ … ]",
    ),
    (
        "rust",
        "impl<T> fmt::Debug for S<T>\nwhere\n    T: Send, // so\n{\n}\n",
        "S",
        "impl<T> fmt::Debug for S<T> where T: Send",
    ),
    (
        "typescript",
        "export const f = async <T extends {}>(\n  a: T, // the value\n  { b = {} }: { b?: object } = {},\n): Promise<T> => { return a; };\n",
        "f",
        "export const f = async <T extends {}>( a: T, { b = {} }: { b?: object } = {}, ): Promise<T>",
    ),
    (
        "typescript",
        "@Injectable({ a: '}' })\nexport class A<T = {}> // why\n  extends B<T> /* base */ {\n}\n",
        "A",
        "export class A<T = {}> extends B<T>",
    ),
    (
        "typescript",
        "class A { @Input() readonly x: { a: number } = { a: 1 }; // x\n}\n",
        "x",
        "readonly x: { a: number } = { a: 1 }",
    ),
    (
        "typescript",
        "export type T<A> =\n  | { kind: 'a'; // {\n      value: A }\n  | B<A>;\n",
        "T",
        "export type T<A> = | { … } | B<A>",
    ),
    (
        "typescript",
        "export interface I<T> extends J<T> { // the members\n  a: T;\n}\n",
        "I",
        "export interface I<T> extends J<T>",
    ),
    (
        "javascript",
        "export default function f(a = { b: 1 }, /* c */ ...rest) { // body\n}\n",
        "f",
        "export default function f(a = { b: 1 }, ...rest)",
    ),
    ("javascript", "const o = {\n  a: 1,\n};\n", "o", "const o = { … }"),
    (
        "c",
        "/* Adds. */\nstatic inline int /* the sum */\nadd(int a, // one\n    int b /* two */)\n{ return a + b; }\n",
        "add",
        "static inline int add(int a, int b )",
    ),
    (
        "c",
        "typedef struct node { // a node\n  struct node *next; /* the next */\n} node_t;\n",
        "node_t",
        "typedef struct node { … } node_t",
    ),
    ("c", "struct point { // a point\n  int x; // the x\n};\n", "point", "struct point"),
    ("c", "struct point { // a point\n  int x; // the x\n};\n", "x", "int x"),
    ("c", "typedef union {\n  int a;\n} value_t; // a value\n", "value_t", "typedef union value_t"),
    ("c", "#define MAX(a, b) \\\n  ((a) > (b) ? (a) : (b)) /* the larger */\n", "MAX", "#define MAX(a, b)"),
    ("c", "#define LIMIT 10 // ten\n", "LIMIT", "#define LIMIT 10"),
    ("c", "API(int) EXPORT f(void) ATTR(x) /* y */ { return 0; }\n", "f", "EXPORT f(void)"),
    (
        "c",
        "static const char *const names[] = { // all\n  \"a{\",\n};\n",
        "names",
        "static const char *const names[] = { … }",
    ),
    (
        "cpp",
        "template <typename T = int> // t\nclass A : public B<T> /* b */ {\n};\n",
        "A",
        "template <typename T = int> class A : public B<T>",
    ),
    ("cpp", "struct A { explicit A(int a = f({1})) noexcept : x{a}, y(2) { } int x, y; };\n", "A", "struct A"),
    ("cpp", "A::A(int a) noexcept // c\n  : x{a} // x\n{\n}\n", "A", "A::A(int a) noexcept"),
    (
        "java",
        "@Entity(name = \"}\") // e\npublic class A<T extends Comparable<T>> /* x */ extends B { // body\n}\n",
        "A",
        "public class A<T extends Comparable<T>> extends B",
    ),
    (
        "java",
        "class A { @Override public <T> void f(final int a, // one\n String... b) throws X { } }\n",
        "f",
        "public <T> void f(final int a, String... b) throws X",
    ),
    ("csharp", "class A { public A(int a, string b = \"{\") // c\n : base(a) { } }\n", "A", "class A"),
    (
        "csharp",
        "class C { [Obsolete(\"x\")] public async Task<int> F<T>(T a = default, /* b */ params int[] b) where T : class => await G(); }\n",
        "F",
        "public async Task<int> F<T>(T a = default, params int[] b) where T : class",
    ),
    (
        "go",
        "// F does.\nfunc (s *S[T]) F(a int, // one\n\tb func(int) error) (int, error) { // body\n\treturn 0, nil\n}\n",
        "F",
        "func (s *S[T]) F(a int, b func(int) error) (int, error)",
    ),
    ("go", "type S struct { // the s\n\tA int `json:\"a\"` // a\n}\n", "S", "type S struct"),
    ("ruby", "class A < B # base\n  def f(a, b = {}, *c) # args\n    1\n  end\nend\n", "f", "def f(a, b = {}, *c)"),
    ("ruby", "class A < B # base\nend\n", "A", "class A < B"),
    ("ruby", "module M; end\n", "M", "module M"),
    ("go", "type I interface { // the i\n\tF() error // f\n}\n", "I", "type I interface"),
    (
        "php",
        "<?php\nfinal class A extends B implements C { // body\n public function f(?int $a = null, /* b */ string ...$b): ?array { return []; }\n}\n",
        "f",
        "public function f(?int $a = null, string ...$b): ?array",
    ),
    (
        "kotlin",
        "@Deprecated(\"x\") // y\ninline fun <reified T : Any> f(a: T, /* b */ b: () -> Unit = {}): T where T : X { return a }\n",
        "f",
        "inline fun <reified T : Any> f(a: T, b: () -> Unit = {}): T where T : X",
    ),
    (
        "swift",
        "@available(iOS 13, *) // x\npublic func f<T>(_ a: T, /* b */ b: Int = 1) throws -> T where T: Equatable { return a }\n",
        "f",
        "public func f<T>(_ a: T, b: Int = 1) throws -> T where T: Equatable",
    ),
    (
        "scala",
        "@deprecated // x\ndef f[T](a: T)(implicit b: B /* c */): T = { a }\n",
        "f",
        "def f[T](a: T)(implicit b: B ): T",
    ),
    ("bash", "# Runs.\nrun() { # body\n  echo a\n}\n", "run", "run()"),
];

#[test]
fn signatures_end_where_the_declaration_ends() {
    let mut different = Vec::new();
    for (language, source, name, expected) in UGLY {
        let facts = extract(Language::by_name(language).unwrap(), source);
        let found = facts.symbols.iter().find(|symbol| symbol.name == *name).map(|symbol| symbol.signature.as_str());
        if found != Some(expected) {
            different.push(format!("{language} {name}:\n  {found:?}\n  {expected}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn unnamed_nodes_are_not_symbols() {
    let facts = extract(Language::MARKDOWN, "# One\n\n###\n\n## Two\n");
    let names: Vec<&str> = facts.symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["One", "Two"]);
}

#[test]
fn c_macros_do_not_separate_comments_from_symbols() {
    for (source, expected) in [
        ("/** Documents f. */\nMEM_STATIC int f(void) { return 0; }\n", "Documents f."),
        ("/**\n * Documents f.\n */\nWEAK_ATTR\nthing_t f(\n    int a);\n", "Documents f."),
        ("/* Another thing. */\n\nMEM_STATIC int f(void) { return 0; }\n", ""),
        ("/* Documents g. */\nint g;\nMEM_STATIC int f(void) { return 0; }\n", ""),
    ] {
        let facts = extract(Language::C, source);
        let found = facts.symbols.iter().find(|symbol| symbol.name == "f").unwrap();
        assert_eq!(found.doc, expected, "{source}");
    }
}

#[test]
fn references_have_roles_and_positions() {
    let facts = extract(Language::RUST, "use a::B;\nimpl B for C { fn d(&self) -> E { f(); \"ä\".g() } }");
    let references: Vec<_> = facts.references.iter().map(|found| (found.role, &*found.name, found.column)).collect();
    let expected = [
        (ReferenceRole::Import, "B", 7),
        (ReferenceRole::Base, "B", 5),
        (ReferenceRole::Type, "C", 11),
        (ReferenceRole::Type, "E", 30),
        (ReferenceRole::Call, "f", 34),
        (ReferenceRole::Call, "g", 43),
    ];
    assert_eq!(references, expected);
    assert!(facts.references[3..].iter().all(|found| facts.symbols[found.within.unwrap() as usize].name == "d"));
}

/// The full names of the symbols of a source, without imports.
fn declared(language: Language, source: &str) -> Vec<String> {
    let facts = extract(language, source);
    let is_declared = |at: &usize| facts.symbols[*at].kind != SymbolKind::Use;
    (0..facts.symbols.len()).filter(is_declared).map(|at| facts.qualified_name(at)).collect()
}

#[test]
fn every_name_of_a_declaration_is_a_symbol() {
    for (language, source, expected) in [
        (
            Language::GO,
            "package m\nconst a, b = 1, 2\nvar c, d, e int\ntype S struct { f, g int }\n",
            "m a b c d e S S::f S::g",
        ),
        (
            Language::JAVASCRIPT,
            "const { a, b: c, d = 1, e: { f, g: h }, ...i } = x();\nlet [j, , k = 2, [l], { m }, ...n] = y(), o = 1;\nvar p, q = 2;\n",
            "a c d f h i j k l m n o p q",
        ),
        (Language::TYPESCRIPT, "export const { a, b: [c] } = x, d: number = 1;\n", "a c d"),
        (
            Language::PYTHON,
            "a, b = 1, 2\n(c, d), *e = f()\n[g, h] = i()\nj = k = l = 3\nclass M:\n    n, o = 1, 2\n",
            "a b c d e g h j k l M M::n M::o",
        ),
        (Language::RUBY, "A, B = 1, 2\nC = D = 3\n$e, $f = 1, 2\nE, *F = g\n", "A B C D $e $f E F"),
        (
            Language::SCALA,
            "object O {\n  val a, b = 1\n  val (c, d: Int) = e\n  var f, g: Int = 1\n  val Some(h) = i\n}\n",
            "O O::a O::b O::c O::d O::f O::g O::h",
        ),
        (
            Language::CPP,
            "int a, *b, c[3], d(int);\nauto [e, f] = g();\nstruct S { int h, i; } j, k;\n",
            "a b c d e f S S::h S::i j k",
        ),
        (Language::C, "static int a = 1, b;\ntypedef struct T { int c; } T1, *T2;\n", "a b T T::c T1 T2"),
        (Language::JAVA, "class A { int a, b = 1; }\nenum E { C, D }\n", "A A::a A::b E E::C E::D"),
        (
            Language::CSHARP,
            "class A { int a, b = 1; const int C = 1, D = 2; event X e, f; }\n",
            "A A::a A::b A::C A::D A::e A::f",
        ),
        (
            Language::PHP,
            "<?php\nconst A = 1, B = 2;\nclass C { public $d, $e = 1; const F = 1, G = 2; }\n",
            "A B C C::d C::e C::F C::G",
        ),
    ] {
        let found = declared(language, source);
        let missing: Vec<&str> = expected.split(' ').filter(|name| !found.iter().any(|one| one == name)).collect();
        assert!(missing.is_empty(), "{missing:?} of {source}: {found:?}");
    }
}

#[test]
fn a_macro_on_a_line_of_its_own_names_nothing() {
    for source in [
        "EXPORT\nclass Shape { public: void draw(); };\nint after();\n",
        "API_BEGIN(x)\nclass Shape : public Base { void draw(); };\nint after();\n",
        "NAMESPACE_BEGIN\ntemplate <class T>\nclass Shape { void draw(); };\nint after();\n",
        "A_MACRO B_MACRO\nstruct Shape { void draw(); };\nint after();\n",
        "class Outer {\n};\nQ_DECLARE\nclass Shape final { void draw(); };\nint after();\n",
        "DIAGNOSTIC_PUSH\nnamespace n { class Shape { void draw(); }; }\nint after();\n",
    ] {
        let found = declared(Language::CPP, source);
        assert!(found.iter().any(|name| name.ends_with("Shape::draw")), "{source}: {found:?}");
        assert!(found.contains(&"after".to_owned()) && !found.contains(&"class".to_owned()), "{source}: {found:?}");
    }
}

#[test]
fn new_syntax_of_kotlin_costs_no_symbols() {
    for source in [
        "class A {\n  fun one(x: Any) = when (x) {\n    is B if x.ok && y -> 1\n    else if z() -> 2\n    else -> 3\n  }\n  fun two() {}\n}\nfun three() {}\n",
        "class A {\n  context(log: Log, B)\n  fun one() {}\n  context(_: Log)\n  val p: Int get() = 1\n  fun two() {}\n}\nfun three() {}\n",
        "class A {\n  companion object {\n    object Inner { fun x() {} }\n    class B { companion object { val c = 1 } }\n  }\n  fun one() {}\n  fun two() {}\n}\nfun three() {}\n",
        "class A {\n  companion object Named {\n    companion object { val c = 1 }\n  }\n  fun one() {}\n  fun two() {}\n}\nfun three() {}\n",
        "class A {\n  val text = $$\"\"\"{ $a $$b }\"\"\"\n  fun one() {}\n  fun two() {}\n}\nfun three() {}\n",
    ] {
        let found = declared(Language::KOTLIN, source);
        for name in ["A", "A::one", "A::two", "three"] {
            assert!(found.iter().any(|one| one == name), "{name} of {source}: {found:?}");
        }
    }
}

#[test]
fn a_name_alone_is_a_call_in_ruby_unless_it_is_local() {
    let source = "class Story\n  validates\n  def assign(other)\n    self.hotness = calculated\n    local = other\n    update(local, calculated)\n    each { |item| item; run }\n  end\n  def calculated = 1\nend\nsetup\n";
    let facts = extract(Language::RUBY, source);
    let calls = facts.references.iter().filter(|reference| reference.role == ReferenceRole::Call);
    let calls: Vec<(&str, u32)> = calls.map(|reference| (reference.name.as_str(), reference.line)).collect();
    let expected = [
        ("validates", 2),
        ("hotness", 4),
        ("calculated", 4),
        ("update", 6),
        ("calculated", 6),
        ("each", 7),
        ("run", 7),
        ("setup", 11),
    ];
    assert_eq!(calls, expected);
}
