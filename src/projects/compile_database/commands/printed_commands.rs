//! Reads the commands that compile from what `make -n -w` prints.
//!
//! It follows directories: `make: Entering directory`, `cd DIR && …`, `make -C DIR`. Wrappers before the compiler (`ccache`, `libtool`,
//! `env`) are left out. A make that a recipe calls by its name doesn't run under `-n`; it is reported, so that the caller can ask it too.
//! Invariant: any text gives a result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::database::{CompileCommand, normal};
use super::shell_words;
use crate::compile_database::language::{FileRole, role};

/// Names of compilers, as parts of a program's name between hyphens.
const COMPILERS: [&str; 9] = ["cc", "gcc", "clang", "c++", "g++", "clang++", "icc", "icx", "nvcc"];
/// How deep commands may be nested in `sh -c`.
const MAX_SHELLS: usize = 4;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PrintedBuild {
    /// The commands that compile, sorted.
    pub commands: Vec<CompileCommand>,
    /// Directories in which a recipe calls make and make printed nothing, with the other arguments of the call.
    pub unread: BTreeSet<(PathBuf, Vec<String>)>,
}

/// Reads the output of a make that ran in `root`.
pub(crate) fn read(text: &str, root: &Path) -> PrintedBuild {
    let mut found = PrintedBuild::default();
    let mut folders: Vec<PathBuf> = vec![root.to_path_buf()];
    let mut entered: BTreeSet<PathBuf> = BTreeSet::from([root.to_path_buf()]);
    for line in text.replace("\\\n", " ").lines() {
        if let Some((_, folder)) = line.split_once("Entering directory ") {
            let folder = normal(Path::new(folder.trim().trim_matches(['\'', '`', '"'])));
            entered.insert(folder.clone());
            folders.push(folder);
        } else if line.contains("Leaving directory ") {
            if folders.len() > 1 {
                folders.pop();
            }
        } else if let Some(folder) = folders.last() {
            found.line(line, folder, MAX_SHELLS);
        }
    }
    found.unread.retain(|(folder, _)| !entered.contains(folder));
    found.commands.sort();
    found.commands.dedup();
    found
}

impl PrintedBuild {
    fn line(&mut self, line: &str, folder: &Path, shells: usize) {
        let mut folder = folder.to_path_buf();
        for words in shell_words::commands(line) {
            // What stands before a command in a loop or a condition.
            let keywords = ["then", "do", "else", "if", "{", "!", "@"];
            let start = words.iter().position(|word| !keywords.contains(&word.as_str())).unwrap_or(words.len());
            match &words[start..] {
                [first, to, ..] if first == "cd" => folder = normal(&folder.join(to)),
                [first, option, script, ..]
                    if shells > 0
                        && ["sh", "bash"].contains(&name_of(first))
                        && option.ends_with('c')
                        && option.starts_with('-') =>
                {
                    self.line(script, &folder, shells - 1);
                }
                [first, args @ ..] if ["make", "gmake"].contains(&name_of(first)) => self.make(args, &folder),
                words => self.commands.extend(compile_command(words, &folder)),
            }
        }
    }

    fn make(&mut self, args: &[String], folder: &Path) {
        let mut folder = folder.to_path_buf();
        let mut others = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let to = match arg.strip_prefix("-C") {
                Some("") => args.next().map(String::as_str),
                Some(to) => Some(to),
                None => arg.strip_prefix("--directory="),
            };
            match to {
                Some(to) => folder = normal(&folder.join(to)),
                None if arg == "-f" => others.extend([Some(arg.clone()), args.next().cloned()].into_iter().flatten()),
                None if !arg.starts_with('-') => others.push(arg.clone()),
                None => {}
            }
        }
        self.unread.insert((folder, others));
    }
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// The command, if it compiles a source to an object.
fn compile_command(words: &[String], folder: &Path) -> Option<CompileCommand> {
    let is_compiler = |word: &String| {
        !word.starts_with('-') && !word.contains('=') && name_of(word).split('-').any(|part| COMPILERS.contains(&part))
    };
    let start = words.iter().position(is_compiler)?;
    let arguments: Vec<String> = words[start..].iter().map(|word| without_test(word, folder)).collect();
    if !arguments.iter().any(|word| word == "-c")
        || words[..start].iter().any(|word| word == "echo" || word == "printf")
    {
        return None;
    }
    let source = arguments
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-') && matches!(role(word), Some(FileRole::Source(_))))?;
    Some(CompileCommand { directory: folder.to_path_buf(), file: source.into(), arguments: arguments.clone() })
}

