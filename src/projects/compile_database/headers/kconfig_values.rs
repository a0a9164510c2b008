//! Decides the options of a Kconfig tree as `make defconfig` would, and writes them as the header that a build generates.
//!
//! A person's values come from `.config` in the root, else from the default configuration of this processor. An option is at least what
//! others select, else what a person chose where its conditions hold, else its first default that holds. The values are computed again until
//! nothing changes, at most [`MAX_KCONFIG_ROUNDS`] times; of a huge tree, until [`MAX_KCONFIG_VALUES`] values were computed. Invariant: the same files
//! give the same bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::kconfig::{KconfigDefinition, KconfigTree, KconfigType};
use super::kconfig_expression::{KconfigExpression, letter, level};
use crate::compile_database::build_files::build_hints::read_script;
use crate::compile_database::platforms::host_architecture;
use crate::tree::Tree;

/// Values of options of one Kconfig tree that are computed, all rounds together.
const MAX_KCONFIG_VALUES: usize = 4_000_000;
/// How often the options of a Kconfig tree are computed again until they agree.
const MAX_KCONFIG_ROUNDS: usize = 64;

/// Options whose value follows from the compiler that reads the sources here.
const OF_COMPILER: [(&str, &str); 4] =
    [("CC_IS_GCC", "n"), ("CC_IS_CLANG", "y"), ("CLANG_VERSION", "180000"), ("GCC_VERSION", "0")];

/// The header with the options of the tree. `None` if it has no `Kconfig`.
pub(super) fn header(root: &Path, tree: &Tree) -> Option<String> {
    let options = KconfigTree::read(root, tree)?;
    let chosen = chosen(root, tree);
    let values = decide(&options, &chosen);
    let mut text = String::new();
    for (name, value) in &values {
        let kind = options.options.get(*name).and_then(|(kind, _)| *kind);
        match (kind, value.as_str()) {
            (Some(KconfigType::Text), text_of_it) => {
                let quoted = text_of_it.replace('\\', "\\\\").replace('"', "\\\"");
                text.push_str(&format!("#define CONFIG_{name} \"{quoted}\"\n"));
            }
            (_, "y") => text.push_str(&format!("#define CONFIG_{name} 1\n")),
            (_, "m") => text.push_str(&format!("#define CONFIG_{name}_MODULE 1\n")),
            (_, "n" | "") => {}
            (_, number) => text.push_str(&format!("#define CONFIG_{name} {number}\n")),
        }
    }
    Some(text)
}

/// The values that a person chose.
fn chosen(root: &Path, tree: &Tree) -> HashMap<String, String> {
    let arch = host_architecture();
    let own = if cfg!(target_pointer_width = "64") { "x86_64" } else { "i386" };
    let names = [
        ".config".to_owned(),
        format!("arch/{arch}/configs/{own}_defconfig"),
        format!("arch/{arch}/configs/defconfig"),
        format!("arch/{arch}/configs/{arch}_defconfig"),
        format!("arch/{arch}/defconfig"),
    ];
    let usable = names.iter().filter(|name| tree.has(name) && (arch == "x86" || !name.contains("x86_64")));
    let text = usable.filter_map(|name| read_script(root, &root.join(name))).next().unwrap_or_default();
    let values = text.lines().filter_map(|line| {
        if let Some(off) = line.strip_prefix("# CONFIG_").and_then(|line| line.strip_suffix(" is not set")) {
            return Some((off.to_owned(), "n".to_owned()));
        }
        let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
        Some((name.to_owned(), value.trim().trim_matches('"').to_owned()))
    });
    values.collect()
}

/// Who selects an option: the option, the condition, and what that depends on.
type Selectors<'a> = HashMap<&'a str, Vec<(&'a str, &'a KconfigExpression)>>;

struct Decision<'a> {
    tree: &'a KconfigTree,
    chosen: &'a HashMap<String, String>,
    selectors: Selectors<'a>,
    values: BTreeMap<&'a str, String>,
    /// The alternative that is on, by choice.
    picks: Vec<Option<&'a str>>,
}

