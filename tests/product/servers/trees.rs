//! Generated repositories without any configuration: files of functions that call each other across folders.
//!
//! The generator knows who calls whom, so tests compare answers with the truth and not only with each other. The same seed gives the
//! same tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::question::Dice;

/// The languages that trees are generated in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeLanguage {
    /// C, with a header for each source.
    C,
    /// C++, the same in a namespace.
    Cpp,
    /// TypeScript and TSX.
    TypeScript,
    /// JavaScript: modules, CommonJS and JSX.
    JavaScript,
    /// JavaScript in CommonJS, in the forms that language servers don't follow by themselves.
    CommonJs,
    /// Python: a package, and scripts that import the file beside them.
    Python,
}

#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// Its name, unique in the tree.
    pub name: String,
    /// The file that defines it, relative to the root.
    pub file: PathBuf,
    /// The line of its definition, from 0.
    pub line: usize,
    /// The calls of it: file and line, from 0.
    pub calls: BTreeSet<(PathBuf, usize)>,
    pub callers: BTreeSet<String>,
}

/// A generated repository.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Its functions, in the order of their files.
    pub functions: Vec<Function>,
    /// Its source files, relative to the root.
    pub files: Vec<PathBuf>,
}

/// One file before it is written.
struct Draft {
    path: PathBuf,
    /// Its functions and the indices of those that they call.
    functions: Vec<(usize, Vec<usize>)>,
}

/// Writes a tree of `files` files below `root`.
pub(crate) fn generate(language: TreeLanguage, root: &Path, files: usize, seed: u64) -> Tree {
    let mut dice = Dice(seed);
    let folders = ["", "app", "app/inner", "lib", "lib/deep/er", "tools"];
    let mut drafts: Vec<Draft> = Vec::new();
    let mut names: Vec<(String, usize)> = Vec::new();
    for number in 0..files {
        let folder = if number < folders.len() { folders[number] } else { dice.pick(&folders) };
        let path = Path::new(folder).join(file_name(language, number, &mut dice));
        let own = dice.pick(&[1, 2, 3]);
        let functions = (0..own).map(|place| {
            let name = format!("work{number}{}", ["Alpha", "Beta", "Gamma"][place]);
            // Only functions of earlier files are called: no cycle of imports.
            // CommonJS calls CommonJS only: the servers don't follow `require` into modules.
            let may_call = |known: &usize| {
                let target = names[*known].1;
                target < number && !(is_common_js(language, &path) && is_module(&drafts[target].path))
            };
            let earlier: Vec<usize> = (0..names.len()).filter(may_call).collect();
            let mut called: Vec<usize> = Vec::new();
            if !earlier.is_empty() {
                // The first function is called by most files: a list that is never complete by accident.
                called.push(if number % 3 > 0 { earlier[0] } else { dice.pick(&earlier) });
                called.extend((0..dice.pick(&[0, 1, 2])).map(|_| dice.pick(&earlier)));
                called.sort_unstable();
                called.dedup();
            }
            names.push((name, number));
            (names.len() - 1, called)
        });
        let functions = functions.collect();
        drafts.push(Draft { path, functions });
    }
    write(language, root, &drafts, &names)
}

fn file_name(language: TreeLanguage, number: usize, dice: &mut Dice) -> String {
    let ending = match language {
        TreeLanguage::C => "c",
        TreeLanguage::Cpp => dice.pick(&["cpp", "cc"]),
        TreeLanguage::TypeScript => dice.pick(&["ts", "ts", "tsx"]),
        TreeLanguage::JavaScript => dice.pick(&["js", "js", "cjs", "mjs", "jsx"]),
        TreeLanguage::CommonJs => dice.pick(&["js", "cjs"]),
        TreeLanguage::Python => "py",
    };
    format!("part{number}.{ending}")
}

