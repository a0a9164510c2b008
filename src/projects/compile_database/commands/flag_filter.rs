//! Removes arguments of compile commands that make a server load code, write files, or read files outside of the workspace.
//!
//! A compile database belongs to the project, and clangd acts on its arguments. Invariants: what remains loads no plugin, names no
//! place to write and no file with more arguments; forced includes and similar files are in the workspace or in the system's folders.

use std::path::Path;

use super::database::{CompileCommand, normal};

/// Arguments that are removed, by their whole text or, with `*`, their beginning.
const REMOVED: &[&str] = &[
    // Code that is loaded into the server.
    "-fplugin=*", "-fplugin-arg-*", "-fpass-plugin=*", "-fthinlto-index=*", "/clang:*", "-clang:*",
    // Files with further arguments.
    "@*", "--config=*", "--config-*", "--rsp-quoting=*", "-specs=*", "--specs=*",
    // Arguments for other parts of the compiler.
    "-Wp,*", "-Wa,*", "-Wl,*", "-cc1", "-cc1as", // Places to write.
    "-fmodules-cache-path=*", "-fmodules-user-build-path*", "-fmodule-output*", "-fcrash-diagnostics-dir=*",
    "-fdiagnostics-add-output=*", "-fdump-*", "-fembed-offload-object=*", "-foptimization-record-file=*",
    "-fproc-stat-report=*", "-fprofile-*", "-fcs-profile-*", "-fcoverage-*", "-fsave-optimization-record*",
    "-fstack-usage", "-ftime-trace*", "-ftest-coverage", "-fapinotes-cache-path=*", "-save-temps*", "--save-temps*",
    "-save-stats*", "--save-stats*", "-stats-file*", "--emit-static-lib", "-emit-*", "--coverage", "-coverage",
];

/// Arguments that are removed together with the next one.
const REMOVED_WITH_VALUE: &[&str] = &[
    "-Xclang", "-Xpreprocessor", "-Xassembler", "-Xlinker", "-Xanalyzer", "-Xopenmp-target", "-Xcuda-fatbinary",
    "-Xcuda-ptxas", "-Xoffload-linker", "-Xthinlto-linker", "-mllvm", "-mmlir", "-load", "-plugin", "-add-plugin",
    "--config", "-specs", "-fmodules-user-build-path", "-serialize-diagnostics", "--serialize-diagnostics",
    "-serialize-diagnostic-file", "-dependency-file", "-dependency-dot", "-diagnostic-log-file",
    "-header-include-file", "-gen-cdb-fragment-path", "-index-store-path", "-stack-usage-file", "-MJ", "-dumpdir",
];

/// Beginnings of arguments whose next one is removed with them, with a part in between (`-Xarch_arm64`).
const REMOVED_WITH_VALUE_STARTS: &[&str] = &["-Xarch_", "-Xopenmp-target="];

/// Arguments that name a file to read: in the next argument, or joined.
const READ: &[&str] = &[
    "-include", "--include", "-imacros", "--imacros", "-include-pch", "-ivfsoverlay", "-vfsoverlay",
    "-fmodule-map-file", "-fmodule-file", "-fprebuilt-module-path", "-fsanitize-ignorelist", "-fsanitize-blacklist",
    "-fsanitize-system-ignorelist", "-fxray-always-instrument", "-fxray-never-instrument", "-fxray-attr-list",
    "-fapinotes-modules", "-embed-dir", "--embed-dir", "-working-directory", "--working-directory", "/FI",
];

/// Folders of the system, in which compilers and libraries are.
const SYSTEM: &[&str] =
    &["/usr", "/lib", "/opt", "/nix/store", "/gnu/store", "/Library/Developer", "/Applications/Xcode.app"];

/// Removes such arguments from all commands. Returns how many were removed. `top` is the workspace root.
pub(crate) fn filter(commands: &mut [CompileCommand], top: &Path) -> usize {
    commands.iter_mut().map(|command| filter_one(command, top)).sum()
}

fn filter_one(command: &mut CompileCommand, top: &Path) -> usize {
    let before = command.arguments.len();
    let mut all = std::mem::take(&mut command.arguments).into_iter().peekable();
    let mut kept = Vec::with_capacity(before);
    // The compiler's name: nothing runs it, and it says which style the arguments have.
    kept.extend(all.next());
    while let Some(argument) = all.next() {
        match verdict(&argument, all.peek(), &command.directory, top) {
            Verdict::Keep => kept.push(argument),
            Verdict::KeepWithValue => {
                kept.push(argument);
                kept.extend(all.next());
            }
            Verdict::Remove => {}
            Verdict::RemoveWithValue => drop(all.next()),
        }
    }
    command.arguments = kept;
    before - command.arguments.len()
}

/// What to do with an argument.
enum Verdict {
    Keep,
    KeepWithValue,
    Remove,
    RemoveWithValue,
}

