//! An import is a reference of each name that it imports, in every language.

use super::*;

/// A file, what it imports, and the names by which it is found.
const IMPORTS: [(&str, &str, &[&str]); 12] = [
    (
        "a.py",
        "from harbour.ships import Vessel, Buoy as Float\nimport harbour.quays\nimport pilots\n",
        &["Vessel", "Buoy", "quays", "pilots"],
    ),
    ("b.py", "from . import (\n    Vessel,\n    Buoy,\n)\n", &["Vessel", "Buoy"]),
    (
        "a.ts",
        "import { Vessel, Buoy as Float } from \"./ships\";\nimport Pilot from \"./pilot\";\n",
        &["Vessel", "Buoy", "Pilot"],
    ),
    ("b.ts", "export { Vessel } from \"./ships\";\nimport type { Buoy } from \"./buoys\";\n", &["Vessel", "Buoy"]),
    ("a.js", "import { Vessel } from './ships.js';\n", &["Vessel"]),
    ("src/a.rs", "use harbour::{ships::Vessel, Buoy as Float};\nuse harbour::Pilot;\n", &["Vessel", "Buoy", "Pilot"]),
    (
        "a.go",
        "package a\n\nimport (\n\t\"example.org/harbour/vessel\"\n\tx \"example.org/buoy/v2\"\n\t\"pilots\"\n)\n",
        &["vessel", "buoy", "pilots"],
    ),
    ("A.java", "import harbour.ships.Vessel;\nimport static harbour.Buoys.Buoy;\n", &["Vessel", "Buoy"]),
    ("a.kt", "import harbour.ships.Vessel\n", &["Vessel"]),
    ("a.cs", "using Vessel = Harbour.Vessel;\nusing Harbour.Pilots;\n", &["Pilots"]),
    ("a.php", "<?php\nuse Harbour\\Vessel;\n", &["Vessel"]),
    ("a.scala", "import harbour.{Vessel, Buoy}\n", &["Vessel", "Buoy"]),
];

fn located_rows(project: &Project, name: &str) -> Vec<codeyard_model::code::ResultRow> {
    let shape = RowOptions { limit: 50, ..RowOptions::default() };
    let by = LocateBy::Name(name.to_owned());
    project.locate(&LocateQuery { by, kind: None, shape }, &|| false).unwrap().rows
}

#[test]
fn each_imported_name_finds_its_import_after_the_definition() {
    let mut files: Vec<(&str, &str)> = IMPORTS.iter().map(|(path, text, _)| (*path, *text)).collect();
    files.push(("ships.py", "class Vessel:\n    pass\n"));
    let place = TestRoot::new(&files);
    let project = place.project();
    sync(&project, None);
    for (path, text, names) in IMPORTS {
        for name in names {
            let found = located_rows(&project, name);
            let row = found.iter().find(|row| row.path == path);
            let row = row.unwrap_or_else(|| panic!("{name} of {text}"));
            assert_eq!(row.result_type, ResultType::Reference, "{name} of {text}");
        }
    }
    let vessels = located_rows(&project, "Vessel");
    assert_eq!((vessels[0].path.as_str(), vessels[0].result_type), ("ships.py", ResultType::Symbol));
    // A name that is only imported is known, and a part of one isn't.
    assert!(located_rows(&project, "Vess").is_empty());
}

#[test]
fn imported_names_are_references_of_their_files() {
    use crate::extract::extract;
    use crate::{Language, ReferenceRole};
    for (path, text, names) in IMPORTS {
        let facts = extract(Language::of_file(path, b"").unwrap(), text);
        let imported = facts.references.iter().filter(|found| found.role == ReferenceRole::Import);
        let found: Vec<(&str, &str)> = imported
            .map(|found| {
                let line = text.lines().nth(found.line as usize - 1).unwrap();
                (found.name.as_str(), &line[found.column as usize..])
            })
            .collect();
        for name in names {
            assert!(
                found.iter().any(|(found, at)| found == name && at.starts_with(name)),
                "{name} of {text}: {found:?}"
            );
        }
    }
}
