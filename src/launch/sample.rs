//! The sample of launch runs, a small library and a small site, as a part of the program, so that a demonstration needs no source tree.
//!
//! Invariant: it is what `examples/launch` holds, byte by byte.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// The files of the library and the site, by path.
pub const FILES: [(&str, &[u8]); 27] = [
    ("library/LICENSE", include_bytes!("../../examples/launch/library/LICENSE")),
    ("library/README.md", include_bytes!("../../examples/launch/library/README.md")),
    ("library/examples/build_table.py", include_bytes!("../../examples/launch/library/examples/build_table.py")),
    (
        "library/examples/csv_to_markdown.py",
        include_bytes!("../../examples/launch/library/examples/csv_to_markdown.py"),
    ),
    ("library/examples/sort_prices.py", include_bytes!("../../examples/launch/library/examples/sort_prices.py")),
    ("library/pyproject.toml", include_bytes!("../../examples/launch/library/pyproject.toml")),
    ("library/src/tabtidy/__init__.py", include_bytes!("../../examples/launch/library/src/tabtidy/__init__.py")),
    ("library/src/tabtidy/formats.py", include_bytes!("../../examples/launch/library/src/tabtidy/formats.py")),
    ("library/src/tabtidy/table.py", include_bytes!("../../examples/launch/library/src/tabtidy/table.py")),
    ("library/tests/test_table.py", include_bytes!("../../examples/launch/library/tests/test_table.py")),
    ("site/archetypes/default.md", include_bytes!("../../examples/launch/site/archetypes/default.md")),
    ("site/content/blog/_index.md", include_bytes!("../../examples/launch/site/content/blog/_index.md")),
    (
        "site/content/blog/pagepress/en/python/release-2-0.md",
        include_bytes!("../../examples/launch/site/content/blog/pagepress/en/python/release-2-0.md"),
    ),
    ("site/content/docs/_index.md", include_bytes!("../../examples/launch/site/content/docs/_index.md")),
    (
        "site/content/docs/pagepress/en/python/getting-started.md",
        include_bytes!("../../examples/launch/site/content/docs/pagepress/en/python/getting-started.md"),
    ),
    ("site/content/kb/_index.md", include_bytes!("../../examples/launch/site/content/kb/_index.md")),
    (
        "site/content/kb/pagepress/en/python/print-two-pages.md",
        include_bytes!("../../examples/launch/site/content/kb/pagepress/en/python/print-two-pages.md"),
    ),
    ("site/content/products/_index.md", include_bytes!("../../examples/launch/site/content/products/_index.md")),
    (
        "site/content/products/pagepress/en/python/_index.md",
        include_bytes!("../../examples/launch/site/content/products/pagepress/en/python/_index.md"),
    ),
    ("site/content/reference/_index.md", include_bytes!("../../examples/launch/site/content/reference/_index.md")),
    (
        "site/content/reference/pagepress/en/python/_index.md",
        include_bytes!("../../examples/launch/site/content/reference/pagepress/en/python/_index.md"),
    ),
    ("site/hugo.toml", include_bytes!("../../examples/launch/site/hugo.toml")),
    ("site/layouts/_default/baseof.html", include_bytes!("../../examples/launch/site/layouts/_default/baseof.html")),
    ("site/layouts/_default/list.html", include_bytes!("../../examples/launch/site/layouts/_default/list.html")),
    ("site/layouts/_default/single.html", include_bytes!("../../examples/launch/site/layouts/_default/single.html")),
    ("site/layouts/index.html", include_bytes!("../../examples/launch/site/layouts/index.html")),
    ("site/static/style.css", include_bytes!("../../examples/launch/site/static/style.css")),
];

/// The sections that a run of the sample writes.
pub const SECTIONS: [&str; 5] = ["products", "docs", "reference", "kb", "blog"];

/// Writes the sample into the folders `library` and `site` of `folder`.
///
/// # Errors
/// If a file can't be written.
pub fn write(folder: &Path) -> io::Result<()> {
    for (path, content) in FILES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// The configuration of a run for the sample in `folder`. Without Hugo the site is taken as plain Markdown.
pub fn run_config(folder: &Path, has_hugo: bool) -> Value {
    let (kind, content) = if has_hugo { ("hugo", "content/") } else { ("markdown", "") };
    json!({
        "schema_version": "1.0",
        "product_slug": "tabtidy",
        "product_name": "tabtidy",
        "family": "cells",
        "target_platform": "python",
        "github_repo_url": folder.join("library"),
        "github_ref": "main",
        "required_sections": SECTIONS,
        "allowed_paths": SECTIONS.map(|name| format!("{content}{name}/tabtidy/**")),
        "site": {"repo_url": folder.join("site"), "ref": "main", "kind": kind},
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::request::run_config::RunConfig;

    fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() { files_below(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn the_sample_is_what_the_examples_hold() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch");
        let mut there = Vec::new();
        files_below(&examples, &mut there);
        let mut there: Vec<String> =
            there.iter().map(|path| path.strip_prefix(&examples).unwrap().to_str().unwrap().to_owned()).collect();
        there.retain(|path| path != "README.md");
        there.sort();
        assert_eq!(FILES.map(|(path, _)| path).to_vec(), there);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for path in there {
            assert_eq!(fs::read(folder.path().join(&path)).unwrap(), fs::read(examples.join(&path)).unwrap(), "{path}");
        }
        assert!(RunConfig::parse(&run_config(folder.path(), true)).is_ok());
    }
}
