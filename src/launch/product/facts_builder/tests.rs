//! Facts of small products, one for each platform, in real repositories.

use std::path::{Path, PathBuf};

use codeyard_runs::stage::StopFlag;
use serde_json::json;

use super::*;
use crate::artifacts::facts::ApiItem;
use crate::artifacts::to_bytes;
use crate::repository::checkout::CheckedOut;
use crate::repository::repo_scout;
use crate::request::sites::Sites;
use crate::testing::TestRepository;

const DATE: &str = "2026-01-20T10:00:00Z";

/// A repository with these files, and what is known of it.
struct Product {
    _dir: tempfile::TempDir,
    repo: PathBuf,
    inventory: RepoInventory,
}

fn product_of(files: &[(&str, &[u8])], tags: &[&str]) -> Product {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    let commit = TestRepository::new(&repo).commit(files, DATE);
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let checkout = CheckedOut { commit, commit_date: DATE.to_owned(), branch: None, tags };
    let inventory = repo_scout::inventory(&repo, &checkout, &Sites::builtin(), &StopFlag::default()).unwrap();
    Product { _dir: dir, repo, inventory }
}

fn product(files: &[(&str, &str)]) -> Product {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    product_of(&files, &[])
}

fn config(platform: &str, allow_inference: bool) -> RunConfig {
    let value = json!({
        "schema_version": "1.0", "product_slug": "shapes", "product_name": "Shapes", "family": "shapes",
        "target_platform": platform, "github_repo_url": "https://user:pw@example.org/a/shapes.git", "github_ref": "main",
        "required_sections": ["docs"], "allowed_paths": ["content/**"], "allow_inference": allow_inference,
    });
    RunConfig::parse(&value).unwrap()
}

impl Product {
    fn facts(&self, platform: &str) -> ProductFacts {
        self.facts_with(&config(platform, false))
    }

    /// The facts, after checking what all facts have in common.
    fn facts_with(&self, config: &RunConfig) -> ProductFacts {
        let (facts, evidence) = build(&self.repo, &self.inventory, config, &StopFlag::default()).unwrap();
        let again = build(&self.repo, &self.inventory, config, &StopFlag::default()).unwrap();
        assert_eq!((to_bytes(&facts), to_bytes(&evidence)), (to_bytes(&again.0), to_bytes(&again.1)));
        check(&self.repo, &facts, &evidence, config.allow_inference);
        facts
    }
}

/// Every fact names a claim, and every claim's evidence holds.
fn check(repo: &Path, facts: &ProductFacts, evidence: &EvidenceMap, allows_inference: bool) {
    let single = [&facts.package, &facts.version, &facts.license, &facts.description, &facts.requires];
    let mut claims: Vec<&str> = single.into_iter().flatten().map(|fact| fact.claim.as_str()).collect();
    claims.extend(facts.features.iter().map(|fact| fact.claim.as_str()));
    claims.extend(facts.install.iter().map(|install| install.claim.as_str()));
    claims.extend(facts.api.iter().map(|item| item.claim.as_str()));
    claims.extend(facts.examples.iter().map(|example| example.claim.as_str()));
    for claim in claims {
        assert!(evidence.claims.contains_key(claim), "{claim}");
    }
    for (id, claim) in &evidence.claims {
        assert_eq!(*id, claim.id());
        assert!(!claim.evidence.is_empty() && (allows_inference || !claim.is_inferred), "{claim:?}");
        for place in &claim.evidence {
            let content = std::fs::read(repo.join(&place.path)).unwrap();
            assert!(place.is_in(&content), "{place:?}");
        }
    }
    let sorted: Vec<&str> = facts.api.iter().map(|item| item.module.as_str()).collect();
    assert!(sorted.is_sorted());
}

fn names(facts: &ProductFacts) -> Vec<String> {
    let show = |item: &ApiItem| format!("{} {} {}", item.kind, item.module, item.qualified_name);
    facts.api.iter().map(show).collect()
}

fn item<'a>(facts: &'a ProductFacts, name: &str) -> &'a ApiItem {
    facts.api.iter().find(|item| item.qualified_name == name).unwrap_or_else(|| panic!("{name} in {:?}", names(facts)))
}

