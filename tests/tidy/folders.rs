//! What a room with a code map holds imports only what is above it in the map. A room is a crate, or a folder of one.

use crate::source::{Source, project, sources};
use crate::table::names;

/// The rooms with a code map in their `lib.rs` or `mod.rs`, below `src`.
const MAPPED: [&str; 12] = [
    "catalog", "cli", "ecosystems", "engine", "files", "index", "launch", "lsp", "projects",
    "projects/compile_database", "server", "telemetry",
];

/// The places of a room, folders and files, in the order of its code map.
fn code_map(room: &str) -> Vec<String> {
    let text =
        ["lib.rs", "mod.rs"].iter().find_map(|face| std::fs::read_to_string(folder(room).join(face)).ok()).unwrap();
    let map = text.split_once("//! # Code map\n").unwrap_or_else(|| panic!("{room} has no code map")).1;
    let rows = map.lines().filter(|line| line.starts_with("//! | [`") || line.starts_with("//! | `"));
    let places: Vec<String> = rows.map(|row| names(row).remove(0)).collect();
    assert!(places.len() > 1, "the code map of {room} is empty");
    places
}

fn folder(room: &str) -> std::path::PathBuf {
    project().join("src").join(room)
}

/// The modules that a path of files is, from the root of its crate: `launch/site/hugo.rs` is `site`, `hugo`.
fn module(path: &str) -> Vec<&str> {
    let below = path.trim_end_matches(".rs").split('/').skip(1);
    below.filter(|name| !["lib", "mod"].contains(name)).collect()
}

/// The paths that begin where `text` begins, with groups written out: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(text: &str) -> Vec<String> {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let (path, rest) = text.split_at(text.find(|c| !is_of_path(c)).unwrap_or(text.len()));
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::")) else {
        return vec![path.to_owned()];
    };
    let mut depth = 0;
    let mut items = Vec::new();
    let mut start = 0;
    for (at, c) in group.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth < 0 || depth == 0 && c == ',' {
            items.push(group[start..at].trim());
            start = at + 1;
        }
        if depth < 0 {
            break;
        }
    }
    items.into_iter().flat_map(paths).map(|inner| format!("{path}{inner}")).collect()
}

/// The paths that a file names by `crate::` and `super::`, from the root of its crate.
fn named(source: &Source) -> Vec<Vec<String>> {
    let text = source.statements().collect::<Vec<_>>().join(" ");
    let module = module(source.path.strip_prefix("src/").unwrap());
    let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let starts = ["crate::", "super::"].into_iter().flat_map(|start| text.match_indices(start));
    let mut named = Vec::new();
    for (at, _) in starts.filter(|(at, _)| begins(*at)) {
        for path in paths(&text[at..]) {
            let mut parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
            let ups = parts.iter().take_while(|part| **part == "super").count();
            parts.drain(..ups.max(1));
            let base = if ups == 0 { &[][..] } else { &module[..module.len().saturating_sub(ups)] };
            named.push(base.iter().copied().chain(parts).map(str::to_owned).collect());
        }
    }
    named
}

#[test]
fn places_import_only_places_above_them() {
    let sources = sources();
    let mut complaints = Vec::new();
    for room in MAPPED {
        let map = code_map(room);
        let row = |place: &str| map.iter().position(|known| known == place);
        let exists =
            |place: &str| folder(room).join(place).is_dir() || folder(room).join(format!("{place}.rs")).is_file();
        complaints.extend(map.iter().filter(|place| !exists(place)).map(|place| format!("{room} has no {place}")));
        let modules = module(room);
        for source in sources.iter().filter(|source| !source.is_test) {
            let Some(below) = source.path.strip_prefix(&format!("src/{room}/")) else { continue };
            let (place, is_file) = below.split_once('/').map_or((below, true), |(place, _)| (place, false));
            let place = place.trim_end_matches(".rs");
            if ["lib", "mod"].contains(&place) {
                continue;
            }
            // A file that isn't in the map may be imported by all, so it imports none of them.
            assert!(is_file || row(place).is_some(), "the code map of {room} lacks {place}");
            for path in named(source) {
                let inside = path.get(..modules.len()).is_some_and(|outer| outer == modules);
                let imported = path.get(modules.len()).filter(|_| inside);
                if imported.is_some_and(|imported| row(imported) > row(place)) {
                    complaints.push(format!("{} imports {}, which isn't above {place}", source.path, path.join("::")));
                }
            }
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn groups_in_paths_are_written_out() {
    assert_eq!(paths("crate::a::B;"), ["crate::a::B"]);
    assert_eq!(paths("crate::{a::{self, b}, c};"), ["crate::a::self", "crate::a::b", "crate::c"]);
}
