//! Manifests that are programs: `setup.py`, `*.gemspec`, `Package.swift`, Gradle, CMake and Conan.

use super::literals::{GRADLE, PYTHON, RUBY, SWIFT, find};
use crate::values::{ManifestValue, ManifestValues, license_of_classifier, line_at, value, window};

/// Calls of one command that are looked at.
const MAX_CALLS: usize = 1_000;
/// Length of one call, in bytes.
const MAX_CALL_BYTES: usize = 4_000;

/// The values of a `setup.py`: the plain texts among the arguments of `setup(…)`.
pub(super) fn setup_py(text: &str) -> ManifestValues {
    let Some(start) = text.rfind("setup(") else { return ManifestValues::default() };
    let of = |key: &str| find(text, key, PYTHON, start);
    let classifier = || {
        let lines = text[start..].match_indices("License ::").take(MAX_CALLS);
        let mut found = lines.filter_map(|(at, _)| {
            let at = start + at;
            let near = window(&text[at..], MAX_CALL_BYTES);
            let end = near.find(['"', '\'', '\n'])?;
            value(&license_of_classifier(&near[..end])?, line_at(text, at))
        });
        found.next()
    };
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license: of("license").or_else(classifier),
        requires: of("python_requires"),
    }
}

/// The values of a `*.gemspec`.
pub(super) fn gemspec(text: &str) -> ManifestValues {
    let of = |key: &str| find(text, key, RUBY, 0);
    let in_list = |key: &str| {
        let at = text.find(key)?;
        let line = text[at..].lines().next()?;
        let inner = line.split_once('[')?.1.split(']').next()?;
        let first = inner.split(',').next()?.trim();
        let plain = first.trim_matches(['"', '\'']);
        // Not a list of other values.
        (plain.len() + 2 == first.len()).then(|| value(plain, line_at(text, at)))?
    };
    ManifestValues {
        name: of(".name"),
        version: of(".version"),
        description: of(".summary").or_else(|| of(".description")),
        license: of(".license").or_else(|| in_list(".licenses")),
        requires: of(".required_ruby_version"),
    }
}

/// The values of a `Package.swift`.
pub(super) fn swift(text: &str) -> ManifestValues {
    let start = text.find("Package(").unwrap_or(0);
    let mut lines = text.lines().enumerate();
    let requires = lines.find_map(|(index, line)| {
        let version = line.trim().strip_prefix("//")?.trim_start().strip_prefix("swift-tools-version:")?;
        value(&format!("Swift {}", version.trim()), u32::try_from(index).ok()? + 1)
    });
    ManifestValues { name: find(text, "name", SWIFT, start), requires, ..ManifestValues::default() }
}

/// The values of a `build.gradle` or `build.gradle.kts`. The name is `group:artifact`, and needs both.
pub(super) fn gradle(text: &str) -> ManifestValues {
    let of = |key: &str| find(text, key, GRADLE, 0);
    let artifact = ["artifactId", "archivesBaseName", "archivesName"].iter().find_map(|key| of(key));
    let group = of("groupId").or_else(|| of("group"));
    let name = match (group, artifact) {
        (Some(group), Some(artifact)) => value(&format!("{}:{}", group.text, artifact.text), artifact.line),
        _ => None,
    };
    ManifestValues { name, version: of("version"), description: of("description"), license: None, requires: None }
}

/// The value of a key in a file of properties: `key=value`.
pub(super) fn property(text: &str, key: &str) -> Option<ManifestValue> {
    text.lines().enumerate().find_map(|(index, line)| {
        let (found, rest) = line.split_once(['=', ':'])?;
        let is_plain = found.trim() == key && !rest.contains("${");
        is_plain.then(|| value(rest, u32::try_from(index).ok()? + 1))?
    })
}

/// The values of a `conanfile.py`: the attributes of its class.
pub(super) fn conanfile(text: &str) -> ManifestValues {
    let of = |key: &str| find(text, key, PYTHON, 0);
    ManifestValues {
        name: of("name"),
        version: of("version"),
        description: of("description"),
        license: of("license"),
        requires: None,
    }
}

/// The values of a `CMakeLists.txt`: the arguments of `project(…)`.
pub(super) fn cmake(text: &str) -> ManifestValues {
    let Some(project) = cmake_call(text, "project") else { return ManifestValues::default() };
    let after = |word: &str| {
        let at = project.iter().position(|(_, argument)| argument == word)?;
        let (place, argument) = project.get(at + 1)?;
        (!argument.contains("${")).then(|| value(argument, line_at(text, *place)))?
    };
    let name = project.first().filter(|(_, name)| !name.contains("${"));
    let standard = cmake_call_with(text, "set", "CMAKE_CXX_STANDARD");
    ManifestValues {
        name: name.and_then(|(place, name)| value(name, line_at(text, *place))),
        version: after("VERSION"),
        description: after("DESCRIPTION"),
        license: None,
        requires: standard.and_then(|(place, year)| value(&format!("C++{year}"), line_at(text, place))),
    }
}

/// The second argument of the call of `command` whose first is `first`.
fn cmake_call_with(text: &str, command: &str, first: &str) -> Option<(usize, String)> {
    text.match_indices(command).take(MAX_CALLS).find_map(|(at, _)| {
        let arguments = cmake_arguments(text, at + command.len())?;
        let [(_, name), (place, second), ..] = arguments.as_slice() else { return None };
        let is_year = name == first && second.bytes().all(|byte| byte.is_ascii_digit());
        is_year.then(|| (*place, second.clone()))
    })
}

/// The arguments of the first call of `command` at the beginning of a line, each with its place.
fn cmake_call(text: &str, command: &str) -> Option<Vec<(usize, String)>> {
    let mut start = 0;
    let begins = text.split_inclusive('\n').filter_map(|line| {
        let at = start + line.len() - line.trim_start().len();
        start += line.len();
        let is_call = text[at..].get(..command.len()).is_some_and(|word| word.eq_ignore_ascii_case(command));
        is_call.then_some(at + command.len())
    });
    begins.take(MAX_CALLS).find_map(|at| cmake_arguments(text, at).filter(|arguments| !arguments.is_empty()))
}

/// The arguments in the parentheses that begin at `from`, each with its place; `None` if there are none.
fn cmake_arguments(text: &str, from: usize) -> Option<Vec<(usize, String)>> {
    let near = window(text.get(from..)?, MAX_CALL_BYTES);
    let open = near.find('(').filter(|at| near[..*at].trim().is_empty())? + 1;
    let near = &near[open..];
    let open = from + open;
    let mut arguments = Vec::new();
    let mut word: Option<(usize, String)> = None;
    let mut in_string = false;
    let mut in_comment = false;
    for (at, c) in near.char_indices() {
        match c {
            '\n' if in_comment => in_comment = false,
            _ if in_comment => {}
            '"' if in_string => {
                arguments.extend(word.take());
                in_string = false;
            }
            '"' => {
                word = Some((open + at, String::new()));
                in_string = true;
            }
            ')' if !in_string => {
                arguments.extend(word);
                return Some(arguments);
            }
            '#' if !in_string => in_comment = true,
            c if c.is_whitespace() && !in_string => arguments.extend(word.take()),
            c => word.get_or_insert((open + at, String::new())).1.push(c),
        }
    }
    None
}
