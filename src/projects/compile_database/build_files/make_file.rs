//! Reads include directories and definitions from a make file, also one of automake, autoconf or kbuild.
//!
//! It understands assignments to variables whose name says that they hold flags, plain variables in them, conditions on these, and included
//! `.mk` files of its directory and those above; not functions and rules. A definition in a branch that depends on what isn't known is left out, because the alternatives
//! contradict each other.

use std::collections::{BTreeMap, BTreeSet};

use super::build_hints::{Collector, names_other_system};
use crate::compile_database::commands::shell_words;
use crate::compile_database::platforms::host_architecture;
use crate::limits::MAX_BUILD_FLAGS;

/// Files that one make file includes, directly or not, and that are read.
const MAX_INCLUDED_MAKE_FILES: usize = 64;
/// Levels of nested conditions of a build file that are evaluated. A deeper condition is treated like the one around it.
const MAX_BUILD_CONDITIONS: usize = 256;

/// Most expansions of variables in one value.
const MAX_EXPANSIONS: usize = 256;
/// Longest value of a variable, in bytes.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Longest reference to a variable or call of a function, in bytes: each opening parenthesis is a search for its end.
const MAX_REFERENCE_BYTES: usize = 1024;
/// Parts of names of variables that hold flags of the compiler.
const FLAG_NAMES: [&str; 8] = ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "CCFLAGS", "INCLUDE", "INCS", "DEFS", "DEFINES"];

/// The variables of a make file.
#[derive(Debug, Default)]
struct Variables {
    values: BTreeMap<String, String>,
    /// Names that name directories or the processor; the make file doesn't change them.
    fixed: BTreeSet<String>,
    /// Names that were assigned in a branch that may not be read.
    uncertain: BTreeSet<String>,
}

impl Variables {
    fn of(collector: &Collector<'_>) -> Self {
        let own = format!("{}/{}", collector.root(), collector.dir);
        let own = own.trim_end_matches('/').to_owned();
        let root = collector.root();
        let arch = host_architecture().to_owned();
        let own_names = ["srcdir", "CURDIR", "builddir", "src", "obj", "PWD", "abs_srcdir"];
        let root_names = [
            "top_srcdir", "top_builddir", "srctree", "objtree", "abs_srctree", "abs_objtree", "abs_top_srcdir", "TOP",
            "TOPDIR", "ROOT", "ROOTDIR",
        ];
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        values.extend(own_names.map(|name| (name.to_owned(), own.clone())));
        values.extend(root_names.map(|name| (name.to_owned(), root.clone())));
        values.extend(["SRCARCH", "ARCH", "SUBARCH"].map(|name| (name.to_owned(), arch.clone())));
        values.insert("MAKE_VERSION".into(), "4.4".into());
        Self { fixed: values.keys().cloned().collect(), values, uncertain: BTreeSet::new() }
    }

    fn get(&self, name: &str) -> Option<&String> {
        self.values.get(name)
    }
}

/// Reads a make file.
pub(super) fn read(text: &str, collector: &mut Collector<'_>) {
    let mut variables = Variables::of(collector);
    let mut branches = OpenConditions::default();
    let mut values: Vec<FlagValue> = Vec::new();
    // The lines that are left of the file and of those that it includes, the innermost last.
    let mut open = vec![logical_lines(text).into_iter()];
    let mut included = 0;
    while let Some(lines) = open.last_mut() {
        let Some(line) = lines.next() else {
            open.pop();
            continue;
        };
        let line = line.trim();
        let (first, rest) = line.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((line, ""));
        match first {
            "if" | "ifeq" | "ifneq" | "ifdef" | "ifndef" => branches.open(Branch::of(line, &variables)),
            "else" => branches.other(rest, &variables),
            "endif" => branches.close(),
            _ if branches.are_skipped() => {}
            "include" | "-include" | "sinclude" => {
                let names = expand(rest, &variables);
                let room = MAX_INCLUDED_MAKE_FILES - included;
                let texts: Vec<String> =
                    names.split_whitespace().filter_map(|name| collector.included_text(name)).take(room).collect();
                included += texts.len();
                open.extend(texts.iter().rev().map(|text| logical_lines(text).into_iter()));
            }
            _ => {
                let is_certain = branches.are_taken();
                if values.len() < MAX_BUILD_FLAGS
                    && let Some((name, value)) = assignment(line, &mut variables, is_certain)
                    && FLAG_NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part))
                    && !["HOST", "MODULE"].iter().any(|part| name.contains(part))
                {
                    values.push(FlagValue { name, value, is_certain });
                }
            }
        }
    }
    // Where one variable refers to another, its order counts.
    let is_referred_to = |flags: &FlagValue| {
        let references = [format!("$({})", flags.name), format!("${{{}}}", flags.name)];
        let others = values.iter().filter(|other| other.name != flags.name);
        others.into_iter().any(|other| references.iter().any(|reference| other.value.contains(reference.as_str())))
    };
    let (inner, outer): (Vec<&FlagValue>, Vec<&FlagValue>) = values.iter().partition(|flags| is_referred_to(flags));
    for FlagValue { value, is_certain, .. } in outer.into_iter().chain(inner) {
        let words = shell_words::split(&expand(value, &variables));
        let is_definition = |word: &String| word.starts_with("-D") || word.starts_with("-U");
        let words: Vec<String> = words.into_iter().filter(|word| *is_certain || !is_definition(word)).collect();
        collector.arguments(&words);
    }
}