fn text(fact: &Option<crate::artifacts::facts::Fact>) -> &str {
    fact.as_ref().map_or("", |fact| fact.text.as_str())
}

#[test]
fn rust_items_are_reached_from_the_root_of_the_crate() {
    let product = product(&[
        (
            "Cargo.toml",
            "[package]\nname = \"my-shapes\"\nversion = \"1.2.0\"\nlicense = \"MIT\"\nrust-version = \"1.70\"\n",
        ),
        (
            "src/lib.rs",
            "//! Shapes.\nmod circle;\npub mod square;\n#[doc(hidden)]\npub mod hidden { pub fn no() {} }\nmod tools;\n\
             pub use circle::{Circle, area as circle_area};\npub use crate::tools::*;\npub use other::External;\n\
             /// Twice.\n#[macro_export]\nmacro_rules! twice { () => {} }\nmacro_rules! own { () => {} }\n\
             pub mod prelude { pub use crate::Circle; }\n#[cfg(test)]\nmod tests { pub fn test_it() {} }\n",
        ),
        (
            "src/circle.rs",
            "/// A circle.\n///\n/// ```\n/// let x = 1;\n/// if x > 0 {\n///     x;\n/// }\n/// ```\n#[derive(Debug)]\npub struct Circle { pub radius: u32, inner: u8 }\n\
             impl Circle {\n    /// Makes one.\n    pub fn new() -> Self { todo!() }\n    fn private() {}\n    pub(crate) fn near() {}\n    #[doc(hidden)]\n    pub fn secret() {}\n}\n\
             impl Clone for Circle { fn clone(&self) -> Self { todo!() } }\npub fn area() {}\npub fn unreachable() {}\n",
        ),
        (
            "src/square/mod.rs",
            "pub mod deep;\npub enum Side { Left, Right(u8) }\npub trait Shape { fn draw(&self); }\n",
        ),
        ("src/square/deep.rs", "pub const MAX: u8 = 1;\npub(super) const MIN: u8 = 0;\n"),
        ("src/tools.rs", "pub fn tool() {}\nfn no() {}\npub use crate::tools as again;\n"),
        ("tests/a.rs", "pub fn of_test() {}\n"),
        ("examples/draw.rs", "//! Draws a circle. And more.\nfn main() {}\n"),
    ]);
    let facts = product.facts("rust");
    assert_eq!(
        names(&facts),
        [
            "struct my_shapes Circle",
            "field my_shapes Circle::radius",
            "method my_shapes Circle::new",
            "fn my_shapes circle_area",
            "macro my_shapes twice",
            "fn my_shapes tool",
            "enum my_shapes::square Side",
            "const my_shapes::square Side::Left",
            "const my_shapes::square Side::Right",
            "trait my_shapes::square Shape",
            "method my_shapes::square Shape::draw",
            "const my_shapes::square::deep MAX",
        ]
    );
    let circle = item(&facts, "Circle");
    assert_eq!(circle.doc, "A circle.\n\n```rust\nlet x = 1;\nif x > 0 {\n    x;\n}\n```");
    assert_eq!((circle.path.as_str(), circle.line), ("src/circle.rs", 10));
    assert_eq!(item(&facts, "Circle::new").parent.as_deref(), Some("Circle"));
    let shown = [&facts.package, &facts.version, &facts.license, &facts.requires].map(text);
    assert_eq!(shown, ["my-shapes", "1.2.0", "MIT", "Rust `1.70`"]);
    assert_eq!(facts.install.unwrap().text, "cargo add my-shapes");
    assert_eq!(facts.repository, "https://example.org/a/shapes");
    assert_eq!(
        (facts.examples[0].title.as_str(), facts.examples[0].doc.as_str()),
        ("Draws a circle", "Draws a circle. And more.")
    );
}

#[test]
fn reexports_in_circles_end() {
    let mut root = String::from("pub use a::*;\n");
    let modules = ["a", "b", "c", "d", "e", "f"];
    for module in modules {
        root.push_str(&format!("pub mod {module} {{\n"));
        for other in modules {
            root.push_str(&format!("    pub use crate::{other}::*;\n    pub use super::{other}::missing_{module};\n"));
        }
        root.push_str(&format!("    pub fn of_{module}() {{}}\n}}\n"));
    }
    let product = product(&[("Cargo.toml", "[package]\nname = \"r\"\n"), ("src/lib.rs", &root)]);
    let facts = product.facts("rust");
    assert_eq!(facts.api.iter().filter(|item| item.module == "r").count(), modules.len());
}

