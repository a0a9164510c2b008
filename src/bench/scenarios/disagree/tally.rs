//! The counts of the scenario `disagree`: agreement by language, and disagreements by cause.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::args::Scenario;
use crate::figure;
use crate::report::{Report, Target};

/// Examples that are printed of each cause.
const EXAMPLES: usize = 8;
/// How the sentences of the code index begin or go on (`docs/internals/decisions/index-comparison.md`).
const INDEX_MARKS: [&str; 3] = ["in this answer: ", "By its name, ", "By their name, "];
/// Wanted unmarked disagreements of each thousand names.
const WANTED: f64 = 1.0;

/// What a disagreement looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The file imports the name.
    Import,
    /// The name is a member of an object whose type may be unknown.
    Member,
    /// The name is assigned, declared or given as a key there.
    OwnName,
    /// It is called.
    Call,
    /// Any other use.
    Other,
    /// There is no definition.
    NoDefinition,
    /// The definition is at another place.
    OtherDefinition,
}

impl Cause {
    /// The cause of a use in this line that isn't in an answer.
    pub(super) fn of_use(line: &str, word: &str) -> Self {
        let Some(at) = line.find(word) else { return Self::Other };
        let before = line[..at].trim_end();
        let after = line[at + word.len()..].trim_start();
        let first = line.split_whitespace().next().unwrap_or_default();
        if ["import", "from", "use", "using", "require", "export", "include", "#include"].contains(&first) {
            Self::Import
        } else if before.ends_with(['.', '>']) || before.ends_with("::") {
            Self::Member
        } else if after.starts_with(':') || after.starts_with('=') && !after.starts_with("==") {
            Self::OwnName
        } else if after.starts_with('(') {
            Self::Call
        } else {
            Self::Other
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Import => "references: a file that imports the name isn't listed",
            Self::Member => "references: a file that uses the name as a member isn't listed",
            Self::OwnName => "references: a file that gives or declares the name isn't listed",
            Self::Call => "references: a file that calls the name isn't listed",
            Self::Other => "references: a file with the name in code isn't listed",
            Self::NoDefinition => "definition: nothing is found at a use",
            Self::OtherDefinition => "definition: another place than the only definition",
        }
    }
}

/// One disagreement.
#[derive(Debug, Clone)]
pub(super) struct Disagreement {
    pub(super) cause: Cause,
    pub(super) text: String,
    /// What the answer says besides its entries.
    pub(super) marks: String,
}

impl Disagreement {
    fn is_marked_by_index(&self) -> bool {
        index_sentence(&self.marks).is_some()
    }

    fn is_marked_by_coverage(&self) -> bool {
        !self.marks.is_empty() && index_sentence(&self.marks) != Some(0)
    }
}

/// Where the sentence of the code index begins, which is the last one.
fn index_sentence(marks: &str) -> Option<usize> {
    let at = INDEX_MARKS.iter().filter_map(|mark| marks.find(mark)).min()?;
    Some(marks[..at].rfind(". ").map_or(0, |end| end + 2))
}

/// The counts of one language.
#[derive(Debug, Clone, Default)]
struct LanguageTally {
    names: usize,
    agree: usize,
    /// Marked by what a server doesn't know.
    marked: usize,
    /// Those of them with a sentence of the index, which names files.
    marked_by_both: usize,
    /// Marked by the index alone.
    marked_by_index: usize,
    unmarked: usize,
    /// Answers that the index marks although all files with the name are listed.
    marked_in_vain: usize,
    definitions: usize,
    definitions_agree: usize,
    definitions_unmarked: usize,
    failed: usize,
    took: Duration,
}

/// All counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    languages: BTreeMap<&'static str, LanguageTally>,
    disagreements: BTreeMap<(Cause, &'static str), Vec<Disagreement>>,
}

impl Tally {
    fn of(&mut self, language: &'static str) -> &mut LanguageTally {
        self.languages.entry(language).or_default()
    }

    pub(super) fn failed(&mut self, language: &'static str) {
        self.of(language).failed += 1;
    }

    pub(super) fn took(&mut self, language: &'static str, took: Duration) {
        self.of(language).took += took;
    }

    /// Counts the references of one name.
    pub(super) fn add_references(&mut self, language: &'static str, found: Option<Disagreement>, marks: &str) {
        let tally = self.of(language);
        tally.names += 1;
        match &found {
            None => {
                tally.agree += 1;
                tally.marked_in_vain += usize::from(index_sentence(marks).is_some());
            }
            Some(one) if one.is_marked_by_coverage() => {
                tally.marked += 1;
                tally.marked_by_both += usize::from(one.is_marked_by_index());
            }
            Some(one) if one.is_marked_by_index() => tally.marked_by_index += 1,
            Some(_) => tally.unmarked += 1,
        }
        self.keep(language, found);
    }

