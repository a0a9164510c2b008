//! Sources that are small but expensive to parse, for each language.
//!
//! Deterministic: the same language, shape and size always give the same text.

use crate::language::Language;

/// A source that is expensive to parse.
pub(crate) struct ParserBomb {
    /// The language and the shape, for messages.
    pub(crate) name: String,
    /// The language that it is parsed as.
    pub(crate) language: Language,
    /// The source.
    pub(crate) text: String,
}

/// The pieces of a language that its shapes are made of.
struct Pieces {
    language: Language,
    /// What stands before and after an expression.
    expression: (&'static str, &'static str),
    /// Constructs that nest: what opens and what closes one.
    nested: &'static [(&'static str, &'static str)],
    /// Units that are repeated one after the other.
    repeated: &'static [&'static str],
}

/// Pieces that every language gets.
const COMMON_NESTED: [(&str, &str); 7] =
    [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("(a,", ")"), ("f(", ")"), ("[{", "}]")];
const COMMON_REPEATED: [&str; 13] = ["a+", "a.", "f()", ";", "a\n", "a ", "/*", "\"", "'", "`", "é ", "#", "a<b>"];

macro_rules! pieces {
    ($($language:ident: $head:literal, $tail:literal, [$($open:literal .. $close:literal),*], [$($unit:literal),*];)+) => {
        const PIECES: &[Pieces] = &[$(Pieces {
            language: Language::$language,
            expression: ($head, $tail),
            nested: &[$(($open, $close)),*],
            repeated: &[$($unit),*],
        }),+];
    };
}

