//! The example programs of a product, with what their first comment says.

use codeyard_index::Language;
use codeyard_runs::stage::{StageError, StopFlag};

use super::ClaimLedger;
use crate::artifacts::facts::ExampleProgram;
use crate::artifacts::repository::{FileKind, InventoryFile, RepoInventory};
use crate::limits::{MAX_EXAMPLE_BYTES, MAX_EXAMPLES};
use crate::product::doc_comment::{self, leading_comment, one_sentence};
use crate::public_api;
use crate::repository::product_sources::{ProductReader, SourceText, without_hidden_signs};

/// Files of a folder of examples that aren't examples.
const NOT_PROGRAMS: [&str; 11] = [
    "build.gradle", "settings.gradle", "__init__", "setup", "conftest", "build", "webpack.config", "rollup.config",
    "vite.config", "jest.config", "Package",
];

/// The files of the inventory that are example programs for a platform.
pub(crate) fn example_files<'a>(
    inventory: &'a RepoInventory,
    platform: &str,
) -> impl Iterator<Item = (&'a InventoryFile, Language)> {
    let languages = public_api::languages(platform);
    let of_kind = inventory.files.iter().filter(|file| file.kind == FileKind::Example);
    of_kind
        .filter_map(|file| Some((file, file.language.as_deref().and_then(Language::by_name)?)))
        .filter(move |(file, language)| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            languages.contains(language) && !NOT_PROGRAMS.contains(&stem) && !stem.starts_with('.') && file.bytes > 0
        })
        .take(MAX_EXAMPLES)
}

/// The example programs, by path.
pub(super) fn programs(
    inventory: &RepoInventory,
    platform: &str,
    reader: &ProductReader,
    ledger: &mut ClaimLedger,
    stop: &StopFlag,
) -> Result<Vec<ExampleProgram>, StageError> {
    let mut programs = Vec::new();
    for (file, language) in example_files(inventory, platform) {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        let Some(source) = reader.text(&file.path, MAX_EXAMPLE_BYTES) else { continue };
        programs.extend(program(&source, language, ledger));
    }
    Ok(programs)
}

fn program(source: &SourceText, language: Language, ledger: &mut ClaimLedger) -> Option<ExampleProgram> {
    let comment = leading_comment(source, language);
    let doc = comment.as_ref().map(|comment| doc_comment::to_markdown(language, &comment.text)).unwrap_or_default();
    let (first, last) = comment.as_ref().map_or((1, 1), |comment| (comment.first_line, comment.last_line));
    let sentence = one_sentence(&doc).trim_end_matches('.').trim_start_matches("**").replace("**", "");
    let is_title = (4..=90).contains(&sentence.chars().count()) && !sentence.starts_with(['`', '-', '@', '<']);
    let title = if is_title { sentence } else { without_hidden_signs(&title_of(&source.path)) };
    let claim =
        ledger.add(&format!("`{}` is an example: {title}", source.path), vec![source.evidence(first, last)?])?;
    Some(ExampleProgram { path: source.path.clone(), title, doc, claim })
}

/// The name of a file in words; that of its folder if the file is called as every program is.
pub(crate) fn title_of(path: &str) -> String {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
    let is_usual =
        matches!(stem.to_lowercase().as_str(), "main" | "index" | "app" | "program" | "example" | "mod" | "lib");
    let folder = parts.find(|part| !matches!(part.to_lowercase().as_str(), "src" | "examples" | "example" | "samples"));
    let chosen = folder.filter(|_| is_usual).unwrap_or(stem);
    let mut words = String::new();
    let mut was_lower = false;
    for character in chosen.chars() {
        if matches!(character, '_' | '-' | ' ' | '.') {
            words.push(' ');
            was_lower = false;
            continue;
        }
        if character.is_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = character.is_lowercase();
        words.push(character);
    }
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let words = words.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let words = if words.is_empty() { chosen } else { words };
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::title_of;

    #[test]
    fn titles_are_names_in_words() {
        for (path, title) in [
            ("examples/read_file.py", "Read file"),
            ("examples/HttpServer.java", "Http server"),
            ("examples/web-server/src/main.rs", "Web server"),
            ("examples/main.go", "Main"),
            ("samples/01-basic.ts", "Basic"),
            ("examples/01.ts", "01"),
        ] {
            assert_eq!(title_of(path), title, "{path}");
        }
    }
}
