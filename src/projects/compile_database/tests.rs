//! The compile database of small trees, with the cases that are ugly in the field.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{ProjectInference, ServerSpec};
use serde_json::Value;

use super::*;
use crate::memory::ProjectMemory;
use crate::prepare::RunBuild;

/// A project in a temporary folder, and a cache folder beside it.
pub(super) struct Project {
    _folder: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) cache: PathBuf,
}

/// What was prepared: the information, and the arguments by file.
pub(super) struct Prepared {
    pub(super) info: ProjectInfo,
    pub(super) arguments: BTreeMap<String, Vec<String>>,
    /// Those of files that are compiled after the file that includes them.
    fragments: BTreeMap<String, Vec<String>>,
    digest: [u8; 32],
    memory: ProjectMemory,
}

impl Project {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let project = Self { _folder: folder, root: base.join("ro ot ü"), cache: base.join("cache") };
        fs::create_dir_all(&project.root).unwrap();
        fs::create_dir_all(&project.cache).unwrap();
        files.iter().for_each(|(path, text)| project.write(path, text));
        project
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// All files that a workspace would list for clangd.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let tree = Tree::read(&self.root);
        let own = tree.paths().iter().filter(|path| role(path).is_some());
        own.map(|path| self.root.join(&**path)).filter(|path| !path.is_symlink()).collect()
    }

    fn prepare(&self) -> Prepared {
        self.prepare_with(RunBuild::Never)
    }

    pub(super) fn prepare_with(&self, build: RunBuild) -> Prepared {
        let server = ServerSpec { project: Some(ProjectInference::CompileDatabase), ..ServerSpec::default() };
        let files = self.files();
        let memory = ProjectMemory::default();
        let request = ProjectRequest {
            server: &server,
            root: &self.root,
            top: &self.root,
            files: &files,
            scripts: &[],
            scripts_max: 0,
            cache: &self.cache,
            generated: &self.cache,
            build,
            memory: &memory,
        };
        let prepared = crate::prepare(&request).unwrap();
        let text = fs::read_to_string(self.cache.join(DATABASE)).unwrap();
        let entries: Vec<BTreeMap<String, Value>> = serde_json::from_str(&text).unwrap();
        let arguments = entries.into_iter().map(|entry| {
            let words = entry["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
            let file = Path::new(entry["directory"].as_str().unwrap()).join(entry["file"].as_str().unwrap());
            let file = database::normal(&file);
            let file = file.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
            (file, words.collect())
        });
        let changes = prepared.settings_when_ready.as_ref().map(|options| &options["compilationDatabaseChanges"]);
        let fragments = changes.and_then(Value::as_object).into_iter().flatten().map(|(path, command)| {
            let words = command["compilationCommand"].as_array().unwrap().iter();
            let file = Path::new(path).strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
            (file, words.map(|word| word.as_str().unwrap().to_owned()).collect())
        });
        let fragments = fragments.collect();
        Prepared { info: prepared.info, arguments: arguments.collect(), fragments, digest: prepared.digest, memory }
    }
}

impl Prepared {
    /// The include directories of a file, in order.
    fn dirs(&self, file: &str) -> Vec<&str> {
        let words = self.arguments.get(file).unwrap_or_else(|| panic!("{file} is not in {:?}", self.arguments.keys()));
        let pairs = words.windows(2).filter(|pair| pair[0] == "-I" || pair[0] == "-idirafter");
        pairs.map(|pair| pair[1].as_str()).collect()
    }

    fn unresolved(&self) -> Vec<(usize, Vec<String>)> {
        self.info.unresolved.iter().map(|names| (names.count, names.examples.clone())).collect()
    }
}

/// The file that is included first, and the include directories.
fn first_and_dirs(words: &[String]) -> (Option<&str>, Vec<&str>) {
    let value_of =
        |option: &str| words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].as_str()).collect();
    let first: Vec<&str> = value_of("-include");
    (first.first().map(|path| path.rsplit_once("ro ot ü/").unwrap().1), value_of("-I"))
}

