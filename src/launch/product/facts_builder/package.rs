//! What the manifest of the product's package says: name, version, licence, requirements; and where else these stand if it doesn't.

use std::collections::BTreeSet;

use codeyard_ecosystems::npm::PackageJson;
use codeyard_ecosystems::python;

use super::ClaimLedger;
use crate::artifacts::facts::{Evidence, Fact};
use crate::artifacts::repository::{FileKind, ManifestKind, ManifestValue, PackageManifest, RepoInventory};
use crate::limits::{MAX_API_FILE_BYTES, MAX_PACKAGE_MANIFEST_BYTES, MAX_README_BYTES};
use crate::repository::product_sources::{ProductReader, SourceText, folder, join, without_hidden_signs};
use crate::request::run_config::RunConfig;

/// Files that are searched for a version.
const MAX_VERSION_FILES: usize = 40;

/// The manifest of the product's package, and its files.
pub(super) struct PackageFacts<'a> {
    inventory: &'a RepoInventory,
    reader: &'a ProductReader,
    allows_inference: bool,
    manifest: Option<&'a PackageManifest>,
    /// Manifests beside it, which say what it doesn't.
    beside: Vec<&'a PackageManifest>,
}

/// The licences whose texts are known by a phrase, and their SPDX identifiers.
const LICENSE_TEXTS: [(&str, &str); 12] = [
    ("MIT License", "MIT"),
    ("Apache License", "Apache-2.0"),
    ("GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL-3.0"),
    ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"),
    ("Mozilla Public License", "MPL-2.0"),
    ("Boost Software License", "BSL-1.0"),
    ("BSD 3-Clause License", "BSD-3-Clause"),
    ("BSD 2-Clause License", "BSD-2-Clause"),
    ("ISC License", "ISC"),
    ("The Unlicense", "Unlicense"),
    ("Permission is hereby granted, free of charge, to any person obtaining", "MIT"),
];

impl<'a> PackageFacts<'a> {
    /// Chooses the manifest for the platform: one at the top, else one whose name is the product's, else the nearest to the top.
    pub(super) fn read(inventory: &'a RepoInventory, config: &RunConfig, reader: &'a ProductReader) -> Self {
        let platform = config.target_platform.as_str();
        let is_for = |manifest: &&PackageManifest| {
            manifest.platforms.iter().any(|named| named == platform) || kinds(platform).contains(&manifest.kind)
        };
        let candidates: Vec<&PackageManifest> = inventory.manifests.iter().filter(is_for).collect();
        let words = [config.product_slug.to_lowercase(), config.family.to_lowercase()];
        let rank = |manifest: &&&PackageManifest| {
            // A project of Gradle has the name of its folder.
            let of_folder = folder(&manifest.path).rsplit('/').next().filter(|name| !name.is_empty());
            let of_folder = of_folder.filter(|_| manifest.kind == ManifestKind::Gradle);
            let name = manifest.name.as_ref().map(|name| name.text.as_str()).or(of_folder).map(str::to_lowercase);
            let depth = manifest.path.matches('/').count();
            let is_whole =
                |name: &String| words.contains(name) || name.rsplit(['/', '.', ':']).next() == Some(words[0].as_str());
            let has_word = |name: &String| words.iter().any(|word| name.contains(word.as_str()));
            let likeness = match &name {
                Some(_) if depth == 0 && !is_workspace(manifest, inventory, reader) => 0,
                Some(name) if is_whole(name) => 1,
                Some(name) if has_word(name) => 2,
                Some(_) => 3,
                None => 4,
            };
            (likeness, depth, kind_rank(platform, manifest), manifest.path.clone())
        };
        let manifest = candidates.iter().min_by_key(rank).copied();
        let of_folder = |other: &&&PackageManifest| {
            manifest
                .is_some_and(|own| folder(&own.path) == folder(&other.path) && own.kind == other.kind && own != **other)
        };
        let beside = candidates.iter().filter(of_folder).copied().collect();
        Self { inventory, reader, allows_inference: config.allow_inference, manifest, beside }
    }

