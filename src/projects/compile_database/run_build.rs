//! Makes a compile database by the project's own build, where the operator allowed that. A build is code of the project.
//!
//! CMake configures into the cache folder and writes the database. For a make file, `bear` observes a build if it is installed; otherwise
//! `make -n` prints the commands, and they are read. Each step has a time limit. Invariant: without [`RunBuild::Allowed`] nothing is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_process::tool::Tool;

use super::DATABASE;
use super::database::{self, CompileCommand};
use super::language::{FileRole, role};
use super::shell_words;
use crate::info::ProjectInfo;
use crate::limits::BUILD_TIME_LIMIT_MS;
use crate::prepare::{ProjectRequest, RunBuild};
use codeyard_base::digest::sha256hex;

/// The folder of the build, in the cache folder.
const FOLDER: &str = "build";
/// Remembers which build files the last build was made from.
const STAMP: &str = "build-files.txt";
/// Names of make files, in the order in which make looks for them.
const MAKE_FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The commands of a build, and what made them. `None` if nothing may be run, nothing can be, or it failed; then a problem is recorded.
pub(super) fn commands(request: &ProjectRequest<'_>, info: &mut ProjectInfo) -> Option<(String, Vec<CompileCommand>)> {
    if request.build != RunBuild::Allowed {
        return None;
    }
    let build = request.cache.join(FOLDER);
    let build_file =
        ["CMakeLists.txt"].iter().chain(&MAKE_FILES).map(|name| request.root.join(name)).find(|path| path.is_file())?;
    let is_cmake = build_file.ends_with("CMakeLists.txt");
    let stamp = sha256hex(fs::read(&build_file).ok()?);
    let (database, known) = (build.join(DATABASE), request.cache.join(STAMP));
    let is_known = database.is_file() && fs::read_to_string(&known).is_ok_and(|old| old == stamp);
    let from = if is_cmake { "a run of cmake" } else { "a run of make" };
    if !is_known {
        fs::create_dir_all(&build).ok()?;
        let outcome = if is_cmake { run_cmake(request.root, &build) } else { run_make(request.root, &database) };
        if let Err(why) = outcome {
            info.problems
                .push(format!("the build that is allowed for this workspace failed, so commands are inferred: {why}"));
            return None;
        }
        fs::write(&known, stamp).ok()?;
    }
    match database::read(&database) {
        Ok(found) if !found.commands.is_empty() => Some((from.to_owned(), found.commands)),
        Ok(_) => {
            info.problems.push(format!("{from} named no source, so commands are inferred"));
            None
        }
        Err(why) => {
            info.problems.push(format!("{from} wrote no compile database, so commands are inferred: {why}"));
            None
        }
    }
}

fn run_cmake(root: &Path, build: &Path) -> Result<(), String> {
    let args: [&std::ffi::OsStr; 5] =
        ["-S".as_ref(), root.as_ref(), "-B".as_ref(), build.as_ref(), "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON".as_ref()];
    run(Tool::new("cmake").args(args).current_dir(build)).map(drop)
}

fn run_make(root: &Path, database: &Path) -> Result<(), String> {
    let bear = Tool::new("bear").args(["--version"]).run(Duration::from_secs(10), &|| {});
    if bear.is_ok_and(|outcome| outcome.success()) {
        let args: [&std::ffi::OsStr; 4] = ["--output".as_ref(), database.as_ref(), "--".as_ref(), "make".as_ref()];
        return run(Tool::new("bear").args(args).current_dir(root)).map(drop);
    }
    let printed = database.with_extension("txt");
    let script = "exec make -n -k -w -B > \"$1\" 2>/dev/null";
    let tool = Tool::new("sh").args(["-c", script, "sh"]).args([&printed]).env("LC_ALL", "C").current_dir(root);
    // make exits with an error if one target can't be made; the commands of the others count all the same.
    let outcome = run(tool);
    let text = super::build_hints::read_text(&printed).unwrap_or_default();
    let commands = printed_commands(&text, root);
    if commands.is_empty() {
        return Err(outcome.err().unwrap_or_else(|| "make -n printed no command that compiles".into()));
    }
    database::write(database, &commands).map_err(|error| error.to_string())
}

fn run(tool: Tool) -> Result<String, String> {
    let outcome = tool.run(Duration::from_millis(BUILD_TIME_LIMIT_MS), &|| {}).map_err(|error| error.to_string())?;
    let last = outcome.output.lines().last().unwrap_or_default().to_owned();
    if outcome.success() { Ok(outcome.output) } else { Err(format!("{}: {last}", outcome.why())) }
}

/// The commands that compile, in the output of `make -n -w`.
fn printed_commands(text: &str, root: &Path) -> Vec<CompileCommand> {
    let mut folders: Vec<PathBuf> = vec![root.to_path_buf()];
    let mut found = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        if let Some(folder) =
            line.split_once("Entering directory ").map(|(_, folder)| folder.trim_matches(['\'', '`', '"']))
        {
            folders.push(folder.into());
        } else if line.contains("Leaving directory ") && folders.len() > 1 {
            folders.pop();
        } else if let Some(folder) = folders.last() {
            for part in line.split([';']).flat_map(|part| part.split("&&")) {
                found.extend(printed_command(part, folder));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn printed_command(text: &str, folder: &Path) -> Option<CompileCommand> {
    let words = shell_words::split(text.split(['>', '|']).next()?);
    let compilers = ["cc", "gcc", "clang", "c++", "g++", "clang++"];
    let is_compiler = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name.split('-').any(|part| compilers.contains(&part))
    };
    let start = words.iter().position(is_compiler)?;
    let arguments = &words[start..];
    if !arguments.iter().any(|word| word == "-c") {
        return None;
    }
    let source = arguments
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-') && matches!(role(word), Some(FileRole::Source(_))))?;
    Some(CompileCommand { directory: folder.to_path_buf(), file: source.into(), arguments: arguments.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_commands_that_compile_are_read() {
        let text = "make: Entering directory '/p'\necho cc -c no.c\nmake[1]: Entering directory '/p/a b'\n\
                    printf '%s' CC 1>&2;ccache gcc -O2 \\\n -DX='\"1\"' -c x.c -o x.o > /dev/null\n\
                    make[1]: Leaving directory '/p/a b'\n/usr/bin/x86_64-linux-gnu-g++-12 -Iinc -c y.cc && ar r lib.a y.o\ncc -o prog x.o\n";
        let found = printed_commands(text, Path::new("/p"));
        let shown: Vec<(&Path, &Path)> =
            found.iter().map(|command| (command.directory.as_path(), command.file.as_path())).collect();
        assert_eq!(
            shown,
            [
                (Path::new("/p"), Path::new("no.c")),
                (Path::new("/p"), Path::new("y.cc")),
                (Path::new("/p/a b"), Path::new("x.c"))
            ]
        );
        assert_eq!(found[2].arguments, ["gcc", "-O2", "-DX=\"1\"", "-c", "x.c", "-o", "x.o"]);
    }
}
