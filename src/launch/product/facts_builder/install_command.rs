//! The command that installs the product, from the name of its package; the README proves it too if it shows the same.

use codeyard_ecosystems::cargo::CargoManifest;
use codeyard_ecosystems::npm::PackageJson;

use super::ClaimLedger;
use super::package::{PackageFacts, public_address};
use crate::artifacts::facts::InstallCommand;
use crate::artifacts::repository::ManifestKind;
use crate::product::readme::{PartKind, Readme};
use crate::request::run_config::RunConfig;

/// The command, or the lines of a manifest; `None` for a package that isn't published.
pub(super) fn command(
    package: &PackageFacts<'_>,
    config: &RunConfig,
    readme: Option<&Readme>,
    ledger: &mut ClaimLedger,
) -> Option<InstallCommand> {
    let Some((name, evidence)) = package.package_name() else {
        return shown_command(readme?, config, ledger);
    };
    if !is_package_name(&name) || is_private(package) {
        return None;
    }
    let version = package.value(|manifest| manifest.version.as_ref()).map(|(version, _)| version);
    // A version in development can't be installed; the README names one that can.
    let version = version.map(|version| match readme.filter(|_| version.ends_with("-SNAPSHOT")) {
        Some(readme) => released_version(readme, &name).unwrap_or(version),
        None => version,
    });
    let version =
        version.filter(|version| version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
    let address = public_address(&config.github_repo_url);
    let address = Some(address.as_str()).filter(|address| address.starts_with("https://"));
    let kind = package.manifest()?.kind;
    let (text, language) = text_for(&config.target_platform, kind, &name, version.as_deref(), address, package)?;
    let mut places = vec![evidence];
    if let Some((source, line)) = readme.and_then(|readme| Some((&readme.source, shown_in(readme, &text)?))) {
        places.extend(source.evidence(line, line));
    }
    let claim = ledger.add(&format!("It is installed with `{}`", text.lines().next().unwrap_or(&text)), places)?;
    Some(InstallCommand { text, language: language.to_owned(), claim })
}

fn text_for(
    platform: &str,
    kind: ManifestKind,
    name: &str,
    version: Option<&str>,
    address: Option<&str>,
    package: &PackageFacts<'_>,
) -> Option<(String, &'static str)> {
    let shell = |text: String| Some((text, "sh"));
    match platform {
        "python" => shell(format!("pip install {name}")),
        "rust" => shell(format!("cargo add {name}")),
        "typescript" | "javascript" => shell(format!("npm install {name}")),
        "dotnet" => shell(format!("dotnet add package {name}")),
        "go" => shell(format!("go get {name}")),
        "ruby" => shell(format!("gem install {name}")),
        "php" => shell(format!("composer require {name}")),
        "java" | "kotlin" => {
            let (group, artifact) = name.split_once(':')?;
            let version = version?;
            let maven = format!(
                "<dependency>\n  <groupId>{group}</groupId>\n  <artifactId>{artifact}</artifactId>\n  <version>{version}</version>\n</dependency>"
            );
            let gradle = (format!("implementation(\"{group}:{artifact}:{version}\")"), "kotlin");
            Some(if kind == ManifestKind::Gradle || platform == "kotlin" { gradle } else { (maven, "xml") })
        }
        "swift" => Some((format!(".package(url: \"{}\", from: \"{}\")", address?, version?), "swift")),
        "cpp" if package.has_file("vcpkg.json") => shell(format!("vcpkg install {}", name.to_lowercase())),
        "cpp" => {
            // Projects in capitals are called otherwise in commands; the name is free here.
            let is_loud = !name.contains(char::is_lowercase);
            let name = if is_loud { name.to_lowercase() } else { name.to_owned() };
            let text = format!(
                "include(FetchContent)\nFetchContent_Declare({name}\n  GIT_REPOSITORY {})\nFetchContent_MakeAvailable({name})",
                address?
            );
            Some((text, "cmake"))
        }
        _ => None,
    }
}

/// Whether a name can stand in a command: registries allow these characters only.
fn is_package_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | '~');
    !name.is_empty() && name.len() <= 200 && name.chars().all(is_allowed) && !name.starts_with(['-', '.', '/', ':'])
}

