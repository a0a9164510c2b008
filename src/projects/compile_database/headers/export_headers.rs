//! Headers whose macros stand in a build file and in no template: those for exported declarations (`generate_export_header` of CMake and KDE,
//! `GENERATE_CPP_EXPORTS` of Qt, `symbol_visibility_header` of Meson), and configurations that autoheader or Meson write from a list of names.
//!
//! Without such a header, `class LIB_EXPORT Shape` is a variable for a parser. Build files are read, not run. Invariants: a header is named
//! only if a build file names it, or the rule of its command does; the macros are those that the build defines here.

use std::collections::BTreeMap;
use std::path::Path;

use super::header_templates;
use crate::compile_database::build_files::build_hints::read_script;
use crate::compile_database::build_files::cmake;
use crate::limits::MAX_BUILD_FILES;
use crate::tree::{Tree, distance, file_name, join, parent};

const CMAKE: &str = "CMakeLists.txt";
const MESON: &str = "meson.build";
/// The programs that autoconf reads.
const AUTOCONF: [&str; 2] = ["configure.ac", "configure.in"];

/// What a declaration that a library exports has, and one that it hides.
const VISIBLE: &str = "__attribute__((visibility(\"default\")))";
const HIDDEN: &str = "__attribute__((visibility(\"hidden\")))";
const DEPRECATED: &str = "__attribute__ ((__deprecated__))";
/// The ending of a header of CMake without a name of its own.
const CMAKE_ENDING: &str = "_export.h";
/// Macros with arguments of KDE's command, behind the base name.
const OF_KDE: [&str; 6] = [
    "DEPRECATED_VERSION(...)",
    "DEPRECATED_VERSION_BELATED(...)",
    "ENUMERATOR_DEPRECATED_VERSION(...)",
    "ENUMERATOR_DEPRECATED_VERSION_BELATED(...)",
    "ENABLE_DEPRECATED_SINCE(...) 1",
    "BUILD_DEPRECATED_SINCE(...) 1",
];

/// The value of a definition that a configuration makes; `None` if it isn't defined.
pub(super) type Definitions<'d> = &'d dyn Fn(&str) -> Option<String>;

/// The headers that the build files of a tree name.
#[derive(Debug, Default)]
pub(super) struct ExportHeaders {
    headers: Vec<ExportHeader>,
}

/// One such header.
#[derive(Debug)]
pub(super) struct ExportHeader {
    /// The directory of the build file.
    dir: String,
    /// Its path, as far as it is known; empty if it has the base name's.
    path: String,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// Of CMake: the base name, if it is known, and the names that the command gives.
    Cmake { base: Option<String>, is_kde: bool, given: BTreeMap<String, String> },
    /// Macros, each with its value.
    Macros(Vec<(String, String)>),
    /// The lines of a template, and whether the header is a configuration.
    Template(String),
}

impl ExportHeaders {
    /// Reads the build files of `tree`.
    pub(super) fn read(root: &Path, tree: &Tree) -> Self {
        let mut found = Self::default();
        let text = |path: &str| read_script(root, &root.join(path));
        let mut scripts: Vec<&str> = tree.named(CMAKE).take(MAX_BUILD_FILES).collect();
        // A directory's variables hold in those below it.
        scripts.sort_by_key(|path| parent(path).split('/').count() + usize::from(!parent(path).is_empty()));
        let mut variables: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for path in scripts {
            let above = std::iter::successors(Some(parent(path)), |dir| (!dir.is_empty()).then(|| parent(dir)));
            let mut own = above.into_iter().find_map(|dir| variables.get(dir)).cloned().unwrap_or_default();
            found.add_cmake(parent(path), &text(path).unwrap_or_default(), &mut own);
            variables.insert(parent(path), own);
        }
        for path in tree.named(MESON).take(MAX_BUILD_FILES) {
            found.add_meson(parent(path), &text(path).unwrap_or_default());
        }
        for path in AUTOCONF.iter().flat_map(|name| tree.named(name)).take(MAX_BUILD_FILES) {
            found.add_autoconf(parent(path), &text(path).unwrap_or_default());
        }
        found
    }

    /// Whether a file of this name is read here.
    pub(super) fn is_read(name: &str) -> bool {
        name == CMAKE || name == MESON || AUTOCONF.contains(&name)
    }