fn decide<'a>(tree: &'a KconfigTree, chosen: &'a HashMap<String, String>) -> BTreeMap<&'a str, String> {
    let mut selectors: Selectors<'a> = HashMap::new();
    for (name, (_, definitions)) in &tree.options {
        for (target, condition) in definitions.iter().flat_map(|definition| &definition.selects) {
            selectors.entry(target).or_default().push((name, condition));
        }
    }
    let picks = vec![None; tree.choices.len()];
    let mut decision = Decision { tree, chosen, selectors, values: BTreeMap::new(), picks };
    let rounds = (MAX_KCONFIG_VALUES / tree.options.len().max(1)).clamp(1, MAX_KCONFIG_ROUNDS);
    for _ in 0..rounds {
        if !decision.round() {
            break;
        }
    }
    decision.values
}

impl<'a> Decision<'a> {
    /// Computes all values again. Returns whether one changed.
    fn round(&mut self) -> bool {
        let mut changed = false;
        for at in 0..self.picks.len() {
            let pick = self.pick(at);
            changed |= std::mem::replace(&mut self.picks[at], pick) != pick;
        }
        for (name, (kind, definitions)) in &self.tree.options {
            let value = self.value_of(name, *kind, definitions);
            if self.values.get(name.as_str()).map_or("", String::as_str) != value {
                self.values.insert(name, value);
                changed = true;
            }
        }
        changed
    }

    fn value(&self, name: &str) -> String {
        self.values.get(name).cloned().unwrap_or_default()
    }

    fn level(&self, condition: &KconfigExpression) -> u8 {
        condition.level(&|name| self.value(name))
    }

