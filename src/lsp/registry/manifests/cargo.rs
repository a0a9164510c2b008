//! Cargo's workspaces, by Cargo's own search: from the nearest `Cargo.toml` upwards to the first with `[workspace]` that doesn't
//! exclude it; `package.workspace` points at one directly, also at one that isn't above.

use std::path::Path;

use toml::{Table, Value};

use super::{Ground, Word};

const NAME: &str = "Cargo.toml";

/// What a `Cargo.toml` says of itself.
enum Role {
    /// It is the root of a workspace.
    Root { members: Vec<String>, exclude: Vec<String> },
    /// Its workspace's root is there.
    PartOf(String),
    /// Neither.
    Plain,
}

pub(super) fn word(ground: &Ground<'_>) -> Word {
    let Some(own) = ground.nearest(NAME) else { return Word::default() };
    // A nearer marker of another kind (rust-project.json) says that Cargo isn't asked.
    if ground.marked.is_some_and(|marked| marked != own && marked.starts_with(own)) {
        return Word::default();
    }
    for folder in ground.from(own) {
        // What Cargo unpacks to verify a package is on its own.
        if folder.ends_with("target/package") {
            break;
        }
        match role(ground, folder) {
            Role::Root { members, exclude } if folder == own || !excludes(folder, own, &members, &exclude) => {
                return Word::whole(folder, NAME);
            }
            Role::PartOf(pointer) => return pointed(ground, folder, &pointer),
            Role::Root { .. } | Role::Plain => {}
        }
    }
    Word::default()
}

/// The workspace that a `package.workspace` in `folder` points at, if one is there.
fn pointed(ground: &Ground<'_>, folder: &Path, pointer: &str) -> Word {
    match ground.within(folder, pointer) {
        Some(root) if matches!(role(ground, &root), Role::Root { .. }) => Word::whole(&root, NAME),
        _ => Word::default(),
    }
}

/// As Cargo has it: by whole names from the workspace's folder, letter by letter; what `members` names without a glob is a member
/// all the same.
fn excludes(folder: &Path, own: &Path, members: &[String], exclude: &[String]) -> bool {
    let names = |list: &[String]| list.iter().any(|path| own.starts_with(folder.join(path)));
    names(exclude) && !names(members)
}

fn role(ground: &Ground<'_>, folder: &Path) -> Role {
    let Some(text) = ground.text(&folder.join(NAME)) else { return Role::Plain };
    let Ok(manifest) = text.parse::<Table>() else { return by_its_lines(&text) };
    let names = |value: Option<&Value>| {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if let Some(workspace) = manifest.get("workspace").and_then(Value::as_table) {
        return Role::Root { members: names(workspace.get("members")), exclude: names(workspace.get("exclude")) };
    }
    let package = manifest.get("package").or_else(|| manifest.get("project"));
    match package.and_then(|package| package.get("workspace")).and_then(Value::as_str) {
        Some(pointer) => Role::PartOf(pointer.to_owned()),
        None => Role::Plain,
    }
}

/// A manifest that is being edited mustn't tear its workspace apart.
fn by_its_lines(text: &str) -> Role {
    let heads = |line: &str| line.starts_with("[workspace]") || line.starts_with("[workspace.");
    match text.lines().any(|line| heads(line.trim())) {
        true => Role::Root { members: Vec::new(), exclude: Vec::new() },
        false => Role::Plain,
    }
}
