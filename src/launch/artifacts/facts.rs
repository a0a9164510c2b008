//! `product_facts.json` and `evidence_map.json`: what is known of a product, and the lines that prove it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a product. Every text names the claim that proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProductFacts {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit.
    pub commit: String,
    /// Its committer's date, RFC 3339 in UTC.
    pub commit_date: String,
    /// The product's name, as the run's configuration has it.
    pub product_name: String,
    /// Its name in addresses.
    pub product_slug: String,
    /// Its family.
    pub family: String,
    /// Its platform.
    pub target_platform: String,
    /// The name of its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Fact>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Fact>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<Fact>,
    /// One sentence on what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Fact>,
    /// The versions of the language or platform that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<Fact>,
    /// Where its source is.
    pub repository: String,
    /// The command that installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<InstallCommand>,
    /// What its README says that it can do, in the README's order.
    pub features: Vec<Fact>,
    /// Its public API, by module, then by place in the source.
    pub api: Vec<ApiItem>,
    /// Items of the public API that are left out because there are too many.
    pub api_omitted: usize,
    /// Its example programs, by path.
    pub examples: Vec<ExampleProgram>,
}

/// A text and its claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The text in Markdown, in one line.
    pub text: String,
    /// The claim, a key of [`EvidenceMap::claims`].
    pub claim: String,
}

/// How the product is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallCommand {
    /// The command, or the lines of a manifest.
    pub text: String,
    /// The language of the code block that shows it: `sh`, `toml`, `xml`.
    pub language: String,
    /// The claim.
    pub claim: String,
}

/// One public item of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiItem {
    /// Its kind, as the code index names it: `fn`, `class`, `method`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The name with its containers below the module, as users of the language write it.
    pub qualified_name: String,
    /// The module, package or namespace that users import it from; empty for the top.
    pub module: String,
    /// The qualified name of the item around it; `None` for an item of a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The definition without its body.
    pub signature: String,
    /// Its doc comment in Markdown; empty without one.
    pub doc: String,
    /// The language of the source, as the code index names it.
    pub language: String,
    /// The source file, relative to the top.
    pub path: String,
    /// The first line of the definition, from 1.
    pub line: u32,
    /// The claim: the definition and its doc comment.
    pub claim: String,
}

/// An example program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleProgram {
    /// The path, relative to the top.
    pub path: String,
    /// A title: the first sentence of its comment, or its name in words.
    pub title: String,
    /// What its comment says, in Markdown; empty without one.
    pub doc: String,
    /// The claim for its title and comment.
    pub claim: String,
}

/// The claims that pages can make, each with the lines that prove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceMap {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit that the lines are from.
    pub commit: String,
    /// The claims by identifier: `clm_` and 12 hexadecimal digits.
    pub claims: BTreeMap<String, Claim>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is claimed.
    pub text: String,
    /// Whether it was inferred instead of read. Pages use it only with `allow_inference`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inferred: bool,
    /// The lines that prove it; at least one place.
    pub evidence: Vec<Evidence>,
}

/// Lines of a file at the pinned commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The path, relative to the top.
    pub path: String,
    /// The first line, from 1.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The digest of the lines' bytes, line ends included, lower-case hexadecimal.
    pub sha256: String,
}

impl Claim {
    /// The identifier of a claim with this text and evidence.
    pub fn id(&self) -> String {
        let places =
            self.evidence.iter().map(|place| format!("{}:{}-{}", place.path, place.line_start, place.line_end));
        let identity = format!("{}\n{}", self.text, places.collect::<Vec<_>>().join("\n"));
        format!("clm_{}", &codeyard_base::digest::sha256hex(identity)[..12])
    }
}

impl Evidence {
    /// The lines from `line_start` to `line_end` of `content`. `None` if it has fewer lines or there are none.
    pub fn of(path: &str, content: &[u8], line_start: u32, line_end: u32) -> Option<Self> {
        let lines = Self::lines(content, line_start, line_end)?;
        let sha256 = codeyard_base::digest::sha256hex(lines);
        Some(Self { path: path.to_owned(), line_start, line_end, sha256 })
    }

    /// Whether `content` has the same lines.
    pub fn is_in(&self, content: &[u8]) -> bool {
        Self::lines(content, self.line_start, self.line_end)
            .is_some_and(|lines| codeyard_base::digest::sha256hex(lines) == self.sha256)
    }

    /// The bytes of the lines, the end of the last one included.
    pub fn lines(content: &[u8], line_start: u32, line_end: u32) -> Option<&[u8]> {
        if line_start == 0 || line_end < line_start {
            return None;
        }
        let mut starts = std::iter::once(0).chain(
            content
                .iter()
                .enumerate()
                .filter(|(at, byte)| **byte == b'\n' && at + 1 < content.len())
                .map(|(at, _)| at + 1),
        );
        let first = starts.nth(line_start as usize - 1).filter(|_| !content.is_empty())?;
        let end = match line_end - line_start {
            0 => starts.next(),
            lines => {
                starts.nth(lines as usize - 1)?;
                starts.next()
            }
        };
        Some(&content[first..end.unwrap_or(content.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_with_their_ends() {
        let text = b"a\nbb\r\n\nlast";
        let lines = |from, to| Evidence::lines(text, from, to).map(|lines| String::from_utf8_lossy(lines).into_owned());
        assert_eq!(lines(1, 1).unwrap(), "a\n");
        assert_eq!(lines(2, 3).unwrap(), "bb\r\n\n");
        assert_eq!(lines(4, 4).unwrap(), "last");
        assert_eq!(lines(1, 4).unwrap().as_bytes(), text);
        for (from, to) in [(0, 1), (5, 5), (4, 5), (3, 2)] {
            assert_eq!(lines(from, to), None, "{from} to {to}");
        }
        assert_eq!(Evidence::lines(b"", 1, 1), None);
        assert_eq!(Evidence::lines(b"x\n", 1, 1).unwrap(), b"x\n");
        assert_eq!(Evidence::lines(b"x\n", 2, 2), None, "a last line end begins no line");
        let evidence = Evidence::of("f", text, 2, 2).unwrap();
        assert!(evidence.is_in(text) && !evidence.is_in(b"a\nbb\n\nlast"));
    }
}