#[test]
fn a_fragment_is_compiled_after_its_includer() {
    let files = [
        ("src/a.cpp", "#include \"plain.h\"\n#include <lib/vec.h>\n"),
        // A header, although it includes nothing.
        ("src/plain.h", "int plain();\n"),
        ("include/lib/base.h", "struct Base {};\n"),
        (
            "include/lib/vec.h",
            "#pragma once\n#include \"base.h\"\nstruct Vec : Base {};\n#include \"detail/vec.inl\"\n",
        ),
        ("include/lib/other.h", "#pragma once\n#include \"detail/vec.inl\"\n"),
        // A part of a part, and one that no header includes by itself.
        ("include/lib/detail/vec.inl", "#include \"more.IPP\"\n"),
        ("include/lib/detail/more.IPP", "inline Vec more() { return {}; }\n"),
        // Includes its includer, so it can be compiled alone.
        ("include/lib/whole.h", "#pragma once\n#include \"whole.tcc\"\n"),
        ("include/lib/whole.tcc", "#pragma once\n#include \"whole.h\"\n"),
        // Nothing includes it.
        ("include/lib/lone.tpp", "int x;\n"),
        // Include each other in a circle, and nothing else does.
        ("circle/a.inl", "#include \"b.inl\"\n"),
        ("circle/b.inl", "#include \"a.inl\"\n"),
        // A source that is a part of another one, in a way that its name doesn't show.
        ("src/main.c", "#include <stdio.h>\n#include \"part.c\"\n"),
        ("src/part.c", "static int part(void) { return 1; }\n"),
        // Of a source of C++, with its options.
        ("src/b.cc", "#include \"b.txx\"\n"),
        ("src/b.txx", "int b;\n"),
    ];
    let project = Project::new(&files);
    let prepared = project.prepare();
    let fragments = prepared.fragments.iter().map(|(file, words)| (file.as_str(), first_and_dirs(words)));
    assert_eq!(
        fragments.collect::<Vec<_>>(),
        [
            ("include/lib/detail/more.IPP", (Some("include/lib/vec.h"), vec![])),
            ("include/lib/detail/vec.inl", (Some("include/lib/vec.h"), vec![])),
            ("src/b.txx", (Some("src/b.cc"), vec![])),
        ]
    );
    let words = &prepared.fragments["include/lib/detail/vec.inl"];
    assert!(words.contains(&"-xc++-header".to_owned()), "clang takes unknown extensions for objects: {words:?}");
    assert!(
        !prepared.arguments.contains_key("include/lib/detail/vec.inl"),
        "a header could get the entry of a fragment"
    );
    // The commands of a database are the model.
    let directory = project.root.to_str().unwrap();
    let database = serde_json::json!([
        {"directory": directory, "file": "src/a.cpp", "arguments": ["g++", "-DA", "-Iinclude", "-c", "src/a.cpp", "-o", "a.o"]},
        {"directory": directory, "file": "src/b.cc", "arguments": ["g++", "-DMAIN", "-c", "src/b.cc"]},
    ]);
    project.write(DATABASE, &database.to_string());
    let prepared = project.prepare();
    let has = |file: &str, word: &str| prepared.fragments[file].contains(&word.to_owned());
    assert!(has("include/lib/detail/vec.inl", "-DA") && has("src/b.txx", "-DMAIN"), "{:?}", prepared.fragments);
    assert!(!has("src/b.txx", "-DA") && !has("include/lib/detail/vec.inl", "-o"), "{:?}", prepared.fragments);
    assert_eq!(first_and_dirs(&prepared.fragments["src/b.txx"]).0, Some("src/b.cc"));
    // Another includer is another command, with which a running server must be started again.
    project.write("include/lib/vec.h", "#pragma once\n");
    assert_eq!(
        first_and_dirs(&project.prepare().fragments["include/lib/detail/vec.inl"]).0,
        Some("include/lib/other.h")
    );
}

#[test]
fn fragments_of_c_and_those_with_a_command_are_left_as_they_are() {
    let project = Project::new(&[
        ("src/list.h", "#include \"list.inl\"\n"),
        ("src/list.inl", "static int new(void) { return 1; }\n"),
        (
            "src/main.c",
            "#ifdef WITH_LIST\n#include \"list.h\"\n#include \"more.inl\"\nint main(void) { return new(); }\n#endif\n",
        ),
        ("src/more.inl", "int more;\n"),
    ]);
    let prepared = project.prepare();
    let has = |prepared: &Prepared, file: &str, word: &str| prepared.fragments[file].contains(&word.to_owned());
    assert!(has(&prepared, "src/list.inl", "-xc-header"), "{:?}", prepared.fragments);
    assert!(has(&prepared, "src/more.inl", "-DWITH_LIST"), "the includer is empty without: {:?}", prepared.fragments);
    let directory = project.root.to_str().unwrap();
    let listed = serde_json::json!([
        {"directory": directory, "file": "src/main.c", "arguments": ["cc", "-c", "src/main.c"]},
        {"directory": directory, "file": "src/list.inl", "arguments": ["cc", "-xc", "-c", "src/list.inl"]},
    ]);
    project.write(DATABASE, &listed.to_string());
    assert_eq!(project.prepare().fragments.keys().collect::<Vec<_>>(), ["src/more.inl"], "the other is listed");
    for arguments in [
        serde_json::json!(["C:/llvm/bin/clang-cl.exe", "/c", "src/main.c"]),
        serde_json::json!(["clang", "--driver-mode=cl", "src/main.c"]),
    ] {
        let of_cl = serde_json::json!([{"directory": directory, "file": "src/main.c", "arguments": arguments}]);
        project.write(DATABASE, &of_cl.to_string());
        assert!(project.prepare().fragments.is_empty(), "cl has no -include");
    }
}

