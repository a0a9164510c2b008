//! Snippets of small products.

use codeyard_runs::stage::StopFlag;
use serde_json::json;

use super::*;
use crate::artifacts::to_bytes;
use crate::repository::checkout::CheckedOut;
use crate::request::run_config::RunConfig;
use crate::request::sites::Sites;
use crate::testing::TestRepository;

const DATE: &str = "2026-01-20T10:00:00Z";

fn catalog_of(platform: &str, files: &[(&str, &str)]) -> SnippetCatalog {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let commit = TestRepository::new(&repo).commit(&files, DATE);
    let checkout = CheckedOut { commit, commit_date: DATE.to_owned(), branch: None, tags: Vec::new() };
    let inventory =
        crate::repository::repo_scout::inventory(&repo, &checkout, &Sites::builtin(), &StopFlag::default()).unwrap();
    let config = json!({
        "schema_version": "1.0", "product_slug": "p", "product_name": "P", "family": "p", "target_platform": platform,
        "github_repo_url": "https://example.org/p", "github_ref": "main", "required_sections": ["docs"], "allowed_paths": ["content/**"],
    });
    let config = RunConfig::parse(&config).unwrap();
    let stop = StopFlag::default();
    let (facts, mut evidence) = crate::product::facts_builder::build(&repo, &inventory, &config, &stop).unwrap();
    let mut again = evidence.clone();
    let catalog = curate(&repo, &inventory, &facts, &mut evidence, &stop).unwrap();
    let second = curate(&repo, &inventory, &facts, &mut again, &stop).unwrap();
    assert_eq!((to_bytes(&catalog), to_bytes(&evidence)), (to_bytes(&second), to_bytes(&again)));
    for snippet in &catalog.snippets {
        let place = &evidence.claims[&snippet.claim].evidence[0];
        assert!(place.is_in(&std::fs::read(repo.join(&snippet.path)).unwrap()), "{snippet:?}");
        assert_eq!((place.line_start, place.line_end), (snippet.line_start, snippet.line_end));
        assert_eq!(parses(&snippet.language, &snippet.code), Ok(()), "{snippet:?}");
    }
    catalog
}

fn shown(catalog: &SnippetCatalog) -> Vec<(&str, u32, u32, &str, &str)> {
    let snippets = catalog.snippets.iter();
    snippets.map(|s| (s.path.as_str(), s.line_start, s.line_end, s.language.as_str(), s.code.as_str())).collect()
}

fn reasons(catalog: &SnippetCatalog) -> Vec<(u32, &str)> {
    catalog.rejected.iter().map(|rejected| (rejected.line, rejected.reason.as_str())).collect()
}

#[test]
fn the_code_of_a_readme_is_read_in_its_languages() {
    let readme = "# P\n\n## Use\n\n```sh\n$ pip install p\nCollecting p\n$ p \\\n  --all\n```\n\n```python\n>>> import p\n>>> def f():\n...     return 1\n2\n```\n\n\
                  ```python\ndef broken(:\n```\n\n```text\nhello\n```\n\n    import p\n    p.run(1)\n\n```\njust some words\n```\n\n- x\n\n  ```json\n  {\"a\": 1}\n  ```\n\n```python\nimport  p\np.run(1)\n```\n";
    let catalog = catalog_of("python", &[("README.md", readme)]);
    assert_eq!(
        shown(&catalog),
        [
            ("README.md", 6, 9, "sh", "pip install p\np \\\n  --all"),
            ("README.md", 13, 16, "python", "import p\ndef f():\n    return 1"),
            ("README.md", 27, 28, "python", "import p\np.run(1)"),
            ("README.md", 37, 37, "json", "{\"a\": 1}"),
        ]
    );
    assert_eq!(
        reasons(&catalog),
        [
            (20, "it doesn't parse: line 1 isn't valid python"),
            (24, "there is no parser for `text`"),
            (31, "its language isn't named, and it isn't python"),
        ]
    );
    assert!(catalog.snippets.iter().all(|snippet| snippet.title == "Use"));
}