#[test]
fn python_names_are_those_of_the_package() {
    let product = product(&[
        (
            "pyproject.toml",
            "[project]\nname = \"py-shapes\"\nrequires-python = \">=3.9\"\nlicense = \"BSD-3-Clause\"\ndynamic = [\"version\"]\n",
        ),
        (
            "src/py_shapes/__init__.py",
            "\"\"\"Shapes.\"\"\"\nfrom ._core import Circle, _hidden\nfrom .extra import *\nfrom os import path\n__version__ = \"0.4.1\"\n",
        ),
        (
            "src/py_shapes/_core.py",
            "import os\nclass Circle(Base):\n    \"\"\"A circle.\n\n    :param r: the :class:`Radius`\n    \"\"\"\n    unit: str = 'm'\n    _x = 1\n\n    def __init__(self, r):\n        self.r = r\n\n\
             \x20   @property\n    def area(self):\n        \"\"\"Its area.\"\"\"\n    @area.setter\n    def area(self, v): pass\n    def _no(self): pass\n    def __repr__(self): pass\n\ndef not_exported(): pass\ndef _hidden(): pass\n",
        ),
        (
            "src/py_shapes/extra.py",
            "__all__ = ['helper_fn', \"LIMIT\"]\nLIMIT = 3\ndef helper_fn(a, *, b=1): ...\ndef other(): ...\n",
        ),
        (
            "src/py_shapes/tools.py",
            "MAX_SIZE = 10\nlogger = make()\ndef cut(x):\n    # only a comment\n    return x\n@overload\ndef pick(a: int): ...\n@overload\ndef pick(a: str): ...\ndef pick(a):\n    'Picks.'\n",
        ),
        ("tests/test_a.py", "def test_a(): pass\n"),
        ("setup.py", "def no(): pass\n"),
        ("examples/basic_usage.py", "print(1)\n"),
    ]);
    let facts = product.facts("python");
    assert_eq!(
        names(&facts),
        [
            "class py_shapes Circle",
            "field py_shapes Circle.unit",
            "method py_shapes Circle.__init__",
            "method py_shapes Circle.area",
            "const py_shapes LIMIT",
            "fn py_shapes helper_fn",
            "const py_shapes.tools MAX_SIZE",
            "fn py_shapes.tools cut",
            "fn py_shapes.tools pick",
        ]
    );
    assert_eq!(item(&facts, "Circle").doc, "A circle.\n\n**Parameters**\n\n- `r`: the `Radius`");
    assert_eq!((item(&facts, "pick").doc.as_str(), item(&facts, "cut").doc.as_str()), ("Picks.", ""));
    let shown = [&facts.package, &facts.version, &facts.license, &facts.requires].map(text);
    assert_eq!(shown, ["py-shapes", "0.4.1", "BSD-3-Clause", "Python `>=3.9`"]);
    assert_eq!(facts.install.unwrap().text, "pip install py-shapes");
    assert_eq!(facts.examples[0].title, "Basic usage");
}

