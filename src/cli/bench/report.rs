//! The figures of a run, each beside its target, as tables and JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::{Failure, output};

/// Between these lines of a Markdown file the tables are written.
const BEGIN: &str = "<!-- figures of `codeyard bench`: begin -->";
const END: &str = "<!-- figures of `codeyard bench`: end -->";

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
pub struct Report {
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
    /// What was wrong, the first few.
    pub examples: Vec<String>,
    /// What couldn't be measured, and why.
    pub left_out: Vec<String>,
}

/// Most examples of wrong answers kept.
const MAX_EXAMPLES: usize = 10;

impl Report {
    /// Adds a figure, and tells it on standard error.
    pub fn add(&mut self, mut figure: Figure) {
        figure.met = figure.target.as_ref().map(|target| target.is_met(figure.codeyard));
        eprintln!("  {}", row(&figure).join("  "));
        self.figures.push(figure);
    }

    /// Counts compared answers.
    pub fn judged(&mut self, compared: u64, wrong: u64, examples: &[String]) {
        self.compared += compared;
        self.wrong += wrong;
        let room = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(examples.iter().take(room).cloned());
    }

    /// Notes what couldn't be measured.
    pub fn left_out(&mut self, what: String) {
        eprintln!("  left out: {what}");
        self.left_out.push(what);
    }

    /// How many targets were missed; a wrong answer misses one.
    pub fn missed(&self) -> usize {
        self.figures.iter().filter(|figure| figure.met == Some(false)).count() + usize::from(self.wrong > 0)
    }

    /// The tables for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (corpus, figures) in self.by_corpus() {
            let head = HEAD.map(str::to_owned).to_vec();
            let rows: Vec<Vec<String>> = std::iter::once(head).chain(figures.into_iter().map(row)).collect();
            let _ = write!(text, "\n{corpus}\n{}", output::columns(&rows));
        }
        let _ = write!(text, "\n{}", self.sentences().join("\n"));
        text.push('\n');
        text
    }

    /// The tables as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (corpus, figures) in self.by_corpus() {
            let _ = write!(text, "\n### {corpus}\n\n| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
            for figure in figures {
                let _ = writeln!(text, "| {} |", row(figure).join(" | "));
            }
        }
        for sentence in self.sentences() {
            let _ = write!(text, "\n{sentence}\n");
        }
        text
    }

    /// Puts the tables between the markers of `file`.
    pub fn write_into(&self, file: &Path) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(format!("{}: {why}", file.display()));
        let old = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let parts = old.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let (before, after) = parts.ok_or_else(|| failed(format!("add the lines `{BEGIN}` and `{END}` to it")))?;
        let new = format!("{before}{BEGIN}\n{}\n{END}{after}", self.markdown());
        std::fs::write(file, new).map_err(|error| failed(error.to_string()))
    }

    fn by_corpus(&self) -> Vec<(&str, Vec<&Figure>)> {
        let mut found: Vec<(&str, Vec<&Figure>)> = Vec::new();
        for figure in &self.figures {
            match found.iter_mut().find(|(corpus, _)| *corpus == figure.corpus) {
                Some((_, figures)) => figures.push(figure),
                None => found.push((&figure.corpus, vec![figure])),
            }
        }
        found
    }

    fn sentences(&self) -> Vec<String> {
        let targets = self.figures.iter().filter(|figure| figure.met.is_some()).count();
        let met = self.figures.iter().filter(|figure| figure.met == Some(true)).count();
        let mut all = vec![
            format!("{met} of {targets} targets met. Seed {}, {} processors.", self.seed, self.processors),
            format!("{} answers compared with the bare server's, {} wrong.", self.compared, self.wrong),
        ];
        all.extend(self.examples.iter().map(|example| format!("Wrong: {example}")));
        all.extend(self.left_out.iter().map(|what| format!("Left out: {what}.")));
        all
    }
}

const HEAD: [&str; 7] = ["scenario", "figure", "bare", "codeyard", "target", "met", "notes"];

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
        std::fs::write(&file, format!("before\n{BEGIN}\nold\n{END}\nafter\n")).unwrap();
        report.write_into(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("\nafter\n") && !text.contains("old"), "{text}");
        assert!(text.contains("| s | w | 1.25 | 2 | ≥ 3 | **no** |"), "{text}");
    }
}
