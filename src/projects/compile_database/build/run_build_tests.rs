//! Builds that the operator allowed, with the build tools of the machine: CMake, Meson, bear and make, and everything that goes wrong in
//! them. A test whose tool is missing says so aloud and ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_lsp::registry::{ProjectInference, ServerSpec};
use codeyard_test_support::parts::has_programs;

use super::run_build::commands_within;
use crate::build_report;
use crate::compile_database::tests::{Prepared, Project};
use crate::info::ProjectInfo;
use crate::memory::ProjectMemory;
use crate::prepare::{ProjectRequest, RunBuild};
use crate::tree::Tree;

fn built(project: &Project) -> Prepared {
    project.prepare_with(RunBuild::Allowed)
}

/// How often the build left a mark in the project.
fn runs(project: &Project) -> usize {
    fs::read_to_string(project.cache.join("runs")).map_or(0, |text| text.lines().count())
}

fn failure(project: &Project) -> Option<String> {
    build_report::load(&project.cache).and_then(|(report, _)| report.failure)
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfile(APPEND ${CMAKE_BINARY_DIR}/../runs \"1\\n\")\n\
    include(cmake/flags.cmake)\nconfigure_file(config.h.in config.h)\nadd_subdirectory(\"sub dir\")\n";

#[test]
fn cmake_configures_into_the_cache_folder_and_follows_all_its_files() {
    if !has_programs(&["cmake", "make"]) {
        return;
    }
    let project = Project::new(&[
        ("CMakeLists.txt", CMAKE),
        ("cmake/flags.cmake", "add_definitions(-DFLAG=1)\n"),
        ("config.h.in", "#cmakedefine01 X\n"),
        (
            "sub dir/CMakeLists.txt",
            "add_library(l \"a b.c\")\ntarget_include_directories(l PRIVATE ${CMAKE_BINARY_DIR})\n",
        ),
        ("sub dir/a b.c", "#include <config.h>\n"),
        ("other.c", ""),
    ]);
    let before = project.files();
    let prepared = built(&project);
    assert_eq!(prepared.info.source.to_string(), "inferred from a run of cmake", "{:?}", prepared.info.problems);
    assert!(prepared.arguments["sub dir/a b.c"].contains(&"-DFLAG=1".to_owned()));
    assert!(project.cache.join("build/config.h").is_file());
    assert!(prepared.arguments.contains_key("other.c"), "the sources that the build leaves out are inferred");
    assert_eq!(project.files(), before, "nothing is written into the project");
    assert_eq!((runs(&project), failure(&project)), (1, None));
    built(&project);
    assert_eq!(runs(&project), 1, "it runs again only for a change");
    for (at, path) in ["sub dir/CMakeLists.txt", "cmake/flags.cmake", "config.h.in"].iter().enumerate() {
        let text = fs::read_to_string(project.root.join(path)).unwrap();
        project.write(path, &format!("{text}\n"));
        built(&project);
        assert_eq!(runs(&project), 2 + at, "{path}");
    }
    project.write("cmake/flags.cmake", "add_definitions(-DFLAG=2)\n");
    assert!(built(&project).arguments["sub dir/a b.c"].contains(&"-DFLAG=2".to_owned()));
    project.prepare_with(RunBuild::Never);
    assert!(build_report::load(&project.cache).is_none(), "without permission there is no report");
}

#[test]
fn a_build_file_that_changes_during_the_build_is_not_missed() {
    if !has_programs(&["cmake", "make"]) {
        return;
    }
    // The edit comes after the file was read, and before the build ends.
    let edited = format!(
        "{CMAKE}if(EXISTS ${{CMAKE_SOURCE_DIR}}/edit)\nfile(RENAME ${{CMAKE_SOURCE_DIR}}/edit ${{CMAKE_SOURCE_DIR}}/cmake/flags.cmake)\nendif()\n\
         file(APPEND ${{CMAKE_SOURCE_DIR}}/own.mk \"x\")\n"
    );
    let project = Project::new(&[
        ("CMakeLists.txt", &edited),
        ("cmake/flags.cmake", "add_definitions(-DFLAG=1)\n"),
        ("edit", "add_definitions(-DFLAG=2)\n"),
        ("config.h.in", ""),
        ("sub dir/CMakeLists.txt", "add_library(l \"a b.c\")\n"),
        ("sub dir/a b.c", ""),
    ]);
    let flags = |prepared: Prepared| prepared.arguments["sub dir/a b.c"].clone();
    assert!(flags(built(&project)).contains(&"-DFLAG=1".to_owned()));
    assert!(flags(built(&project)).contains(&"-DFLAG=2".to_owned()));
    assert_eq!(runs(&project), 2);
    built(&project);
    assert_eq!(runs(&project), 2, "a file that the build itself writes in each run doesn't repeat it for ever");
    // What was built is used without a run, whatever changed since.
    project.write("cmake/flags.cmake", "");
    assert!(flags(project.prepare_with(RunBuild::Recorded)).contains(&"-DFLAG=2".to_owned()));
    assert_eq!(runs(&project), 2);
}

#[test]
fn a_failed_configuration_is_reported_and_repeated_when_a_build_file_is_touched() {
    if !has_programs(&["cmake", "make"]) {
        return;
    }
    let broken = format!("{CMAKE}message(FATAL_ERROR \"no such thing\")\n");
    let project = Project::new(&[
        ("CMakeLists.txt", &broken),
        ("cmake/flags.cmake", ""),
        ("config.h.in", ""),
        ("sub dir/CMakeLists.txt", ""),
        ("a.c", ""),
    ]);
    let age = || {
        let file = fs::File::options().append(true).open(project.root.join("CMakeLists.txt")).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(100)).unwrap();
    };
    age();
    let prepared = built(&project);
    let problem = &prepared.info.problems[0];
    assert!(
        problem.starts_with("the build that is allowed for this workspace failed, so commands are inferred: cmake: "),
        "{problem}"
    );
    assert!(!prepared.info.source.to_string().contains("a run of"), "{}", prepared.info.source);
    assert!(prepared.arguments.contains_key("a.c"));
    assert_eq!(runs(&project), 1);
    assert_eq!(built(&project).info.problems[0], *problem, "the failure is reported again, without another run");
    assert_eq!(runs(&project), 1);
    project.write("CMakeLists.txt", &broken);
    built(&project);
    assert_eq!(runs(&project), 2, "the same text with another time");
    project.write("CMakeLists.txt", CMAKE);
    project.write("sub dir/CMakeLists.txt", "add_library(l ../a.c)\n");
    assert_eq!(built(&project).info.problems, [""; 0]);
    let report = build_report::load(&project.cache).unwrap().0;
    assert!(report.command.starts_with("cmake -S '") && report.failure.is_none(), "{report:?}");
}

#[test]
fn meson_configures_into_the_cache_folder() {
    if !has_programs(&["meson", "ninja"]) {
        return;
    }
    let project = Project::new(&[
        ("meson.build", "project('p', 'c')\nsubdir('lib')\n"),
        ("lib/meson.build", "library('l', 'a.c', c_args: '-DFROM_MESON')\n"),
        ("lib/a.c", "int a;\n"),
    ]);
    let prepared = built(&project);
    assert_eq!(prepared.info.source.to_string(), "inferred from a run of meson", "{:?}", prepared.info.problems);
    assert!(prepared.arguments["lib/a.c"].contains(&"-DFROM_MESON".to_owned()));
    project.write("lib/meson.build", "library('l', 'a.c', c_args: '-DAGAIN')\n");
    let prepared = built(&project);
    assert!(prepared.arguments["lib/a.c"].contains(&"-DAGAIN".to_owned()), "{:?}", prepared.info.problems);
}

/// A make that calls another by its name in a folder with a blank, runs one by `$(MAKE)`, has a wrapper, and writes a header.
const MAKEFILE: &str = "all: gen.h\n\t$(CC) -DTOP -c a.c -o a.o\n\tcd \"sub dir\" && make\n\t$(MAKE) -C rec\ngen.h:\n\techo 'int gen;' > gen.h\n";

fn recursive() -> Project {
    Project::new(&[
        ("Makefile", MAKEFILE),
        ("a.c", "#include \"gen.h\"\n"),
        ("sub dir/Makefile", "all:\n\tenv X=1 gcc -DSUB -c 'b c.c' -o b.o\n"),
        ("sub dir/b c.c", "int b;\n"),
        ("rec/Makefile", "all:\n\tgcc -DREC -c d.c -o d.o\n"),
        ("rec/d.c", "int d;\n"),
    ])
}

fn assert_recursive(prepared: &Prepared) {
    for (file, flag) in [("a.c", "-DTOP"), ("sub dir/b c.c", "-DSUB"), ("rec/d.c", "-DREC")] {
        assert!(
            prepared.arguments[file].contains(&flag.to_owned()),
            "{file}: {:?} {:?}",
            prepared.arguments,
            prepared.info.problems
        );
    }
}

#[test]
fn bear_sees_all_of_a_recursive_make_and_make_prints_it_when_all_is_built() {
    if !has_programs(&["bear", "make", "gcc"]) {
        return;
    }
    let project = recursive();
    let prepared = built(&project);
    assert_recursive(&prepared);
    assert!(project.root.join("gen.h").is_file(), "the build makes its headers where it always does");
    assert_eq!(prepared.info.problems, [""; 0]);
    // Nothing is left to build, so bear sees nothing.
    project.write("rec/Makefile", "all: d.o\nd.o: d.c\n\tgcc -DREC -c d.c -o d.o\n");
    project.write(
        "Makefile",
        "all: a.o rec/d.o\na.o: a.c\n\tcc -DTOP -c a.c -o a.o\nrec/d.o: rec/d.c\n\tcc -DREC -c rec/d.c -o rec/d.o\n",
    );
    let prepared = built(&project);
    assert!(
        prepared.arguments["a.c"].contains(&"-DTOP".to_owned())
            && prepared.arguments["rec/d.c"].contains(&"-DREC".to_owned()),
        "{:?}",
        prepared.info.problems
    );
}

#[test]
fn a_build_that_fails_half_way_names_what_it_compiled() {
    if !has_programs(&["make", "gcc"]) {
        return;
    }
    let project = Project::new(&[
        ("Makefile", "all: a.o b.o c.o\n%.o: %.c\n\tgcc -DHALF -c $< -o $@\n"),
        ("a.c", "int a;\n"),
        ("b.c", "this is no C\n"),
        ("c.c", "int c;\n"),
    ]);
    let prepared = built(&project);
    for file in ["a.c", "b.c", "c.c"] {
        assert!(prepared.arguments[file].contains(&"-DHALF".to_owned()), "{file}: {:?}", prepared.arguments);
    }
    if has_programs(&["bear"]) {
        let problem = &prepared.info.problems[0];
        assert!(
            problem.starts_with("the build that is allowed for this workspace failed; the ")
                && problem.contains("named are used"),
            "{problem}"
        );
        assert!(failure(&project).is_some());
    }
}

#[test]
fn a_build_that_does_not_end_is_ended_with_all_its_processes() {
    if !has_programs(&["make"]) {
        return;
    }
    let project = Project::new(&[("Makefile", "all:\n\techo $$$$ > pid; exec sleep 1000\n"), ("a.c", "")]);
    let server = ServerSpec { project: Some(ProjectInference::CompileDatabase), ..ServerSpec::default() };
    let files = project.files();
    let memory = ProjectMemory::default();
    let request = ProjectRequest {
        server: &server,
        root: &project.root,
        top: &project.root,
        files: &files,
        scripts: &[],
        scripts_max: 0,
        cache: &project.cache,
        generated: &project.cache,
        build: RunBuild::Allowed,
        memory: &memory,
    };
    let started = Instant::now();
    let has_bear = has_programs(&["bear"]);
    // On a busy machine a short limit ends the build before its command runs.
    let mut limits = (1..8).map(|step| Duration::from_secs(1 << step));
    let pid = limits.find_map(|limit| {
        let mut info = ProjectInfo::default();
        assert!(commands_within(&request, &Tree::read(&project.root), &mut info, limit).is_none());
        assert!(!has_bear || info.problems[0].contains("it took too long"), "{:?}", info.problems);
        fs::read_to_string(project.root.join("pid")).ok()
    });
    assert!(started.elapsed() < Duration::from_secs(600), "it didn't wait for the build");
    if has_bear {
        let pid = pid.expect("the build began");
        let is_gone = || {
            let state = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        while !is_gone() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_configure_script_runs_in_the_cache_folder() {
    if !has_programs(&["make", "gcc"]) {
        return;
    }
    let script = "#!/bin/sh\nsrc=$(dirname \"$0\")\nprintf 'all:\\n\\tgcc -DCONFIGURED -c \"%s/a.c\" -o a.o\\n' \"$src\" > Makefile\n";
    let project = Project::new(&[("configure", script), ("a.c", "int a;\n")]);
    let before = fs::read_dir(&project.root).unwrap().count();
    let prepared = built(&project);
    assert_eq!(
        prepared.info.source.to_string(),
        "inferred from a run of configure and make",
        "{:?}",
        prepared.info.problems
    );
    assert!(prepared.arguments["a.c"].contains(&"-DCONFIGURED".to_owned()));
    assert_eq!(fs::read_dir(&project.root).unwrap().count(), before, "nothing is written into the project");
}