pieces! {
    RUST: "fn f() { let x = ", "; }",
        ["mod m { ".." }", "if a { ".." }", "a! { ".." }", "&".."", "Vec<"..">", "/*".."*/", "match a { b => ".." }", "fn f() { ".." }",
         "|a| ".."", "impl A { ".." }", "r#\"".."\"#"],
        ["fn f() {}\n", "use a::b;\n", "#[a] fn f() {}\n", "a! { fn f() {} }\n", "/// a\n", "a::", "r#\"a\"#;", "'a ", "{ b: c },", "a?."];
    TYPESCRIPT: "let x = ", ";",
        ["if (a) { ".." }", "`${".."}`", "a ? b : ".."", "() => ".."", "class A { m() { ".." } }", "Array<"..">", "namespace n { ".." }",
         "type T = { a: ".."}", "!".."", "<a>".."</a>"],
        ["let a;\n", "function f() {}\n", "@a ", "export const a = 1;\n", "a ? b : ", "/a/", "a?.", "<a,", "a as b as ", "exports.a = require('a');"];
    TSX: "let x = ", ";",
        ["<a>".."</a>", "<a b={".."}/>", "<>".."</>", "`${".."}`", "() => ".."", "{a ? ".." : b}"],
        ["<a>", "<a b=\"c\"/>", "</a>", "let a;\n", "@a ", "<a,", "{a}"];
    JAVASCRIPT: "let x = ", ";",
        ["if (a) { ".." }", "`${".."}`", "function f() { ".." }", "() => ".."", "[a, ".."]", "{a: ".."}", "!".."", "<a>".."</a>", "while (a) ".."",
         "class A { m() { ".." } }"],
        ["let a;\n", "var a = function() {};\n", "a,", "a = ", "/a/", "a\n++\n", "case a:", "a.prototype.b = function() {};\n", "// a\n", "require('a').b;"];
    PYTHON: "x = ", "\n",
        ["lambda: ".."", "[a for a in ".."]", "not ".."", "{1: ".."}", "f\"{".."}\"", "def f(): ".."", "f(a=".." )", "if a: ".."", "a if b else ".."",
         "\"\"\"".."\"\"\""],
        ["a = 1\n", "def f(): pass\n", "class A: pass\n", "@a\n", "if a:\n ", "\"\"\"", "a, ", "x = \\\n", "elif a: b\n", "a == ", "import a\n"];
    GO: "package p\nvar x = ", "\n",
        ["func() { ".." }", "*".."", "[]".."", "struct { a ".." }", "if a { ".." }", "map[a]".."", "chan ".."", "interface { m(".." ) }"],
        ["var a int\n", "func f() {}\n", "a, ", "`", "<-", "type A struct{}\n", "[a]", "case a:", "a := b\n"];
    C: "int x = ", ";",
        ["struct a { ".." } b;", "if (a) { ".." }", "*".."", "#if A\n".."\n#endif\n", "sizeof(".." )", "int (*".."(void))", "a[".."]", "do ".." while (a);",
         "a ? b : ".."", "typedef struct { ".." } é;"],
        ["int a;\n", "int f(void) {}\n", "static ", "int a,", "a,", "#define A a\n", "#if A\n", "A(a) ", "case a:", "struct a *", "else ", "__attribute__((a)) ", "*a,"];
    CPP: "int x = ", ";",
        ["namespace n { ".." }", "template<class A, ".." > struct b;", "a<".." >", "class a { ".." };", "[]{ ".." }", "struct a : b { ".." };", "(a)".."", "~".."",
         "decltype(".." )", "a<b<".." > c", "requires { ".." }"],
        ["int a;\n", "void a::f() {}\n", "template<class T> ", "a::", "int a,", "a<b,", "operator ", "a < b > c;", "public:\n", "R\"(", "friend ", "[[a]] ", "a(b)(c)"];
    JAVA: "class A { int x = ", "; }",
        ["class A { ".." }", "if (a) { ".." }", "(a) ".."", "List<"..">", "() -> ".."", "new A() { int b = ".."; }", "!".."", "@a(".." )", "switch (a) { case b: ".." }"],
        ["int a;\n", "void f() {}\n", "@a ", "import a.b;\n", "a, ", "case a:", "public static ", "\"\"\"\n", "a < b > c;", "class A {}\n"];
    CSHARP: "class A { int x = ", "; }",
        ["namespace n { ".." }", "if (a) { ".." }", "$\"{".."}\"", "List<"..">", "a => ".."", "(a) ".."", "{ get; set; } = ".."", "#if A\n".."\n#endif\n", "a ? b : ".."",
         "class A { ".." }"],
        ["int a;\n", "void f() {}\n", "[a] ", "using a;\n", "a, ", "@\"", "#region a\n", "a < b > c;", "public static ", "case a:", "a is b and ", "from a in b "];
    RUBY: "x = ", "\n",
        ["def f\n".."\nend\n", "if a then ".." end", "\"#{".."}\"", "%w(".." )", "{ |a| ".." }", "[a, ".."]", "begin ".." end", "not ".."", "class A\n".."\nend\n", "-> { ".." }",
         "{a: ".."}"],
        ["a = 1\n", "def f; end\n", "<<A\n", "<<~A\na\nA\n", "%q(", "a b ", "a, ", "/a/", "=begin\n", ":a ", "a ? b : ", "attr_reader :a\n", "when a\n", "rescue a\n"];
    PHP: "<?php $x = ", ";",
        ["if ($a) { ".." }", "function f() { ".." }", "array(".." )", "\"{$a[".."]}\"", "fn() => ".."", "class A { ".." }", "!".."", "$a ? $b : ".."", "${".."}", "(int)".."",
         "<?php { ?>".."<?php } ?>"],
        ["$a = 1;\n", "function f() {}\n", "<<<A\n", "<<<A\na\nA;\n", "$a->", "?><?php ", "$a, ", "use a\\b;\n", "case 1:", "$", "#[A] ", "elseif ($a) {}\n"];
    KOTLIN: "val x = ", "\n",
        ["fun f() { ".." }", "if (a) { ".." }", "\"${".."}\"", "{ a -> ".." }", "List<"..">", "class A { ".." }", "when (a) { b -> ".." }", "!".."", "/*".."*/", "a ?: ".."",
         "if (a) b else ".."", "\"\"\"${".."}\"\"\""],
        ["val a = 1\n", "fun f() {}\n", "@a ", "import a.b\n", "a, ", "\"\"\"", "a < b > c\n", "a?.", "a as b as ", "a.b { }", "public ", "class A\n"];
    SWIFT: "let x = ", "\n",
        ["func f() { ".." }", "if a { ".." }", "\"\\(".." )\"", "{ a in ".." }", "Array<"..">", "struct A { ".." }", "!".."", "/*".."*/", "a ? b : ".."", "#if A\n".."\n#endif\n",
         "switch a { case b: ".." }", "try ".."", "{ ".." }"],
        ["let a = 1\n", "func f() {}\n", "@a ", "import a\n", "a, ", "\"\"\"", "a < b > c\n", "a?.", "a as b as ", "case a:", "public ", "##\"", "a & b & ", "guard a else {}\n"];
    SCALA: "val x = ", "\n",
        ["def f = { ".." }", "if (a) { ".." }", "s\"${".."}\"", "{ a => ".." }", "List["..".]", "class A { ".." }", "!".."", "/*".."*/", "a match { case b => ".." }", "package a { ".." }",
         "if (a) b else ".."", "object A:\n ".."", "(a: "..") => b"],
        ["val a = 1\n", "def f = 1\n", "@a ", "import a.b\n", "a, ", "\"\"\"", "a b ", "a :: ", "case a => b\n", "private ", "package a\n", "a: ", "if a then\n "];
    BASH: "x=$(( ", " ))\n",
        ["$(".." )", "${a:-".."}", "if a; then ".."; fi", "{ ".."; }", "\"$(".." )\"", "f() { ".."; }", "((".."))", "[[ ".." ]]", "`".."`", "while a; do ".."; done", "case a in b) ".." ;; esac",
         "! ".."", "<(".." )", "${a["..".]}"],
        ["a=1\n", "f() { a; }\n", "<<A\n", "cat <<A\na\nA\n", "a | ", "a && ", "$a", "${a}", "$((", "a; ", "\\\n", "'a' ", "{a,b}", "a)", ";;", "[ ", "(a) ", "$(", "if ", "<<A ", "<<-'A'\n"];
    JSON: "", "",
        ["{\"a\":".."}", "[1,".."]", "{\"a\":{\"b\":[".."]}}", "{\"a\":1,\"b\":".."}"],
        ["[],", "\"a\":1,", "{},", ",", ":", "-", "\"\\u0041\",", "1e", "//a\n"];
    YAML: "x: ", "\n",
        ["- ".."", "{a: ".."}", "[a, ".."]", "? ".."", "&a ".."", "!a ".."", "a:\n ".."", "- - ".."", "{\"a\": [".."]}", "> ".."", "- a: ".."", "? [".."]"],
        ["a: 1\n", "- a\n", "a: &a b\n", "*a ", "---\n", "|\n a\n", ": ", "- ", "%a\n", "\"a\": ", "? a\n: b\n", "a: b: ", "!!a ", "[a]: ", "<<: *a\n"];
    TOML: "x = ", "\n",
        ["{a = ".."}", "[[".."]]", "[a,".."]", "\"\"\"".."\"\"\"", "[{a = ".."}]"],
        ["a = 1\n", "[a]\n", "[[a.b]]\n", "a.", "'''", "\"a\".", "a = {}\n", "a = ", "[a.b.c.d]\n", "1979-05-27 ", "a = [\n"];
    MARKDOWN: "", "\n",
        ["> ".."", "- ".."", "[".."](a)", "* ".."", "1. ".."", "**".."**", "![".."](a)", "<div>".."</div>", "> - ".."", "# ".."", "    ".."", "_a ".." b_", "> 1. ".."", "`".."`"],
        ["# a\n", "- a\n", "> a\n", "```\n", "~~~\na\n~~~\n", "| a ", "|-", "a\n===\n", "*a ", "[a]: b\n", "\\", "<!--", "<a ", "&amp;", "> \n", "- a\n\n  b\n", "1. a\n   1. b\n", "---\n", "| a | b |\n|-|-|\n"];
}