#[test]
fn every_source_gets_the_directories_that_its_includes_need() {
    let project = Project::new(&[
        ("src/main.c", "#include \"util.h\"\n#include <net/socket.h>\r\n#include <stdio.h>\n"),
        ("src/util.h", "#include <list.h>\n"),
        ("src/a b/ö.c", "#include \"../util.h\"\n"),
        ("include/net/socket.h", "#include \"types.h\"\n"),
        ("include/net/types.h", ""),
        ("deps/list/list.h", ""),
        ("deps/list/list.c", "#include \"list.h\"\n"),
        ("other/plain.c", "#include <stdlib.h>\n"),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.arguments.len(), 4);
    assert_eq!(prepared.dirs("src/main.c"), ["include", "deps/list"]);
    assert_eq!(prepared.dirs("src/a b/ö.c"), ["deps/list"]);
    assert_eq!(prepared.dirs("deps/list/list.c"), [""; 0]);
    assert_eq!(prepared.dirs("other/plain.c"), [""; 0]);
    assert_eq!(prepared.arguments["src/main.c"][..2], ["clang", "-std=gnu17"]);
    assert_eq!((prepared.info.files_total, prepared.info.files_known), (8, Some(8)));
    assert_eq!(prepared.info.source.to_string(), "inferred from the includes of 8 files");
    assert_eq!(prepared.unresolved(), []);
}

#[test]
fn of_headers_with_the_same_name_the_nearest_is_chosen() {
    let project = Project::new(&[
        ("a/src/x.c", "#include <config.h>\n#include <only_a.h>\n"),
        ("a/inc/config.h", ""),
        ("a/inc/only_a.h", ""),
        ("b/src/x.c", "#include <config.h>\n"),
        ("b/inc/config.h", ""),
        ("b/win32/config.h", ""),
        ("top.c", "#include <config.h>\n"),
        ("vendor/copy/b/inc/config.h", ""),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.dirs("a/src/x.c"), ["a/inc"]);
    assert_eq!(prepared.dirs("b/src/x.c"), ["b/inc"]);
    // Both are as near; only one of them also has other headers that are included.
    assert_eq!(prepared.dirs("top.c"), ["a/inc"]);
}

#[test]
fn a_chosen_directory_comes_before_others_that_have_the_same_name() {
    let project = Project::new(&[
        ("kernel/x.c", "#include <asm/bug.h>\n#include <far/deep/y.h>\n#include <tools.h>\n"),
        ("far/include/far/deep/y.h", "#include <asm/bug.h>\n"),
        ("far/include/asm/bug.h", ""),
        ("tools/asm/bug.h", ""),
        ("tools/tools.h", ""),
        ("Makefile", "CFLAGS = -DX\n"),
    ]);
    // For `kernel` the header in `tools` is nearer, and `far` is searched for another one only.
    assert_eq!(project.prepare().dirs("kernel/x.c"), ["tools", "far/include"]);
    project.write("kernel/x.c", "#include <far/deep/y.h>\n#include <tools.h>\n");
    // Only the header in `far` includes it now, and means its own.
    assert_eq!(project.prepare().dirs("kernel/x.c"), ["far/include", "tools"]);
}

#[test]
fn a_directory_with_standard_names_does_not_hide_the_standard_library() {
    let project = Project::new(&[
        ("src/x.c", "#include <string.h>\n#include <compat_extra.h>\n"),
        ("compat/string.h", ""),
        ("compat/compat_extra.h", ""),
    ]);
    let prepared = project.prepare();
    let words = &prepared.arguments["src/x.c"];
    assert!(words.windows(2).any(|pair| pair == ["-idirafter", "compat"]), "{words:?}");
    project.write("Makefile", "CFLAGS = -Icompat\n");
    let words = project.prepare().arguments["src/x.c"].clone();
    assert!(words.windows(2).any(|pair| pair == ["-I", "compat"]), "{words:?}");
}

#[test]
fn headers_that_do_not_exist_and_macros_are_counted_or_ignored() {
    let project = Project::new(&[
        (
            "x.c",
            "#include \"config.h\"\n#include MACRO\n#include <gone/away.h>\n#ifdef W\n#include <maybe.h>\n#endif\n",
        ),
        ("Makefile", ""),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.unresolved(), [(1, vec!["config.h".to_owned()]), (1, vec!["gone/away.h".to_owned()])]);
    assert_eq!(prepared.info.files_known, Some(1));
    assert_eq!(prepared.info.remedy.as_deref(), Some("bear -- make"));
}

#[test]
fn what_only_other_systems_compile_is_not_missing() {
    let other = "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#if defined(_MSC_VER) && \\\n  _MSC_VER > 1400\n\
                 #include <gone1.h>\n#include \"msvc.h\"\n#else\n#include \"own.h\"\n#endif\n";
    let project = Project::new(&[
        ("x.c", other),
        ("msvc.h", "#include <gone2.h>\n#include \"msvc2.h\"\n"),
        ("msvc2.h", "#include <gone3.h>\n#include \"own.h\"\n"),
        ("own.h", "#ifndef OWN_H\n#define OWN_H\n#include <psapi.h>\n#endif\n"),
        ("win32/y.c", "#include <gone4.h>\n#include \"../shared.h\"\n"),
        ("shared.h", "#include <gone5.h>\n"),
        ("Makefile", ""),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.unresolved(), []);
    assert_eq!(prepared.info.files_known, Some(6));
    project.write("own.h", "#include \"shared.h\"\n");
    assert_eq!(project.prepare().unresolved(), [(1, vec!["gone5.h".to_owned()])]);
    // A header that nothing includes, and two that include only each other, are read by themselves.
    project.write("lone.h", "#include <gone6.h>\n");
    project.write("circle1.h", "#include \"circle2.h\"\n");
    project.write("circle2.h", "#include \"circle1.h\"\n#include <gone7.h>\n");
    assert_eq!(project.prepare().unresolved()[0].0, 3);
    // A build for the other system compiles its branches.
    project.write("Makefile", "CFLAGS = -D_MSC_VER=1500\n");
    let all = project.prepare().unresolved();
    assert_eq!(all[0].0, 5, "{all:?}");
    assert!(all[0].1.contains(&"gone2.h".to_owned()) && all[0].1.contains(&"gone3.h".to_owned()), "{all:?}");
}

#[test]
fn headers_that_a_build_configures_are_made_from_their_templates() {
    let project = Project::new(&[
        ("a/x.c", "#ifdef HAVE_CONFIG_H\n#include \"config.h\"\n#endif\n#include <gone.h>\n"),
        ("a/config.h.in", "#undef HAVE_STDDEF_H\n#undef USE_TLS\n"),
        ("b/x.c", "#include <sub/config.h>\n"),
        ("b/include/sub/config.h.cmake", "#cmakedefine01 USE_TLS\n"),
        ("c/plain.c", "#include <stddef.h>\n"),
        ("d/tokens.c", "#include \"parse.h\"\n"),
        ("d/parse.y", "%token A B\n%%\n"),
    ]);
    let prepared = project.prepare();
    let text = |file: &str, name: &str| {
        let dirs = prepared.dirs(file);
        let [dir] = dirs[..] else { panic!("{dirs:?}") };
        assert!(Path::new(dir).starts_with(&project.cache), "{dir}");
        fs::read_to_string(Path::new(dir).join(name)).unwrap()
    };
    assert_eq!(text("a/x.c", "config.h"), "#define HAVE_STDDEF_H 1\n/* #undef USE_TLS */\n");
    assert_eq!(text("b/x.c", "sub/config.h"), "#define USE_TLS 0\n");
    assert!(text("d/tokens.c", "parse.h").contains("B = 259,"));
    let is_defined = |file: &str| prepared.arguments[file].contains(&"-DHAVE_CONFIG_H".to_owned());
    assert_eq!(["a/x.c", "b/x.c", "c/plain.c", "d/tokens.c"].map(is_defined), [true, true, false, false]);
    assert_eq!(prepared.dirs("c/plain.c"), [""; 0]);
    assert_eq!(prepared.unresolved(), [(1, vec!["gone.h".to_owned()])]);
    let from = "inferred from grammars, templates of headers and the includes of 4 files";
    assert_eq!(prepared.info.source.to_string(), from);
    assert_eq!(project.prepare().digest, prepared.digest);
    project.write("a/config.h.in", "#undef USE_TLS\n");
    assert_ne!(project.prepare().digest, prepared.digest, "the server reads headers at its start");
    project.write("a/config.h", "");
    let again = project.prepare();
    assert_eq!(again.dirs("a/x.c"), [""; 0]);
    let left = fs::read_dir(project.cache.join("headers")).unwrap().count();
    assert_eq!(left, 2, "what nothing needs is removed");
}

#[test]
fn headers_whose_macros_a_build_file_names_are_made() {
    let project = Project::new(&[
        ("CMakeLists.txt", "project(kit CXX)\nadd_subdirectory(core)\nadd_subdirectory(net)\n"),
        (
            "core/CMakeLists.txt",
            "generate_export_header(core EXPORT_FILE_NAME ${CMAKE_BINARY_DIR}/exports/kit/exports.h)\n",
        ),
        ("core/a.cc", "#include <kit/exports.h>\nclass CORE_EXPORT A {};\n"),
        ("net/CMakeLists.txt", "generate_export_header(net)\n"),
        ("net/b.cc", "#include \"net_export.h\"\n#include \"gone_export.h\"\n"),
        ("c/configure.ac", "AC_CONFIG_HEADERS([config.h])\nAC_DEFINE([C_API], [x])\n"),
        ("c/x.c", "#include \"config.h\"\n"),
    ]);
    let prepared = project.prepare();
    let text = |file: &str, name: &str| {
        let dirs = prepared.dirs(file);
        let made = dirs.iter().find_map(|dir| fs::read_to_string(Path::new(dir).join(name)).ok());
        made.unwrap_or_else(|| panic!("{name}: {dirs:?}"))
    };
    assert!(text("core/a.cc", "kit/exports.h").contains("#define CORE_EXPORT __attribute__"));
    assert!(text("net/b.cc", "net_export.h").contains("#define NET_EXPORT __attribute__"));
    assert_eq!(text("c/x.c", "config.h"), "#define C_API\n");
    assert!(prepared.arguments["c/x.c"].contains(&"-DHAVE_CONFIG_H".to_owned()));
    assert_eq!(prepared.unresolved(), [(1, vec!["gone_export.h".to_owned()])]);
    project.write("net/CMakeLists.txt", "generate_export_header(net EXPORT_MACRO_NAME NET_API)\n");
    assert_ne!(project.prepare().digest, prepared.digest, "the server reads headers at its start");
}

#[test]
fn response_files_in_the_workspace_count_and_others_are_named() {
    let database = r#"[{"file": "../src/a.c", "command": "cc @args.rsp @gone.rsp -c ../src/a.c"}]"#;
    let project = Project::new(&[
        ("build/compile_commands.json", database),
        ("build/args.rsp", "-DENABLE @/etc/hostname -fplugin=evil.so -I../inc\n"),
        ("src/a.c", ""),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.arguments["src/a.c"], ["cc", "-DENABLE", "-I../inc", "-c", "../src/a.c"]);
    let cause = &prepared.info.unresolved[0];
    assert_eq!((cause.count, cause.hides >= Hidden::Uses, cause.examples.len()), (2, true, 2));
    let affects =
        |path: &Path| prepared.memory.is_affected_by_text(ProjectInference::CompileDatabase, path, &project.root);
    assert!(affects(&project.root.join("build/args.rsp")) && affects(&project.root.join("build/gone.rsp")));
    assert!(!affects(&project.root.join("build/other.rsp")));
}

#[test]
fn the_options_of_kconfig_and_generic_headers_are_made() {
    let generic = format!("arch/{}/include/asm/own.h", platforms::host_architecture());
    let project = Project::new(&[
        ("Kconfig", "config NET\n\tbool \"net\"\n\tdefault y\n"),
        ("x.c", "#include <generated/autoconf.h>\n#include <asm/errno2.h>\n#include <asm/own.h>\n"),
        ("include/asm-generic/errno2.h", ""),
        ("include/asm-generic/own.h", ""),
        (&generic, ""),
        ("tools/generated/autoconf.h", "#define WRONG\n"),
        ("tools/include/asm/errno2.h", "#define WRONG\n"),
    ]);
    let prepared = project.prepare();
    let made = project.cache.join("headers/shared");
    assert_eq!(fs::read_to_string(made.join("generated/autoconf.h")).unwrap(), "#define CONFIG_NET 1\n");
    assert_eq!(fs::read_to_string(made.join("asm/errno2.h")).unwrap(), "#include <asm-generic/errno2.h>\n");
    assert!(!made.join("asm/own.h").exists());
    let dirs = prepared.dirs("x.c");
    assert!(dirs.contains(&"include") && !dirs.iter().any(|dir| dir.starts_with("tools")), "{dirs:?}");
    assert!(dirs.contains(&made.to_str().unwrap()), "{dirs:?}");
    assert_eq!(prepared.unresolved(), []);
}

#[test]
fn c_and_cpp_in_one_tree_have_their_own_standards_and_headers() {
    let project = Project::new(&[
        ("a.c", "#include \"shared.h\"\n"),
        ("b.cpp", "#include \"shared.h\"\n#include <concepts>\n"),
        ("shared.h", ""),
        ("lonely_cpp.h", "namespace a { }\n"),
        ("lonely_c.h", "struct a;\n"),
        ("lonely.hpp", "#pragma once\n"),
        ("circle1.h", "#include \"circle2.h\"\n"),
        ("circle2.h", "#include \"circle1.h\"\n"),
        ("matlab.m", "function x = f()\n"),
        ("objc.m", "#import \"shared.h\"\n"),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.arguments["a.c"], ["clang", "-std=gnu17", "-c", "a.c"]);
    assert_eq!(prepared.arguments["b.cpp"], ["clang++", "-std=gnu++20", "-c", "b.cpp"]);
    let last = |file: &str| prepared.arguments[file][2].clone();
    assert_eq!((last("lonely_cpp.h"), last("lonely_c.h")), ("-xc++-header".into(), "-xc-header".into()));
    assert_eq!(last("lonely.hpp"), "-xc++-header");
    assert!(prepared.arguments.contains_key("circle1.h") && prepared.arguments.contains_key("objc.m"));
    assert!(!prepared.arguments.contains_key("matlab.m") && !prepared.arguments.contains_key("shared.h"));
}

#[test]
fn headers_behind_links_to_directories_are_found() {
    let project =
        Project::new(&[("src/x.c", "#include <lib/y.h>\n"), ("code/y.h", "#include \"z.h\"\n"), ("code/z.h", "")]);
    fs::create_dir(project.root.join("include")).unwrap();
    std::os::unix::fs::symlink("../code", project.root.join("include/lib")).unwrap();
    let prepared = project.prepare();
    assert_eq!(prepared.dirs("src/x.c"), ["include"]);
    assert_eq!(prepared.unresolved(), []);
}

#[test]
fn headers_of_another_processor_are_not_used() {
    let (own, other) = if platforms::host_architecture() == "x86" { ("x86", "arm64") } else { ("arm64", "x86") };
    let files = [
        ("kernel/x.c".to_owned(), "#include <asm/a.h>\n#include <asm/b.h>\n"),
        (format!("arch/{own}/include/asm/a.h"), ""),
        (format!("arch/{other}/include/asm/a.h"), ""),
        (format!("arch/{other}/include/asm/b.h"), ""),
        (format!("arch/{other}/y.c"), "#include <asm/a.h>\n"),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let prepared = Project::new(&files).prepare();
    assert_eq!(prepared.dirs("kernel/x.c"), [format!("arch/{own}/include")]);
    assert_eq!(prepared.dirs(&format!("arch/{other}/y.c")), [format!("arch/{other}/include")]);
    assert_eq!(prepared.unresolved(), [(1, vec!["asm/b.h".to_owned()])]);
}

#[test]
fn flags_of_build_files_apply_below_their_directory() {
    let project = Project::new(&[
        ("CMakeLists.txt", "set(CMAKE_C_STANDARD 11)\ninclude_directories(inc)\nadd_definitions(-DROOT)\n"),
        ("sub/CMakeLists.txt", "target_compile_definitions(x PRIVATE SUB=\"a b\")\n"),
        ("sub/x.c", ""),
        ("y.c", ""),
        ("inc/z.h", ""),
    ]);
    let prepared = project.prepare();
    assert_eq!(
        prepared.arguments["sub/x.c"],
        ["clang", "-std=gnu11", "-DROOT", "-DSUB=a b", "-I", "inc", "-c", "sub/x.c"]
    );
    assert_eq!(prepared.arguments["y.c"], ["clang", "-std=gnu11", "-DROOT", "-I", "inc", "-c", "y.c"]);
    assert_eq!(prepared.info.source.to_string(), "inferred from CMakeLists.txt and the includes of 3 files");
    project.write("compile_flags.txt", "-DONLY\n-Wall\n");
    assert_eq!(project.prepare().arguments["y.c"], ["clang", "-std=gnu17", "-DONLY", "-Wall", "-c", "y.c"]);
}

#[test]
fn sources_that_others_include_are_compiled_once() {
    let project = Project::new(&[
        ("all.c", "/* everything */\n#define ALL\n#include \"one.c\"\n#include \"two.c\"\n"),
        ("one.c", "#include \"x.h\"\n#ifdef ALL\nstatic\n#endif\nint one(void) { return 1; }\n"),
        ("two.c", "#include \"x.h\"\nint two(void) { return 2; }\n"),
        ("x.h", ""),
        ("test.c", "#include \"one.c\"\nint test(void) { return one(); }\n"),
        ("sched.c", "#include \"x.h\"\n#include \"part.c\"\n"),
        ("part.c", "static int part(struct known *it) { return 1; }\n"),
        ("circle.c", "#include \"circle.c\"\n"),
    ]);
    let prepared = project.prepare();
    let listed: Vec<&str> = prepared.arguments.keys().map(String::as_str).collect();
    assert_eq!(listed, ["circle.c", "one.c", "sched.c", "test.c", "two.c"]);
    assert_eq!((prepared.info.files_known, prepared.info.files_total), (Some(8), 8));
}

#[test]
fn headers_that_no_source_includes_get_the_flags_of_their_neighbours() {
    let database = r#"[{"directory": ".", "file": "a.c", "command": "cc -DA -c a.c"}]"#;
    let project = Project::new(&[
        ("a.c", "#include \"used.h\"\n"),
        ("used.h", ""),
        ("orphan.h", "#include <in.h>\n"),
        ("sub/in.h", ""),
        ("compile_commands.json", database),
    ]);
    let prepared = project.prepare();
    assert_eq!((prepared.info.files_known, prepared.info.files_total), (Some(4), 4));
    assert_eq!(prepared.info.problems, [""; 0], "the database lists every source");
    let sub = project.root.join("sub").display().to_string();
    let orphan = project.root.join("orphan.h").display().to_string();
    assert_eq!(prepared.arguments["orphan.h"], ["cc", "-DA", "-I", &sub, "-xc-header", "-c", &orphan]);
    assert!(!prepared.arguments.contains_key("used.h"));
    project.write("a.c", "#include \"used.h\"\n#include \"orphan.h\"\n");
    let again = project.prepare();
    assert!(!again.arguments.contains_key("orphan.h"));
    assert_ne!(again.digest, prepared.digest);
}

#[test]
fn a_source_that_is_off_as_a_whole_is_compiled_all_the_same() {
    let body = "int a(void);\n".repeat(20);
    let text = format!("#if USE_TLS == 1\n{body}#endif\n");
    let project = Project::new(&[("tls.c", &text), ("on.c", &text), ("other.c", "")]);
    assert_eq!(project.prepare().arguments["tls.c"], ["clang", "-std=gnu17", "-DUSE_TLS=1", "-c", "tls.c"]);
    assert_eq!(project.prepare().arguments["other.c"], ["clang", "-std=gnu17", "-c", "other.c"]);
    project.write("Makefile", "CFLAGS = -DUSE_TLS=2\n");
    assert_eq!(project.prepare().arguments["on.c"], ["clang", "-std=gnu17", "-DUSE_TLS=2", "-c", "on.c"]);
}

#[test]
fn a_database_that_lists_some_sources_is_completed() {
    let project = Project::new(&[
        ("src/a.c", ""),
        ("src/b.c", "#include <extra.h>\n"),
        ("lib/c.cpp", ""),
        ("lib/d.cpp", ""),
        ("other/e.cc", ""),
        ("more/extra.h", ""),
        (
            "build/compile_commands.json",
            r#"[{"directory": ".", "file": "../src/a.c", "command": "gcc -DA '-DQ=\"x y\"' -I../inc -o a.o -MF a.d -c ../src/a.c"},
                {"directory": "..", "file": "lib/c.cpp", "arguments": ["g++", "-DC", "-x", "c++", "lib/c.cpp"]},
                {"directory": "..", "file": "gone.c", "command": "cc gone.c"}]"#,
        ),
    ]);
    let prepared = project.prepare();
    let root = project.root.display().to_string();
    let build = project.root.join("build");
    assert_eq!(prepared.info.source, ProjectSource::Found { path: "build/compile_commands.json".into() });
    assert_eq!(prepared.info.files_known, Some(6));
    assert_eq!(
        prepared.info.problems,
        [
            "build/compile_commands.json: 1 entries name files that don't exist, 0 entries lack a file or a command",
            "build/compile_commands.json lists 2 of 5 sources; the commands of the others are inferred",
        ]
    );
    let text = fs::read_to_string(project.cache.join(DATABASE)).unwrap();
    let entries: Vec<BTreeMap<String, Value>> = serde_json::from_str(&text).unwrap();
    assert_eq!(entries.len(), 5);
    let of = |file: &str| {
        let path = project.root.join(file);
        let is = |entry: &&BTreeMap<String, Value>| entry["file"].as_str().is_some_and(|file| Path::new(file) == path);
        let entry = entries.iter().find(is).unwrap_or_else(|| panic!("{file}"));
        let words = entry["arguments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect::<Vec<_>>();
        (entry["directory"].as_str().unwrap().to_owned(), words)
    };
    let (directory, words) = of("src/b.c");
    assert_eq!(directory, build.to_str().unwrap());
    let more = format!("{root}/more");
    assert_eq!(words, ["gcc", "-DA", "-DQ=\"x y\"", "-I../inc", "-I", &more, "-c", &format!("{root}/src/b.c")]);
    assert_eq!(of("lib/d.cpp").1, ["g++", "-DC", "-x", "c++", "-c", &format!("{root}/lib/d.cpp")]);
    assert_eq!(of("other/e.cc").1[..2], ["g++", "-DC"]);
}

#[test]
fn a_database_that_cannot_be_read_is_reported_and_inferred() {
    let project = Project::new(&[("a.c", ""), ("compile_commands.json", "{ not json")]);
    let prepared = project.prepare();
    assert!(
        prepared.info.problems[0]
            .starts_with("compile_commands.json can't be used, so commands are inferred: it is not")
    );
    assert_eq!(prepared.arguments["a.c"], ["clang", "-std=gnu17", "-c", "a.c"]);
    project.write("compile_commands.json", "[]");
    assert_eq!(project.prepare().arguments.len(), 1);
}

#[test]
fn commands_are_read_from_a_ninja_file() {
    let project = Project::new(&[
        ("src/a.c", ""),
        ("src/b.c", ""),
        ("out/build.ninja", "build a.o: cc ../src/a.c\n  FLAGS = -DA -I../include\nbuild gone.o: cc ../src/gone.c\n"),
    ]);
    let prepared = project.prepare();
    assert_eq!(prepared.info.source.to_string(), "inferred from out/build.ninja");
    assert_eq!(prepared.arguments["src/a.c"][..3], ["clang", "-DA", "-I../include"]);
    assert_eq!(prepared.arguments["src/b.c"][..3], ["clang", "-DA", "-I../include"]);
}

#[test]
fn make_is_run_only_where_that_is_allowed() {
    let makefile = "all: a.o\na.o: a.c\n\tcc -DFROM_MAKE -c a.c -o a.o\nran := $(shell touch ran)\n";
    let project = Project::new(&[("a.c", ""), ("Makefile", makefile)]);
    assert_eq!(project.prepare().arguments["a.c"], ["clang", "-std=gnu17", "-c", "a.c"]);
    assert!(!project.root.join("ran").exists());
    let prepared = project.prepare_with(RunBuild::Allowed);
    assert_eq!(prepared.info.source.to_string(), "inferred from a run of make", "{:?}", prepared.info.problems);
    assert!(prepared.arguments["a.c"].contains(&"-DFROM_MAKE".to_owned()));
    project.write("Makefile", "all: ; exit 3\n$(error no)\n");
    let prepared = project.prepare_with(RunBuild::Allowed);
    assert!(
        prepared.info.problems[0].starts_with("the build that is allowed for this workspace failed"),
        "{:?}",
        prepared.info.problems
    );
    assert_eq!(prepared.arguments["a.c"], ["clang", "-std=gnu17", "-c", "a.c"]);
}

#[test]
fn the_database_follows_the_files_and_nothing_else() {
    let project = Project::new(&[("a.c", "#include <x.h>\nint a;\n"), ("inc/x.h", ""), ("b/c.c", "")]);
    let first = project.prepare();
    assert_eq!(project.prepare().digest, first.digest);
    project.write("a.c", "#include <x.h>\nint main(void) { return 0; }\n");
    let is_affected = |path: &str| {
        let path = project.root.join(path);
        first.memory.is_affected_by_text(ProjectInference::CompileDatabase, &path, &project.root)
    };
    assert!(!is_affected("a.c") && !is_affected("readme.md"));
    assert_eq!(project.prepare().digest, first.digest, "the text of a function is no part of it");
    project.write("a.c", "#include <x.h>\n#include \"y.h\"\n");
    project.write("new.c", "");
    assert!(is_affected("a.c") && is_affected("new.c") && is_affected("CMakeLists.txt") && !is_affected("inc/x.h"));
    project.write("a.c", "#include <x.h>\n");
    let second = project.prepare();
    assert_ne!(second.digest, first.digest);
    assert!(second.arguments.contains_key("new.c"));
    fs::remove_file(project.root.join("new.c")).unwrap();
    project.write("b/c.c", "#include <x.h>\n");
    let third = project.prepare();
    assert_eq!(third.dirs("b/c.c"), ["inc"]);
    assert!(!third.arguments.contains_key("new.c"));
    assert_eq!(fs::read_dir(&project.root).unwrap().count(), 3, "nothing is written into the project");
}

#[test]
fn an_empty_project_has_an_empty_database() {
    let prepared = Project::new(&[("readme.md", "")]).prepare();
    assert_eq!(
        (prepared.arguments.len(), prepared.info.files_known, prepared.info.source),
        (0, Some(0), ProjectSource::Server)
    );
}

#[test]
fn make_files_include_others() {
    let project = Project::new(&[
        ("config.mk", "VERSION = 1.2\nCPPFLAGS += -DVERSION=\\\"$(VERSION)\\\"\nifdef WITH_X\nCFLAGS += -DNO\n"),
        (
            "Makefile",
            "-include config.mk gone.mk\nendif\nCFLAGS += -DOWN\ninclude sub/no.mk Makefile\nsinclude loop.mk\n",
        ),
        ("loop.mk", "include loop.mk\nCFLAGS += -DLOOP\n"),
        ("a.c", ""),
        ("sub.mk", "CFLAGS += -DSUB\n"),
        ("sub/Makefile", "include ../sub.mk ../config.mk\n"),
        ("sub/no.mk", "CFLAGS += -DNO\n"),
        ("sub/b.c", ""),
        ("../outside.mk", "CFLAGS += -DNO\n"),
        ("out/Makefile", "include ../../outside.mk\n"),
        ("out/c.c", ""),
    ]);
    let prepared = project.prepare();
    let defined = |file: &str| -> Vec<&str> {
        prepared.arguments[file].iter().filter_map(|word| word.strip_prefix("-D")).collect()
    };
    assert_eq!(defined("a.c"), ["VERSION=\"1.2\"", "OWN", "LOOP"]);
    assert_eq!(defined("sub/b.c"), ["VERSION=\"1.2\"", "OWN", "LOOP", "SUB"]);
    assert_eq!(defined("out/c.c"), ["VERSION=\"1.2\"", "OWN", "LOOP"]);
}
