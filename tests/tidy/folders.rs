//! The folders of a crate with a code map import only folders above them in it.

use crate::source::{project, sources};
use crate::table::names;

/// The crates with a code map in their `lib.rs`.
const MAPPED: [&str; 1] = ["engine"];

/// The folders of a crate, in the order of its code map.
fn code_map(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project().join(format!("src/{name}/lib.rs"))).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | [`"));
    let folders: Vec<String> = rows.map(|row| names(&format!("`{row}")).remove(0)).collect();
    assert!(folders.len() > 3, "{name} has no code map");
    folders
}

#[test]
fn folders_import_only_folders_above_them() {
    let mut complaints = Vec::new();
    for name in MAPPED {
        let map = code_map(name);
        let place = |folder: &str| map.iter().position(|known| known == folder);
        for source in sources().iter().filter(|source| source.crate_name() == name) {
            let below = source.path.strip_prefix(&format!("src/{name}/")).unwrap();
            let Some((folder, _)) = below.split_once('/') else { continue };
            assert!(place(folder).is_some(), "the code map of {name} lacks {folder}");
            for line in source.statements() {
                let imported = line
                    .split("crate::")
                    .skip(1)
                    .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
                for imported in imported.filter(|imported| place(imported) > place(folder)) {
                    complaints.push(format!("{} imports {imported}, which is below {folder}", source.path));
                }
            }
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}
