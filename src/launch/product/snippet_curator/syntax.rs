//! Whether code parses in the language that its fence names.
//!
//! Fragments count: what may stand in a function or a class is wrapped in one. Invariant: any text gives an answer.

use codeyard_index::Language;
use codeyard_index::extract::first_syntax_error;

/// Other names of fences.
const FENCES: [(&str, Language); 16] = [
    ("shell", Language::BASH),
    ("console", Language::BASH),
    ("terminal", Language::BASH),
    ("shell-session", Language::BASH),
    ("sh-session", Language::BASH),
    ("bash-session", Language::BASH),
    ("pycon", Language::PYTHON),
    ("doctest", Language::PYTHON),
    ("python-repl", Language::PYTHON),
    ("py3", Language::PYTHON),
    ("jsx", Language::JAVASCRIPT),
    ("mjs", Language::JAVASCRIPT),
    ("mts", Language::TYPESCRIPT),
    ("h", Language::CPP),
    ("hpp", Language::CPP),
    ("cshtml", Language::CSHARP),
];

/// Why code can't be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    /// The line of the first error, from 1; `None` if there is no parser.
    pub(super) line: Option<u32>,
}

impl SyntaxFault {
    pub(super) fn message(&self, language: &str) -> String {
        match self.line {
            Some(line) => format!("line {line} isn't valid {language}"),
            None => format!("there is no parser for `{language}`"),
        }
    }
}

/// The language that a fence means, if there is a parser for it.
fn language_of(fence: &str) -> Option<Language> {
    let fence = fence.trim().to_lowercase();
    let other = FENCES.iter().find(|(name, _)| *name == fence).map(|(_, language)| *language);
    other
        .or_else(|| Language::by_name(&fence))
        .filter(|language| *language != Language::MARKDOWN && language.has_grammar())
}

/// Whether a code block parses in the language of its fence. Blocks without a language, and in languages without a parser, do.
///
/// # Errors
/// What is wrong, with the line of the block, from 1.
pub fn parses(language: &str, code: &str) -> Result<(), String> {
    if language_of(language).is_none() {
        return Ok(());
    }
    let plain = without_prompts(language, code);
    check(language, plain.as_deref().unwrap_or(code)).map_err(|fault| fault.message(language))
}

/// As [`parses`], for code without prompts; a language without a parser is a fault.
pub(super) fn check(fence: &str, code: &str) -> Result<(), SyntaxFault> {
    let Some(language) = language_of(fence) else { return Err(SyntaxFault { line: None }) };
    let code = format!("{}\n", dedented(code));
    let code = if language == Language::PHP && !code.contains("<?") { format!("<?php {code}") } else { code };
    let Some(line) = first_syntax_error(language, &code) else { return Ok(()) };
    if language == Language::TYPESCRIPT && first_syntax_error(Language::TSX, &code).is_none() {
        return Ok(());
    }
    // What a layout rule puts into a block must be indented.
    let code = if language == Language::HASKELL { format!("  {}", code.replace('\n', "\n  ")) } else { code };
    let is_whole = |(before, after): &(&str, &str)| {
        first_syntax_error(language, &format!("{before}\n{code}\n{after}\n")).is_none()
    };
    if wrappers(language).iter().any(is_whole) { Ok(()) } else { Err(SyntaxFault { line: Some(line) }) }
}

/// What can stand around a fragment.
fn wrappers(language: Language) -> &'static [(&'static str, &'static str)] {
    match language {
        Language::RUST => &[("fn main() {", "}")],
        Language::JAVA | Language::CSHARP => &[("class A { void f() {", "} }"), ("class A {", "}")],
        Language::GO => &[("package p\nfunc f() {", "}"), ("package p", "")],
        Language::C | Language::CPP => &[("void f() {", "}")],
        Language::JAVASCRIPT | Language::TYPESCRIPT => &[("async function f() {", "}")],
        Language::KOTLIN => &[("fun f() {", "}")],
        Language::SWIFT => &[("func f() async throws {", "}")],
        Language::PHP => &[("<?php class A {", "}")],
        Language::DART => &[("void f() async {", "}"), ("class A {", "}")],
        Language::ZIG => &[("fn f() !void {", "}")],
        Language::SOLIDITY => &[("contract A { function f() public {", "} }"), ("contract A {", "}")],
        Language::PROTO => &[("message A {", "}")],
        Language::NIX => &[("{", "}")],
        Language::ERLANG => &[("f() ->", "")],
        Language::HASKELL => &[("f = do", "")],
        _ => &[],
    }
}