fn verdict(argument: &str, next: Option<&String>, directory: &Path, top: &Path) -> Verdict {
    let is_removed = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => argument.starts_with(start),
        None => argument == *pattern,
    };
    if REMOVED_WITH_VALUE.contains(&argument)
        || REMOVED_WITH_VALUE_STARTS.iter().any(|start| argument.starts_with(start))
    {
        return Verdict::RemoveWithValue;
    }
    if REMOVED.iter().any(is_removed) {
        return Verdict::Remove;
    }
    if READ.contains(&argument) {
        let is_inside = next.is_some_and(|path| is_inside(path, directory, top));
        return if is_inside { Verdict::KeepWithValue } else { Verdict::RemoveWithValue };
    }
    // The longest name first: `-include-pch` also begins with `-include`.
    let joined = READ
        .iter()
        .filter_map(|name| Some((name.len(), argument.strip_prefix(name)?)))
        .max_by_key(|(length, _)| *length);
    match joined {
        Some((_, value)) => {
            // `-fmodule-file=name=path`
            let path = value.trim_start_matches('=').rsplit('=').next().unwrap_or_default();
            if is_inside(path, directory, top) { Verdict::Keep } else { Verdict::Remove }
        }
        None => Verdict::Keep,
    }
}

/// Whether a path is in the workspace or in a folder of the system, with its links resolved if it exists.
fn is_inside(path: &str, directory: &Path, top: &Path) -> bool {
    let path = normal(&directory.join(path));
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    real.starts_with(top) || SYSTEM.iter().any(|system| real.starts_with(system))
}

/// Whether the text of the `.clangd` in `folder` names an argument that is removed here, or a database or an index elsewhere. Escapes and
/// aliases can hide one, so they count.
pub(crate) fn is_suspicious(text: &str, folder: &Path, top: &Path) -> bool {
    let separates = |char: char| char.is_whitespace() || "[]{},'\"".contains(char);
    let mut words = text.split(separates).filter(|word| !word.is_empty()).peekable();
    let escapes = ["\\x", "\\u", "\\U", "\\\n", "\\\r"];
    if escapes.iter().any(|escape| text.contains(escape)) {
        return true;
    }
    while let Some(word) = words.next() {
        let next = words.peek().map(|next| (*next).to_owned());
        let is_alias = word.starts_with(['*', '&']) && word.len() > 1;
        let is_key = ["CompilationDatabase:", "External:", "Server:", "MountPoint:"].contains(&word);
        let is_kept = matches!(verdict(word, next.as_ref(), folder, top), Verdict::Keep | Verdict::KeepWithValue);
        if is_alias || is_key || !is_kept {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(arguments: &[&str]) -> Vec<String> {
        let arguments = std::iter::once("cc").chain(arguments.iter().copied()).map(str::to_owned).collect();
        let mut all = [CompileCommand { directory: "/w/build".into(), file: "../a.c".into(), arguments }];
        filter(&mut all, Path::new("/w"));
        all[0].arguments[1..].to_vec()
    }

    #[test]
    fn arguments_that_load_write_or_bring_more_are_removed() {
        for gone in [
            &["-fplugin=/w/evil.so"][..],
            &["-fpass-plugin=evil.so"],
            &["-Xclang", "-load", "-Xclang", "/w/evil.so"],
            &["-load", "/w/evil.so"],
            &["-cc1"],
            &["@/w/more"],
            &["--config=/w/x.cfg"],
            &["--config", "/w/x.cfg"],
            &["-fmodules-cache-path=/home/u"],
            &["-fmodule-output=/home/u/x"],
            &["-fmodule-file=/etc/passwd"],
            &["-fmodule-file=name=/etc/passwd"],
            &["-Wp,-MD,/home/u/x"],
            &["-Xarch_x86_64", "-include/etc/passwd"],
            &["-include", "/etc/passwd"],
            &["-include/etc/passwd"],
            &["--include=/etc/passwd"],
            &["-include", "../../etc/passwd"],
            &["-imacros", "/etc/passwd"],
            &["-include-pch", "/home/u/x.pch"],
            &["--embed-dir=/etc"],
            &["-ivfsoverlay", "/home/u/map.yaml"],
            &["-working-directory=/etc"],
            &["-index-store-path", "/home/u"],
            &["-ftime-trace=/home/u/x"],
            &["/clang:-fplugin=x"],
        ] {
            assert_eq!(filtered(gone), Vec::<String>::new(), "{gone:?}");
        }
    }

    #[test]
    fn arguments_of_usual_commands_stay() {
        let kept = [
            "-std=c++20", "-DX=1", "-I../include", "-isystem", "/opt/x/include", "-include", "config.h",
            "-include../x.h", "-Wall", "-O2", "-fmodules", "-fno-exceptions", "-march=native", "-c", "-o", "a.o",
            "-MD", "-MF", "a.d", "--target=arm", "-x", "c++", "-include", "/usr/include/stdc-predef.h", "../a.c",
        ];
        assert_eq!(filtered(&kept), kept);
    }

    #[test]
    fn a_harmless_clangd_file_is_not_suspicious() {
        let plain = "If:\n  PathMatch: .*\\.h\nCompileFlags:\n  Add: [-Wall, -Iinclude, -include, config.h]\nDiagnostics:\n  Suppress: unused-includes\n";
        assert!(!is_suspicious(plain, Path::new("/w"), Path::new("/w")));
        for text in [
            "CompileFlags: {Add: [-fplugin=x.so]}",
            "CompileFlags:\n  Add:\n    - \"-fmodules-cache-path=/home/u\"",
            "CompileFlags:\n  Add: [-include, /etc/passwd]",
            "CompileFlags:\n  Add: [\"\\x2dfplugin=x.so\"]",
            "CompileFlags:\n  CompilationDatabase: /tmp/x",
            "Index:\n  External:\n    Server: host:1234",
            "CompileFlags: {Add: ['@/w/more']}",
        ] {
            assert!(is_suspicious(text, Path::new("/w"), Path::new("/w")), "{text}");
        }
    }
}