#[test]
fn typescript_exports_are_followed_from_the_entry() {
    let product = product(&[
        (
            "package.json",
            "{\n  \"name\": \"@s/shapes\",\n  \"version\": \"2.0.0\",\n  \"main\": \"./dist/index.js\",\n  \"types\": \"./dist/index.d.ts\",\n  \"exports\": {\".\": \"./dist/index.js\", \"./round\": \"./dist/round.js\"},\n  \"license\": \"ISC\"\n}\n",
        ),
        ("tsconfig.json", "{}\n"),
        (
            "src/index.ts",
            "export * from './round.js';\nexport { Square as Box, type Side } from './square';\nimport { late } from './late';\nexport { late };\nexport default function make(): void {}\nfunction no() {}\n",
        ),
        (
            "src/round.ts",
            "/** A circle.\n * @param r - The radius.\n */\nexport class Circle {\n  private x = 1;\n  #y = 2;\n  constructor(public readonly r: number) {}\n  // only a comment\n  get area(): number { return 1; }\n  set area(v) {}\n  protected no() {}\n  /** @internal */\n  hidden() {}\n}\n\
             export function pick(a: string): string;\nexport function pick(a: number): number;\nexport function pick(a: any) { return a; }\n",
        ),
        ("src/square.ts", "export class Square {}\nexport type Side = 'a' | 'b';\nexport class Unused {}\n"),
        ("src/late.ts", "const late = (x: number) => x;\nexport { late };\n"),
        ("src/index.test.ts", "export const no = 1;\n"),
    ]);
    let facts = product.facts("typescript");
    assert_eq!(
        names(&facts),
        [
            "fn @s/shapes shapes",
            "fn @s/shapes late",
            "class @s/shapes Circle",
            "method @s/shapes Circle.constructor",
            "field @s/shapes Circle.r",
            "method @s/shapes Circle.area",
            "fn @s/shapes pick",
            "fn @s/shapes pick",
            "class @s/shapes Box",
            "type @s/shapes Side",
        ]
    );
    assert_eq!(item(&facts, "Circle").doc, "A circle.\n\n**Parameters**\n\n- `r`: The radius.");
    assert_eq!(item(&facts, "Circle.area").doc, "");
    assert_eq!(facts.install.unwrap().text, "npm install @s/shapes");
}

#[test]
fn namespaces_and_circular_reexports_are_read() {
    let product = product(&[
        ("package.json", "{\"name\": \"p\"}"),
        (
            "index.ts",
            "import * as kit from './kit';\nexport { kit };\nexport * as iso from './iso';\nexport * from './kit';\n",
        ),
        ("kit.ts", "export * from './other';\nexport function draw(): void {}\n"),
        ("other.ts", "export * from './kit';\nexport * as back from './index';\nexport const other = 1;\n"),
        ("iso.ts", "export function date(): string { return ''; }\nexport default class No {}\n"),
    ]);
    assert_eq!(names(&product.facts("typescript")), ["fn p iso.date", "fn p draw", "const p other"]);
}

#[test]
fn javascript_modules_of_both_kinds_are_read() {
    let product = product(&[
        ("package.json", "{\"name\": \"shape-kit\", \"version\": \"1.0.0\", \"main\": \"lib/main.js\"}\n"),
        (
            "lib/main.js",
            "'use strict';\nvar round = require('./round');\nexports = module.exports = createKit;\n/** Makes a kit. */\nfunction createKit() {}\nexports.Circle = round.Circle;\nexports.draw = function draw(a) {};\nexports.helper = require('./helper');\n",
        ),
        ("lib/round.js", "function Circle() {}\nmodule.exports = { Circle };\n"),
        ("lib/helper.js", "module.exports = function () {};\n"),
    ]);
    let found = names(&product.facts("javascript"));
    for expected in ["fn shape-kit shapeKit", "fn shape-kit draw"] {
        assert!(found.contains(&expected.to_owned()), "{expected} in {found:?}");
    }
    let module = product_of(
        &[
            (
                "package.json",
                b"{\"name\": \"m\", \"type\": \"module\", \"exports\": \"./index.js\", \"private\": true}\n",
            ),
            ("index.js", b"export class A { m() {} _n() {} }\nexport const x = 1, y = () => 2;\nconst z = 3;\n"),
        ],
        &[],
    );
    let facts = module.facts("javascript");
    assert_eq!(names(&facts), ["class m A", "method m A.m", "const m x", "fn m y"]);
    assert_eq!(facts.install, None, "it isn't published");
}