    /// Counts the definition of one name.
    pub(super) fn add_definition(&mut self, language: &'static str, found: Option<Disagreement>) {
        let tally = self.of(language);
        tally.definitions += 1;
        match &found {
            None => tally.definitions_agree += 1,
            Some(one) => tally.definitions_unmarked += usize::from(one.marks.is_empty()),
        }
        self.keep(language, found);
    }

    fn keep(&mut self, language: &'static str, found: Option<Disagreement>) {
        if let Some(found) = found {
            self.disagreements.entry((found.cause, language)).or_default().push(found);
        }
    }

    /// The counts so far.
    pub(super) fn sentence(&self) -> String {
        let sum = |count: fn(&LanguageTally) -> usize| self.languages.values().map(count).sum::<usize>();
        let names = sum(|tally| tally.names);
        let agree = sum(|tally| tally.agree);
        let marked = sum(|tally| tally.marked);
        let by_both = sum(|tally| tally.marked_by_both);
        let by_index = sum(|tally| tally.marked_by_index);
        let unmarked = sum(|tally| tally.unmarked);
        format!(
            "so far {names} names: {agree} agree, {marked} marked by coverage, {by_both} of them by the index too, {by_index} by the index alone, {unmarked} unmarked"
        )
    }

    /// Adds the unmarked disagreements of each language to the report.
    pub(super) fn add_figures(&self, report: &mut Report) {
        for (language, tally) in self.languages.iter().filter(|(_, tally)| tally.names > 0) {
            let rate = tally.unmarked as f64 * 1_000.0 / tally.names as f64;
            let notes = format!("{} names, {} agree", tally.names, tally.agree);
            let target = Target::at_most(WANTED, "≤ 1");
            let what = "references, unmarked disagreements per 1,000 names";
            report.add(figure(language, Scenario::Disagree, what, None, rate, target, notes));
        }
    }

    /// The tables, and the disagreements by cause.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "| language | names | agree | marked by coverage | of them by the index too | by the index alone | unmarked | index marks agreeing | definitions | agree | unmarked | failed | ms per name |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (language, tally) in &self.languages {
            let ms = tally.took.as_millis() as usize / tally.names.max(1);
            let LanguageTally { names, agree, marked, marked_by_both, marked_by_index, unmarked, .. } = tally;
            let LanguageTally { marked_in_vain, definitions, definitions_agree, definitions_unmarked, failed, .. } =
                tally;
            let _ = writeln!(
                text,
                "| {language} | {names} | {agree} | {marked} | {marked_by_both} | {marked_by_index} | {unmarked} | {marked_in_vain} | {definitions} | {definitions_agree} | {definitions_unmarked} | {failed} | {ms} |"
            );
        }
        for ((cause, language), found) in &self.disagreements {
            let unmarked = found.iter().filter(|one| one.marks.is_empty()).count();
            let by_index = found.iter().filter(|one| one.is_marked_by_index()).count();
            let _ = writeln!(
                text,
                "\n{language}, {}: {} ({by_index} marked by the index, {unmarked} unmarked)",
                cause.description(),
                found.len()
            );
            let mut examples: Vec<&Disagreement> = found.iter().collect();
            examples.sort_by_key(|one| !one.marks.is_empty());
            for one in examples.into_iter().take(EXAMPLES) {
                let mark = match one.marks.is_empty() {
                    true => "unmarked",
                    false if one.is_marked_by_coverage() => "coverage",
                    false => "index",
                };
                let _ = writeln!(text, "- [{mark}] {}", one.text);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_of_the_index_may_follow_one_about_coverage() {
        let found = |marks: &str| {
            let one = Disagreement { cause: Cause::Other, text: String::new(), marks: marks.to_owned() };
            (one.is_marked_by_coverage(), one.is_marked_by_index())
        };
        let index = "2 files use the name `run` and aren't in this answer: a.ts, b.ts; search the name as text.";
        let coverage = "1 import of 3 TypeScript files can't be resolved by typescript: `node_modules` is missing.";
        assert_eq!((found(""), found(index), found(coverage)), ((false, false), (false, true), (true, false)));
        assert_eq!(found(&format!("{coverage} {index}")), (true, true));
        assert_eq!(found(&format!("{coverage} By its name, `run` is defined at a.ts:1.")), (true, true));
    }

    #[test]
    fn a_use_has_the_cause_that_its_line_shows() {
        for (line, cause) in [
            ("from a import run_all", Cause::Import),
            ("  self.run_all(1)", Cause::Member),
            ("f(run_all=1)", Cause::OwnName),
            ("run_all(1)", Cause::Call),
            ("f(run_all)", Cause::Other),
            ("", Cause::Other),
        ] {
            assert_eq!(Cause::of_use(line, "run_all"), cause, "{line}");
        }
    }
}
