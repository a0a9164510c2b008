//! Manifests in XML: `pom.xml`, `*.csproj` and `*.nuspec`.

use roxmltree::{Document, Node, ParsingOptions};

use crate::values::{ManifestValue, ManifestValues, cleaned, value};

/// Nodes of one manifest in XML.
const MAX_MANIFEST_NODES: u32 = 100_000;

/// A document without entities of its own: a definition could grow without end.
fn parse(text: &str) -> Option<Document<'_>> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_MANIFEST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).ok()
}

/// The values of a `pom.xml`. The name is `group:artifact`, and needs both.
pub(super) fn maven(text: &str) -> ManifestValues {
    let Some(document) = parse(text) else { return ManifestValues::default() };
    let project = document.root_element();
    let parent = child(project, "parent");
    let of = |node: Node<'_, '_>, key: &str| text_of(child(node, key)?).and_then(|found| expanded(project, found));
    let own_or_inherited = |key: &str| of(project, key).or_else(|| of(parent?, key));
    let artifact = of(project, "artifactId");
    let name = match (own_or_inherited("groupId"), &artifact) {
        (Some(group), Some(artifact)) => value(&format!("{}:{}", group.text, artifact.text), artifact.line),
        _ => None,
    };
    let license = child(project, "licenses").and_then(|list| child(list, "license")).and_then(|node| of(node, "name"));
    let properties = child(project, "properties");
    let release = ["maven.compiler.release", "maven.compiler.target", "java.version", "maven.compiler.source"];
    let requires = properties.and_then(|node| release.iter().find_map(|key| of(node, key)));
    ManifestValues {
        name,
        version: own_or_inherited("version"),
        description: of(project, "description"),
        license,
        requires: requires.and_then(|found| value(&format!("Java {}", found.text), found.line)),
    }
}

/// The artifact that a `pom.xml` names as its parent.
pub(super) fn parent_artifact(text: &str) -> Option<String> {
    let document = parse(text)?;
    let parent = child(document.root_element(), "parent")?;
    text_of(child(parent, "artifactId")?).map(|artifact| artifact.text)
}

/// The values of a `*.csproj` or `*.nuspec`.
pub(super) fn nuget(text: &str) -> ManifestValues {
    let Some(document) = parse(text) else { return ManifestValues::default() };
    let root = document.root_element();
    let of = |keys: &[&str]| {
        keys.iter().find_map(|key| {
            let mut nodes = root.descendants().filter(|node| node.is_element() && has_name(*node, key));
            nodes.find_map(text_of).filter(|found| !found.text.contains("$("))
        })
    };
    let is_package = has_name(root, "package");
    ManifestValues {
        name: of(if is_package { &["id"] } else { &["PackageId", "AssemblyName"] }),
        version: of(if is_package { &["version"] } else { &["PackageVersion", "Version", "VersionPrefix"] }),
        description: of(if is_package { &["description"] } else { &["Description", "PackageDescription"] }),
        license: of(if is_package { &["license"] } else { &["PackageLicenseExpression"] }),
        requires: of(&["TargetFrameworks", "TargetFramework"]),
    }
}

/// The first element inside `node` with this name, in any name space.
fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|inner| inner.is_element() && has_name(*inner, name))
}

fn has_name(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

/// The text of an element with the line on which it begins.
fn text_of(node: Node<'_, '_>) -> Option<ManifestValue> {
    let inner = node.first_child().filter(|inner| inner.is_text())?;
    let text = inner.text()?;
    // Finding a line reads the document up to there: only for what is a value.
    cleaned(text)?;
    let blank = text.len() - text.trim_start().len();
    value(text, node.document().text_pos_at(inner.range().start + blank).row)
}

/// The value with `${property}` replaced by what the same file says; `None` if another file says it.
fn expanded(project: Node<'_, '_>, found: ManifestValue) -> Option<ManifestValue> {
    let Some(name) = found.text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return (!found.text.contains("${")).then_some(found);
    };
    let path: Vec<&str> = name
        .strip_prefix("project.")
        .or_else(|| name.strip_prefix("pom."))
        .map_or_else(|| vec!["properties", name], |inner| inner.split('.').collect());
    let node = path.iter().try_fold(project, |node, key| child(node, key))?;
    text_of(node).filter(|value| !value.text.contains("${"))
}