    /// The header that an include of `name` means, nearest to `from`, and the directory of its build file.
    pub(super) fn find(&self, from: &str, name: &str) -> Option<(usize, &str)> {
        let meant = self.headers.iter().enumerate().filter(|(_, header)| header.is_meant(name));
        let nearest = meant.min_by_key(|(at, header)| (distance(from, &header.dir), *at));
        nearest.map(|(at, header)| (at, header.dir.as_str()))
    }

    /// The text of a header that is included as `name`.
    pub(super) fn text(&self, at: usize, name: &str, definitions: Definitions<'_>) -> Option<String> {
        Some(match &self.headers.get(at)?.content {
            Content::Cmake { base, is_kde, given } => {
                let base = base.clone().or_else(|| Some(file_name(name).strip_suffix(CMAKE_ENDING)?.to_owned()))?;
                cmake_text(&base, *is_kde, given)
            }
            Content::Macros(macros) => {
                let lines = macros.iter().map(|(name, value)| definition(name, value));
                format!("#pragma once\n{}", lines.collect::<String>())
            }
            Content::Template(lines) => header_templates::fill(lines, definitions).text,
        })
    }

    /// Whether a header holds the results of a configuration.
    pub(super) fn is_configuration(&self, at: usize) -> bool {
        matches!(self.headers.get(at), Some(ExportHeader { content: Content::Template(_), .. }))
    }

    fn add(&mut self, dir: &str, path: &str, content: Content) {
        // What stands before an unknown variable isn't known either.
        let path = path.rsplit(['}', '>']).next().unwrap_or_default().trim_start_matches('/');
        self.headers.push(ExportHeader { dir: dir.to_owned(), path: path.to_owned(), content });
    }

    fn add_cmake(&mut self, dir: &str, text: &str, variables: &mut BTreeMap<String, String>) {
        // A folder of the build mirrors that of the sources.
        for name in ["CMAKE_CURRENT_BINARY_DIR", "CMAKE_CURRENT_SOURCE_DIR"] {
            variables.insert(name.into(), dir.to_owned());
        }
        for name in ["CMAKE_BINARY_DIR", "CMAKE_SOURCE_DIR", "PROJECT_BINARY_DIR", "PROJECT_SOURCE_DIR"] {
            variables.entry(name.into()).or_default();
        }
        for command in cmake::commands(text) {
            let args: Vec<String> = command.args.iter().map(|arg| cmake::expand(arg, variables)).collect();
            let Some((first, rest)) = args.split_first() else { continue };
            match command.name.as_str() {
                "project" => {
                    for name in ["PROJECT_BINARY_DIR", "PROJECT_SOURCE_DIR"] {
                        variables.insert(name.into(), dir.to_owned());
                    }
                    variables.entry("CMAKE_PROJECT_NAME".into()).or_insert_with(|| first.clone());
                    variables.insert("PROJECT_NAME".into(), first.clone());
                }
                "set" => drop(variables.insert(first.clone(), rest.first().cloned().unwrap_or_default())),
                "generate_export_header" | "ecm_generate_export_header" => {
                    let given: BTreeMap<String, String> =
                        rest.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
                    let base = given.get("BASE_NAME").unwrap_or(first);
                    let base = (!base.contains('$')).then(|| base.clone());
                    let file = match (given.get("EXPORT_FILE_NAME"), &base) {
                        (Some(file), _) => join_build(dir, file),
                        (None, Some(base)) => join_build(dir, &format!("{}{CMAKE_ENDING}", base.to_lowercase())),
                        (None, None) => String::new(),
                    };
                    let is_kde = command.name.starts_with("ecm");
                    self.add(dir, &file, Content::Cmake { base, is_kde, given });
                }
                name if name.starts_with("qt") && args.iter().any(|arg| arg == "GENERATE_CPP_EXPORTS") => {
                    let named = rest.windows(2).find(|pair| pair[0] == "CPP_EXPORT_HEADER_BASE_NAME");
                    let default = || format!("qt{}exports", first.to_lowercase());
                    let file = named.map_or_else(default, |pair| pair[1].clone());
                    let export = format!("Q_{}_EXPORT", first.to_uppercase());
                    self.add(dir, &format!("{file}.h"), Content::Macros(vec![(export, VISIBLE.to_owned())]));
                }
                _ => {}
            }
        }
    }