/// The word without a test of automake: `` `test -f 'x.c' || echo '../src/'`x.c ``.
fn without_test(word: &str, folder: &Path) -> String {
    let Some((before, rest)) = word.split_once('`') else { return word.to_owned() };
    let Some((script, behind)) = rest.split_once('`') else { return word.to_owned() };
    let parts = shell_words::commands(script);
    let (tested, printed) = match &parts[..] {
        [test, echo] if test.len() > 2 && echo.len() > 1 && echo[0] == "echo" => (&test[2], &echo[1]),
        _ => return word.to_owned(),
    };
    let prefix = if folder.join(tested).exists() { "" } else { printed };
    format!("{before}{prefix}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(String, String)> {
        let found = read(text, Path::new("/p")).commands;
        found.iter().map(|one| (one.directory.display().to_string(), one.file.display().to_string())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    }

    #[test]
    fn printed_commands_that_compile_are_read() {
        let text = "make: Entering directory '/p'\necho cc -c no.c\nmake[1]: Entering directory '/p/a b'\n\
                    printf '%s' CC 1>&2;ccache gcc -O2 \\\n -DX='\"1;2\"' -c x.c -o x.o > /dev/null\n\
                    make[1]: Leaving directory '/p/a b'\n/usr/bin/x86_64-linux-gnu-g++-12 -Iinc -c y.cc && ar r lib.a y.o\ncc -o prog x.o\n";
        let found = read(text, Path::new("/p")).commands;
        assert_eq!(shown(text), pairs(&[("/p", "y.cc"), ("/p/a b", "x.c")]));
        assert_eq!(found[1].arguments, ["gcc", "-O2", "-DX=\"1;2\"", "-c", "x.c", "-o", "x.o"]);
    }

    #[test]
    fn directories_wrappers_and_shells_are_followed() {
        let text = "(cd 'sub dir' && cc -c a.c); cc -c b.c\nif test x; then cc -c c.c; fi\nsh -c 'cd /q; cc -c \"d e.c\"'\n\
                    /bin/bash ./libtool --tag=CC --mode=compile gcc -DHAVE_CONFIG_H -c -o f.lo `test -f 'f.c' || echo '../src/'`f.c\n\
                    env A=cc distcc cc -c g.c\nfor x in 1; do cc -c h.c; done\n";
        let expected = [
            ("/p", "../src/f.c"),
            ("/p", "c.c"),
            ("/p", "g.c"),
            ("/p", "h.c"),
            ("/p/sub dir", "a.c"),
            ("/p/sub dir", "b.c"),
            ("/q", "d e.c"),
        ];
        assert_eq!(shown(text), pairs(&expected));
    }

    #[test]
    fn a_make_that_did_not_run_is_reported() {
        let text = "make: Entering directory '/p'\ncd lib && make all X=1\nmake -C tools -j2\nmake -C done\nmake[1]: Entering directory '/p/done'\ncc -c x.c\n\
                    make[1]: Leaving directory '/p/done'\nmake -f other.mk\n";
        let found = read(text, Path::new("/p"));
        let unread: Vec<(String, usize)> =
            found.unread.iter().map(|(dir, args)| (dir.display().to_string(), args.len())).collect();
        assert_eq!(unread, [("/p/lib".to_owned(), 2), ("/p/tools".to_owned(), 0)]);
        assert_eq!(found.commands.len(), 1);
        for text in ["cd", "`", "make -C", "cc -c", "sh -c", "((((", "Leaving directory ", "'"] {
            read(text, Path::new("/p"));
        }
    }
}