#[test]
fn java_kotlin_and_csharp_items_are_public_ones_of_public_types() {
    let java = product(&[
        (
            "pom.xml",
            "<project>\n  <groupId>org.x</groupId>\n  <artifactId>shapes</artifactId>\n  <version>3.1</version>\n  <licenses><license><name>MIT</name></license></licenses>\n</project>\n",
        ),
        (
            "src/main/java/org/x/Circle.java",
            "package org.x;\n/**\n * A <b>circle</b>.\n */\npublic final class Circle {\n  public Circle() {}\n  private int a;\n  protected void no() {}\n  public enum Unit { M, KM }\n  interface Near { void x(); }\n}\nclass Hidden { public void no() {} }\n",
        ),
        ("src/main/java/org/x/internal/No.java", "package org.x.internal;\npublic class No {}\n"),
        ("src/test/java/org/x/CircleTest.java", "package org.x;\npublic class CircleTest {}\n"),
    ]);
    let facts = java.facts("java");
    let expected = [
        "class org.x Circle", "method org.x Circle.Circle", "enum org.x Circle.Unit", "const org.x Circle.Unit.M",
        "const org.x Circle.Unit.KM",
    ];
    assert_eq!(names(&facts), expected);
    assert_eq!(item(&facts, "Circle").doc, "A **circle**.");
    assert!(facts.install.unwrap().text.contains("<artifactId>shapes</artifactId>\n  <version>3.1</version>"));

    let kotlin = product(&[
        ("build.gradle.kts", "plugins { kotlin(\"jvm\") }\ngroup = \"org.x\"\nversion = \"1.0.0\"\n"),
        ("settings.gradle.kts", "rootProject.name = \"shapes\"\n"),
        (
            "src/main/kotlin/A.kt",
            "package org.x\n/** A circle. */\nclass Circle(val r: Int, private val x: Int) {\n    fun area(): Int = 1\n    internal fun no() {}\n    companion object { const val MAX = 1 }\n}\ninternal class Hidden\nfun Circle.grow() {}\nprivate fun no() {}\n",
        ),
    ]);
    let found = names(&kotlin.facts("kotlin"));
    for expected in ["class org.x Circle", "field org.x Circle.r", "method org.x Circle.area", "fn org.x grow"] {
        assert!(found.contains(&expected.to_owned()), "{expected} in {found:?}");
    }
    assert!(!found.iter().any(|name| name.contains("no") || name.contains("Hidden")), "{found:?}");

    let csharp = product(&[
        (
            "src/Shapes.csproj",
            "<Project>\n<PropertyGroup>\n<PackageId>Shapes</PackageId>\n<Version>1.5.0</Version>\n</PropertyGroup>\n</Project>\n",
        ),
        (
            "src/Circle.cs",
            "namespace X.Shapes;\n/// <summary>A <see cref=\"T:X.Circle\"/>.</summary>\npublic class Circle\n{\n    public int R { get; set; }\n    internal void No() {}\n    void Private() {}\n}\ninternal class Hidden { public void No() {} }\npublic interface IShape { void Draw(); }\n",
        ),
    ]);
    let facts = csharp.facts("dotnet");
    let expected = [
        "class X.Shapes Circle", "field X.Shapes Circle.R", "interface X.Shapes IShape", "method X.Shapes IShape.Draw",
    ];
    assert_eq!(names(&facts), expected);
    assert_eq!(item(&facts, "Circle").doc, "A `Circle`.");
    assert_eq!(facts.install.unwrap().text, "dotnet add package Shapes");
}

