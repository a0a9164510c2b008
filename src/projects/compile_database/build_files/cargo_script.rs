//! Reads include directories and definitions from the build script of a Cargo package that compiles C or C++ (`cc::Build`).
//!
//! It looks at calls of `include`, `define`, `flag` and `std` with literals. Blocks whose condition names another system are skipped.

use codeyard_ecosystems::cargo::{CargoManifest, MANIFEST};

use super::build_hints::{Collector, names_other_system};

/// Reads a `build.rs`.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    if !text.contains("cc::") && !text.contains("cmake::") {
        return;
    }
    let manifest = collector.sibling_text(MANIFEST).unwrap_or_default();
    let manifest = CargoManifest::parse(&manifest);
    let features = manifest.as_ref().map(CargoManifest::default_features).unwrap_or_default();
    // One entry for each open brace: whether its block is for another system.
    let mut blocks: Vec<bool> = Vec::new();
    let mut condition = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let opens = condition.is_empty() && (line.starts_with("if ") || line.contains("else if "));
        if opens || !condition.is_empty() {
            condition.push_str(line);
        }
        if line.starts_with('}') {
            blocks.pop();
        }
        if !blocks.contains(&true) {
            calls(line, collector);
        }
        let balance = line.trim_start_matches('}');
        let open = balance.matches('{').count();
        let close = balance.matches('}').count();
        if open > close {
            let is_negated = condition.contains("if !") || condition.contains("!=");
            let is_foreign = !condition.is_empty()
                && !is_negated
                && (names_other_system(&condition) || is_off(&condition, &features));
            blocks.extend(std::iter::repeat_n(is_foreign, open - close));
            condition.clear();
        } else if close > open {
            condition.clear();
            blocks.truncate(blocks.len().saturating_sub(close - open));
        } else if open > 0 {
            condition.clear();
        }
    }
}

/// Whether a condition needs a feature that isn't on by default.
fn is_off(condition: &str, features: &[&str]) -> bool {
    let mut needed = condition.split("feature").skip(1).filter_map(|rest| rest.split('"').nth(1));
    needed.any(|feature| !features.contains(&feature))
}

fn calls(line: &str, collector: &mut Collector<'_>) {
    for (method, call) in ["include", "define", "flag", "flag_if_supported", "std"].iter().flat_map(|method| {
        line.match_indices(&format!(".{method}("))
            .map(move |(at, found)| (*method, &line[at + found.len()..]))
            .collect::<Vec<_>>()
    }) {
        let Some(first) = literal(call) else { continue };
        match method {
            "include" => collector.include_dir(first),
            "define" => {
                let rest = &call[call.find(first).map_or(0, |at| at + first.len() + 1)..];
                match literal_value(rest) {
                    Some(value) => collector.define(&format!("{first}={}", value.replace("\\\"", "\""))),
                    None if rest.contains("None") => collector.define(first),
                    None => {}
                }
            }
            "std" => collector.standard(first),
            _ => collector.arguments(&[first.to_owned()]),
        }
    }
}

/// The literal that is the first argument.
fn literal(call: &str) -> Option<&str> {
    let inner = call.trim_start().trim_start_matches('&').strip_prefix('"')?;
    Some(&inner[..inner.find('"')?])
}

/// The literal that is the second argument: `"1"`, `Some("1")`.
fn literal_value(rest: &str) -> Option<&str> {
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let inner = rest.strip_prefix("Some(").unwrap_or(rest).strip_prefix('"')?;
    let end = inner.match_indices('"').find(|(at, _)| !inner[..*at].ends_with('\\'))?.0;
    Some(&inner[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    #[test]
    fn features_that_are_off_by_default_do_not_count() {
        let manifest = "[package]\n[features]\nhttp2 = []\ndefault = [\n \"ssl\",\n]\nx = [\"http2\"]\n";
        let manifest = CargoManifest::parse(manifest).unwrap();
        let features = manifest.default_features();
        assert!(!is_off("if cfg!(feature = \"ssl\") {", &features));
        assert!(is_off("if cfg!(feature = \"http2\") {", &features) && !is_off("if x {", &features));
        let text = "cc::Build::new();\nif cfg!(feature = \"http2\") {\n    cfg.define(\"NO\", None);\n} else {\n    cfg.define(\"A\", None);\n}\n";
        assert_eq!(collected(read, "", text, &["a.h"]).flags, ["-DA"]);
    }

    #[test]
    fn calls_with_literals_are_read() {
        let text = r#"
            let mut cfg = cc::Build::new();
            if windows { return; }
            cfg.include("x/lib").include(&dir).define("A", None).define("B", "1") // .define("NO", None)
                .define("C", Some("\"q\"")).define("D", value).flag("-DE").std("c11");
            if target.contains("windows") {
                cfg.define("NO", None);
                if x { cfg.define("NO2", None); }
            } else if target.contains("-apple-")
            {
                cfg.define("NO3", None);
            } else {
                cfg.define("F", None);
                if !target.contains("msvc") {
                    cfg.define("G", None);
                }
            }
        "#;
        let flags = collected(read, "", text, &["x/lib/a.h"]);
        assert_eq!(flags.include_dirs, ["x/lib"]);
        assert_eq!(flags.flags, ["-DA", "-DB=1", "-DC=\"q\"", "-DE", "-DF", "-DG"]);
        assert_eq!(flags.c_standard.as_deref(), Some("c11"));
        assert_eq!(collected(read, "", "x.define(\"A\", None)", &["a.h"]), Default::default());
    }
}
