//! The table of documentation sites: hosts, product families, platforms and languages.
//!
//! It is data, read from `config/sites.toml`, which an operator can replace. It doesn't contact a site. Invariants: a host occurs once; every
//! path names its product and its platform; a word names one platform.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The built-in table.
const BUILTIN: &str = include_str!("../../../config/sites.toml");

/// The table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// The languages that a URL can name.
    pub locales: BTreeSet<String>,
    pub families: BTreeSet<String>,
    /// The platforms, each with the other words that name it.
    pub platforms: BTreeMap<String, Vec<String>>,
    #[serde(rename = "site")]
    pub sites: Vec<Site>,
    /// What a URL or a repository doesn't say.
    #[serde(default)]
    pub defaults: toml::Table,
}

/// One site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The host, in lower case.
    pub host: String,
    /// The section that its pages belong to.
    pub section: String,
    /// The segments of its paths: `{name}` is one segment, `{name?}` one that may be missing.
    pub path: String,
}

/// A segment of a site's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// A product family.
    Product,
    Locale,
    /// A language that may be missing.
    OptionalLocale,
    Platform,
    /// The name of a page that may be missing.
    OptionalPage,
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub enum SitesError {
    /// It is no TOML of this form.
    #[error("the table of sites can't be read: {0}")]
    Form(#[from] toml::de::Error),
    /// A rule isn't kept.
    #[error("the table of sites is wrong: {0}")]
    Rule(String),
}

impl Sites {
    /// The built-in table.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn builtin() -> Self {
        Self::parse(BUILTIN).expect("config/sites.toml is valid")
    }

    /// The table that `text` holds.
    ///
    /// # Errors
    /// If it has another form or breaks a rule.
    pub fn parse(text: &str) -> Result<Self, SitesError> {
        let sites: Self = toml::from_str(text)?;
        let rule = |text: String| Err(SitesError::Rule(text));
        let mut hosts = BTreeSet::new();
        for site in &sites.sites {
            if site.host != site.host.to_lowercase() || !hosts.insert(&site.host) {
                return rule(format!("the host {} isn't in lower case or occurs twice", site.host));
            }
            let Some(segments) = site.segments() else {
                return rule(format!(
                    "the path {} of {} has a segment other than {{product}}, {{locale}}, {{locale?}}, {{platform}} and {{page?}}",
                    site.path, site.host
                ));
            };
            for needed in [Segment::Product, Segment::Platform] {
                if segments.iter().filter(|segment| **segment == needed).count() != 1 {
                    return rule(format!("the path {} of {} doesn't have one {needed:?}", site.path, site.host));
                }
            }
        }
        let mut words = BTreeSet::new();
        for word in sites.platforms.iter().flat_map(|(name, words)| words.iter().chain([name])) {
            if !words.insert(word) {
                return rule(format!("the word {word} names two platforms"));
            }
        }
        Ok(sites)
    }

    /// The platform that `word` names; case doesn't matter.
    pub fn platform(&self, word: &str) -> Option<&str> {
        let word = word.to_lowercase();
        let names = |(name, words): &(&String, &Vec<String>)| **name == word || words.contains(&word);
        self.platforms.iter().find(names).map(|(name, _)| name.as_str())
    }

    /// The site with this host; case doesn't matter.
    pub fn site(&self, host: &str) -> Option<&Site> {
        self.sites.iter().find(|site| site.host.eq_ignore_ascii_case(host))
    }
}

impl Site {
    /// The segments of its paths; `None` if the table has another one.
    pub fn segments(&self) -> Option<Vec<Segment>> {
        let segment = |text: &str| match text {
            "{product}" => Some(Segment::Product),
            "{locale}" => Some(Segment::Locale),
            "{locale?}" => Some(Segment::OptionalLocale),
            "{platform}" => Some(Segment::Platform),
            "{page?}" => Some(Segment::OptionalPage),
            _ => None,
        };
        self.path.split('/').map(segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_table_has_the_sites_families_and_platforms_of_the_contract() {
        let sites = Sites::builtin();
        let hosts: Vec<&str> = sites.sites.iter().map(|site| site.host.as_str()).collect();
        assert_eq!(hosts, ["products", "docs", "kb", "blog", "reference"].map(|name| format!("{name}.aspose.org")));
        assert_eq!((sites.families.len(), sites.platforms.len()), (22, 12));
        assert_eq!(sites.platform("NodeJS"), Some("javascript"));
        assert_eq!(sites.platform("cobol"), None);
        assert_eq!(sites.site("DOCS.Aspose.org").map(|site| site.section.as_str()), Some("docs"));
    }

    #[test]
    fn broken_tables_are_refused_with_the_reason() {
        let broken = |from: &str, to: &str| Sites::parse(&BUILTIN.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(broken("{page?}", "{slug}").contains("has a segment other than"));
        assert!(broken("{product}/{locale}/{platform}", "{locale}/{platform}").contains("doesn't have one Product"));
        assert!(broken("kb.aspose.org", "docs.aspose.org").contains("occurs twice"));
        assert!(broken("kb.aspose.org", "KB.aspose.org").contains("isn't in lower case"));
        assert!(broken("\"golang\"", "\"ts\"").contains("names two platforms"));
        assert!(broken("section", "sektion").contains("unknown field"));
    }
}