#[test]
fn go_ruby_php_swift_and_cpp_items_follow_their_languages() {
    let go = product(&[
        ("go.mod", "module example.org/x/shapes\n\ngo 1.21\n"),
        (
            "shapes.go",
            "// Package shapes draws.\npackage shapes\n\n// Circle is round.\n//\n//\tc := Circle{}\ntype Circle struct {\n\tR int\n\tx int\n}\n\n// Area is its area.\nfunc (c *Circle) Area() int { return 1 }\nfunc (c *Circle) no() {}\nfunc no() {}\ntype hidden struct{}\nfunc (h hidden) Public() {}\n",
        ),
        ("round/round.go", "package round\nconst Max = 1\n"),
        ("internal/x/x.go", "package x\nfunc No() {}\n"),
        ("cmd/tool/main.go", "package main\nfunc Main() {}\n"),
        ("shapes_test.go", "package shapes\nfunc TestX() {}\n"),
    ]);
    let facts = go.facts("go");
    assert_eq!(
        names(&facts),
        [
            "struct example.org/x/shapes Circle",
            "field example.org/x/shapes Circle.R",
            "method example.org/x/shapes Circle.Area",
            "const example.org/x/shapes/round Max",
        ]
    );
    assert_eq!(item(&facts, "Circle").doc, "Circle is round.\n\n```go\nc := Circle{}\n```");
    assert_eq!(facts.install.unwrap().text, "go get example.org/x/shapes");

    let ruby = product(&[
        (
            "shapes.gemspec",
            "Gem::Specification.new do |spec|\n  spec.name = \"shapes\"\n  spec.license = \"MIT\"\nend\n",
        ),
        ("lib/shapes/version.rb", "module Shapes\n  VERSION = \"0.9.2\"\nend\n"),
        (
            "lib/shapes.rb",
            "module Shapes\n  # A circle.\n  class Circle\n    attr_reader :r\n    # Makes one.\n    # @param r [Integer] the radius\n    def initialize(r); end\n    def area; end\n    def self.unit; end\n    private\n    def no; end\n  end\n  # @api private\n  class Hidden; end\nend\n",
        ),
    ]);
    let facts = ruby.facts("ruby");
    let expected = [
        "class Shapes Circle",
        "field Shapes Circle#r",
        "method Shapes Circle#initialize",
        "method Shapes Circle#area",
        "method Shapes Circle.unit",
        "const Shapes VERSION",
    ];
    assert_eq!(names(&facts), expected);
    assert_eq!((text(&facts.version), facts.install.unwrap().text.as_str()), ("0.9.2", "gem install shapes"));

    let php = product(&[
        ("composer.json", "{\n  \"name\": \"x/shapes\",\n  \"license\": \"MIT\"\n}\n"),
        (
            "src/Circle.php",
            "<?php\nnamespace X\\Shapes;\n/** A circle. */\nclass Circle {\n    const MAX = 1;\n    private $a;\n    public function area(): int { return 1; }\n    protected function no() {}\n}\n$global = 1;\n",
        ),
    ]);
    let facts = php.facts("php");
    assert_eq!(
        names(&facts),
        ["class X\\Shapes Circle", "const X\\Shapes Circle::MAX", "method X\\Shapes Circle::area"]
    );
    assert_eq!(facts.install.unwrap().text, "composer require x/shapes");

    let swift = product(&[
        (
            "Package.swift",
            "// swift-tools-version:5.5\nimport PackageDescription\nlet package = Package(name: \"Shapes\")\n",
        ),
        (
            "Sources/Shapes/Circle.swift",
            "/// A circle.\npublic struct Circle {\n    public let r: Int\n    let x: Int\n    public init(r: Int) {}\n    func no() {}\n}\npublic extension Circle {\n    func grow() {}\n}\nstruct Hidden {}\npublic protocol Shape {\n    func draw()\n}\n",
        ),
        ("Tests/ShapesTests/A.swift", "public struct No {}\n"),
    ]);
    let expected = [
        "struct Shapes Circle", "field Shapes Circle.r", "method Shapes Circle.init", "method Shapes Circle.grow",
        "interface Shapes Shape", "method Shapes Shape.draw",
    ];
    assert_eq!(names(&swift.facts("swift")), expected);

    let cpp = product(&[
        ("CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(shapes VERSION 1.4.0)\n"),
        (
            "include/shapes/circle.hpp",
            "#pragma once\n#define SHAPES_H\nnamespace shapes {\nnamespace detail { void no(); }\n/// \\brief A circle.\nclass Circle {\npublic:\n    explicit Circle(int r);\n    int area() const;\nprivate:\n    int r_;\n};\nclass Forward;\nint count();\n}\n",
        ),
        (
            "include/shapes/c_api.h",
            "#ifndef C_API_H\n#define C_API_H\n/* Makes one. */\nint shapes_make(int r);\nstatic int no(void);\n#endif\n",
        ),
        (
            "src/circle.cpp",
            "#include <shapes/circle.hpp>\nint shapes::Circle::area() const { return 1; }\nvoid hidden() {}\n",
        ),
    ]);
    let facts = cpp.facts("cpp");
    let expected = [
        "class shapes Circle",
        "method shapes Circle::Circle",
        "method shapes Circle::area",
        "fn shapes count",
        "fn shapes/c_api.h shapes_make",
    ];
    assert_eq!(names(&facts), expected);
    assert_eq!((item(&facts, "Circle").doc.as_str(), text(&facts.version)), ("A circle.", "1.4.0"));
    assert!(facts.install.unwrap().text.contains("GIT_REPOSITORY https://example.org/a/shapes)"));
}

