//! Reads the flags that a project keeps for clang's tools: `compile_flags.txt` and the `Add` list of `.clangd`.
//!
//! clangd applies `.clangd` itself, also to a database that codeyard made; here it only says which include directories there are.

use super::build_hints::Collector;
use crate::compile_database::commands::shell_words;

/// Reads a `compile_flags.txt`: one argument a line, all of them kept.
pub(super) fn read_compile_flags(text: &str, collector: &mut Collector<'_>) {
    let lines: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    collector.arguments(&lines);
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let takes_value = ["-I", "-isystem", "-iquote", "-idirafter", "-D", "-U", "-include"];
        if takes_value.contains(&line.as_str()) {
            lines.next();
        } else if line == "-x" {
            lines.next().into_iter().for_each(|language| collector.keep(&format!("-x{language}")));
        } else if !takes_value.iter().any(|flag| line.starts_with(flag))
            && !line.starts_with("-std=")
            && line.starts_with('-')
        {
            collector.keep(line);
        }
    }
}

/// The include directories in the `Add` list of a `.clangd`.
pub(super) fn read_clangd(text: &str, collector: &mut Collector<'_>) {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines().map(|line| line.split(" #").next().unwrap_or_default()) {
        let list = line.trim().strip_prefix("Add:").or_else(|| line.trim().strip_prefix("- ")).unwrap_or(line);
        words.extend(shell_words::split(&list.replace(['[', ']', ','], " ")));
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let dir = ["-isystem", "-iquote", "-I"].iter().find_map(|flag| word.strip_prefix(flag));
        if let Some(dir) = dir {
            let dir = if dir.is_empty() { words.next().map_or("", String::as_str) } else { dir };
            collector.include_dir(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    #[test]
    fn all_flags_of_a_compile_flags_file_are_kept() {
        let text = "-Iinc\r\n-I\nlib\n\n-DA=1\n-x\nc++\n-std=c++20\n-Wall\n-fno-exceptions\n";
        let flags = collected(read_compile_flags, "", text, &["inc/a.h", "lib/b.h"]);
        assert_eq!(flags.include_dirs, ["inc", "lib"]);
        assert_eq!(flags.flags, ["-DA=1", "-xc++", "-Wall", "-fno-exceptions"]);
        assert_eq!(flags.cpp_standard.as_deref(), Some("c++20"));
    }

    #[test]
    fn include_directories_of_a_clangd_file_are_read() {
        for text in [
            "CompileFlags:\n  Add: [-Iinc, \"-isystem\", lib, -DX] # -Ino\n",
            "CompileFlags:\n  Add:\n    - -Iinc\n    - \"-Ilib\"\n",
        ] {
            assert_eq!(
                collected(read_clangd, "", text, &["inc/a.h", "lib/b.h", "no/c.h"]).include_dirs,
                ["inc", "lib"]
            );
        }
    }
}
