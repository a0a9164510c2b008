//! Reads the options of a Kconfig tree: names, types, dependencies and defaults, with the files that `source` names.
//!
//! Help texts, comments and menus without a condition are left out. Macros aren't run: a test of the compiler counts as passed, other
//! commands have no output. Invariants: any bytes give a result; at most [`MAX_KCONFIG_FILES`] files are read, each once; files and conditions
//! are followed [`MAX_KCONFIG_DEPTH`] deep; nothing outside the root is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use super::kconfig_expression::{KconfigExpression, parse_expression};
use crate::compile_database::build_files::build_hints::read_script;
use crate::compile_database::platforms::host_architecture;
use crate::tree::{Tree, join, parent};

/// Files of one Kconfig tree that are read.
const MAX_KCONFIG_FILES: usize = 20_000;
/// How deep files of one Kconfig tree name each other, and conditions are nested.
const MAX_KCONFIG_DEPTH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KconfigType {
    /// `y` or `n`.
    Bool,
    /// `y`, `m` or `n`.
    Tristate,
    /// A text in quotation marks.
    Text,
    /// A number, written as it is.
    Number,
}

/// One definition of an option. An option may have several.
#[derive(Debug, Clone, Default)]
pub(super) struct KconfigDefinition {
    /// All conditions around it and its own, connected by "and".
    pub depends: KconfigExpression,
    /// The condition under which a person is asked. `None`: never.
    pub prompt: Option<KconfigExpression>,
    /// Values and their conditions; the first that holds counts.
    pub defaults: Vec<(KconfigExpression, KconfigExpression)>,
    /// Options that this one turns on, and when.
    pub selects: Vec<(String, KconfigExpression)>,
    /// The choice that it is an alternative of.
    pub choice: Option<usize>,
}

/// A group of options of which one is on.
#[derive(Debug, Clone, Default)]
pub(super) struct KconfigChoice {
    /// All conditions around it and its own.
    pub depends: Rc<KconfigExpression>,
    /// Alternatives that are preferred, and when.
    pub defaults: Vec<(String, KconfigExpression)>,
    /// Its alternatives, in order.
    pub members: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct KconfigTree {
    pub options: BTreeMap<String, (Option<KconfigType>, Vec<KconfigDefinition>)>,
    pub choices: Vec<KconfigChoice>,
}

/// What is open around a line. Its conditions include those of the blocks around it.
enum KconfigBlock {
    Condition(Rc<KconfigExpression>),
    Menu(Rc<KconfigExpression>),
    Choice(usize),
}

/// What the attributes of a line belong to.
enum KconfigEntry {
    None,
    Option(String, usize),
    Choice(usize),
    Menu,
}

struct KconfigReader<'a> {
    root: &'a Path,
    tree: &'a Tree,
    found: KconfigTree,
    read: BTreeSet<String>,
    blocks: Vec<KconfigBlock>,
    /// How many files are open, each named by the one before it.
    depth: usize,
}

impl KconfigTree {
    /// Reads `Kconfig` in the root and what it names. `None` if there is none.
    pub(super) fn read(root: &Path, tree: &Tree) -> Option<Self> {
        if !tree.has("Kconfig") {
            return None;
        }
        let mut reader =
            KconfigReader { root, tree, found: Self::default(), read: BTreeSet::new(), blocks: Vec::new(), depth: 0 };
        reader.file("Kconfig");
        (!reader.found.options.is_empty()).then_some(reader.found)
    }
}

