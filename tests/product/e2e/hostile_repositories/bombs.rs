//! Small files that are made to cost much: ignore rules, and sources in every language that the index parses.

use super::{Case, write};

/// The files that hold ignore rules.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".codeyardignore"];

/// One source file per language.
const SOURCES: [&str; 40] = [
    "bomb.sh", "bomb.c", "bomb.cpp", "bomb.cs", "bomb.go", "bomb.java", "bomb.js", "bomb.json", "bomb.kt", "bomb.md",
    "bomb.php", "bomb.py", "bomb.rb", "bomb.rs", "bomb.scala", "bomb.swift", "bomb.toml", "bomb.tsx", "bomb.ts",
    "bomb.yaml", "bomb.cmake", "bomb.dart", "bomb.dockerfile", "bomb.elm", "bomb.erl", "bomb.ex", "bomb.graphql",
    "bomb.hs", "bomb.jl", "bomb.lua", "bomb.mk", "bomb.ml", "bomb.nix", "bomb.proto", "bomb.r", "bomb.sol",
    "bomb.svelte", "bomb.tf", "bomb.vue", "bomb.zig",
];

/// What is repeated in a source, and how often: nesting, chains, and what never ends.
const SHAPES: [(&str, &str, usize); 4] = [
    ("brackets", "[{(", 130_000),
    ("a chain", "a.b(c)+", 60_000),
    ("an open comment", "/* \" ' ` ", 50_000),
    ("keywords", "if ", 130_000),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ignore_bombs();
    for source in SOURCES {
        for (what, unit, count) in SHAPES {
            cases.push(Case::new(format!("{source}: {what}"), move |site| {
                write(&site.path(source), unit.repeat(count))
            }));
        }
    }
    cases
}

/// What the rules are, how they are made, and whether `sub/other.py` is still found.
type Rule = (&'static str, fn() -> String, bool);

fn ignore_bombs() -> Vec<Case> {
    let rules: [Rule; 9] = [
        ("a million distinct lines", || (0..1_000_000).map(|n| format!("never{n}\n")).collect(), true),
        ("10 MB of everything", || "*\n".repeat(5_000_000), false),
        ("a glob of a MiB", || "a*".repeat(1 << 19) + "\n", true),
        ("nested alternatives", || "{a,b}".repeat(40) + "\n", true),
        ("open classes", || "[a-z".repeat(100_000) + "\n", true),
        ("stars that cross folders", || "**/".repeat(100_000) + "never\n", true),
        ("negations", || "!\n".repeat(100_000), true),
        ("backslashes", || "\\".repeat(100_001) + "\n", true),
        ("noise", || String::from_utf8_lossy(&super::special_files::noise(1 << 20)).into_owned(), false),
    ];
    let pairs = rules.into_iter().flat_map(|rule| IGNORE_FILES.map(|file| (rule, file)));
    pairs
        .map(|((what, text, finds), file)| {
            let case = Case::new(format!("{file}: {what}"), move |site| write(&site.path(file), text()));
            if finds { case } else { case.hides_all() }
        })
        .collect()
}