#[test]
fn the_readme_gives_description_and_features() {
    let readme = "<p align=\"center\"><img src=\"logo.svg\"></p>\n\n[![build](b.svg)](https://ci)\n\n# Shapes\n\n> [!NOTE]\n> Moved.\n\n\
                  See [the docs](https://x.org).\n\n**Shapes** draws [circles](docs/circles.md) and `squares`. It is fast.\n\n\
                  ## ✨ Features\n\n- **Round** things,\n  with [radius](https://x.org/r)\n- [ ] planned\n- [x] done\n- [only](#link)\n  1. inner\n- Uses {{< shortcode >}}\n\n### License\n\n- MIT\n\n## Install\n\n```sh\ncargo add shapes --features x\n```\n";
    let product = product(&[
        ("README.md", readme),
        ("Cargo.toml", "[package]\nname = \"shapes\"\ndescription = \"Other.\"\n"),
        ("src/lib.rs", "//! Inferred from this comment.\n"),
    ]);
    let (facts, evidence) =
        build(&product.repo, &product.inventory, &config("rust", false), &StopFlag::default()).unwrap();
    assert_eq!(text(&facts.description), "**Shapes** draws circles and `squares`.");
    let features: Vec<&str> = facts.features.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(features, ["**Round** things, with [radius](https://x.org/r)", "done"]);
    let places = &evidence.claims[&facts.features[0].claim].evidence;
    assert_eq!((places[0].path.as_str(), places[0].line_start, places[0].line_end), ("README.md", 16, 17));
    let install = &evidence.claims[&facts.install.unwrap().claim].evidence;
    let places: Vec<(&str, u32)> = install.iter().map(|place| (place.path.as_str(), place.line_start)).collect();
    assert_eq!(places, [("Cargo.toml", 2), ("README.md", 31)]);
}

#[test]
fn what_is_inferred_is_used_only_if_allowed() {
    let files: [(&str, &[u8]); 3] = [
        ("go.mod", b"module example.org/shapes\n"),
        ("doc.go", b"// Package shapes draws circles and squares.\npackage shapes\n"),
        ("README.md", b"# Shapes\n\n## Usage\n\nCall it as you like it.\n"),
    ];
    let product = product_of(&files, &["nightly", "v1.9.0", "v1.9"]);
    let facts = product.facts("go");
    assert_eq!((facts.description, facts.version), (None, None));
    let facts = product.facts_with(&config("go", true));
    assert_eq!(
        (text(&facts.description), text(&facts.version)),
        ("Package shapes draws circles and squares.", "1.9.0")
    );
    let mut files = files.to_vec();
    files.push(("CHANGELOG.md", b"# Changes\n\n## [1.9.0] - 2026-01-01\n"));
    let facts = product_of(&files, &["v1.9.0"]).facts("go");
    assert_eq!(text(&facts.version), "1.9.0", "the list of changes proves it");
}

#[test]
fn the_manifest_of_the_product_is_chosen_among_several() {
    let product = product(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/other/Cargo.toml", "[package]\nname = \"aaa\"\nversion = \"9.0.0\"\n"),
        ("crates/other/src/lib.rs", "pub fn inner() {}\npub fn unused() {}\n"),
        ("crates/shapes/Cargo.toml", "[package]\nname = \"shapes\"\nversion = \"1.0.0\"\npublish = false\n"),
        ("crates/shapes/src/lib.rs", "pub use aaa::inner as renamed;\npub fn own() {}\n"),
    ]);
    let facts = product.facts("rust");
    assert_eq!(names(&facts), ["fn shapes renamed", "fn shapes own"]);
    assert_eq!((text(&facts.version), facts.install), ("1.0.0", None));
}