    pub(super) fn manifest(&self) -> Option<&'a PackageManifest> {
        self.manifest
    }

    /// The inventory that the facts are from.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.inventory.files.iter().any(|file| file.path == path)
    }

    pub(super) fn manifest_text(&self) -> Option<SourceText> {
        self.reader.text(&self.manifest?.path, MAX_PACKAGE_MANIFEST_BYTES)
    }

    /// A value of the manifest, or of one beside it, with the line that says it.
    pub(super) fn value(&self, of: impl Fn(&PackageManifest) -> Option<&ManifestValue>) -> Option<(String, Evidence)> {
        self.manifest.into_iter().chain(self.beside.iter().copied()).find_map(|manifest| {
            let value = of(manifest).filter(|value| !value.text.trim().is_empty())?;
            let path = value.path.as_ref().unwrap_or(&manifest.path);
            let text = self.reader.text(path, MAX_PACKAGE_MANIFEST_BYTES)?;
            let evidence = text.evidence(value.line as usize, value.line as usize)?;
            Some((without_hidden_signs(&value.text).split_whitespace().collect::<Vec<_>>().join(" "), evidence))
        })
    }

    pub(super) fn name(&self, ledger: &mut ClaimLedger) -> Option<Fact> {
        let (name, evidence) = self.package_name()?;
        ledger.fact(&name, &format!("The package is `{name}`"), vec![evidence])
    }

    /// The name of the package; in Python also `__title__`, from which some manifests take it.
    pub(super) fn package_name(&self) -> Option<(String, Evidence)> {
        let of_manifest = self.value(|manifest| manifest.name.as_ref());
        let is_python = self.manifest.is_some_and(|manifest| manifest.kind == ManifestKind::Python);
        of_manifest.or_else(|| self.constant(&["__title__"]).filter(|_| is_python))
    }

    pub(super) fn description(&self, ledger: &mut ClaimLedger) -> Option<Fact> {
        let (text, evidence) = self.value(|manifest| manifest.description.as_ref())?;
        let text = crate::product::doc_comment::inline_markdown(&text);
        (!text.contains("{ {")).then(|| ledger.fact(&text, &text, vec![evidence])).flatten()
    }

    pub(super) fn requires(&self, platform: &str, ledger: &mut ClaimLedger) -> Option<Fact> {
        let (value, evidence) = self.value(|manifest| manifest.requires.as_ref())?;
        let language = match platform {
            "python" => "Python",
            "typescript" | "javascript" => "Node.js",
            "java" => "Java",
            "dotnet" => ".NET",
            "cpp" => "C++",
            "go" => "Go",
            "ruby" => "Ruby",
            "php" => "PHP",
            "kotlin" => "Kotlin",
            "swift" => "Swift",
            _ => "Rust",
        };
        let value = value.replace('`', "");
        let text = if value.starts_with(language) { value } else { format!("{language} `{value}`") };
        ledger.fact(&text, &format!("It needs {text}"), vec![evidence])
    }

    pub(super) fn license(&self, ledger: &mut ClaimLedger) -> Option<Fact> {
        let (name, evidence) = match self.value(|manifest| manifest.license.as_ref()) {
            // Some manifests name a file instead.
            Some((name, evidence)) if name.len() <= 80 && !is_file_name(&name) => (name, evidence),
            _ => self.license_of_text()?,
        };
        ledger.fact(&name, &format!("The licence is {name}"), vec![evidence])
    }

    fn license_of_text(&self) -> Option<(String, Evidence)> {
        self.inventory.license_files.iter().find_map(|path| {
            let text = self.reader.beginning(path, MAX_README_BYTES)?;
            if let Some(found) = bsd_license(&text) {
                return Some(found);
            }
            let (line, name) = LICENSE_TEXTS.iter().find_map(|(phrase, name)| {
                let has = |line: &usize| text.line(*line).to_lowercase().contains(&phrase.to_lowercase());
                Some(((1..=text.len().min(30)).find(has)?, *name))
            })?;
            let number = (line..=text.len().min(line + 3)).find_map(|line| {
                text.line(line)
                    .split_once("ersion ")
                    .map(|(_, rest)| rest.split([',', '.', ' ']).next().unwrap_or("").to_owned())
            });
            let name = match (name, number.filter(|number| !number.is_empty())) {
                ("GPL" | "LGPL", Some(number)) => format!("{name}-{number}.0"),
                _ => name.to_owned(),
            };
            Some((name, text.evidence(line, line)?))
        })
    }

    pub(super) fn version(&self, ledger: &mut ClaimLedger) -> Option<Fact> {
        let of_manifest = self.value(|manifest| manifest.version.as_ref()).filter(|(version, _)| is_version(version));
        let found = of_manifest.or_else(|| self.version_of_source()).or_else(|| self.version_of_changelog());
        if let Some((version, evidence)) = found {
            return ledger.fact(&version, &format!("The version is {version}"), vec![evidence]);
        }
        let version = self.tagged_version().filter(|_| self.allows_inference)?;
        let (_, evidence) = self.package_name()?;
        let claim = ledger.add_inferred(&format!("The version is {version}"), vec![evidence])?;
        Some(Fact { text: version, claim })
    }

    /// `__version__ = "…"` and constants like it.
    fn version_of_source(&self) -> Option<(String, Evidence)> {
        self.constant(&["__version__", "version"]).filter(|(version, _)| is_version(version))
    }

    /// The text that a file about the product assigns to one of these names, in lower case.
    fn constant(&self, names: &[&str]) -> Option<(String, Evidence)> {
        let below = self.manifest.map_or("", |manifest| folder(&manifest.path));
        let is_likely = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
            let stem = name.split('.').next().unwrap_or_default();
            let known = ["_version", "version", "__version__", "__about__", "about", "__init__", "meta"];
            path.starts_with(below) && known.contains(&stem)
        };
        let mut paths: Vec<&str> = (self.inventory.files.iter())
            .filter(|file| file.kind == FileKind::Source && is_likely(&file.path))
            .map(|file| file.path.as_str())
            .collect();
        paths.sort_by_key(|path| (path.matches('/').count(), *path));
        paths.into_iter().take(MAX_VERSION_FILES).find_map(|path| {
            let text = self.reader.text(path, MAX_API_FILE_BYTES)?;
            (1..=text.len()).find_map(|line| {
                let (name, value) = text.line(line).split_once('=')?;
                let name = name.split(':').next().unwrap_or(name).trim().to_lowercase();
                let name = name.rsplit(' ').next().unwrap_or_default();
                let value = value.trim().strip_prefix(['"', '\''])?.split(['"', '\'']).next()?;
                let evidence = text.evidence(line, line).filter(|_| names.contains(&name) && !value.is_empty())?;
                Some((value.to_owned(), evidence))
            })
        })
    }

    /// The version of a tag, if the list of changes names it.
    fn version_of_changelog(&self) -> Option<(String, Evidence)> {
        let version = self.tagged_version()?;
        let is_list = |path: &&str| {
            let name = path.to_lowercase();
            !name.contains('/')
                && ["changelog", "changes", "history", "news", "releases"].iter().any(|word| name.starts_with(word))
        };
        self.inventory.files.iter().map(|file| file.path.as_str()).filter(is_list).find_map(|path| {
            let text = self.reader.beginning(path, MAX_README_BYTES)?;
            let has = |line: &usize| {
                text.line(*line)
                    .split([' ', '[', ']', '(', ')', ':'])
                    .any(|word| word.trim_start_matches('v') == version)
            };
            let line = (1..=text.len()).find(has)?;
            Some((version.clone(), text.evidence(line, line)?))
        })
    }

    /// The version in the tags of the commit; the longest if there are several, without suffixes of other packages.
    fn tagged_version(&self) -> Option<String> {
        // `v1.2.0`, `shapes-1.2.0`, `release/1.2.0`
        let of_tag = |tag: &String| {
            let after = tag.match_indices(['-', '/', '@', '_']).map(|(at, _)| at + 1);
            let mut rests = std::iter::once(0).chain(after).map(|at| tag[at..].trim_start_matches(['v', 'V']));
            rests.find(|rest| is_version(rest)).map(str::to_owned)
        };
        let versions: BTreeSet<String> = self.inventory.tags.iter().filter_map(of_tag).collect();
        versions.into_iter().max_by_key(|version| (version.matches('.').count(), version.clone()))
    }
}