    fn add_meson(&mut self, dir: &str, text: &str) {
        let project = calls(text, "project(").next().and_then(first_literal).unwrap_or_default().to_owned();
        for call in calls(text, "symbol_visibility_header(") {
            let Some(file) = first_literal(call) else { continue };
            let space = identifier(keyword(call, "namespace").unwrap_or(&project)).to_uppercase();
            let named =
                |key: &str, ending: &str| keyword(call, key).map_or_else(|| format!("{space}_{ending}"), str::to_owned);
            let macros = [(named("api", "API"), VISIBLE), (named("internal", "INTERNAL"), HIDDEN)];
            let macros = macros.map(|(name, value)| (name, value.to_owned())).to_vec();
            self.add(dir, &in_dir(dir, file), Content::Macros(macros));
        }
        for call in calls(text, "configure_file(").filter(|call| keyword(call, "input").is_none()) {
            let Some(file) = keyword(call, "output").filter(|_| !call.contains("input")) else { continue };
            let of = |set: &str| calls(text, set).filter_map(meson_line).collect::<String>();
            let lines: String = [".set(", ".set10(", ".set_quoted("].iter().map(|set| of(set)).collect();
            self.add(dir, &in_dir(dir, file), Content::Template(lines));
        }
    }

    fn add_autoconf(&mut self, dir: &str, text: &str) {
        let headers = ["AC_CONFIG_HEADERS(", "AC_CONFIG_HEADER(", "AM_CONFIG_HEADER("];
        // `config.h:config.h.in config2.h`
        let named = headers.iter().flat_map(|call| calls(text, call)).flat_map(|call| words(first_argument(call)));
        let files: Vec<&str> = named.filter_map(|word| word.split(':').next()).collect();
        if files.is_empty() {
            return;
        }
        let defined = ["AC_DEFINE(", "AC_DEFINE_UNQUOTED("].iter().flat_map(|call| calls(text, call));
        let defined = defined.flat_map(|call| words(first_argument(call))).map(str::to_owned);
        let checked = ["AC_CHECK_HEADERS(", "AC_CHECK_FUNCS("].iter().flat_map(|call| calls(text, call));
        let checked = checked.flat_map(|call| words(first_argument(call)));
        let checked = checked.map(|name| format!("HAVE_{}", identifier(name).to_uppercase()));
        let lines: String = defined.chain(checked).map(|name| format!("#undef {name}\n")).collect();
        for file in files {
            self.add(dir, &in_dir(dir, file), Content::Template(lines.clone()));
        }
    }
}

impl ExportHeader {
    /// Whether an include of `name` means it: one of the paths ends with the other.
    fn is_meant(&self, name: &str) -> bool {
        let ends = |whole: &str, end: &str| {
            whole.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'))
        };
        match self.path.as_str() {
            "" => file_name(name).len() > CMAKE_ENDING.len() && name.ends_with(CMAKE_ENDING),
            path => ends(path, name) || ends(name, path),
        }
    }
}

/// A file of a build below `dir`: absolute paths have lost the folder of the build.
fn join_build(dir: &str, file: &str) -> String {
    let is_in_dir =
        dir.is_empty() || file.starts_with(&format!("{dir}/")) || file.starts_with('/') || file.contains('$');
    if is_in_dir { file.to_owned() } else { in_dir(dir, file) }
}

fn in_dir(dir: &str, file: &str) -> String {
    join(dir, file).unwrap_or_else(|| file.to_owned())
}

/// The text of CMake's template, for a library that is shared.
fn cmake_text(base: &str, is_kde: bool, given: &BTreeMap<String, String>) -> String {
    let prefix = given.get("PREFIX_NAME").map_or("", String::as_str);
    let base = format!("{prefix}{}", identifier(base).to_uppercase());
    let named = |key: &str, ending: &str| given.get(key).cloned().unwrap_or_else(|| format!("{base}_{ending}"));
    let export = named("EXPORT_MACRO_NAME", "EXPORT");
    let hidden = named("NO_EXPORT_MACRO_NAME", "NO_EXPORT");
    let deprecated = named("DEPRECATED_MACRO_NAME", "DEPRECATED");
    let mut text = "#pragma once\n".to_owned();
    text.push_str(&format!("#ifdef {}\n", named("STATIC_DEFINE", "STATIC_DEFINE")));
    text.push_str(&format!("#define {export}\n#define {hidden}\n#endif\n"));
    text.push_str(&definition(&export, VISIBLE));
    text.push_str(&definition(&hidden, HIDDEN));
    text.push_str(&definition(&deprecated, DEPRECATED));
    text.push_str(&definition(&format!("{deprecated}_EXPORT"), &format!("{export} {deprecated}")));
    text.push_str(&definition(&format!("{deprecated}_NO_EXPORT"), &format!("{hidden} {deprecated}")));
    if is_kde {
        OF_KDE.iter().for_each(|defined| text.push_str(&format!("#define {base}_{defined}\n")));
    }
    text
}

