//! The figures of a run, each beside its target, as tables and JSON.

use std::fmt::Write;
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use super::args::Scenario;
use codeyard_cli::{Failure, output};

/// What a table is about; each has a place of its own in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Codeyard beside a bare language server.
    Servers,
    /// The code index, beside ripgrep.
    Index,
}

impl About {
    const ALL: [Self; 2] = [Self::Servers, Self::Index];

    /// Between these lines of a Markdown file its tables are written.
    fn markers(self) -> (&'static str, &'static str) {
        match self {
            Self::Servers => {
                ("<!-- figures of `codeyard bench`: begin -->", "<!-- figures of `codeyard bench`: end -->")
            }
            Self::Index => (
                "<!-- figures of `codeyard bench` of the code index: begin -->",
                "<!-- figures of `codeyard bench` of the code index: end -->",
            ),
        }
    }

    fn head(self) -> [&'static str; 7] {
        let other = if self == Self::Servers { "bare" } else { "ripgrep" };
        ["scenario", "figure", other, "codeyard", "target", "met", "notes"]
    }

    fn of(figure: &Figure) -> Self {
        let scenario = Scenario::from_str(&figure.scenario, false);
        if scenario.is_ok_and(Scenario::is_of_index) { Self::Index } else { Self::Servers }
    }
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// The repository.
    pub corpus: String,
    /// The scenario.
    pub scenario: String,
    /// What was measured, with its unit.
    pub what: String,
    /// The bare server's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bare: Option<f64>,
    /// Codeyard's value.
    pub codeyard: f64,
    /// The target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Whether it is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// Counts that belong to it.
    pub notes: String,
}

/// A target: in words, and as a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// For a person.
    pub words: String,
    /// The bound.
    pub bound: f64,
    /// Whether the value may not be above it, or not below.
    pub at_most: bool,
}

impl Target {
    /// The value may not be above `bound`.
    pub fn at_most(bound: f64, words: impl Into<String>) -> Option<Self> {
        Some(Self { words: words.into(), bound, at_most: true })
    }

    /// The value may not be below `bound`.
    pub fn at_least(bound: f64, words: impl Into<String>) -> Option<Self> {
        Some(Self { words: words.into(), bound, at_most: false })
    }

    fn is_met(&self, value: f64) -> bool {
        if self.at_most { value <= self.bound } else { value >= self.bound }
    }
}

/// What the run was.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    /// What draws the positions.
    pub seed: u64,
    /// Processors that this process may use.
    pub processors: usize,
    /// The figures in the order of measuring.
    pub figures: Vec<Figure>,
    /// Answers that were compared with the bare server's.
    pub compared: u64,
    /// Those that were wrong.
    pub wrong: u64,
    /// Lines that were compared with ripgrep's.
    pub lines: u64,
    /// Those that only one side found, in files that aren't told to be left out.
    pub wrong_lines: u64,
    /// What was wrong, the first few.
    pub examples: Vec<String>,
    /// What couldn't be measured, and why.
    pub left_out: Vec<String>,
}

/// Most examples of wrong answers kept.
const MAX_EXAMPLES: usize = 10;

impl Report {
    /// Adds a figure, and tells it on standard error.
    pub(crate) fn add(&mut self, mut figure: Figure) {
        figure.met = figure.target.as_ref().map(|target| target.is_met(figure.codeyard));
        eprintln!("  {}", row(&figure).join("  "));
        self.figures.push(figure);
    }

    /// Counts compared answers.
    pub(crate) fn judged(&mut self, compared: u64, wrong: u64, examples: &[String]) {
        self.compared += compared;
        self.wrong += wrong;
        let room = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(examples.iter().take(room).cloned());
    }

    /// Counts compared lines.
    pub(crate) fn lines(&mut self, compared: u64, wrong: u64, examples: &[String]) {
        self.judged(0, 0, examples);
        self.lines += compared;
        self.wrong_lines += wrong;
    }

    /// Notes what couldn't be measured.
    pub(crate) fn left_out(&mut self, what: String) {
        eprintln!("  left out: {what}");
        self.left_out.push(what);
    }

    /// How many targets were missed; a wrong answer misses one.
    pub(crate) fn missed(&self) -> usize {
        let wrong = [self.wrong, self.wrong_lines].iter().filter(|wrong| **wrong > 0).count();
        self.figures.iter().filter(|figure| figure.met == Some(false)).count() + wrong
    }

