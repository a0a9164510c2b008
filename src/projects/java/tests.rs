//! The sources of trees of Java with and without builds.

use std::fs;

use codeyard_lsp::registry::ProjectInference;

use super::*;
use crate::memory::ProjectMemory;

fn prepare_at(root: &Path, files: &[(&str, &str)], memory: &ProjectMemory) -> PreparedProject {
    let mut sources = Vec::new();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        sources.extend(name.ends_with(".java").then_some(path));
    }
    sources.sort();
    let request = ProjectRequest::for_test("jdtls", root, &sources, memory);
    prepare(&ProjectRequest { cache: &root.join(".cache"), ..request }).unwrap()
}

/// What was prepared, and the values of an attribute or element in the project's files, relative to the root.
struct Prepared {
    info: ProjectInfo,
    folders: Vec<String>,
    jars: Vec<String>,
}

fn prepared(files: &[(&str, &str)]) -> Prepared {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let project = prepare_at(&root, files, &ProjectMemory::default());
    let place = root.join(".cache/project");
    assert_eq!(project.initialization_options.unwrap(), json!({"workspaceFolders": [encode_path(&place)]}));
    let values = |file: &str, before: &str, after: char| {
        let text = fs::read_to_string(place.join(file)).unwrap();
        let found = text.split(before).skip(1).map(|rest| rest.split(after).next().unwrap());
        found.map(|path| Path::new(path).strip_prefix(&root).unwrap().display().to_string()).collect()
    };
    Prepared {
        info: project.info,
        folders: values(".project", "<location>", '<'),
        jars: values(".classpath", "kind=\"lib\" path=\"", '"'),
    }
}

#[test]
fn the_source_folders_of_every_module_are_found() {
    let prepared = prepared(&[
        ("pom.xml", "<project/>"),
        ("core/src/main/java/a/b/C.java", "package a.b;\nclass C {}"),
        ("core/src/main/java/a/b/package-info.java", "@X package a.b;"),
        ("core/src/main/java/module-info.java", "module a {}"),
        (
            "app/src/test/java/a/b/D.java",
            "package a.b;\nimport java.util.List;\nimport a.b.C;\nimport javax.xml.parsers.*;",
        ),
        ("tools/Run.java", "class Run {}"),
    ]);
    assert_eq!(prepared.folders, ["app/src/test/java", "core/src/main/java", "tools"]);
    assert_eq!((prepared.info.files_known, prepared.info.files_total), (Some(5), 5));
    assert!(!prepared.info.is_partial() && prepared.info.unresolved.is_empty(), "{:?}", prepared.info);
}

#[test]
fn the_root_may_be_a_source_folder() {
    assert_eq!(prepared(&[("a/B.java", "package a;"), ("C.java", "class C {}")]).folders, [""]);
    assert!(prepared(&[]).folders.is_empty());
}

#[test]
fn files_outside_the_folders_of_their_packages_are_unknown() {
    let prepared = prepared(&[
        ("src/a/B.java", "package a;"),
        ("src/a/testdata/Inside.java", "package other;"),
        ("src/a/testdata/Short.java", "package testdata;"),
        ("src/a/NoPackage.java", "class NoPackage {}"),
        ("src/Top.java", "class Top {}"),
        ("samples/Odd.java", "package a.b;"),
        ("samples/x/NotX.java", "package y;"),
    ]);
    assert_eq!(prepared.folders, ["src"]);
    assert_eq!((prepared.info.files_known, prepared.info.files_total), (Some(5), 7));
    let unknown = prepared.info.unknown_files.iter().filter_map(|file| file.file_name()?.to_str());
    assert_eq!(unknown.collect::<Vec<_>>(), ["Odd.java", "NotX.java"]);
    assert_eq!(prepared.info.problems, ["the folders of the others don't end in their packages"]);
}

#[test]
fn classes_of_several_modules_are_reported() {
    let prepared = prepared(&[
        ("x/src/a/B.java", "package a;"),
        ("y/src/a/B.java", "package a;"),
        ("y/src/a/C.java", "package a;"),
        ("x/src/a/package-info.java", "package a;"),
        ("y/src/a/package-info.java", "package a;"),
    ]);
    let [repeated] = &prepared.info.unresolved[..] else { panic!("{:?}", prepared.info.unresolved) };
    assert_eq!(
        (repeated.examples.as_slice(), repeated.count, repeated.hides >= Hidden::Uses),
        (&["a.B".to_owned()][..], 1, true)
    );
}

#[test]
fn classes_without_a_package_in_several_folders_are_reported() {
    let prepared = prepared(&[("ex1/Main.java", "class Main {}"), ("ex2/Main.java", "class Main {}")]);
    assert_eq!(prepared.info.unresolved[0].examples, ["Main"]);
}

#[test]
fn packages_of_dependencies_are_reported_with_the_command_that_brings_them() {
    let text = "package a;\nimport org.slf4j.Logger;\nimport static org.junit.Assert.*;\nimport javax.inject.Inject;\nimport java.io.*;\n\
                import javax.xml.bind.JAXB;\nimport a.b.Inner.Deep;\nimport static a.b.c;\nimport a.lower;";
    let files = [("src/a/X.java", text), ("src/a/b/Inner.java", "package a.b;")];
    for (build, what, command) in [
        (
            "pom.xml",
            "the build of `pom.xml` isn't run, so dependencies are unknown",
            Some("mvn dependency:copy-dependencies"),
        ),
        ("build.gradle.kts", "the build of `build.gradle.kts` isn't run, so dependencies are unknown", None),
        ("README", "no folder `lib` holds their jars", None),
    ] {
        let prepared = prepared(&[&files[..], &[(build, "")]].concat());
        let [missing] = &prepared.info.unresolved[..] else { panic!("{:?}", prepared.info.unresolved) };
        assert_eq!((missing.what.as_str(), missing.count, missing.hides >= Hidden::Uses), (what, 4, false));
        assert_eq!(missing.examples, ["javax.inject", "javax.xml.bind", "org.junit", "org.slf4j"]);
        assert_eq!(missing.remedy.as_deref().map(|all| all.split(" -D").next().unwrap()), command);
    }
    let jars = [("lib/x.jar", ""), ("lib/notes", ""), ("src/target/dependency/y.jar", ""), ("src/libs/x.jar", "")];
    let with_jars = prepared(&[&files[..], &jars].concat());
    assert_eq!(with_jars.jars, ["lib/x.jar", "src/target/dependency/y.jar"]);
    assert!(with_jars.info.unresolved.is_empty(), "a jar may hold them");
}

#[test]
fn only_another_package_or_import_changes_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let memory = ProjectMemory::default();
    prepare_at(&root, &[("a/B.java", "package a;\nclass B {}")], &memory);
    let file = root.join("a/B.java");
    let affected = || memory.is_affected_by_text(ProjectInference::JavaPackages, &file, &root);
    fs::write(&file, "package a;\nclass B { int x; }").unwrap();
    assert!(!affected());
    fs::write(&file, "package b;\nclass B { int x; }").unwrap();
    assert!(affected() && !affected());
}

#[test]
fn the_source_folders_beyond_the_limit_are_left_out() {
    let files: Vec<(String, String)> =
        (0..MAX_SOURCE_FOLDERS + 2).map(|at| (format!("m{at:04}/a/C{at}.java"), "package a;".to_owned())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let prepared = prepared(&files);
    assert_eq!((prepared.folders.len(), prepared.info.files_known), (MAX_SOURCE_FOLDERS, Some(MAX_SOURCE_FOLDERS)));
    assert_eq!(prepared.info.problems[0], "the project has more than 1000 source folders");
}