/// The licences of BSD, whose texts often have no title.
fn bsd_license(text: &SourceText) -> Option<(String, Evidence)> {
    let has = |line: &usize| text.line(*line).contains("Redistribution and use in source and binary forms");
    let line = (1..=text.len().min(40)).find(has)?;
    let has_third = (line..=text.len().min(line + 40)).any(|line| text.line(line).contains("either the name"));
    let name = if has_third { "BSD-3-Clause" } else { "BSD-2-Clause" };
    Some((name.to_owned(), text.evidence(line, line)?))
}

/// Whether a text is a version that was released: digits with dots in front, and not all zeros.
fn is_version(text: &str) -> bool {
    let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | '!'));
    number.contains('.')
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.contains(|c: char| matches!(c, '1'..='9'))
        && is_plain
}

fn is_file_name(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.starts_with("see ")
        || [".txt", ".md", ".rst"].iter().any(|end| lower.ends_with(end))
        || lower.starts_with("licen")
}

fn kinds(platform: &str) -> &'static [ManifestKind] {
    match platform {
        "python" => &[ManifestKind::Python],
        "typescript" | "javascript" => &[ManifestKind::Npm],
        "java" => &[ManifestKind::Maven, ManifestKind::Gradle],
        "kotlin" => &[ManifestKind::Gradle, ManifestKind::Maven],
        "dotnet" => &[ManifestKind::Nuget],
        "cpp" => &[ManifestKind::Cpp],
        "go" => &[ManifestKind::Go],
        "ruby" => &[ManifestKind::Gem],
        "php" => &[ManifestKind::Composer],
        "swift" => &[ManifestKind::Swift],
        "rust" => &[ManifestKind::Cargo],
        _ => &[],
    }
}