#[test]
fn projects_of_gradle_are_chosen_by_their_folders() {
    let product = product(&[
        ("settings.gradle.kts", "rootProject.name = \"shapes-root\"\ninclude(\":shapes\", \":tools\")\n"),
        ("build.gradle.kts", "plugins { kotlin(\"jvm\") }\ngroup = \"org.x\"\nversion = \"1.0.0\"\n"),
        ("shapes/build.gradle.kts", "plugins { kotlin(\"jvm\") }\n"),
        ("shapes/src/main/kotlin/A.kt", "package org.x\nclass Circle\n"),
        ("tools/build.gradle.kts", "plugins { kotlin(\"jvm\") }\n"),
        ("tools/src/main/kotlin/B.kt", "package org.x.tools\nclass Tool\n"),
        (
            "README.md",
            "# Shapes\n\n## Use\n\n```kotlin\nimplementation(\"org.x:shapes-more:1.0.0\")\nimplementation(\"org.x:shapes:1.0.0\")\n```\n",
        ),
    ]);
    let facts = product.facts("kotlin");
    assert_eq!(names(&facts), ["class org.x Circle"]);
    assert_eq!(facts.install.unwrap().text, "implementation(\"org.x:shapes:1.0.0\")");
}

#[test]
fn large_apis_are_bounded_by_modules() {
    let many: String = (0..2_500).map(|at| format!("pub fn f{at}() {{}}\n")).collect();
    let product = product(&[
        ("Cargo.toml", "[package]\nname = \"r\"\n"),
        ("src/lib.rs", "pub mod a;\npub mod b;\npub fn top() {}\n"),
        ("src/a.rs", &many),
        ("src/b.rs", &many),
    ]);
    let facts = product.facts("rust");
    assert_eq!((facts.api.len(), facts.api_omitted), (2_501, 2_500));
    assert!(facts.api.iter().all(|item| item.module != "r::b"));
}

#[test]
fn a_repository_without_anything_has_few_facts() {
    let product = product(&[("notes", "x\n")]);
    for platform in
        ["python", "typescript", "javascript", "java", "dotnet", "cpp", "go", "ruby", "php", "kotlin", "swift", "rust"]
    {
        let facts = product.facts(platform);
        assert!(
            facts.api.is_empty() && facts.package.is_none() && facts.install.is_none() && facts.description.is_none()
        );
    }
}

#[test]
fn stopped_work_ends() {
    let product = product(&[("go.mod", "module x\n"), ("a.go", "package a\nfunc A() {}\n")]);
    let stop = StopFlag::default();
    stop.set();
    let error = build(&product.repo, &product.inventory, &config("go", false), &stop).unwrap_err();
    assert_eq!(error.code, "CANCELLED");
}

#[test]
fn arbitrary_files_do_not_panic() {
    // A fixed sequence: the same bytes on every machine.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut bytes = |length: usize, alphabet: &[u8]| -> Vec<u8> {
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            alphabet[(state % alphabet.len() as u64) as usize]
        };
        std::iter::repeat_with(next).take(length).collect()
    };
    let all: Vec<u8> = (0..=255).collect();
    let signs =
        b"pub mod use fn class from import export * { } ( ) < > [ ] # / \" ' ` : ; = , . - _ @ $ \n\n\n  abc\xC3\xA4";
    let readable: Vec<u8> = signs.iter().copied().filter(u8::is_ascii).collect();
    let paths = [
        "README.md", "README.rst", "Cargo.toml", "src/lib.rs", "package.json", "index.ts", "index.js",
        "pyproject.toml", "p/__init__.py", "p/a.py", "pom.xml", "A.java", "a.kt", "A.cs", "A.csproj", "go.mod", "a.go",
        "a.rb", "a.php", "Sources/A/a.swift", "include/a.h", "include/b.hpp", "examples/a.py", "examples/a.rs",
        "examples/a.php", "LICENSE", "CHANGELOG.md",
    ];
    for alphabet in [&all, &readable, &readable, &readable] {
        let files: Vec<(&str, Vec<u8>)> = paths.iter().map(|path| (*path, bytes(3_000, alphabet))).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
        let product = product_of(&files, &["\u{202e}v1.0"]);
        for platform in
            ["python", "typescript", "java", "dotnet", "cpp", "go", "ruby", "php", "kotlin", "swift", "rust"]
        {
            let facts = product.facts_with(&config(platform, true));
            let mut evidence =
                build(&product.repo, &product.inventory, &config(platform, true), &StopFlag::default()).unwrap().1;
            let stop = StopFlag::default();
            crate::product::snippet_curator::curate(&product.repo, &product.inventory, &facts, &mut evidence, &stop)
                .unwrap();
            check(&product.repo, &facts, &evidence, true);
        }
    }
}
