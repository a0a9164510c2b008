//! Values of a package that another file says: the workspace of a Cargo package, the parent of a Maven module, `Directory.Build.props` above a .NET
//! project, `gradle.properties` and `settings.gradle` of a Gradle build.
//!
//! Invariant: a package's own value wins; an inherited one names the file that it stands in ([`ManifestValue::path`]).

use std::collections::BTreeMap;

use super::literals::{GRADLE, find};
use super::script::property;
use super::{ManifestKind, PackageManifest, xml};
use crate::cargo::CargoManifest;
use crate::values::{ManifestValue, ManifestValues, value};

/// Reads a file of the repository as text.
pub type ReadText<'r> = dyn Fn(&str) -> Option<String> + 'r;

/// Fills in what other files say. `texts` are the contents of `manifests`, in their order.
pub fn inherit(manifests: &mut [PackageManifest], texts: &[String], read: &ReadText<'_>) {
    inherit_cargo(manifests, texts);
    inherit_maven(manifests, texts);
    let mut props: BTreeMap<String, Option<ManifestValues>> = BTreeMap::new();
    for (manifest, text) in manifests.iter_mut().zip(texts) {
        match manifest.kind {
            ManifestKind::Nuget => inherit_nuget(manifest, &mut props, read),
            ManifestKind::Gradle => inherit_gradle(manifest, text, read),
            _ => {}
        }
    }
}

fn inherit_cargo(manifests: &mut [PackageManifest], texts: &[String]) {
    let of_cargo = manifests.iter().zip(texts).filter(|(manifest, _)| manifest.kind == ManifestKind::Cargo);
    let parsed = of_cargo.filter_map(|(manifest, text)| Some((manifest.path.clone(), CargoManifest::parse(text)?)));
    let workspaces: Vec<(String, CargoManifest<'_>)> = parsed.filter(|(_, cargo)| cargo.is_workspace()).collect();
    for (manifest, text) in manifests.iter_mut().zip(texts) {
        if manifest.kind != ManifestKind::Cargo || !text.contains("workspace") {
            continue;
        }
        let Some(own) = CargoManifest::parse(text) else { continue };
        let is_above = |(path, _): &&(String, CargoManifest<'_>)| manifest.path.starts_with(folder_of(path));
        let nearest = workspaces.iter().filter(is_above).max_by_key(|(path, _)| path.len());
        if let Some((path, workspace)) = nearest {
            fill_in(manifest, own.inherited(workspace), path);
        }
    }
}

/// The nearest `pom.xml` above a module, if the module names it as its parent, says the licence and the version of Java.
fn inherit_maven(manifests: &mut [PackageManifest], texts: &[String]) {
    let parents: Vec<PackageManifest> =
        manifests.iter().filter(|manifest| manifest.kind == ManifestKind::Maven).cloned().collect();
    for (manifest, text) in manifests.iter_mut().zip(texts).filter(|(manifest, _)| manifest.kind == ManifestKind::Maven)
    {
        let is_above = |parent: &&PackageManifest| {
            parent.path != manifest.path && manifest.path.starts_with(folder_of(&parent.path))
        };
        let Some(parent) = parents.iter().filter(is_above).max_by_key(|parent| parent.path.len()) else { continue };
        let artifact = parent.name.as_ref().and_then(|name| name.text.rsplit(':').next());
        if artifact.is_some() && artifact == xml::parent_artifact(text).as_deref() {
            let license = parent.license.clone();
            let requires = parent.requires.clone();
            fill_in(manifest, ManifestValues { license, requires, ..ManifestValues::default() }, &parent.path);
        }
    }
}

/// The files `Directory.Build.props` above a project say what it doesn't; the nearest first.
fn inherit_nuget(
    manifest: &mut PackageManifest,
    props: &mut BTreeMap<String, Option<ManifestValues>>,
    read: &ReadText<'_>,
) {
    let mut folder = folder_of(&manifest.path).to_owned();
    loop {
        let path = format!("{folder}Directory.Build.props");
        let found = props.entry(path.clone()).or_insert_with(|| read(&path).map(|text| xml::nuget(&text)));
        if let Some(values) = found {
            fill_in(manifest, ManifestValues { name: None, ..values.clone() }, &path);
        }
        if folder.is_empty() {
            return;
        }
        folder = folder_of(folder.trim_end_matches('/')).to_owned();
    }
}

/// The name and version of a Gradle build by the files that usually have them.
fn inherit_gradle(manifest: &mut PackageManifest, text: &str, read: &ReadText<'_>) {
    let folder = folder_of(&manifest.path).to_owned();
    let in_properties = |folder: &str, keys: [&str; 2]| {
        let path = format!("{folder}gradle.properties");
        let text = read(&path)?;
        keys.iter().find_map(|key| property(&text, key)).map(|value| ManifestValue { path: Some(path), ..value })
    };
    if manifest.version.is_none() {
        let keys = ["VERSION_NAME", "version"];
        manifest.version = in_properties(&folder, keys).or_else(|| in_properties("", keys));
    }
    if manifest.name.is_some() {
        return;
    }
    let keys = ["GROUP", "group"];
    let own = ["groupId", "group"].iter().find_map(|key| find(text, key, GRADLE, 0));
    let group = own.or_else(|| in_properties(&folder, keys)).or_else(|| in_properties("", keys));
    let of_settings = || {
        let paths = ["settings.gradle", "settings.gradle.kts"].map(|name| format!("{folder}{name}"));
        paths.into_iter().find_map(|path| {
            let found = find(&read(&path)?, "rootProject.name", GRADLE, 0)?;
            Some(ManifestValue { path: Some(path), ..found })
        })
    };
    let artifact = in_properties(&folder, ["POM_ARTIFACT_ID", "artifactId"]).or_else(of_settings);
    if let (Some(group), Some(artifact)) = (group, artifact) {
        let name = value(&format!("{}:{}", group.text, artifact.text), artifact.line);
        manifest.name = name.map(|name| ManifestValue { path: artifact.path, ..name });
    }
}

/// Sets the values that the manifest doesn't have. They stand in `path`, unless they say another file.
fn fill_in(manifest: &mut PackageManifest, values: ManifestValues, path: &str) {
    let is_other = path != manifest.path;
    let located =
        |value: ManifestValue| ManifestValue { path: value.path.or(is_other.then(|| path.to_owned())), ..value };
    let PackageManifest { name, version, description, license, requires, .. } = manifest;
    let pairs = [
        (name, values.name),
        (version, values.version),
        (description, values.description),
        (license, values.license),
        (requires, values.requires),
    ];
    for (target, value) in pairs {
        if target.is_none() {
            *target = value.map(located);
        }
    }
}

/// The folder of a path with the slash at its end; empty for the top.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}
