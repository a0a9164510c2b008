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
    LUA: "x = ", "\n",
        ["function f() ".." end\n", "if a then ".." end\n", "{a = ".."}", "(function() ".." end)()", "not ".."", "a(".." )", "[[".."]]", "for i = 1, 2 do ".." end\n", "--[[".."]]", "a[".."]"],
        ["local a = 1\n", "function f() end\n", "a.", "a:b()", "a, ", "[==[", "--[[", "goto a\n", "::a::\n", "a .. ", "local function f() end\n", "a 'b' ", "repeat "];
    ZIG: "const x = ", ";",
        ["struct { ".." }", "if (a) { ".." }", "fn f() void { ".." }", "&".."", "[".."]a", ".{".."}", "switch (a) { b => ".." }", "!".."", "*".."", "a orelse ".."", "@a(".." )", "error{".."}"],
        ["const a = 1;\n", "fn f() void {}\n", "pub ", "a.", "\\\\a\n", "test \"a\" {}\n", "a, ", "try ", "comptime ", ".{ .a = ", "?", "a.*.", "|a| ", "a: b = c,\n"];
    DART: "var x = ", ";",
        ["class A { ".." }", "if (a) { ".." }", "f() { ".." }", "() => ".."", "List<"..">", "\"${".."}\"", "'''${".."}'''", "a ? b : ".."", "switch (a) { case b: ".." }", "[if (a) ".."]", "(a) { ".." }", "/*".."*/", "await ".."", "{a: ".."}"],
        ["int a;\n", "f() {}\n", "@a ", "import 'a';\n", "a, ", "a..b()", "a < b > c;", "late final ", "case a:", "a?.", "r'", "external ", "a as b as ", "factory A.b() "];
    HASKELL: "x = ", "\n",
        ["let a = ".." in b", "if a then ".." else b", "case a of b -> ".."", "do ".."", "(\\a -> ".." )", "[a | b <- ".."]", "{-".."-}", "a (".." )", "where\n ".."", "(a, ".." )", "a { b = ".."}", "$(".." )", "do\n ".."", "class A a where\n ".."", "[|".."|]"],
        ["a = b\n", "f :: a -> b\n", "import A\n", "data A = B\n", "a -> ", "a $ ", "a . ", "a `b` ", "| a = b\n", "where\n", "{-# A #-}\n", "-- | a\n", "type A = B\n", "#if A\n", "\n  ", "of\n", "@a "];
    ELIXIR: "x = ", "\n",
        ["def f do ".." end\n", "if a do ".." end\n", "fn a -> ".." end", "\"#{".."}\"", "%{a: ".."}", "defmodule A do ".." end\n", "[a | ".."]", "<<".." >>", "~s(".." )", "case a do b -> ".." end", "not ".."", "&(".." )", "\"\"\"\n".."\n\"\"\"", "a do ".." end"],
        ["def f, do: a\n", "@a b\n", "a |> b\n", "a, ", ":a ", "a: ", "alias A\n", "a when b ", "a \\\\ b ", "fn ", "do: ", "%A{", "~r/", "a.b.", "rescue ", "-> ", "end "];
    OCAML: "let x = ", "\n",
        ["let a = ".." in b", "if a then ".." else b", "match a with b -> (".." )", "begin ".." end", "fun a -> ".."", "module A = struct ".." end", "(*".."*)", "[a; ".."]", "{a = ".."}", "[|".."|]", "object method a = ".." end", "{a|".."|a}", "sig val a : ".." end", "try ".." with a -> b"],
        ["let a = 1\n", "type a = b\n", "open A\n", "a; ", "| A -> b ", "a -> ", "and b = c ", "~a:b ", "[@a] ", "val a : b\n", "a :: ", "#a ", "A.B.", "'a ", "let rec ", ";; ", "a |> "];
    OCAML_INTERFACE: "val x : ", "\n",
        ["(".." )", "module A : sig ".." end", "a -> (".." )", "< a : "..">", "[ `A of ".." ]", "(*".."*)", "object method a : ".." end", "{a|".."|a}", "functor (A : ".." ) -> B"],
        ["val a : b\n", "type a = b\n", "open A\n", "a -> ", "| A of b ", "and b = c ", "[@a] ", "'a ", "a * ", "external a : b = \"c\"\n", "include A\n", "exception A\n", "?a:b -> "];
    HCL: "x = ", "\n",
        ["a {\n".."\n}\n", "\"${".."}\"", "[".."]", "{a = ".."}", "f(".." )", "[for a in b : ".."]", "{for a in b : a => ".."}", "a ? b : ".."", "!".."", "<<A\n${".."}\nA\n", "\"%{if a}".."%{endif}\"", "/*".."*/"],
        ["a = 1\n", "a \"b\" {}\n", "a.b", "a[0]", "<<A\n", "<<-A\na\nA\n", "${", "%{", "a, ", "a.*.", "\"a\" ", "// a\n", "a ? ", "a => ", "~}"];
    NIX: "", "",
        ["{ a = ".."; }", "let a = 1; in (".." )", "[ ".." ]", "\"${".."}\"", "''${".."}''", "a: ".."", "{ a, b ? ".." }: c", "if a then ".." else b", "with a; ".."", "rec { a = ".."; }", "assert a; ".."", "-".."", "/*".."*/", "a.${".."}"],
        ["a = 1;\n", "inherit a;\n", "a.b.", "a: ", "''", "''$", "./a ", "<a> ", "a // ", "a ? b ", "with a; ", "a or ", "... ", "${", "http://a ", "a -> ", "a ++ "];
    JULIA: "x = ", "\n",
        ["function f() ".." end\n", "if a ".." end\n", "\"$(".." )\"", "begin ".." end", "[".." for a in b]", "struct A ".." end\n", "module A ".." end\n", "a -> ".."", "quote ".." end", "@a (".." )", "let a = ".." end", "#=".."=#", "{".."}", "a ? b : ".."", "f() do a ".." end", ":(".." )", "`".."`"],
        ["a = 1\n", "f(a) = b\n", "using A\n", "a, ", "@a ", ":a ", "a.b.", "a' ", "\"\"\"", "a::b ", "a where ", "a; ", "a...", "end ", "1:", "!a ", "$a ", "r\"", "a => "];
    R: "x <- ", "\n",
        ["function(a) { ".." }", "if (a) { ".." }", "a[[".."]]", "a[".."]", "\\(a) ".."", "for (a in b) { ".." }", "!".."", "{ ".." }", "~".."", "-".."", "r\"(".." )\"", "f(a = ".." )", "if (a) b else ".."", "?".." "],
        ["a <- 1\n", "f <- function() {}\n", "a$", "a@", "a |> ", "a %in% ", "a, ", "'a' ", "a::b", "a -> ", "`a` ", "r\"---(", "else ", "a = ", "{\n", "if (a) "];
    ERLANG: "x() -> ", ".\n",
        ["case a of b -> ".." end", "fun() -> ".." end", "begin ".." end", "{a, ".."}", "[a | ".."]", "#{a => ".."}", "if a -> ".." end", "try ".." catch a -> b end", "<<".." >>", "[a || b <- ".."]", "#a{b = ".."}", "?A(".." )", "not ".."", "receive a -> ".." end", "f() -> ".."", "-spec f(".." ) -> a.\n"],
        ["f() -> a.\n", "-a(b).\n", "f(A) -> b;\n", "a, ", "a:b", "A = ", "?A ", "%% a\n", "\"a\" ", "when a ", "; ", ". ", "-ifdef(A).\n", "-endif.\n", "$a ", "#a.b ", "-define(A, ", "a/1 ", "\"\"\"\n", "16#ff "];
    ELM: "x = ", "\n",
        ["let a = ".." in b", "if a then ".." else b", "case a of\n b -> ".."", "(\\a -> ".." )", "[ ".." ]", "{ a = ".." }", "{ a | b = ".." }", "{-".."-}", "(a, ".." )", "a <| ".."", "let\n a = ".."", "\"\"\"".."\"\"\"", "case a of\n  ".."", "-".."", "[glsl|".."|]"],
        ["a = b\n", "f : a -> b\n", "import A\n", "type A = B\n", "a |> ", "a :: ", ".a ", "A.B.", "port a : b\n", "\n  ", "-> ", "of\n", "in\n", "let\n", "else ", "| A ", "-- a\n", "\\a ", "exposing (..)\n"];
    GRAPHQL: "query { ", " }",
        ["{ a ".." }", "a(b: ".." )", "[".."]", "{a: ".."}", "... on A { ".." }", "type A { a(b: ".." ): C }", "a @b(c: ".." )", "\"\"\"".."\"\"\"", "extend type A { ".." }", "[[".."]]"],
        ["type A { a: B }\n", "a: b ", "@a ", "...a ", "$a: ", "| A ", "& A ", "enum A { B }\n", "\"a\" ", "\"\"\"a\"\"\"\n", "union A = B\n", "input A { a: B = 1 }\n", "scalar A\n", "fragment a on B { c }\n", "!", "# a\n", "schema { query: A }\n"];
    SOLIDITY: "contract A { uint x = ", "; }",
        ["contract A { ".." }", "function f() { ".." }", "if (a) { ".." }", "a[".."]", "f(".." )", "{ ".." }", "!".."", "a ? b : ".."", "mapping(a => ".." )", "unchecked { ".." }", "assembly { ".." }", "f{a: ".."}()", "struct A { ".." }", "(a, ".." )", "try a() { ".." } catch { }", "/*".."*/", "new A[](".." )", "uint[".."]"],
        ["uint a;\n", "function f() {}\n", "import \"a\";\n", "a, ", "event A(b c);\n", "a.b.", "emit A();\n", "modifier a() { _; }\n", "public ", "hex\"", "a => ", "using A for B;\n", "/// a\n", "let a := b\n", "pragma solidity ^1;\n", "a[] ", "returns (", "override ", "type(a).", "a ** "];
    PROTO: "syntax = \"proto3\"; message A { string a = ", "; }",
        ["message A { ".." }", "oneof a { ".." }", "enum A { ".." }", "option (a) = { b: ".." };", "service A { ".." }", "extend A { ".." }", "map<a, "..">", "rpc A(B) returns (C) { ".." }", "[a = ".." ]", "group A = 1 { ".." }", "{ a { ".." } }", "/*".."*/"],
        ["string a = 1;\n", "import \"a\";\n", "a.b.", "reserved 1 to 2;\n", "option a = b;\n", "repeated ", "A = 1;\n", "message A {}\n", "rpc A(B) returns (C);\n", "package a.b;\n", "// a\n", "1, ", "stream ", "extensions 1 to max;\n", "map<a, b> c = 1;\n"];
    CMAKE: "set(x ", ")\n",
        ["if(a)\n".."\nendif()\n", "foreach(a b)\n".."\nendforeach()\n", "function(a)\n".."\nendfunction()\n", "${".."}", "\"${".."}\"", "$<a:"..">", "[[".."]]", "$ENV{".."}", "#[[".."]]", "macro(a)\n".."\nendmacro()\n", "while(a)\n".."\nendwhile()\n", "a((".." ))", "block()\n".."\nendblock()\n"],
        ["set(a b)\n", "a()\n", "elseif(a)\n", "else()\n", "endif()\n", "a;", "\"a\" ", "${a}", "[=[", "# a\n", "\\a", "$<a>", "@a@ ", "$CACHE{a} ", "a b ", "if(", "function(", "endfunction()\n"];
    MAKE: "x = ", "\n",
        ["$(".." )", "${".."}", "$(if a,".." )", "$(call a,".." )", "ifeq (a,b)\n".."\nendif\n", "define a\n".."\nendef\n", "$(foreach a,b,".." )", "ifdef A\n".."\nendif\n", "$(patsubst a,b,".." )", "$(a:b=".." )", "$(shell ".." )", "else ifdef A\n".."\n"],
        ["a = 1\n", "a: b\n", "a: b\n\tc\n", "\tc\n", "a := ", "$@ ", "$a", "$$", "include a\n", "\\\n", "# a\n", "else\n", "endif\n", "a:: b | c\n", "%.a: %.b\n", "export ", "a += b ", "-", "vpath a b\n", "override ", "define a\n", "endef\n", ".PHONY: a\n", "!= "];
    DOCKERFILE: "FROM a\nARG x=", "\n",
        ["${a:-".."}", "RUN [\"a\", ".."]\n", "RUN <<A\n".."\nA\n", "ONBUILD ".."\n", "\"${".."}\"", "RUN a \\\n".."\n", "COPY <<A /b\n".."\nA\n", "HEALTHCHECK CMD ".."\n"],
        ["FROM a\n", "RUN a\n", "RUN <<A\n", "RUN <<A <<B\n", "ENV a=b ", "ENV a b\n", "\\\n", "# a\n", "COPY --from=a b c\n", "$a", "${a}", "LABEL a=\"b\" ", "ARG a\n", "EXPOSE 1 ", "[\"a\"]\n", "CMD a\n", "--a=b ", "FROM a:b@c AS d\n", "'a' ", "RUN <<-'A'\na\nA\n", "# escape=`\n"];
    VUE: "<script>let x = ", ";</script>",
        ["<script>".."</script>", "<a>".."</a>", "<script>if (a) { ".." }</script>", "<template>".."</template>", "<!--".."-->", "{{".."}}", "<script>`${".."}`", "<a :b=\"".."\">", "<script lang=\"".."\">"],
        ["<script>", "</script>", "<script>let a;</script>\n", "<a>", "<!--", "<script ", "<script/>", "{{ a }}", "<style>a {}</style>\n", "<script>import a from 'b';\n", "-->", "<scrip", "\"", "</script "];
    SVELTE: "<script>let x = ", ";</script>",
        ["<script>".."</script>", "<a>".."</a>", "{#if a}".."{/if}", "{#each a as b}".."{/each}", "<!--".."-->", "{a ? b : ".."}", "<script>`${".."}`", "<script>f(() => { ".." })</script>", "<script context=\"".."\">"],
        ["<script>", "</script>", "<script>let a;</script>\n", "{a}", "<!--", "<script ", "<script/>", "{@html a}", "$: a = b;\n", "<script>export let a;\n", "-->", "<script>$: a;", "'", "</script "];
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