/// The first state of the generator that shuffles pieces.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bombs of a language, each of about `bytes` bytes, with a line that contains `marker` at the end. Nesting is at least 100,000 deep
/// if the bytes allow it. With `line`, a line has so many pieces, otherwise a bomb is one long line unless its pieces have line breaks.
pub(crate) fn bombs(language: Language, bytes: usize, line: Option<usize>, marker: &str) -> Vec<ParserBomb> {
    let Some(pieces) = PIECES.iter().find(|pieces| pieces.language == language) else { return Vec::new() };
    let (head, tail) = pieces.expression;
    let repeat = |piece: &str, count: usize| match line {
        None => piece.repeat(count),
        Some(line) => {
            let whole = format!("{}\n", piece.repeat(line)).repeat(count / line);
            whole + &piece.repeat(count % line)
        }
    };
    let mut bombs = Vec::new();
    let mut add = |shape: String, text: String| {
        let name = format!("{} {shape}", language.name());
        bombs.push(ParserBomb { name, language, text: format!("{text}\n{marker}\n") });
    };
    for (open, close) in pieces.nested.iter().copied().chain(COMMON_NESTED) {
        let levels = bytes / (open.len() + close.len());
        let closed = format!("{}a{}", repeat(open, levels), repeat(close, levels));
        add(format!("nested {open:?}"), format!("{head}{closed}{tail}"));
        add(format!("nested {open:?} as a statement"), closed);
        add(format!("unclosed {open:?}"), repeat(open, bytes / open.len()));
        add(format!("unclosed {open:?} as an expression"), format!("{head}{}", repeat(open, bytes / open.len())));
        if !close.is_empty() {
            add(format!("unopened {close:?}"), repeat(close, bytes / close.len()));
        }
    }
    for unit in pieces.repeated.iter().copied().chain(COMMON_REPEATED) {
        let repeated = repeat(unit, bytes / unit.len());
        add(format!("repeated {unit:?} as an expression"), format!("{head}{repeated}a{tail}"));
        add(format!("repeated {unit:?}"), repeated);
    }
    add("one long word".to_owned(), "a".repeat(bytes));
    add("blanks".to_owned(), " ".repeat(bytes));
    add("line breaks".to_owned(), "\n".repeat(bytes));
    let units: Vec<&str> = pieces.nested.iter().flat_map(|(open, close)| [*open, *close]).collect();
    let units: Vec<&str> = units.into_iter().chain(pieces.repeated.iter().copied()).collect();
    let openers: Vec<&str> = pieces.nested.iter().map(|(open, _)| *open).collect();
    add("shuffled pieces".to_owned(), shuffled(&units, bytes));
    add("shuffled openers".to_owned(), shuffled(&openers, bytes));
    let characters: Vec<String> = (1..0x180_u32).filter_map(char::from_u32).map(String::from).collect();
    let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
    add("random characters".to_owned(), shuffled(&characters, bytes));
    bombs
}

/// Pieces in a random order, up to a number of bytes.
fn shuffled(pieces: &[&str], bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut state = SEED;
    while text.len() < bytes {
        // xorshift
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(pieces[usize::try_from(state >> 33).unwrap_or(0) % pieces.len()]);
    }
    text
}