fn definition(name: &str, value: &str) -> String {
    format!("#ifndef {name}\n#define {name} {value}\n#endif\n")
}

/// A name as CMake makes an identifier of it.
fn identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(letter).collect()
}

/// The arguments of each call: the text behind `open`, which ends with the parenthesis, up to the closing one.
fn calls<'t>(text: &'t str, open: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(open).filter_map(move |(at, _)| {
        let line = text[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        let is_comment = line.starts_with('#') || line.starts_with("dnl");
        let is_other = !open.starts_with('.') && text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_comment || is_other {
            return None;
        }
        let inner = &text[at + open.len()..];
        let mut depth = 1_usize;
        let end = inner.find(|c: char| {
            depth = depth + usize::from(c == '(') - usize::from(c == ')');
            depth == 0
        });
        Some(&inner[..end?])
    })
}

/// The first string of a call of Meson.
fn first_literal(call: &str) -> Option<&str> {
    call.split('\'').nth(1)
}

/// The string that a call of Meson gives a keyword.
fn keyword<'c>(call: &'c str, name: &str) -> Option<&'c str> {
    call.match_indices(name).find_map(|(at, _)| {
        let is_whole = !call[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'');
        let value = call[at + name.len()..].trim_start().strip_prefix(':')?.trim_start();
        value.strip_prefix('\'').filter(|_| is_whole)?.split('\'').next()
    })
}

/// The line of a template for a call of `set`, `set10` or `set_quoted`.
fn meson_line(call: &str) -> Option<String> {
    let name = first_literal(call).filter(|name| !name.is_empty())?;
    let value = call.split_once(',').map(|(_, value)| value.trim())?;
    let literal = value.strip_prefix('\'').and_then(|value| value.split_once('\''));
    Some(match literal {
        Some((text, "")) if !text.contains('@') => format!("#define {name} {text}\n"),
        _ if value == "true" => format!("#define {name}\n"),
        _ if value.parse::<i64>().is_ok() => format!("#define {name} {value}\n"),
        _ => format!("#mesondefine {name}\n"),
    })
}