/// What one assignment gives a variable that holds flags.
struct FlagValue {
    name: String,
    value: String,
    is_certain: bool,
}

/// The conditionals that are open at a line.
#[derive(Debug, Default)]
struct OpenConditions {
    branches: Vec<Branch>,
    /// How many are open beyond [`MAX_BUILD_CONDITIONS`].
    deeper: usize,
}

impl OpenConditions {
    fn open(&mut self, branch: Branch) {
        if self.branches.len() < MAX_BUILD_CONDITIONS {
            self.branches.push(branch);
        } else {
            self.deeper += 1;
        }
    }

    fn other(&mut self, rest: &str, variables: &Variables) {
        if let Some(branch) = self.branches.last_mut().filter(|_| self.deeper == 0) {
            *branch = branch.other(rest, variables);
        }
    }

    fn close(&mut self) {
        match self.deeper.checked_sub(1) {
            Some(left) => self.deeper = left,
            None => drop(self.branches.pop()),
        }
    }

    fn are_skipped(&self) -> bool {
        self.branches.iter().any(|branch| matches!(branch, Branch::Skipped | Branch::Done))
    }

    fn are_taken(&self) -> bool {
        self.deeper == 0 && self.branches.iter().all(|branch| *branch == Branch::Taken)
    }
}

/// What is known about the present branch of a conditional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// make reads it.
    Taken,
    /// make skips it, or it is for another system.
    Skipped,
    /// make skips it and all that follow, because it took an earlier one.
    Done,
    /// That depends on what isn't known here.
    Unknown,
}

impl Branch {
    /// The first branch of a conditional that begins with this line.
    fn of(line: &str, variables: &Variables) -> Self {
        match condition(line, variables) {
            Some(true) => Self::Taken,
            Some(false) => Self::Skipped,
            None if names_other_system(line) && !line.starts_with("ifneq") => Self::Skipped,
            None => Self::Unknown,
        }
    }

    /// The branch behind `else`, with or without a condition of its own.
    fn other(self, rest: &str, variables: &Variables) -> Self {
        let next = || if rest.trim().is_empty() { Self::Taken } else { Self::of(rest.trim(), variables) };
        match self {
            Self::Taken | Self::Done => Self::Done,
            Self::Skipped => next(),
            Self::Unknown if next() == Self::Skipped => Self::Skipped,
            Self::Unknown => Self::Unknown,
        }
    }
}

/// Whether a condition holds in a build without arguments; `None` if that can't be known.
fn condition(line: &str, variables: &Variables) -> Option<bool> {
    let (kind, rest) = line.split_once(|c: char| c.is_whitespace() || c == '(')?;
    match kind {
        "ifdef" | "ifndef" => {
            let is_defined = variables.get(rest.trim()).is_some_and(|value| !value.is_empty());
            (!variables.uncertain.contains(rest.trim())).then_some(is_defined == (kind == "ifdef"))
        }
        "ifeq" | "ifneq" => {
            let (left, right) = operands(rest)?;
            let value = |text: &str| {
                let text = expand_known(text, variables)?;
                (!text.contains('$')).then(|| text.trim().to_owned())
            };
            Some((value(left)? == value(right)?) == (kind == "ifeq"))
        }
        _ => None,
    }
}

/// The two sides of `ifeq (a,b)` or `ifeq "a" "b"`, without the opening parenthesis.
fn operands(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if let Some(inner) = text.trim_start_matches('(').strip_suffix(')') {
        let mut depth = 0_i32;
        let comma = inner.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            *c == ',' && depth == 0
        })?;
        return Some((&inner[..comma.0], &inner[comma.0 + 1..]));
    }
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let mut parts = text.split(quote);
    Some((parts.nth(1)?, parts.nth(1)?))
}