    /// The tables for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for about in self.abouts() {
            for (corpus, figures) in self.by_corpus(about) {
                let head = about.head().map(str::to_owned).to_vec();
                let rows: Vec<Vec<String>> = std::iter::once(head).chain(figures.into_iter().map(row)).collect();
                let _ = write!(text, "\n{corpus}\n{}", output::columns(&rows));
            }
            let _ = write!(text, "\n{}", self.sentences(about).join("\n"));
            text.push('\n');
        }
        text
    }

    /// The tables as Markdown.
    pub(crate) fn markdown(&self) -> String {
        self.abouts().map(|about| self.markdown_of(about)).collect()
    }

    fn markdown_of(&self, about: About) -> String {
        let mut text = String::new();
        for (corpus, figures) in self.by_corpus(about) {
            let head = about.head();
            let _ = write!(text, "\n### {corpus}\n\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
            for figure in figures {
                let cells: Vec<String> = row(figure).iter().map(|cell| cell.replace('|', "\\|")).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        }
        for sentence in self.sentences(about) {
            let _ = write!(text, "\n{sentence}\n");
        }
        text
    }

    /// Puts the tables between the markers of `file`; what wasn't measured stays as it is there.
    pub(crate) fn write_into(&self, file: &Path) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(format!("{}: {why}", file.display()));
        let mut text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        for about in self.abouts() {
            let (begin, end) = about.markers();
            let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
            let (before, after) = parts.ok_or_else(|| failed(format!("add the lines `{begin}` and `{end}` to it")))?;
            text = format!("{before}{begin}\n{}\n{end}{after}", self.markdown_of(about));
        }
        std::fs::write(file, text).map_err(|error| failed(error.to_string()))
    }

    /// What anything was measured about.
    fn abouts(&self) -> impl Iterator<Item = About> {
        About::ALL.into_iter().filter(|about| self.figures.iter().any(|figure| About::of(figure) == *about))
    }

    fn by_corpus(&self, about: About) -> Vec<(&str, Vec<&Figure>)> {
        let mut found: Vec<(&str, Vec<&Figure>)> = Vec::new();
        for figure in self.figures.iter().filter(|figure| About::of(figure) == about) {
            match found.iter_mut().find(|(corpus, _)| *corpus == figure.corpus) {
                Some((_, figures)) => figures.push(figure),
                None => found.push((&figure.corpus, vec![figure])),
            }
        }
        found
    }

    fn sentences(&self, about: About) -> Vec<String> {
        let figures = || self.figures.iter().filter(|figure| About::of(figure) == about);
        let targets = figures().filter(|figure| figure.met.is_some()).count();
        let met = figures().filter(|figure| figure.met == Some(true)).count();
        let compared = match about {
            About::Servers => {
                format!("{} answers compared with the bare server's, {} wrong.", self.compared, self.wrong)
            }
            About::Index => format!("{} lines compared with ripgrep's, {} wrong.", self.lines, self.wrong_lines),
        };
        let mut all = vec![
            format!("{met} of {targets} targets met. Seed {}, {} processors.", self.seed, self.processors),
            compared,
        ];
        let is_last = self.abouts().last() == Some(about);
        all.extend(self.examples.iter().filter(|_| is_last).map(|example| format!("Wrong: {example}")));
        all.extend(self.left_out.iter().filter(|_| is_last).map(|what| format!("Left out: {what}.")));
        all
    }
}

fn row(figure: &Figure) -> Vec<String> {
    let met = match figure.met {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "",
    };
    let target = figure.target.as_ref().map(|target| target.words.clone()).unwrap_or_default();
    vec![
        figure.scenario.clone(),
        figure.what.clone(),
        figure.bare.map(number).unwrap_or_default(),
        number(figure.codeyard),
        target,
        met.to_owned(),
        figure.notes.clone(),
    ]
}

/// A number with as many digits as say something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, target: Option<Target>) -> Figure {
        Figure {
            corpus: "a".into(),
            scenario: "s".into(),
            what: "w".into(),
            bare: Some(1.25),
            codeyard: value,
            target,
            met: None,
            notes: String::new(),
        }
    }

    #[test]
    fn targets_are_judged_and_tables_are_put_between_the_markers() {
        let mut report = Report::default();
        report.add(figure(2.0, Target::at_most(2.0, "≤ 2")));
        report.add(figure(2.0, Target::at_least(3.0, "≥ 3")));
        report.add(figure(0.5, None));
        assert_eq!(report.missed(), 1);
        report.judged(5, 1, &["x".into()]);
        assert_eq!(report.missed(), 2);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("b.md");
        assert!(report.write_into(&file).is_err());
        let (begin, end) = About::Servers.markers();
        std::fs::write(&file, format!("before\n{begin}\nold\n{end}\nafter\n")).unwrap();
        report.write_into(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("\nafter\n") && !text.contains("old"), "{text}");
        assert!(text.contains("| s | w | 1.25 | 2 | ≥ 3 | **no** |"), "{text}");
        // What is about the index has its own place, and leaves the other as it is.
        let mut of_index = Report::default();
        of_index.add(Figure { scenario: "search".into(), notes: "`a|b`".into(), ..figure(1.0, None) });
        assert!(of_index.write_into(&file).is_err());
        let (begin, end) = About::Index.markers();
        std::fs::write(&file, format!("{text}{begin}\n{end}\n")).unwrap();
        of_index.lines(7, 0, &[]);
        of_index.write_into(&file).unwrap();
        let both = std::fs::read_to_string(&file).unwrap();
        assert!(both.starts_with(&text) && both.contains("| ripgrep |") && both.contains("`a\\|b`"), "{both}");
        assert!(both.contains("7 lines compared with ripgrep's, 0 wrong."), "{both}");
    }
}
