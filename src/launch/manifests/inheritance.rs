//! Values of a Cargo package that its workspace says: `version.workspace = true`.

use super::toml_text::TomlText;
use crate::artifacts::repository::{ManifestKind, ManifestValue, PackageManifest};

/// Fills in what the workspaces of Cargo packages say. `texts` are the manifests with their contents, in the order of `manifests`.
/// Such a value names the file that it stands in: [`ManifestValue::path`].
pub(crate) fn inherit(manifests: &mut [PackageManifest], texts: &[String]) {
    let of_cargo = manifests.iter().zip(texts).filter(|(manifest, _)| manifest.kind == ManifestKind::Cargo);
    let parsed = of_cargo.filter_map(|(manifest, text)| Some((manifest.path.clone(), TomlText::parse(text)?)));
    let workspaces: Vec<(String, TomlText<'_>)> = parsed.filter(|(_, toml)| toml.has(&["workspace"])).collect();
    for (manifest, text) in manifests.iter_mut().zip(texts) {
        if manifest.kind != ManifestKind::Cargo || !text.contains("workspace") {
            continue;
        }
        let Some(own) = TomlText::parse(text) else { continue };
        let is_above = |(path, _): &&(String, TomlText<'_>)| {
            let folder = path.strip_suffix("Cargo.toml").unwrap_or(path);
            manifest.path.starts_with(folder)
        };
        let Some((path, workspace)) = workspaces.iter().filter(is_above).max_by_key(|(path, _)| path.len()) else {
            continue;
        };
        let of = |key: &str| -> Option<ManifestValue> {
            own.has(&["package", key, "workspace"]).then(|| workspace.text(&["workspace", "package", key]))?.map(
                |value| {
                    let is_other = *path != manifest.path;
                    ManifestValue { path: is_other.then(|| path.clone()), ..value }
                },
            )
        };
        let inherited = [of("version"), of("description"), of("license"), of("rust-version")];
        let targets = [&mut manifest.version, &mut manifest.description, &mut manifest.license, &mut manifest.requires];
        for (target, value) in targets.into_iter().zip(inherited) {
            if target.is_none() {
                *target = value;
            }
        }
    }
}
