//! Which product family and platform a repository is for, from its name, its manifests and its README.
//!
//! It reads nothing itself: the caller gives it names and text. Invariants: scores are whole hundredths, so they compare exactly; equal inputs
//! give equal candidates in an equal order; what isn't clear is never chosen. Source:
//! `docs/internals/reference/contract-launch.md#repository-inference`.

use std::collections::{BTreeMap, BTreeSet};

use codeyard_ecosystems::{cargo, go, npm, python};

use crate::request::sites::Sites;

/// What is known of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Its name, without its owner.
    pub name: String,
    /// The names of the files at its top.
    pub files: Vec<String>,
    /// The beginning of its README, Markdown; empty if it has none.
    pub readme: String,
}

/// The candidates of a field, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferredField {
    /// Each candidate with its score in hundredths, from 1 to 100.
    pub candidates: Vec<(String, u32)>,
}

/// The owner and the name of a repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubRepository {
    /// The user or organisation.
    pub owner: String,
    pub name: String,
}

/// The name, whole and unambiguous.
const NAME_SCORE: u32 = 60;
/// The manifests, of one platform.
const MANIFEST_SCORE: u32 = 50;
/// The manifests, of more platforms.
const SHARED_MANIFEST_SCORE: u32 = 25;
/// The README's title or first paragraph.
const README_SCORE: u32 = 30;
/// A candidate is chosen only above this score.
const ENOUGH: u32 = 80;
/// A candidate is chosen only with this distance to the next one.
const MARGIN: u32 = 20;

/// Files at the top of a repository, and the platform whose package they describe.
const MANIFESTS: [(&str, &str); 20] = [
    (python::SETUP_PROGRAM, "python"),
    (python::SETUP_CONFIGURATION, "python"),
    (python::MANIFEST, "python"),
    (npm::MANIFEST, "javascript"),
    ("tsconfig.json", "typescript"),
    ("pom.xml", "java"),
    ("build.gradle", "java"),
    ("build.gradle.kts", "kotlin"),
    (".csproj", "dotnet"),
    (".sln", "dotnet"),
    (".nuspec", "dotnet"),
    ("CMakeLists.txt", "cpp"),
    (".vcxproj", "cpp"),
    ("conanfile.py", "cpp"),
    (go::MANIFEST, "go"),
    ("Gemfile", "ruby"),
    (".gemspec", "ruby"),
    ("composer.json", "php"),
    ("Package.swift", "swift"),
    (cargo::MANIFEST, "rust"),
];

impl InferredField {
    /// The candidate that is clear enough.
    pub fn chosen(&self) -> Option<&str> {
        let (best, score) = self.candidates.first()?;
        let next = self.candidates.get(1).map_or(0, |(_, score)| *score);
        (*score > ENOUGH && score - next >= MARGIN).then_some(best)
    }

    fn of(scores: BTreeMap<String, u32>) -> Self {
        let mut candidates: Vec<(String, u32)> =
            scores.into_iter().map(|(name, score)| (name, score.min(100))).collect();
        // The map has them by name; equal scores keep that order.
        candidates.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        Self { candidates }
    }
}

/// The product family of a repository.
pub fn family(sites: &Sites, facts: &RepositoryFacts) -> InferredField {
    let known = |word: &str| sites.families.get(word).cloned();
    InferredField::of(scores_of_texts(facts, &known))
}

/// The platform of a repository.
pub fn platform(sites: &Sites, facts: &RepositoryFacts) -> InferredField {
    let known = |word: &str| sites.platform(word).map(str::to_owned);
    let mut scores = scores_of_texts(facts, &known);
    let manifests = platforms_of_manifests(&facts.files);
    let score = if manifests.len() == 1 { MANIFEST_SCORE } else { SHARED_MANIFEST_SCORE };
    for platform in manifests {
        *scores.entry(platform.to_owned()).or_default() += score;
    }
    InferredField::of(scores)
}

/// The scores of the name and of the README.
fn scores_of_texts(facts: &RepositoryFacts, known: &dyn Fn(&str) -> Option<String>) -> BTreeMap<String, u32> {
    let mut scores = BTreeMap::new();
    let in_name = named(without_bridge(&facts.name), known);
    if let [only] = in_name.iter().collect::<Vec<_>>()[..] {
        *scores.entry(only.clone()).or_default() += NAME_SCORE;
    }
    for name in named(&opening(&facts.readme), known) {
        *scores.entry(name).or_default() += README_SCORE;
    }
    scores
}

