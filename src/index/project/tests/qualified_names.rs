//! Full names of rows begin with the module or package of their file; handles don't depend on it.

use super::*;
use codeyard_model::code::{DetailLevel, SymbolKind};

const JWT: &str = "pub struct JwtValidator;\n\nimpl JwtValidator {\n    pub fn validate_token(&self, token: &str) -> bool {\n        token.is_empty()\n    }\n}\n\nmod tests {\n    mod deep {\n        fn nested() {}\n    }\n}\n";

fn place() -> TestRoot {
    TestRoot::new(&[
        ("src/lib.rs", "pub mod auth;\npub fn root_function() {}\n"),
        ("src/auth/jwt.rs", JWT),
        ("py/app/__init__.py", "def in_package():\n    pass\n"),
        ("py/app/auth.py", "class Vault:\n    def unlock_vault(self):\n        pass\n"),
        ("py/script.py", "def in_script():\n    pass\n"),
        (
            "cmd/gate/main.go",
            "package gatepkg\n\ntype Gate struct{}\n\nfunc (g *Gate) OpenGate() {}\n\nfunc runGate() {}\n",
        ),
        ("Door.java", "package org.door;\n\nclass Door {\n    void openDoor() {}\n}\n"),
        ("Lock.kt", "package org.lock\n\nfun turnLock() {}\n"),
        ("Key.cs", "namespace Org.Keys;\n\nclass Key {\n    void TurnKey() {}\n}\n"),
        ("Hinge.php", "<?php\nnamespace Org\\Hinges;\n\nclass Hinge {\n    function creakHinge() {}\n}\n"),
        ("web/panel.ts", "namespace Panels {\n    export class Panel {\n        liftPanel() {}\n    }\n}\n"),
        ("web/shutter.ts", "export class Shutter {\n    closeShutter() {}\n}\n"),
        ("lib/bolt.rb", "module Bolts\n  class Bolt\n    def slide_bolt; end\n  end\nend\n"),
    ])
}

/// Each symbol's name as it is asked for, and its full name.
const NAMES: [(&str, &str); 13] = [
    ("validate_token", "auth::jwt::JwtValidator::validate_token"),
    ("nested", "auth::jwt::tests::deep::nested"),
    ("root_function", "root_function"),
    ("in_package", "app.in_package"),
    ("unlock_vault", "app.auth.Vault.unlock_vault"),
    ("in_script", "script.in_script"),
    ("OpenGate", "gatepkg.Gate.OpenGate"),
    ("runGate", "gatepkg.runGate"),
    ("openDoor", "org.door.Door.openDoor"),
    ("turnLock", "org.lock.turnLock"),
    ("TurnKey", "Org.Keys.Key.TurnKey"),
    ("liftPanel", "Panels.Panel.liftPanel"),
    ("closeShutter", "Shutter.closeShutter"),
];

fn located_as(project: &Project, name: &str, kind: Option<SymbolKind>, detail: DetailLevel) -> ResultRows {
    let shape = RowOptions { limit: 10, detail, ..RowOptions::default() };
    project.locate(&LocateQuery { by: LocateBy::Name(name.to_owned()), kind, shape }, &|| false).unwrap()
}

#[test]
fn full_names_begin_with_the_module_and_are_found() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    for (name, full) in NAMES
        .into_iter()
        .chain([("creakHinge", "Org\\Hinges\\Hinge::creakHinge"), ("slide_bolt", "Bolts::Bolt::slide_bolt")])
    {
        // With `context`, the facts of the whole file are read; otherwise only the symbol's ancestry.
        for detail in [DetailLevel::Signature, DetailLevel::Context] {
            let found = located_as(&project, name, None, detail);
            let names: Vec<_> = found.rows.iter().map(|row| row.qualified_name.as_deref()).collect();
            assert_eq!(names, [Some(full)], "{name}");
        }
    }
    for (name, full) in NAMES {
        let found = located_as(&project, full, None, DetailLevel::Location);
        assert_eq!(found.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), [name], "{full}");
    }
    // A package is not in a package, and an import has the name that the source gives it.
    let package = located_as(&project, "gatepkg", None, DetailLevel::Signature);
    assert_eq!(package.rows[0].qualified_name.as_deref(), Some("gatepkg"));
}

#[test]
fn methods_are_functions_for_filters() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    let paths = |name: &str, kind: &str| {
        let kind = SymbolKind::parse(kind).unwrap();
        let found = located_as(&project, name, Some(kind), DetailLevel::Location);
        found.rows.iter().map(|row| row.kind.unwrap()).collect::<Vec<_>>()
    };
    for kind in ["fn", "function", "func", "method"] {
        assert_eq!(paths("validate_token", kind), [SymbolKind::Method], "{kind}");
    }
    assert_eq!(paths("root_function", "fn"), [SymbolKind::Fn]);
    assert!(paths("root_function", "method").is_empty());
    for (text, expected) in [
        ("kind:fn path:src", &["root_function", "nested", "validate_token"][..]),
        ("kind:method path:src", &["validate_token"]),
        ("validate_token kind:function", &["validate_token"]),
        ("path:src -kind:fn -kind:module kind:struct kind:impl", &["JwtValidator", "JwtValidator"]),
        // The module of a file isn't a name around its symbols unless the query names several.
        ("sym:jwt kind:fn", &["validate_token"]),
        ("sym:auth::jwt kind:fn", &["validate_token"]),
    ] {
        let asked = query(text, SearchMode::Auto).with_language().unwrap();
        let mut names: Vec<String> =
            project.search(&asked, &|| false).unwrap().rows.into_iter().map(|row| row.name).collect();
        names.sort();
        let mut expected: Vec<&str> = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{text}");
    }
}

#[test]
fn stable_handles_survive_moves_to_another_module() {
    let place = place();
    let project = place.project();
    project.watch();
    sync(&project, None);
    let before = located_as(&project, "validate_token", None, DetailLevel::Signature).rows.remove(0);
    fs::create_dir_all(place.root.join("src/security")).unwrap();
    fs::rename(place.root.join("src/auth/jwt.rs"), place.root.join("src/security/tokens.rs")).unwrap();
    project.mark_all_changed();
    sync(&project, None);
    let after = located(&project, LocateBy::StableId(before.symbol_stable_id.clone().unwrap())).unwrap();
    let row = &after.rows[0];
    assert_eq!(row.qualified_name.as_deref(), Some("security::tokens::JwtValidator::validate_token"));
    assert_eq!(row.symbol_stable_id, before.symbol_stable_id);
}