fn write(language: TreeLanguage, root: &Path, drafts: &[Draft], names: &[(String, usize)]) -> Tree {
    let mut functions: Vec<Function> = names
        .iter()
        .map(|(name, number)| Function {
            name: name.clone(),
            file: drafts[*number].path.clone(),
            line: 0,
            calls: BTreeSet::new(),
            callers: BTreeSet::new(),
        })
        .collect();
    let mut files = Vec::new();
    for draft in drafts {
        let mut lines = imports(language, draft, drafts, names);
        for (own, called) in &draft.functions {
            functions[*own].line = lines.len();
            lines.push(head(language, &draft.path, &names[*own].0));
            for target in called {
                functions[*target].calls.insert((draft.path.clone(), lines.len()));
                functions[*target].callers.insert(names[*own].0.clone());
                lines.push(call(language, &draft.path, &names[*target].0, &functions[*target].file));
            }
            lines.extend(tail(language, &draft.path));
        }
        if is_common_js(language, &draft.path) {
            lines.push("};".into());
        }
        if language == TreeLanguage::CommonJs {
            lines.extend(exports(draft, names));
        }
        write_file(root, &draft.path, &lines);
        files.push(draft.path.clone());
        if let Some((path, lines)) = header(language, draft, names) {
            write_file(root, &path, &lines);
            files.push(path);
        }
    }
    Tree { functions, files }
}

/// The exports behind the functions of a file: one by one, or as an object.
fn exports(draft: &Draft, names: &[(String, usize)]) -> Vec<String> {
    let own: Vec<&str> = draft.functions.iter().map(|(own, _)| names[*own].0.as_str()).collect();
    if is_taken_apart(&draft.path) {
        return own.iter().map(|name| format!("exports.{name} = {name};")).collect();
    }
    vec![format!("module.exports = {{ {} }};", own.join(", "))]
}

/// Whether the names of a file are taken out of it where it is required.
fn is_taken_apart(path: &Path) -> bool {
    path.as_os_str().len().is_multiple_of(2)
}

fn write_file(root: &Path, path: &Path, lines: &[String]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, lines.join("\n") + "\n").expect("a file");
}

/// The files that a draft calls, each with the names that it needs from there.
fn needed<'a>(draft: &Draft, drafts: &'a [Draft], names: &'a [(String, usize)]) -> Vec<(&'a Path, Vec<&'a str>)> {
    let called: BTreeSet<usize> = draft.functions.iter().flat_map(|(_, called)| called.iter().copied()).collect();
    let mut needed: Vec<(&Path, Vec<&str>)> = Vec::new();
    for target in called {
        let (name, number) = &names[target];
        let path = drafts[*number].path.as_path();
        match needed.iter_mut().find(|(known, _)| *known == path) {
            Some((_, list)) => list.push(name),
            None => needed.push((path, vec![name])),
        }
    }
    needed
}

fn imports(language: TreeLanguage, draft: &Draft, drafts: &[Draft], names: &[(String, usize)]) -> Vec<String> {
    let needed = needed(draft, drafts, names);
    let lines = needed.into_iter().map(|(path, names)| {
        let list = names.join(", ");
        let relative = relative(draft.path.parent().expect("a folder"), path);
        match language {
            TreeLanguage::C | TreeLanguage::Cpp => {
                // Half of the includes need an include directory.
                let header = path.with_extension(header_ending(language));
                let is_bare = names[0].len() % 2 == 0;
                let name = if is_bare {
                    header.file_name().expect("a name").into()
                } else {
                    relative.with_extension(header_ending(language))
                };
                format!("#include \"{}\"", name.display())
            }
            TreeLanguage::TypeScript => {
                format!("import {{ {list} }} from \"{}\";", dotted(&relative.with_extension("")))
            }
            TreeLanguage::CommonJs if is_taken_apart(path) => {
                format!("const {{ {list} }} = require(\"{}\");", dotted(&relative))
            }
            TreeLanguage::CommonJs => format!("const {} = require(\"{}\");", object(path), dotted(&relative)),
            TreeLanguage::JavaScript if !is_module(&draft.path) => {
                format!("const {} = require(\"{}\");", object(path), dotted(&relative))
            }
            TreeLanguage::JavaScript if !is_module(path) => {
                format!("import {} from \"{}\";", object(path), dotted(&relative))
            }
            TreeLanguage::JavaScript => format!("import {{ {list} }} from \"{}\";", dotted(&relative)),
            TreeLanguage::Python => {
                let module = path.with_extension("");
                let beside = path.parent() == draft.path.parent();
                let module = if beside { module.file_name().expect("a name").into() } else { module };
                format!("from {} import {list}", module.to_string_lossy().replace('/', "."))
            }
        }
    });
    let mut lines: Vec<String> = lines.collect();
    if matches!(language, TreeLanguage::C | TreeLanguage::Cpp) {
        let own = draft.path.with_extension(header_ending(language));
        lines.insert(0, format!("#include \"{}\"", own.file_name().expect("a name").display()));
    }
    lines.push(String::new());
    if is_common_js(language, &draft.path) {
        lines.push("module.exports = {".into());
    }
    lines
}