    /// The alternative of a choice that is on.
    fn pick(&self, at: usize) -> Option<&'a str> {
        let choice = &self.tree.choices[at];
        if self.level(&choice.depends) == 0 {
            return None;
        }
        let is_visible = |name: &str| {
            let definitions = self.tree.options.get(name).map_or(&[][..], |(_, definitions)| definitions);
            definitions.iter().any(|one| one.choice == Some(at) && self.visibility(one) > 0)
        };
        let members = || choice.members.iter().map(String::as_str).filter(|name| is_visible(name));
        let by_person = members().find(|name| self.chosen.get(*name).is_some_and(|value| value == "y"));
        let preferred = || {
            let holding = choice.defaults.iter().filter(|(_, condition)| self.level(condition) > 0);
            holding.map(|(name, _)| name.as_str()).find(|name| is_visible(name))
        };
        by_person.or_else(preferred).or_else(|| members().next())
    }

    fn visibility(&self, definition: &KconfigDefinition) -> u8 {
        match &definition.prompt {
            Some(prompt) => self.level(&definition.depends).min(self.level(prompt)),
            None => 0,
        }
    }

    fn value_of(&self, name: &str, kind: Option<KconfigType>, definitions: &[KconfigDefinition]) -> String {
        if let Some((_, value)) = OF_COMPILER.iter().find(|(known, _)| *known == name) {
            return (*value).to_owned();
        }
        let is_switch = matches!(kind, Some(KconfigType::Bool | KconfigType::Tristate) | None);
        if let Some(choice) = definitions.iter().find_map(|definition| definition.choice).filter(|_| is_switch) {
            return letter(if self.picks[choice] == Some(name) { 2 } else { 0 }).to_owned();
        }
        let visible = definitions.iter().map(|definition| self.visibility(definition)).max().unwrap_or_default();
        let by_person = self.chosen.get(name).filter(|_| visible > 0);
        if !is_switch {
            return by_person.cloned().unwrap_or_else(|| self.default_text(definitions));
        }
        let own = match by_person {
            Some(value) => level(value).min(visible),
            None => self.default_level(definitions),
        };
        let selected = self.selectors.get(name).into_iter().flatten();
        let selected = selected.map(|(by, condition)| level(&self.value(by)).min(self.level(condition)));
        let found = selected.fold(own, u8::max);
        let is_bool = kind != Some(KconfigType::Tristate);
        letter(if is_bool && found == 1 { 2 } else { found }).to_owned()
    }

    fn default_level(&self, definitions: &[KconfigDefinition]) -> u8 {
        for definition in definitions {
            let depends = self.level(&definition.depends);
            for (value, condition) in definition.defaults.iter().filter(|_| depends > 0) {
                let holds = self.level(condition);
                if holds > 0 {
                    return self.level(value).min(depends).min(holds);
                }
            }
        }
        0
    }

    fn default_text(&self, definitions: &[KconfigDefinition]) -> String {
        for definition in definitions.iter().filter(|definition| self.level(&definition.depends) > 0) {
            if let Some((value, _)) = definition.defaults.iter().find(|(_, condition)| self.level(condition) > 0) {
                return value.text(&|name| self.value(name));
            }
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn header_of(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        header(&root, &Tree::read(&root)).unwrap()
    }

    const KCONFIG: &str = "mainmenu \"x\"\nconfig MODULES\n\tbool \"modules\"\n\tdefault y\n\thelp\n\t  config NOT_ONE\n\n\t  bool\n\
        config DRIVER\n\ttristate \"a driver\"\n\tdepends on MODULES\n\tselect LIB if !SMALL\n\
        config LIB\n\tbool\nif LIB\nsource \"sub/Kconfig\"\nendif\n\
        choice\n\tprompt \"speed\"\n\tdefault FAST if LIB\nconfig SLOW\n\tbool \"slow\"\nconfig FAST\n\tbool \"fast\"\nendchoice\n\
        config NAME\n\tstring \"name\"\n\tdefault \"a b\"\nconfig SIZE\n\tint\n\tdefault 9 if FAST\n\tdefault 3\n\
        menu \"m\"\n\tdepends on GONE\nconfig HIDDEN\n\tbool \"h\"\n\tdefault y\nendmenu\nconfig SMALL\n\tbool \"small\"\n\
        config CC_IS_GCC\n\tdef_bool y\nsource \"Kconfig\"\nsource \"gone/Kconfig\"\n";

    #[test]
    fn options_are_decided_by_dependencies_selections_choices_and_defaults() {
        let sub = ("sub/Kconfig", "config SUB\n\tdef_bool y\nconfig HEX\n\thex\n\tdefault 0x10\n");
        let text = header_of(&[("Kconfig", KCONFIG), sub, (".config", "CONFIG_DRIVER=m\n# CONFIG_SMALL is not set\n")]);
        let wanted = "#define CONFIG_DRIVER_MODULE 1\n#define CONFIG_FAST 1\n#define CONFIG_HEX 0x10\n#define CONFIG_LIB 1\n\
                      #define CONFIG_MODULES 1\n#define CONFIG_NAME \"a b\"\n#define CONFIG_SIZE 9\n#define CONFIG_SUB 1\n";
        assert_eq!(text, wanted);
        let small = header_of(&[
            ("Kconfig", KCONFIG),
            sub,
            (".config", "CONFIG_DRIVER=y\nCONFIG_SMALL=y\nCONFIG_NAME=\"n\"\n"),
        ]);
        let wanted = "#define CONFIG_DRIVER 1\n#define CONFIG_MODULES 1\n#define CONFIG_NAME \"n\"\n#define CONFIG_SIZE 3\n\
                      #define CONFIG_SLOW 1\n#define CONFIG_SMALL 1\n";
        assert_eq!(small, wanted);
    }

    #[test]
    fn options_that_contradict_each_other_end() {
        let text = "config A\n\tdef_bool !B\nconfig B\n\tdef_bool A\nconfig C\n\tbool\n\tselect C\n";
        assert_eq!(header_of(&[("Kconfig", text)]), header_of(&[("Kconfig", text)]));
        // Each would take a place on the stack.
        let files: Vec<(String, String)> = (0..10_000)
            .map(|at| (format!("k/{at}"), format!("source \"k/{}\"\nconfig K{at}\n\tdef_bool y\n", at + 1)))
            .collect();
        let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        files.push(("Kconfig", "source \"k/0\"\n"));
        assert!(header_of(&files).starts_with("#define CONFIG_K0 1\n#define CONFIG_K1 1\n"));
        let blocks = format!("{}config X\n\tdef_bool y\n", "if Y\nmenu \"m\"\ndepends on Y\nchoice\n".repeat(20_000));
        assert_eq!(header_of(&[("Kconfig", &blocks)]), "");
        for text in ["config\nendif\nendmenu\nendchoice\nif\nconfig X\ndefault", "choice\nchoice\nconfig Y\nbool"] {
            header_of(&[("Kconfig", text), ("x", "")]);
        }
    }
}