/// The name without what it is made with: `X-for-Python-via-.NET` is for Python.
fn without_bridge(name: &str) -> &str {
    let lower = name.to_ascii_lowercase();
    lower.find("-via-").map_or(name, |at| &name[..at])
}

/// What the words of `text` name.
fn named(text: &str, known: &dyn Fn(&str) -> Option<String>) -> BTreeSet<String> {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '+' | '#');
    let lower = text.to_lowercase();
    lower.split(|c: char| !is_inner(c)).filter(|word| !word.is_empty()).filter_map(known).collect()
}

/// The title and the first paragraph of a README.
fn opening(readme: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut has_title = false;
    let mut has_paragraph = false;
    let mut lines = readme.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let is_underlined = !is_decoration(line) && lines.peek().is_some_and(|next| is_underline(next));
        if line.is_empty() {
            if has_paragraph {
                break;
            }
        } else if let Some(title) = line.strip_prefix('#').or(is_underlined.then_some(line)) {
            // A second heading ends the opening.
            if has_title || has_paragraph {
                break;
            }
            has_title = true;
            kept.push(title);
        } else if !is_decoration(line) {
            has_paragraph = true;
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Whether a line makes a title of the one above it, in Markdown or reStructuredText.
fn is_underline(line: &str) -> bool {
    let mark = line.chars().next().filter(|mark| matches!(mark, '=' | '-' | '~'));
    mark.is_some_and(|mark| line.len() >= 3 && line.chars().all(|c| c == mark))
}

/// Whether a line is no text: images and badges alone, HTML, a row of a table, a list item, a rule, a fence, a directive with its options.
fn is_decoration(line: &str) -> bool {
    let mut rest = line;
    while let Some(after) = after_image(rest) {
        rest = after.trim_start();
    }
    let is_definition = line.starts_with('[') && line.contains("]: ");
    let is_option = line.strip_prefix(':').is_some_and(|option| option.contains(':'));
    let is_mark =
        line.starts_with(['<', '|', '-', '=']) || ["```", "~~~", ".. "].iter().any(|mark| line.starts_with(mark));
    rest.is_empty() && !line.is_empty() || is_definition || is_option || is_mark
}

/// What follows the image or the linked image that `text` begins with.
fn after_image(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix('[').filter(|inner| inner.starts_with("![")) {
        return after_target(after_image(inner)?.strip_prefix(']')?);
    }
    let (_, rest) = text.strip_prefix("![")?.split_once(']')?;
    after_target(rest)
}

/// What follows the `(address)` or the `[name]` that `text` may begin with.
fn after_target(text: &str) -> Option<&str> {
    let close = match text.chars().next() {
        Some('(') => ')',
        Some('[') => ']',
        _ => return Some(text),
    };
    text.split_once(close).map(|(_, rest)| rest)
}

/// The platforms whose manifests are among the files at the top. TypeScript's package is also one of JavaScript, and counts once.
fn platforms_of_manifests(files: &[String]) -> BTreeSet<&'static str> {
    let is_file = |file: &String, name: &str| {
        if name.starts_with('.') { file.len() > name.len() && file.ends_with(name) } else { file == name }
    };
    let found = MANIFESTS.iter().filter(|(name, _)| files.iter().any(|file| is_file(file, name)));
    let mut platforms: BTreeSet<&'static str> = found.map(|(_, platform)| *platform).collect();
    if platforms.contains("typescript") {
        platforms.remove("javascript");
    }
    platforms
}

impl GithubRepository {
    /// The repository that `url` is, `https://github.com/OWNER/NAME` with or without `.git` or a slash at its end; `None` for anything else.
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.get(..8).filter(|scheme| scheme.eq_ignore_ascii_case("https://")).map(|_| &url[8..])?;
        let (host, path) = rest.split_once('/')?;
        let (owner, name) = path.strip_suffix('/').unwrap_or(path).split_once('/')?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let owner_fits = (1..=39).contains(&owner.len())
            && owner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !owner.starts_with('-')
            && !owner.ends_with('-');
        let name_fits = (1..=100).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
            && !matches!(name, "." | "..");
        let fits = host.eq_ignore_ascii_case("github.com") && owner_fits && name_fits;
        fits.then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Its URL without decoration.
    pub fn url(&self) -> String {
        format!("https://github.com/{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests;