/// Whether a file exports by CommonJS. Its functions are members of the exported object, because the servers don't follow other forms.
fn is_common_js(language: TreeLanguage, path: &Path) -> bool {
    language == TreeLanguage::JavaScript && !is_module(path)
}

/// Whether a file of JavaScript is a module: others are CommonJS.
fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "mjs" || ending == "jsx")
}

fn head(language: TreeLanguage, path: &Path, name: &str) -> String {
    match language {
        TreeLanguage::C => format!("int {name}(int given) {{"),
        TreeLanguage::Cpp => format!("int yard::{name}(int given) {{"),
        TreeLanguage::TypeScript => format!("export function {name}(given: number): number {{"),
        TreeLanguage::CommonJs => format!("function {name}(given) {{"),
        TreeLanguage::JavaScript if is_module(path) => format!("export function {name}(given) {{"),
        TreeLanguage::JavaScript => format!("{name}(given) {{"),
        TreeLanguage::Python => format!("def {name}(given):"),
    }
}

/// A call of `name` of the file `target` in the file `path`.
fn call(language: TreeLanguage, path: &Path, name: &str, target: &Path) -> String {
    match language {
        TreeLanguage::Python => format!("    given = {name}(given)"),
        TreeLanguage::Cpp => format!("    given = yard::{name}(given);"),
        TreeLanguage::CommonJs if path != target && !is_taken_apart(target) => {
            format!("    given = {}.{name}(given);", object(target))
        }
        TreeLanguage::JavaScript if !is_module(path) || !is_module(target) => {
            format!("    given = {}.{name}(given);", object(target))
        }
        _ => format!("    given = {name}(given);"),
    }
}

/// The name of what a file exports as a whole. A name that is taken out of it by destructuring would be another one to the servers.
fn object(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

fn tail(language: TreeLanguage, path: &Path) -> Vec<String> {
    let lines: &[&str] = match language {
        TreeLanguage::Python => &["    return given + 1", "", ""],
        TreeLanguage::JavaScript if !is_module(path) => &["    return given + 1;", "},", ""],
        _ => &["    return given + 1;", "}", ""],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn header(language: TreeLanguage, draft: &Draft, names: &[(String, usize)]) -> Option<(PathBuf, Vec<String>)> {
    if !matches!(language, TreeLanguage::C | TreeLanguage::Cpp) {
        return None;
    }
    let declared = draft.functions.iter().map(|(own, _)| format!("int {}(int given);", names[*own].0));
    let lines: Vec<String> = if language == TreeLanguage::Cpp {
        ["#pragma once".into(), "namespace yard {".into()].into_iter().chain(declared).chain(["}".into()]).collect()
    } else {
        ["#pragma once".to_owned()].into_iter().chain(declared).collect()
    };
    Some((draft.path.with_extension(header_ending(language)), lines))
}

fn header_ending(language: TreeLanguage) -> &'static str {
    if language == TreeLanguage::Cpp { "hpp" } else { "h" }
}

/// The path to `target` from `folder`; both are relative to the root.
fn relative(folder: &Path, target: &Path) -> PathBuf {
    let shared = folder.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| "..");
    up.map(PathBuf::from).chain(target.components().skip(shared).map(|part| PathBuf::from(part.as_os_str()))).collect()
}

fn dotted(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with("../") { text } else { format!("./{text}") }
}