/// The text with its variables replaced, unknown ones by nothing, as make does. `None` if it calls a function.
fn expand_known(text: &str, variables: &Variables) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..MAX_EXPANSIONS {
        if text.len() > MAX_VALUE_BYTES {
            return None;
        }
        let Some((start, end, name)) = reference(&text) else { break };
        if variables.uncertain.contains(name) {
            return None;
        }
        let value = match name.split_once(' ') {
            Some(("filter", call)) => filter(call)?,
            Some(("origin", _)) => "undefined".to_owned(),
            Some(_) => return None,
            None => variables.get(name).cloned().unwrap_or_default(),
        };
        text.replace_range(start..end, &value);
    }
    Some(text)
}

/// The words of a text that match one of the patterns: `PATTERNS,TEXT`.
fn filter(call: &str) -> Option<String> {
    let (patterns, text) = call.split_once(',')?;
    let matches = |word: &str| {
        patterns.split_whitespace().any(|pattern| match pattern.split_once('%') {
            Some((start, end)) => {
                word.len() >= start.len() + end.len() && word.starts_with(start) && word.ends_with(end)
            }
            None => word == pattern,
        })
    };
    Some(text.split_whitespace().filter(|word| matches(word)).collect::<Vec<_>>().join(" "))
}

/// The lines of a make file: continued lines joined, comments and recipes removed.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for line in text.lines() {
        // A recipe; inside of a conditional, assignments are indented too.
        if current.is_empty() && line.starts_with('\t') && !is_assignment(line) {
            continue;
        }
        let comment = line.match_indices('#').find(|(at, _)| !line[..*at].ends_with('\\')).map(|(at, _)| at);
        let content = comment.map_or(line, |at| &line[..at]);
        match content.strip_suffix('\\').filter(|_| comment.is_none()) {
            Some(part) => {
                current.push_str(part);
                current.push(' ');
            }
            None => {
                current.push_str(content);
                lines.push(std::mem::take(&mut current));
            }
        }
    }
    lines.push(current);
    lines
}

/// Whether an indented line assigns a variable, and isn't a command of a recipe.
fn is_assignment(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_name && words.next().is_some_and(|operator| ["=", ":=", "+=", "?="].contains(&operator))
}

/// The name of an assigned variable and the value of this assignment; remembers it. In a branch that
/// may not be read, definitions aren't remembered and known values are kept.
fn assignment(line: &str, variables: &mut Variables, is_certain: bool) -> Option<(String, String)> {
    let at = line.find('=')?;
    let left = &line[..at];
    let value = line[at + 1..].trim();
    let certain: String = value.split_inclusive(' ').filter(|word| is_certain || !word.starts_with("-D")).collect();
    let value = certain.trim();
    let operator = left.trim_end_matches([':', '+', '?', '!']);
    let name = operator.trim().trim_start_matches("export ").trim_start_matches("override ").trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_name || value.len() > MAX_VALUE_BYTES {
        return None;
    }
    if variables.fixed.contains(name) {
        return Some((name.to_owned(), value.to_owned()));
    }
    let known = variables.get(name).cloned();
    let is_append = left.trim_end().ends_with('+');
    let keeps = known.is_some() && (left.trim_end().ends_with('?') || !is_certain);
    let whole = match known {
        Some(known) if is_append => format!("{known} {value}"),
        Some(known) if keeps => known,
        _ => value.to_owned(),
    };
    if !is_certain {
        variables.uncertain.insert(name.to_owned());
    }
    if whole.len() < MAX_VALUE_BYTES {
        variables.values.insert(name.to_owned(), whole);
    }
    Some((name.to_owned(), value.to_owned()))
}

/// Replaces `$(NAME)`, `${NAME}` and `@NAME@`. What is unknown becomes `$?`, so that its word is left out later.
fn expand(text: &str, variables: &Variables) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_EXPANSIONS {
        let Some((start, end, name)) = reference(&text) else { break };
        let value = variables.get(name).filter(|value| text.len() + value.len() < MAX_VALUE_BYTES);
        let value = value.cloned().unwrap_or_else(|| "$?".into());
        text.replace_range(start..end, &value);
    }
    text
}

