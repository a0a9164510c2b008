//! The report of a run: figures with their targets, as text, Markdown and JSON.

use std::fmt::Write;
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use crate::args::Scenario;
use codeyard_cli::Failure;
use codeyard_cli::shared::output;

/// A section of the report, with its own markers in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportSection {
    /// Codeyard compared with a bare language server.
    Servers,
    /// The code index compared with ripgrep.
    Index,
    Runs,
}

impl ReportSection {
    const ALL: [Self; 3] = [Self::Servers, Self::Index, Self::Runs];

    /// The lines of a Markdown file between which the tables of this section are written.
    fn markers(self) -> (&'static str, &'static str) {
        match self {
            Self::Servers => {
                ("<!-- figures of `codeyard bench`: begin -->", "<!-- figures of `codeyard bench`: end -->")
            }
            Self::Index => (
                "<!-- figures of `codeyard bench` of the code index: begin -->",
                "<!-- figures of `codeyard bench` of the code index: end -->",
            ),
            Self::Runs => (
                "<!-- figures of `codeyard bench` of runs: begin -->",
                "<!-- figures of `codeyard bench` of runs: end -->",
            ),
        }
    }

    /// The page of this section in `docs/internals/measurements`.
    fn page(self) -> &'static str {
        match self {
            Self::Servers => "language-servers.md",
            Self::Index => "code-index.md",
            Self::Runs => "launch-runs.md",
        }
    }

    fn head(self) -> [&'static str; 7] {
        let other = match self {
            Self::Servers => "bare",
            Self::Index => "ripgrep",
            Self::Runs => "without runs",
        };
        ["scenario", "figure", other, "codeyard", "target", "met", "notes"]
    }

    fn of(figure: &Figure) -> Self {
        match Scenario::from_str(&figure.scenario, false) {
            Ok(Scenario::Runs) => Self::Runs,
            Ok(scenario) if scenario.is_of_index() => Self::Index,
            _ => Self::Servers,
        }
    }
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub corpus: String,
    pub scenario: String,
    /// The figure, with its unit.
    pub what: String,
    /// Value of the bare language server, or of ripgrep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bare: Option<f64>,
    pub codeyard: f64,
    /// The target, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Whether the target is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// Notes: counts, conditions.
    pub notes: String,
}

/// A target, as text and as a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// The target as text.
    pub words: String,
    /// The bound, in the unit of the figure.
    pub bound: f64,
    /// True: the value must be at most the bound. False: at least.
    pub at_most: bool,
}

impl Target {
    /// The value must be at most `bound`.
    pub fn at_most(bound: f64, words: impl Into<String>) -> Option<Self> {
        Some(Self { words: words.into(), bound, at_most: true })
    }

    /// The value must be at least `bound`.
    pub fn at_least(bound: f64, words: impl Into<String>) -> Option<Self> {
        Some(Self { words: words.into(), bound, at_most: false })
    }

    fn is_met(&self, value: f64) -> bool {
        if self.at_most { value <= self.bound } else { value >= self.bound }
    }
}

/// The report of a run; the JSON file has these keys.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    /// Build profile of the executable: `debug`, `release`, `dist`.
    pub profile: String,
    /// Seed of the random positions.
    pub seed: u64,
    /// Processors that this process may use.
    pub processors: usize,
    /// The figures in the order of measurement.
    pub figures: Vec<Figure>,
    /// Answers that were compared with those of the bare server.
    pub compared: u64,
    /// Wrong answers among them.
    pub wrong: u64,
    /// Lines that were compared with those of ripgrep.
    pub lines: u64,
    /// Lines that only one side found, in files that the index does not report as left out.
    pub wrong_lines: u64,
    /// The first few wrong answers.
    pub examples: Vec<String>,
    /// What could not be measured, with the reason.
    pub left_out: Vec<String>,
}

/// Most examples of wrong answers in a report.
const MAX_EXAMPLES: usize = 10;

impl Report {
    /// Adds a figure and prints it on standard error.
    pub(crate) fn add(&mut self, mut figure: Figure) {
        figure.met = figure.target.as_ref().map(|target| target.is_met(figure.codeyard));
        eprintln!("  {}", row(&figure).join("  "));
        self.figures.push(figure);
    }

    /// Adds counts of compared and wrong answers.
    pub(crate) fn add_compared(&mut self, compared: u64, wrong: u64, examples: &[String]) {
        self.compared += compared;
        self.wrong += wrong;
        let room = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(examples.iter().take(room).cloned());
    }

    /// Adds counts of compared and wrong lines.
    pub(crate) fn lines(&mut self, compared: u64, wrong: u64, examples: &[String]) {
        self.add_compared(0, 0, examples);
        self.lines += compared;
        self.wrong_lines += wrong;
    }

    /// Records what could not be measured.
    pub(crate) fn left_out(&mut self, what: String) {
        eprintln!("  left out: {what}");
        self.left_out.push(what);
    }

    /// Number of missed targets. Wrong answers count as one missed target, wrong lines as another.
    pub(crate) fn missed(&self) -> usize {
        let wrong = [self.wrong, self.wrong_lines].iter().filter(|wrong| **wrong > 0).count();
        self.figures.iter().filter(|figure| figure.met == Some(false)).count() + wrong
    }