/// The first argument of a macro of autoconf, without its brackets.
fn first_argument(call: &str) -> &str {
    let call = call.trim_start();
    match call.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => call.split(',').next().unwrap_or_default(),
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split([' ', '\t', '\n', '\r', '\\', ',']).filter(|word| !word.is_empty() && !word.starts_with('$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM_CMAKE: fn(&mut ExportHeaders, &str, &str) =
        |headers, dir, text| headers.add_cmake(dir, text, &mut BTreeMap::new());

    /// The text of the header that is included as `name`, as it is made from a build file in `dir`.
    fn made(add: fn(&mut ExportHeaders, &str, &str), dir: &str, text: &str, name: &str) -> Option<String> {
        let mut headers = ExportHeaders::default();
        add(&mut headers, dir, text);
        let (at, _) = headers.find("src", name)?;
        headers.text(at, name, &|name| name.ends_with("_API").then(String::new))
    }

    #[test]
    fn the_header_of_cmake_has_the_names_that_the_command_gives_or_the_default_ones() {
        let of = |command: &str, name: &str| made(FROM_CMAKE, "lib", &format!("project(Demo CXX)\n{command}"), name);
        let text = of("generate_export_header(my-lib)", "my-lib_export.h").unwrap();
        for part in [
            "#define MY_LIB_EXPORT __attribute__((visibility(\"default\")))",
            "#define MY_LIB_NO_EXPORT",
            "MY_LIB_DEPRECATED",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let given = "generate_export_header(${PROJECT_NAME} EXPORT_MACRO_NAME \"API\" NO_EXPORT_MACRO_NAME HIDE\n\
                     EXPORT_FILE_NAME ${CMAKE_CURRENT_BINARY_DIR}/include/demo/api.h)";
        let text = of(given, "demo/api.h").unwrap();
        assert!(
            text.contains("#define API __attr") && text.contains("#define HIDE ") && text.contains("DEMO_DEPRECATED")
        );
        assert_eq!(of(given, "other/api.h"), None);
        let text = of("Generate_Export_Header(x PREFIX_NAME P_ BASE_NAME Core)", "lib/core_export.h").unwrap();
        assert!(text.contains("#define P_CORE_EXPORT "), "{text}");
        let text = of("generate_export_header(${unknown})", "sub/thing_export.h").unwrap();
        assert!(text.contains("#define THING_EXPORT "), "{text}");
        let text = of("ecm_generate_export_header(KFoo BASE_NAME KFoo VERSION 5.1)", "kfoo_export.h").unwrap();
        assert!(text.contains("#define KFOO_ENABLE_DEPRECATED_SINCE(...) 1"), "{text}");
        let text =
            of("qt_internal_add_module(Bar GENERATE_CPP_EXPORTS SOURCES a.cpp)", "QtBar/qtbarexports.h").unwrap();
        assert!(text.contains("#define Q_BAR_EXPORT "), "{text}");
        assert_eq!(of("# generate_export_header(x)", "x_export.h"), None);
    }

    #[test]
    fn variables_of_outer_build_files_are_known() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("CMakeLists.txt", "project(outer)\nset(api core_api)\nadd_subdirectory(a)\n"),
            ("a/b/CMakeLists.txt", "generate_export_header(${PROJECT_NAME} EXPORT_FILE_NAME ${api}.h)\n"),
        ] {
            std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(path), text).unwrap();
        }
        let tree = Tree::of(["CMakeLists.txt", "a/b/CMakeLists.txt"].map(Box::from).to_vec());
        let headers = ExportHeaders::read(folder.path(), &tree);
        let (at, dir) = headers.find("a", "core_api.h").unwrap();
        assert!(headers.text(at, "core_api.h", &|_| None).unwrap().contains("OUTER_EXPORT") && dir == "a/b");
    }

    #[test]
    fn the_headers_of_meson_are_made() {
        let of = |text: &str, name: &str| made(ExportHeaders::add_meson, "", text, name);
        let text = "project('my-lib', 'c')\nsnippets = import('snippets')\n\
                    snippets.symbol_visibility_header('lib-vis.h',\n  api: 'LIB_PUBLIC')\nconf = configuration_data()\n\
                    conf.set('LIB_EXPORT', '__attribute__((x))')\nconf.set('N', 3)\nconf.set('ON', true)\nconf.set('V_API', x)\n\
                    conf.set('NO', y)\n# conf.set('C', 1)\nconfigure_file(output : 'lib-config.h', configuration : conf)\n\
                    configure_file(input: 'a.h.in', output: 'a.h', configuration: conf)\n";
        let visibility = of(text, "lib-vis.h").unwrap();
        assert!(
            visibility.contains("#define LIB_PUBLIC __attr") && visibility.contains("#define MY_LIB_INTERNAL __attr")
        );
        let wanted = "#define LIB_EXPORT __attribute__((x))\n#define N 3\n#define ON\n#define V_API\n/* #undef NO */\n";
        assert_eq!(of(text, "lib-config.h").as_deref(), Some(wanted));
        assert_eq!(of(text, "a.h"), None, "it has a template");
    }

    #[test]
    fn the_configuration_of_autoconf_is_made_without_its_template() {
        let of = |text: &str, name: &str| made(ExportHeaders::add_autoconf, "", text, name);
        let text = "AC_INIT([x], [1])\nAC_CONFIG_HEADERS([src/config.h:config.in])\ndnl AC_DEFINE(C)\n\
                    AC_DEFINE([LIB_API], [__attribute__ ((visibility (\"default\")))], [exported])\nAC_CHECK_HEADERS([sys/a.h\n b.h])\n";
        let wanted = "#define LIB_API\n/* #undef HAVE_SYS_A_H */\n/* #undef HAVE_B_H */\n";
        assert_eq!(of(text, "config.h").as_deref(), Some(wanted));
        assert_eq!(of("AC_INIT([x])", "config.h"), None);
        assert_eq!(of("AC_CONFIG_HEADERS([", "config.h"), None);
    }
}