/// The command that the README shows for the product, whose manifest has no name.
fn shown_command(readme: &Readme, config: &RunConfig, ledger: &mut ClaimLedger) -> Option<InstallCommand> {
    let (start, language) = match config.target_platform.as_str() {
        "python" => ("pip install ", "sh"),
        "rust" => ("cargo add ", "sh"),
        "typescript" | "javascript" => ("npm install ", "sh"),
        "dotnet" => ("dotnet add package ", "sh"),
        "go" => ("go get ", "sh"),
        "ruby" => ("gem install ", "sh"),
        "php" => ("composer require ", "sh"),
        "java" | "kotlin" => ("implementation(", "kotlin"),
        "cpp" => ("vcpkg install ", "sh"),
        _ => return None,
    };
    let code = readme.parts.iter().filter(|part| matches!(part.kind, PartKind::Code(_)));
    let lines: Vec<usize> = code.flat_map(|part| part.first_line..=part.last_line).collect();
    let shown = |line: &usize| readme.source.line(*line).trim().trim_start_matches("$ ").to_owned();
    let is_it = |line: &usize| {
        let text = shown(line);
        let arguments = text.strip_prefix(start).unwrap_or_default().to_lowercase();
        arguments.len() <= 200 && arguments.contains(&config.product_slug)
    };
    // `group:name:version` and `name` alone are surely the product.
    let is_whole =
        |line: &&usize| shown(line).split([' ', ':', '"', '\'', '/', '@', '=']).any(|word| word == config.product_slug);
    let found: Vec<usize> = lines.into_iter().filter(is_it).collect();
    let line = found.iter().find(is_whole).or(found.first()).copied()?;
    let text = shown(&line);
    let claim = ledger.add(&format!("It is installed with `{text}`"), vec![readme.source.evidence(line, line)?])?;
    Some(InstallCommand { text, language: language.to_owned(), claim })
}

/// The version in the dependency of Maven that a README shows.
fn released_version(readme: &Readme, name: &str) -> Option<String> {
    let artifact = format!("<artifactId>{}</artifactId>", name.rsplit(':').next()?);
    let line = (1..=readme.source.len()).find(|line| readme.source.line(*line).contains(&artifact))?;
    (line..line + 4).find_map(|line| {
        let (_, rest) = readme.source.line(line).split_once("<version>")?;
        let version = rest.split('<').next()?.trim();
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    })
}

/// Whether the manifest says that the package isn't published.
fn is_private(package: &PackageFacts<'_>) -> bool {
    let Some(text) = package.manifest_text() else { return false };
    match package.manifest().map(|manifest| manifest.kind) {
        Some(ManifestKind::Npm) => PackageJson::parse(&text.text).is_some_and(|parsed| parsed.is_private()),
        Some(ManifestKind::Cargo) => CargoManifest::parse(&text.text).is_some_and(|parsed| parsed.is_unpublished()),
        _ => false,
    }
}

/// The line of the README that shows the first line of the command.
fn shown_in(readme: &Readme, text: &str) -> Option<usize> {
    let wanted = text.lines().find(|line| !line.trim_start().starts_with("<dependency>"))?.trim();
    let is_word_end = |rest: &str| {
        rest.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '`' | '[' | '@' | '=' | '<' | ')'))
    };
    let has = |line: &str| line.match_indices(wanted).any(|(at, found)| is_word_end(&line[at + found.len()..]));
    let in_code = readme
        .parts
        .iter()
        .filter(|part| matches!(part.kind, PartKind::Code(_)))
        .flat_map(|part| part.first_line..=part.last_line);
    in_code.chain(1..=readme.source.len()).find(|line| has(readme.source.line(*line)))
}