#[test]
fn examples_are_whole_without_their_first_comment() {
    let long: String = (0..200).map(|at| format!("fn f{at}() {{}}\n")).collect();
    let catalog = catalog_of(
        "rust",
        &[
            ("Cargo.toml", "[package]\nname = \"p\"\n"),
            (
                "src/lib.rs",
                "/// Runs.\n///\n/// ```\n/// # use p::x;\n/// let a = p::run();\n///\n/// if a {\n///     p::stop();\n/// }\n/// ```\n///\n/// ```text\n/// no\n/// ```\npub fn run() {}\n",
            ),
            (
                "examples/small.rs",
                "// Copyright 2026 X\n\n//! Runs it.\n//! Twice.\n\nfn main() {\n    p::run();\n}\n\n",
            ),
            ("examples/long.rs", &format!("{long}fn main() {{\n    f1();\n}}\n")),
            ("examples/longer.rs", &long),
            ("examples/marked.rs", "\u{feff}fn main() {}\r\n"),
        ],
    );
    assert_eq!(
        shown(&catalog),
        [
            ("examples/long.rs", 201, 203, "rust", "fn main() {\n    f1();\n}"),
            ("examples/marked.rs", 1, 1, "rust", "fn main() {}"),
            ("examples/small.rs", 6, 8, "rust", "fn main() {\n    p::run();\n}"),
            ("src/lib.rs", 5, 9, "rust", "let a = p::run();\n\nif a {\n    p::stop();\n}"),
        ]
    );
    assert_eq!(catalog.snippets[2].title, "Runs it");
    assert_eq!(catalog.snippets[3].title, "`run`");
    assert!(reasons(&catalog)[0].1.starts_with("it has 200 lines"), "{:?}", catalog.rejected);
}

#[test]
fn doctests_and_tags_in_doc_comments_become_snippets() {
    let python = catalog_of(
        "python",
        &[(
            "p/__init__.py",
            "def run(a):\n    \"\"\"Runs.\n\n    Example:\n        >>> run(1)\n        2\n        >>> run(2)\n    \"\"\"\n",
        )],
    );
    assert_eq!(shown(&python), [("p/__init__.py", 5, 7, "python", "run(1)\nrun(2)")]);
    let typescript = catalog_of(
        "typescript",
        &[
            ("package.json", "{\"name\": \"p\"}"),
            (
                "index.ts",
                "/**\n * Runs.\n * @example\n * import {run} from 'p';\n *\n * run();\n */\nexport function run(): void {}\n",
            ),
        ],
    );
    assert_eq!(shown(&typescript), [("index.ts", 4, 6, "typescript", "import {run} from 'p';\n\nrun();")]);
    let java = catalog_of(
        "java",
        &[(
            "src/main/java/A.java",
            "package a;\n/**\n * Runs.\n * <pre>{@code\n *   List<String> x = A.run();\n *   x.clear();\n * }</pre>\n */\npublic class A {}\n",
        )],
    );
    assert_eq!(shown(&java), [("src/main/java/A.java", 5, 6, "java", "List<String> x = A.run();\nx.clear();")]);
}

