//! Components whose configurations lie side by side: answers of the real server lack the uses in the other projects and say so, until one
//! configuration lists all.

use std::fs;

use crate::breadth::phases::install;
use crate::breadth::served::Served;
use crate::mcp::until;
use crate::servers::agent::Answer;
use crate::servers::folder::{folder_of, write};

/// Longest wait for the effect of a changed configuration, in milliseconds.
const MENDED_MS: u64 = 60_000;

const COMPILED: &str = r#"{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}"#;
const USE: &str = "<script setup lang=\"ts\">\nimport { formatPrice } from \"../shared/format\";\nconst label = formatPrice(2);\n</script>\n\n<template>{{ label }}</template>\n";
const FILES: [(&str, &str); 8] = [
    ("package.json", r#"{"name": "shop", "private": true}"#),
    ("shared/tsconfig.json", COMPILED),
    ("shared/format.ts", "export function formatPrice(cents: number) {\n  return String(cents);\n}\n"),
    ("shared/Own.vue", USE),
    ("a/tsconfig.json", COMPILED),
    ("a/App.vue", USE),
    ("b/tsconfig.json", COMPILED),
    ("b/use.ts", "import { formatPrice } from \"../shared/format\";\nexport const text = formatPrice(3);\n"),
];

/// Whether the answer has a use in this file.
fn names(answer: &Answer, file: &str) -> bool {
    let uses = answer.result().as_array().into_iter().flatten();
    uses.filter_map(|one| one["uri"].as_str()).any(|uri| uri.ends_with(file))
}

#[test]
#[ignore = "fetches its server"]
fn vue() {
    if install("vue").is_none() {
        return;
    }
    let (_folder, root) = folder_of(&FILES);
    let mut served = Served::new("vue", &root);
    let answer = served.references("shared/Own.vue", "formatPrice");
    assert!(names(&answer, "shared/format.ts") && names(&answer, "shared/Own.vue"), "{answer:?}");
    assert!(!names(&answer, "a/App.vue") && !names(&answer, "b/use.ts"), "the mark would be wrong: {answer:?}");
    let reason = answer.metadata["partial"][0]["reason"].as_str().unwrap_or_default();
    let expected = "a/tsconfig.json, b/tsconfig.json and 1 more project import them, and the server answers for each tsconfig.json alone";
    assert_eq!(reason, expected, "{answer:?}");
    // One configuration that lists all files makes the answer complete.
    for folder in ["shared", "a", "b"] {
        fs::remove_file(root.join(folder).join("tsconfig.json")).expect("a file");
    }
    write(&root.join("tsconfig.json"), COMPILED);
    let mut last = None;
    let is_complete = until(MENDED_MS, || {
        let answer = served.references("shared/Own.vue", "formatPrice");
        let is_marked = answer.metadata.get("partial").is_some();
        let is_complete = !is_marked && FILES.iter().all(|(file, _)| file.ends_with(".json") || names(&answer, file));
        last = Some(answer);
        is_complete
    });
    assert!(is_complete, "{last:?}");
    served.yard.stop();
}