impl KconfigReader<'_> {
    fn file(&mut self, path: &str) {
        if self.depth >= MAX_KCONFIG_DEPTH || !self.tree.has(path) || !self.is_new(path) {
            return;
        }
        let Some(text) = read_script(self.root, &self.root.join(path)) else { return };
        self.depth += 1;
        self.lines(path, &text.replace("\\\n", " "));
        self.depth -= 1;
    }

    /// Whether a file, or a pattern of files, wasn't read before.
    fn is_new(&mut self, path: &str) -> bool {
        self.read.len() < MAX_KCONFIG_FILES && self.read.insert(path.to_owned())
    }

    fn lines(&mut self, path: &str, text: &str) {
        let open = self.blocks.len();
        let mut entry = KconfigEntry::None;
        // The indentation of the help text that is open; 0 before its first line.
        let mut help: Option<usize> = None;
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(indentation) = &mut help {
                let own = indentation_of(line);
                if trimmed.is_empty() || own > 0 && (*indentation == 0 || own >= *indentation) {
                    if !trimmed.is_empty() && *indentation == 0 {
                        *indentation = own;
                    }
                    continue;
                }
                help = None;
            }
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let (word, rest) = trimmed.split_once([' ', '\t']).unwrap_or((trimmed, ""));
            let rest = rest.trim();
            match word {
                "help" | "---help---" => help = Some(0),
                "source" | "rsource" | "osource" | "orsource" => {
                    entry = KconfigEntry::None;
                    self.source(path, word, rest);
                }
                _ => entry = self.line(word, rest, entry),
            }
        }
        // A file that closes too little doesn't put a condition on the next.
        self.blocks.truncate(open);
    }

    fn source(&mut self, path: &str, word: &str, rest: &str) {
        let name = expand(rest.trim_matches('"'));
        let base = if word.contains("rs") { parent(path) } else { "" };
        let Some(name) = join(base, &name) else { return };
        if !name.contains('*') {
            self.file(&name);
            return;
        }
        if !self.is_new(&name) {
            return;
        }
        let (before, after) = name.split_once('*').unwrap_or((&name, ""));
        let is_match = |path: &&str| {
            let middle = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            middle.is_some_and(|middle| !middle.contains('/'))
        };
        let matching: Vec<String> =
            self.tree.paths().iter().map(|path| &**path).filter(is_match).map(str::to_owned).collect();
        matching.iter().for_each(|path| self.file(path));
    }

    /// Reads a line that isn't part of a help text. Returns what the next attributes belong to.
    fn line(&mut self, word: &str, rest: &str, entry: KconfigEntry) -> KconfigEntry {
        match word {
            "config" | "menuconfig" => return self.option(rest),
            "if" => {
                self.blocks.push(KconfigBlock::Condition(Rc::new(self.outer())));
                let depth = self.blocks.len();
                if let Some(KconfigBlock::Condition(all)) = self.blocks.last_mut() {
                    add(all, parse_expression(&expand(rest)), depth);
                }
            }
            "menu" => {
                self.blocks.push(KconfigBlock::Menu(Rc::new(self.outer())));
                return KconfigEntry::Menu;
            }
            "choice" => {
                let depends = Rc::new(self.outer());
                self.found.choices.push(KconfigChoice { depends, ..KconfigChoice::default() });
                let at = self.found.choices.len() - 1;
                self.blocks.push(KconfigBlock::Choice(at));
                return KconfigEntry::Choice(at);
            }
            "endif" | "endmenu" | "endchoice" => drop(self.blocks.pop()),
            "comment" | "mainmenu" => {}
            _ => {
                self.attribute(word, rest, &entry);
                return entry;
            }
        }
        KconfigEntry::None
    }

    fn option(&mut self, name: &str) -> KconfigEntry {
        let choice = self.blocks.iter().rev().find_map(|block| match block {
            KconfigBlock::Choice(at) => Some(*at),
            _ => None,
        });
        if let Some(at) = choice {
            self.found.choices[at].members.push(name.to_owned());
        }
        let definition = KconfigDefinition { depends: self.outer(), choice, ..KconfigDefinition::default() };
        let definitions = &mut self.found.options.entry(name.to_owned()).or_default().1;
        definitions.push(definition);
        KconfigEntry::Option(name.to_owned(), definitions.len() - 1)
    }

    /// The conditions of all open blocks.
    fn outer(&self) -> KconfigExpression {
        let shared = match self.blocks.last() {
            None => return KconfigExpression::default(),
            Some(KconfigBlock::Condition(all) | KconfigBlock::Menu(all)) => all,
            Some(KconfigBlock::Choice(at)) => &self.found.choices[*at].depends,
        };
        match &**shared {
            KconfigExpression::Always => KconfigExpression::Always,
            // One around one is the inner one.
            KconfigExpression::Shared(inner) => KconfigExpression::Shared(inner.clone()),
            _ => KconfigExpression::Shared(shared.clone()),
        }
    }

    fn attribute(&mut self, word: &str, rest: &str, entry: &KconfigEntry) {
        let rest = expand(rest);
        let (value, condition) = split_condition(&rest);
        let condition = || condition.map(parse_expression).unwrap_or_default();
        let depends = || rest.strip_prefix("on").map(parse_expression);
        let depth = self.blocks.len();
        match entry {
            KconfigEntry::None => {}
            KconfigEntry::Menu => {
                if let (Some(KconfigBlock::Menu(all)), "depends", Some(more)) =
                    (self.blocks.last_mut(), word, depends())
                {
                    add(all, more, depth);
                }
            }
            KconfigEntry::Choice(at) => {
                let choice = &mut self.found.choices[*at];
                match word {
                    "depends" => add(&mut choice.depends, depends().unwrap_or_default(), depth),
                    "default" => choice.defaults.push((value.trim().to_owned(), condition())),
                    _ => {}
                }
            }
            KconfigEntry::Option(name, at) => {
                let Some((kind, definitions)) = self.found.options.get_mut(name) else { return };
                let definition = &mut definitions[*at];
                let typed = match word {
                    "bool" | "boolean" | "def_bool" => Some(KconfigType::Bool),
                    "tristate" | "def_tristate" => Some(KconfigType::Tristate),
                    "string" => Some(KconfigType::Text),
                    "int" | "hex" => Some(KconfigType::Number),
                    _ => None,
                };
                *kind = typed.or(*kind);
                match word {
                    "bool" | "boolean" | "tristate" | "string" | "int" | "hex" | "prompt" if !value.is_empty() => {
                        definition.prompt = Some(condition());
                    }
                    "default" | "def_bool" | "def_tristate" => {
                        definition.defaults.push((parse_expression(value), condition()));
                    }
                    "depends" => {
                        let own = std::mem::take(&mut definition.depends);
                        definition.depends = own.and(depends().unwrap_or_default());
                    }
                    "select" => definition.selects.push((value.trim().to_owned(), condition())),
                    _ => {}
                }
            }
        }
    }
}