/// The language and the code that a page shows: without prompts, and with the platform's language if the source names none.
pub(super) fn shown(fence: &str, code: &str, platform: &str) -> Result<(String, String), String> {
    if !fence.is_empty() {
        let Some(language) = language_of(fence) else { return Err(format!("there is no parser for `{fence}`")) };
        let plain = without_prompts(fence, code).unwrap_or_else(|| code.to_owned());
        let is_session = fence.contains("session") || matches!(fence, "console" | "terminal");
        if is_session && plain == code && !code.trim_start().starts_with(['$', '%', '>']) && code.lines().count() > 3 {
            return Err("it is the output of a program".to_owned());
        }
        return Ok((word(language), dedented(&plain)));
    }
    if code.trim_start().starts_with("$ ") {
        return Ok(("sh".to_owned(), dedented(&without_prompts("sh", code).unwrap_or_else(|| code.to_owned()))));
    }
    let language = crate::public_api::languages(platform).first().copied();
    let language = language.ok_or("its language isn't named")?;
    let plain = without_prompts(language.name(), code).unwrap_or_else(|| code.to_owned());
    // Prose and output parse in languages with few rules.
    let is_code = plain.contains(['(', '=', '{'])
        || plain.lines().any(|line| line.starts_with("import ") || line.starts_with("use "));
    if check(language.name(), &plain).is_ok() && is_code {
        return Ok((word(language), dedented(&plain)));
    }
    Err(format!("its language isn't named, and it isn't {}", language.name()))
}

/// The word after the fence that highlighters know.
fn word(language: Language) -> String {
    match language {
        Language::BASH => "sh",
        language => language.name(),
    }
    .to_owned()
}

/// The code of a session without its prompts and its output; `None` if it has no prompts.
fn without_prompts(fence: &str, code: &str) -> Option<String> {
    let language = language_of(fence)?;
    let code = dedented(code);
    if code.lines().any(|line| after_prompt(language, line, false).is_some()) {
        let inputs = code.lines().filter_map(|line| {
            let rest = after_prompt(language, line, false).or_else(|| after_prompt(language, line, true))?;
            Some(rest.strip_prefix(' ').unwrap_or(rest).trim_end())
        });
        return Some(inputs.collect::<Vec<_>>().join("\n").trim_end().to_owned());
    }
    let prompt = |line: &str| ["$ ", "% ", "> "].into_iter().find(|prompt| line.starts_with(prompt));
    let mut inputs = code.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if language == Language::BASH && inputs.next().is_some_and(|line| prompt(line).is_some()) {
        let mut commands: Vec<&str> = Vec::new();
        let mut continues = false;
        for line in code.lines() {
            let rest = line.strip_prefix("$ ").or_else(|| line.strip_prefix("% ")).or_else(|| line.strip_prefix("> "));
            if let Some(command) = rest.or(Some(line).filter(|line| continues || line.starts_with('#'))) {
                commands.push(command.trim_end());
                continues = command.trim_end().ends_with('\\');
            }
        }
        return Some(commands.join("\n"));
    }
    None
}

/// What follows the prompt of the language's interactive shell, its first one or that of a further line.
fn after_prompt(language: Language, line: &str, is_further: bool) -> Option<&str> {
    let after_any = |prompts: &[&str]| prompts.iter().find_map(|prompt| line.strip_prefix(prompt));
    match language {
        Language::PYTHON => line.strip_prefix(if is_further { "..." } else { ">>>" }),
        Language::ELIXIR => {
            let rest = line.strip_prefix(if is_further { "..." } else { "iex" })?;
            let numbered = rest.strip_prefix('(').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
            numbered.map_or(Some(rest), |rest| rest.strip_prefix(')'))?.strip_prefix('>')
        }
        Language::ERLANG if !is_further => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.strip_prefix("> ").filter(|_| rest.len() < line.len())
        }
        Language::HASKELL => after_any(if is_further { &["ghci|", "Prelude|"] } else { &["ghci>", "Prelude>", "λ>"] }),
        Language::JULIA if !is_further => line.strip_prefix("julia>"),
        Language::R => line
            .strip_prefix(if is_further { '+' } else { '>' })
            .filter(|rest| rest.is_empty() || rest.starts_with(' ')),
        _ => None,
    }
}

/// Code without the indentation that all of its lines have, and without empty lines at its ends.
pub(super) fn dedented(code: &str) -> String {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let is_text = |line: &&&str| !line.is_empty();
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines.iter().filter(is_text).map(indent).min().unwrap_or(0);
    let inner: Vec<&str> = lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect();
    let first = inner.iter().position(|line| !line.is_empty()).unwrap_or(inner.len());
    let last = inner.iter().rposition(|line| !line.is_empty()).map_or(first, |at| at + 1);
    inner[first..last].join("\n")
}