/// The first reference that holds no other one: where it is, and the name or call.
fn reference(text: &str) -> Option<(usize, usize, &str)> {
    for (start, _) in text.match_indices(['$', '@']) {
        let rest = &text[start..];
        let (open, close) = match rest.as_bytes().get(..2) {
            Some(b"$(") => (2, b')'),
            Some(b"${") => (2, b'}'),
            Some([b'@', _]) => (1, b'@'),
            _ => continue,
        };
        let near = &rest.as_bytes()[open..rest.len().min(open + MAX_REFERENCE_BYTES)];
        let Some(length) = memchr::memchr(close, near) else { continue };
        let name = &rest[open..open + length];
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if is_name || open == 2 && !name.contains('$') {
            return Some((start, start + open + length + 1, name));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_database::build_files::build_hints::tests::collected;

    const FILES: [&str; 6] =
        ["src/a.c", "deps/lua/src/lua.h", "deps/hi/hi.h", "include/b.h", "src/inc/c.h", "k/kconfig.h"];

    #[test]
    fn flags_are_read_from_variables() {
        let text = "# CFLAGS=-DNO\nDEP = ../deps\nCFLAGS+= -I$(DEP)/hi \\\n  -I${DEP}/lua/src -DA -DVERSION=\\\"1\\\" # -DNO\n\
                    FINAL_CFLAGS=$(CFLAGS) -I$(shell pwd)/x -DB=$(UNKNOWN)\nAM_CPPFLAGS = -I$(top_srcdir)/include -I@srcdir@/inc @DEFS@\n\
                    ifeq ($(shell x),Windows_NT)\nCFLAGS+=-Ipath -DNO\nelse ifeq ($(shell y),z)\nCFLAGS += -DMAYBE -include $(srctree)/k/kconfig.h -std=gnu11\nendif\n\
                    ifdef X\nMY_CFLAGS = -DNO\nendif\nifeq (\"$(X)\",\"\")\n\tMY_CFLAGS += -DYES\nelse\nMY_CFLAGS = -DNO\nendif\nHOSTCFLAGS = -DNO\nall:\n\tcc -DNO CFLAGS=-DNO\nexport CXXFLAGS ?= -DC\n";
        let flags = collected(read, "src", text, &FILES);
        assert_eq!(flags.include_dirs, ["deps/hi", "deps/lua/src", "include", "src/inc"]);
        assert_eq!(flags.flags, ["-DA", "-DVERSION=\"1\"", "-DYES", "-DC"]);
        assert_eq!((flags.forced, flags.c_standard), (vec!["k/kconfig.h".to_owned()], Some("gnu11".to_owned())));
    }

    #[test]
    fn the_order_of_a_variable_that_refers_to_others_counts() {
        let text = "USERINCLUDE := -Iinclude -DU\nLINUXINCLUDE := -Isrc/inc $(USERINCLUDE)\n";
        let flags = collected(read, "", text, &FILES);
        assert_eq!(flags.include_dirs, ["src/inc", "include"]);
    }

    #[test]
    fn conditions_are_evaluated_as_in_a_build_without_arguments() {
        let text = "ifneq ($(done),1)\nifneq ($(abs_srctree),$(abs_objtree))\nagain := 1\nendif\nifneq ($(filter 3.%,$(MAKE_VERSION)),)\n\
                    again := 1\nendif\nendif\nifeq ($(again),)\nabs_srctree := $(realpath x)\nCFLAGS := -DA -I$(abs_srctree)/include\n\
                    ifeq ($(shell x),1)\nmaybe := 1\nCFLAGS += -DNO\nelse\nCFLAGS += -DNO\nendif\nifdef maybe\nCFLAGS += -DNO\nendif\n\
                    else\nCFLAGS += -DNO\nendif\n";
        let flags = collected(read, "", text, &FILES);
        assert_eq!((flags.include_dirs, flags.flags), (vec!["include".to_owned()], vec!["-DA".to_owned()]));
    }

    #[test]
    fn broken_files_end() {
        for text in [
            "CFLAGS=$(", "CFLAGS=$(CFLAGS) $(CFLAGS)", "=", "endif\nelse", "A=@", "CFLAGS = \\",
            "ü=ü\nCFLAGS=${ü}@ü@$é",
        ] {
            collected(read, "", text, &FILES);
        }
        // Each line of these is compared with others, or searches for an end that isn't there.
        let many: String = (0..20_000).map(|at| format!("CFLAGS += -DA{at}\n")).collect();
        assert_eq!(collected(read, "", &many, &FILES).flags.len(), MAX_BUILD_FLAGS);
        for part in ["ifdef A\n", "CFLAGS = $(", "A+=b\n", "@", "$(A "] {
            collected(read, "", &part.repeat(256 * 1024 / part.len()), &FILES);
            collected(read, "", &format!("ifeq ({}", part.repeat(60 * 1024 / part.len())), &FILES);
        }
        let doubling = "CFLAGS=-Da\n".to_owned() + &"CFLAGS+=$(CFLAGS)\n".repeat(64);
        collected(read, "", &doubling, &FILES);
    }
}