    /// The report as text for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for section in self.sections() {
            for (corpus, figures) in self.by_corpus(section) {
                let head = section.head().map(str::to_owned).to_vec();
                let rows: Vec<Vec<String>> = std::iter::once(head).chain(figures.into_iter().map(row)).collect();
                let _ = write!(text, "\n{corpus}\n{}", output::columns(&rows));
            }
            let _ = write!(text, "\n{}", self.sentences(section).join("\n"));
            text.push('\n');
        }
        text
    }

    pub(crate) fn markdown(&self) -> String {
        self.sections().map(|section| self.markdown_of(section)).collect()
    }

    fn markdown_of(&self, section: ReportSection) -> String {
        let mut text = String::new();
        for (corpus, figures) in self.by_corpus(section) {
            let head = section.head();
            let _ = write!(text, "\n### {corpus}\n\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
            for figure in figures {
                let cells: Vec<String> = row(figure).iter().map(|cell| cell.replace('|', "\\|")).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        }
        for sentence in self.sentences(section) {
            let _ = write!(text, "\n{sentence}\n");
        }
        text
    }

    /// Writes the tables between the markers of the file `place`, or of the section's page in the folder `place`. Sections without
    /// figures stay unchanged.
    pub(crate) fn write_into(&self, place: &Path) -> Result<(), Failure> {
        for section in self.sections() {
            let file = if place.is_dir() { place.join(section.page()) } else { place.to_owned() };
            let failed = |why: String| Failure::new(format!("{}: {why}", file.display()));
            let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
            let (begin, end) = section.markers();
            let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
            let (before, after) = parts.ok_or_else(|| failed(format!("add the lines `{begin}` and `{end}` to it")))?;
            let text = format!("{before}{begin}\n{}\n{end}{after}", self.markdown_of(section));
            std::fs::write(&file, text).map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    fn sections(&self) -> impl Iterator<Item = ReportSection> {
        ReportSection::ALL
            .into_iter()
            .filter(|section| self.figures.iter().any(|figure| ReportSection::of(figure) == *section))
    }

    fn by_corpus(&self, section: ReportSection) -> Vec<(&str, Vec<&Figure>)> {
        let mut found: Vec<(&str, Vec<&Figure>)> = Vec::new();
        for figure in self.figures.iter().filter(|figure| ReportSection::of(figure) == section) {
            match found.iter_mut().find(|(corpus, _)| *corpus == figure.corpus) {
                Some((_, figures)) => figures.push(figure),
                None => found.push((&figure.corpus, vec![figure])),
            }
        }
        found
    }

    fn sentences(&self, section: ReportSection) -> Vec<String> {
        let figures = || self.figures.iter().filter(|figure| ReportSection::of(figure) == section);
        let targets = figures().filter(|figure| figure.met.is_some()).count();
        let met = figures().filter(|figure| figure.met == Some(true)).count();
        let compared = match section {
            ReportSection::Servers => {
                Some(format!("{} answers compared with the bare server's, {} wrong.", self.compared, self.wrong))
            }
            ReportSection::Index => {
                Some(format!("{} lines compared with ripgrep's, {} wrong.", self.lines, self.wrong_lines))
            }
            ReportSection::Runs => None,
        };
        let mut all = vec![format!(
            "{met} of {targets} targets met. Profile {}, seed {}, {} processors.",
            self.profile, self.seed, self.processors
        )];
        all.extend(compared);
        let is_last = self.sections().last() == Some(section);
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

/// A number with three or four significant digits.
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
    fn targets_are_evaluated_and_tables_are_written_between_the_markers() {
        let mut report = Report::default();
        report.add(figure(2.0, Target::at_most(2.0, "≤ 2")));
        report.add(figure(2.0, Target::at_least(3.0, "≥ 3")));
        report.add(figure(0.5, None));
        assert_eq!(report.missed(), 1);
        report.add_compared(5, 1, &["x".into()]);
        assert_eq!(report.missed(), 2);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("b.md");
        assert!(report.write_into(&file).is_err());
        let (begin, end) = ReportSection::Servers.markers();
        std::fs::write(&file, format!("before\n{begin}\nold\n{end}\nafter\n")).unwrap();
        report.write_into(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("\nafter\n") && !text.contains("old"), "{text}");
        assert!(text.contains("| s | w | 1.25 | 2 | ≥ 3 | **no** |"), "{text}");
        // Figures of the index have their own markers and leave the other section unchanged.
        let mut of_index = Report::default();
        of_index.add(Figure { scenario: "search".into(), notes: "`a|b`".into(), ..figure(1.0, None) });
        assert!(of_index.write_into(&file).is_err());
        let (begin, end) = ReportSection::Index.markers();
        std::fs::write(&file, format!("{text}{begin}\n{end}\n")).unwrap();
        of_index.lines(7, 0, &[]);
        of_index.write_into(&file).unwrap();
        let both = std::fs::read_to_string(&file).unwrap();
        assert!(both.starts_with(&text) && both.contains("| ripgrep |") && both.contains("`a\\|b`"), "{both}");
        assert!(both.contains("7 lines compared with ripgrep's, 0 wrong."), "{both}");
        // In a folder each section has a page of its own.
        let page = file.with_file_name(ReportSection::Index.page());
        std::fs::write(&page, format!("{begin}\n{end}\n")).unwrap();
        of_index.write_into(file.parent().unwrap()).unwrap();
        assert!(std::fs::read_to_string(&page).unwrap().contains("| ripgrep |"));
    }
}
