//! Nothing of one machine, and nothing about how the work was done, stands in the project.

use crate::source::{files_below, project, relative};

/// Texts that belong to a machine or to a way of working, written so that this file doesn't hold them.
const FOREIGN: [&str; 12] = [
    concat!("/wo", "rk/"),
    concat!("/tmp/", "wt"),
    concat!("shared", "/spec"),
    concat!("shared", "/design"),
    concat!("brief", ".md"),
    concat!("issues ", "show"),
    concat!("sub", "agent"),
    concat!("work", "tree of your own"),
    concat!("registry.", "npmjs.org"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("index.", "crates.io"),
];
/// Files that tools write, with their own addresses.
const WRITTEN_BY_TOOLS: [&str; 1] = ["Cargo.lock"];

#[test]
fn no_text_of_a_machine_or_of_the_work() {
    let folder = project().display().to_string();
    let mut found = Vec::new();
    for path in files_below(&project()) {
        let name = relative(&path);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if WRITTEN_BY_TOOLS.contains(&name.as_str()) {
            continue;
        }
        for foreign in FOREIGN.iter().copied().chain([folder.as_str()]).filter(|foreign| text.contains(foreign)) {
            found.push(format!("{name}: {foreign}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