/// Which of several manifests in one folder says most.
fn kind_rank(platform: &str, manifest: &PackageManifest) -> usize {
    let file = manifest.path.rsplit('/').next().unwrap_or_default();
    let by_kind = kinds(platform).iter().position(|kind| *kind == manifest.kind).unwrap_or(9);
    let by_file =
        [python::MANIFEST, python::SETUP_CONFIGURATION, python::SETUP_PROGRAM, "vcpkg.json", "CMakeLists.txt"]
            .iter()
            .position(|name| *name == file);
    by_kind * 10 + by_file.unwrap_or(5)
}

/// Whether a manifest only holds other packages together.
fn is_workspace(manifest: &PackageManifest, inventory: &RepoInventory, reader: &ProductReader) -> bool {
    let text = reader.text(&manifest.path, MAX_PACKAGE_MANIFEST_BYTES);
    match manifest.kind {
        ManifestKind::Npm => {}
        ManifestKind::Gradle => {
            let is_other = |other: &PackageManifest| other.kind == ManifestKind::Gradle && other.path != manifest.path;
            let sources = join(folder(&manifest.path), "src/");
            let has_sources = inventory.files.iter().any(|file| file.path.starts_with(&sources));
            return !has_sources && inventory.manifests.iter().any(is_other);
        }
        ManifestKind::Maven => return text.is_some_and(|text| text.text.contains("<packaging>pom</packaging>")),
        _ => return false,
    }
    text.and_then(|text| PackageJson::parse(&text.text)).is_some_and(|parsed| parsed.is_workspace_only())
}

/// An address without a password and without `.git`.
pub(super) fn public_address(address: &str) -> String {
    let plain = match address.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) =
                rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    };
    plain.trim_end_matches('/').trim_end_matches(".git").to_owned()
}