/// Adds a condition to those of a block that nothing stands in yet. `depth` is how many blocks are open.
fn add(all: &mut Rc<KconfigExpression>, more: KconfigExpression, depth: usize) {
    // Each block with a condition of its own nests conditions deeper.
    if depth > MAX_KCONFIG_DEPTH {
        return;
    }
    let all = Rc::make_mut(all);
    *all = std::mem::take(all).and(more);
}

/// The value of an attribute, and the condition behind its ` if `, outside of quotation marks.
fn split_condition(text: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if text[at..].starts_with(" if ") || text[at..].starts_with("\tif ") => {
                return (text[..at].trim(), Some(text[at + 4..].trim()));
            }
            None if at == 0 && text.starts_with("if ") => return ("", Some(text[3..].trim())),
            None => {}
        }
    }
    (text.trim(), None)
}

/// The column of the first character that isn't a blank; tabs count as 8.
fn indentation_of(line: &str) -> usize {
    let mut column = 0;
    for c in line.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column = column / 8 * 8 + 8,
            _ => break,
        }
    }
    column
}

/// Replaces macros `$(…)` and `$NAME`.
fn expand(text: &str) -> String {
    let mut rest = text;
    let mut expanded = String::new();
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(inner) = rest.strip_prefix('(') {
            let end = closing(inner);
            expanded.push_str(macro_value(&inner[..end]));
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            expanded.push_str(macro_value(&rest[..end]));
            rest = &rest[end..];
        }
    }
    expanded.push_str(rest);
    expanded
}

/// Where the parenthesis that is open before `text` closes.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn macro_value(call: &str) -> &'static str {
    let name = call.split([',', ' ']).next().unwrap_or_default();
    match name {
        "ARCH" | "SRCARCH" | "SUBARCH" => host_architecture(),
        "success" | "cc-option" | "cc-option-bit" | "ld-option" | "as-instr" | "as-option" | "rs-option" => "y",
        "failure" => "n",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_macros_are_split_and_expanded() {
        assert_eq!(split_condition("\"a if b\" if X && Y"), ("\"a if b\"", Some("X && Y")));
        assert_eq!(split_condition("y"), ("y", None));
        assert_eq!(expand("$(success,test \"$(A)\" = 1) && $(x)B"), "y && B");
        assert_eq!(expand("arch/$SRCARCH/Kconfig"), format!("arch/{}/Kconfig", host_architecture()));
        assert_eq!((expand("$("), expand("a$"), closing("x")), (String::new(), "a".to_owned(), 1));
    }
}