#[test]
fn code_with_secrets_is_rejected() {
    let token = ["gh", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let readme = format!("# P\n\n```python\nlogin(\"{token}\")\n```\n");
    let catalog = catalog_of("python", &[("README.md", &readme)]);
    assert_eq!(reasons(&catalog), [(4, "it holds what looks like a token of GitHub")]);
    assert!(catalog.snippets.is_empty() && !String::from_utf8(to_bytes(&catalog)).unwrap().contains(&token));
}

#[test]
fn characters_that_hide_are_kept_out() {
    let readme = "# P\n\nP \u{1b}[31mdraws\u{202e} \u{e000}things\u{e001} well.\n\n```python\nx = 1 # \u{202e}\n```\n\n```python\r\ny = f(1)\r\n```\r\n";
    let catalog = catalog_of("python", &[("README.md", readme)]);
    assert_eq!(reasons(&catalog), [(6, "it holds characters that can't be seen")]);
    assert_eq!(shown(&catalog), [("README.md", 10, 10, "python", "y = f(1)")]);
}

#[test]
fn sessions_are_shown_without_prompts_and_output() {
    for (fence, session, code) in [
        ("pycon", ">>> f(1)\n1\n>>> for x in y:\n...     g(x)", "f(1)\nfor x in y:\n    g(x)"),
        ("elixir", "iex(1)> A.run(\n...(1)>   1)\n{:ok, 1}", "A.run(\n  1)"),
        ("erlang", "1> a:run(1).\n{ok,1}\n12> b:run().", "a:run(1).\nb:run()."),
        ("haskell", "ghci> f 1\n2", "f 1"),
        ("r", "> f(1,\n+   2)\n[1] 1", "f(1,\n  2)"),
        ("elixir", "iex = 1", "iex = 1"),
        ("erlang", "1 > 0.", "1 > 0."),
    ] {
        let (_, shown) = super::syntax::shown(fence, session, "").unwrap();
        assert_eq!(shown, code, "{fence}");
    }
}

#[test]
fn fragments_parse_in_their_languages() {
    for (language, code) in [
        ("rust", "let x = f()?;\nprintln!(\"{x}\");"),
        ("rs", "use a::b;\nfn main() {}"),
        ("java", "int x = 1;\nSystem.out.println(x);"),
        ("java", "@Override\npublic void run() {}"),
        ("cs", "var x = new A();\nawait x.Run();"),
        ("c#", "public int X { get; set; }"),
        ("go", "x := f()\nfmt.Println(x)"),
        ("go", "package main\n\nfunc main() {}"),
        ("c++", "std::vector<int> v{1, 2};\nv.clear();"),
        ("c", "int x = f(1);"),
        ("php", "$x = new A();\necho $x;"),
        ("kotlin", "val x = f { it }\nprintln(x)"),
        ("swift", "let x = try await f()\nprint(x)"),
        ("ruby", "require 'x'\nX.run { |y| puts y }"),
        ("ts", "const x: number = await f();"),
        ("typescript", "const x = <div>{y}</div>;"),
        ("js", "for await (const x of y) {}"),
        ("python", "  with a as b:\n      pass"),
        ("pycon", ">>> 1\n1"),
        ("console", "$ ls\na b (c"),
        ("dart", "final x = await f();\nprint('$x');"),
        ("dart", "@override\nWidget build(BuildContext context) {\n  return Text('a');\n}"),
        ("dart", "import 'package:a/a.dart';\n\nvoid main() => run();"),
        ("zig", "const x = try f();\ndefer x.deinit();"),
        ("zig", "const std = @import(\"std\");\npub fn main() void {}"),
        ("solidity", "uint256 x = f();\nemit Done(x);"),
        ("solidity", "function f() public view returns (uint256) { return 1; }"),
        ("proto", "string name = 1;\nrepeated int32 ids = 2;"),
        ("proto", "syntax = \"proto3\";\nmessage A { string b = 1; }"),
        ("lua", "local x = require 'x'\nx.run()"),
        ("elixir", "{:ok, x} = A.run(1)\nIO.puts(x)"),
        ("elixir", "iex> A.run(1)\n{:ok, 1}"),
        ("elixir", "def deps do\n  [{:a, \"~> 1.0\"}]\nend"),
        ("erlang", "f(X) -> X + 1."),
        ("erlang", "{ok, X} = a:run(1),\nio:format(\"~p\", [X])."),
        ("erlang", "1> a:run(1).\n{ok,1}"),
        ("haskell", "main :: IO ()\nmain = do\n  x <- f\n  print x"),
        ("haskell", "x <- f\nprint x"),
        ("haskell", "let y = 1\nx <- f y\nprint x"),
        ("haskell", "ghci> f 1\n2"),
        ("hcl", "resource \"a\" \"b\" {\n  c = 1\n}"),
        ("terraform", "c = var.d"),
        ("nix", "{ pkgs ? import <nixpkgs> {} }: pkgs.hello"),
        ("nix", "services.a.enable = true;"),
        ("r", "x <- f(1)\nprint(x)"),
        ("r", "> f(1)\n[1] 1"),
        ("elm", "main = text \"a\""),
        ("elm", "view model =\n    div [] []"),
        ("graphql", "query { a { b } }"),
        ("cmake", "find_package(A REQUIRED)\ntarget_link_libraries(b A::A)"),
        ("makefile", "all:\n\tcc a.c"),
        ("dockerfile", "FROM alpine\nRUN apk add a"),
        ("dockerfile", "COPY --from=a /b /c"),
        ("vue", "<script setup>\nconst a = 1\n</script>"),
        ("svelte", "<script>\n  let a = 1;\n</script>"),
        ("fortran", "anything ((("),
        ("", "anything ((("),
    ] {
        assert_eq!(parses(language, code), Ok(()), "{language}: {code}");
    }
    for (language, code, line) in [
        ("rust", "fn a() {\n    let = 1;\n}", 2),
        ("python", "x = 1\ndef f(:\n  pass", 2),
        ("json", "{\"a\": }", 1),
        ("java", "int x = ;", 1),
        ("go", "func {", 1),
    ] {
        let reason = parses(language, code).unwrap_err();
        assert!(reason.starts_with(&format!("line {line} isn't valid")), "{language}: {reason}");
    }
}
