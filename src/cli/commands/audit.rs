//! `codeyard audit`: checks, shows and exports the audit log. It only reads.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Failure;
use crate::args::{AuditCommand, AuditFilterArgs, StateArgs};
use crate::shared::{assemble, audit, output};
use codeyard_access::NamePatterns;
use codeyard_audit::{Anchor, AuditFiles, AuditLine, LineError, VerifyError, digest_of, verify};
use codeyard_base::clock;

/// How often `--follow` looks for lines, in milliseconds.
const FOLLOW_MS: u64 = 250;
/// Longest text of the arguments in a row, in characters.
const MAX_ARGUMENTS_SHOWN: usize = 100;

/// A line, as far as rows and filters need it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    seq: u64,
    at: String,
    event: String,
    tenant: Option<String>,
    principal: Option<String>,
    from: Option<String>,
    workspace: Option<String>,
    tool: Option<String>,
    operation: Option<String>,
    arguments: Option<Value>,
    verdict: String,
    reason: Option<String>,
    ms: Option<f64>,
    count: Option<u64>,
}

/// Which lines are wanted.
struct Filter<'a> {
    args: &'a AuditFilterArgs,
    workspaces: Option<WorkspacePattern>,
    text: Option<Wanted>,
}

/// A pattern of workspaces and groups, as lines name them.
struct WorkspacePattern {
    /// For workspaces of one tenant alone.
    tenant: Option<String>,
    names: NamePatterns,
    is_group: bool,
}

/// A text that arguments must have.
struct Wanted {
    text: String,
    digest: String,
}

#[derive(Serialize)]
struct VerifiedDocument {
    intact: bool,
    first: u64,
    last: u64,
    last_hash: String,
    files: usize,
    unfinished_bytes: usize,
}

pub(crate) fn run(command: AuditCommand) -> Result<(), Failure> {
    match command {
        AuditCommand::Verify { files, line, state, json } => run_verify(files, line.as_ref(), &state, json),
        AuditCommand::Tail { lines, follow, filter } => tail(lines, follow, &filter),
        AuditCommand::Search { text, filter } => search(text, &filter),
        AuditCommand::Export { since, until, state } => {
            let args = AuditFilterArgs { since, until, state, json: true, ..AuditFilterArgs::default() };
            let files = files(&args.state)?;
            show_all(&files, &Filter::new(&args, None)?)
        }
    }
}

/// The log of the state directory.
fn files(args: &StateArgs) -> Result<AuditFiles, Failure> {
    let folder = folder(args)?;
    let files = AuditFiles::in_folder(&folder)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", folder.display())))?;
    if files.paths().next().is_none() {
        return Err(Failure::missing(format!(
            "there is no audit log in {}; set `enabled = true` in the section [audit] of the configuration and start the server, or name its \
             --state-dir",
            folder.display()
        )));
    }
    Ok(files)
}

fn folder(args: &StateArgs) -> Result<PathBuf, Failure> {
    Ok(audit::folder(&assemble::open_state(args.state_dir.as_deref())?))
}

fn run_verify(given: Vec<PathBuf>, line: Option<&Anchor>, state: &StateArgs, json: bool) -> Result<(), Failure> {
    let files = if given.is_empty() { files(state)? } else { AuditFiles::at(given) };
    let found = verify(&files, line).map_err(|error| match error {
        VerifyError::Unreadable(LineError::Io { .. }) => {
            Failure::missing(format!("{error}; name files of an audit log"))
        }
        VerifyError::NoAnchor { ref anchor, first, .. } if anchor.seq < first => Failure::missing(format!(
            "line {} isn't here: the log begins with line {first}, and the files before it were removed or are elsewhere; name them too, or \
             an anchor that is here",
            anchor.seq
        )),
        error => Failure::new(format!(
            "the audit log is not as it was written: {error}; compare with a copy, such as that of the system's log"
        )),
    })?;
    let document = VerifiedDocument {
        intact: true,
        first: found.first,
        last: found.last.seq,
        last_hash: found.last.hash_text(),
        files: found.files,
        unfinished_bytes: found.unfinished,
    };
    output::print_json_or(json, &document, || {
        let VerifiedDocument { first, last, last_hash, files, .. } = &document;
        let mut text = match last {
            0 => "intact: no line yet\n".to_owned(),
            _ => format!("intact: lines {first} to {last} in {files} file(s)\nline {last}:{last_hash}\n"),
        };
        if *first > 1 {
            text.push_str(&format!(
                "the lines before {first} are not here: their files were removed, or are elsewhere\n"
            ));
        }
        if found.unfinished > 0 {
            text.push_str("the last line is unfinished: it is being written, or its process was killed\n");
        }
        text
    })
}

fn tail(lines: usize, follow: bool, args: &AuditFilterArgs) -> Result<(), Failure> {
    let filter = Filter::new(args, None)?;
    let mut newest: VecDeque<(AuditLine, Row)> = VecDeque::new();
    let mut last = 0;
    let mut rest = Some(files(&args.state)?);
    while let Some((file, others)) = rest.take().and_then(AuditFiles::split_newest) {
        let mut of_file = VecDeque::new();
        for line in file.lines() {
            let line = line.map_err(|error| Failure::new(error.to_string()))?;
            let Some(row) = Row::of(&line) else { continue };
            last = last.max(row.seq);
            if filter.wants(&row) {
                of_file.push_back((line, row));
                if of_file.len() + newest.len() > lines {
                    of_file.pop_front();
                }
            }
        }
        while let Some(line) = of_file.pop_back() {
            newest.push_front(line);
        }
        rest = (newest.len() < lines).then_some(others);
    }
    filter.show(newest.into())?;
    if follow { self::follow(&folder(&args.state)?, &filter, last) } else { Ok(()) }
}

/// Shows the lines after `last` as they come, until the command is stopped or nobody reads any more.
fn follow(folder: &Path, filter: &Filter<'_>, mut last: u64) -> Result<(), Failure> {
    let mut place = None;
    while !output::reader_is_gone() {
        let files = AuditFiles::in_folder(folder).map_err(|error| unreadable(folder, &error))?;
        let failed = |error: LineError| Failure::new(error.to_string());
        let mut lines = Vec::new();
        if let Some(read) = files.current_from(place) {
            let (newest, now) = read.map_err(failed)?;
            // Another file than before: what was written into those before it comes first.
            if place.is_none_or(|before| !now.is_in_file_of(before)) {
                let closed = files.split_newest().map(|(_, closed)| closed.from_line(last)).unwrap_or_default();
                lines = closed.lines().collect::<Result<_, _>>().map_err(failed)?;
            }
            lines.extend(newest);
            place = Some(now);
        }
        for line in lines {
            let Some(row) = Row::of(&line).filter(|row| row.seq > last) else { continue };
            last = row.seq;
            if filter.wants(&row) {
                match filter.args.json {
                    true => output::print_document(&raw(&line))?,
                    false => output::print(format!("{}\n", row.cells().join("  ")))?,
                }
            }
        }
        #[expect(clippy::disallowed_methods, reason = "a command for people; ends with the command")]
        std::thread::sleep(Duration::from_millis(FOLLOW_MS));
    }
    Ok(())
}

fn search(text: Option<String>, args: &AuditFilterArgs) -> Result<(), Failure> {
    show_all(&files(&args.state)?, &Filter::new(args, text)?)
}

fn show_all(files: &AuditFiles, filter: &Filter<'_>) -> Result<(), Failure> {
    let mut found = false;
    let mut rows = Vec::new();
    let mut damaged = 0_usize;
    for line in files.lines() {
        let line = line.map_err(|error| Failure::new(error.to_string()))?;
        let row = Row::of(&line);
        damaged += usize::from(line.is_whole && row.is_none());
        if let Some(row) = row.filter(|row| filter.wants(row)) {
            found = true;
            match filter.args.json {
                true if output::reader_is_gone() => return Ok(()),
                true => output::print_document(&raw(&line))?,
                false => rows.push((line, row)),
            }
        }
    }
    filter.show(rows)?;
    if damaged > 0 {
        output::eprint_line(format_args!(
            "{damaged} lines are none of an audit log; `codeyard audit verify` says where"
        ));
    }
    if found { Ok(()) } else { Err(Failure::missing("no line matches; `codeyard audit tail` shows the newest")) }
}

fn raw(line: &AuditLine) -> String {
    format!("{}\n", String::from_utf8_lossy(&line.bytes))
}

impl<'a> Filter<'a> {
    fn new(args: &'a AuditFilterArgs, text: Option<String>) -> Result<Self, Failure> {
        let workspaces = args.workspace.as_deref().map(WorkspacePattern::new).transpose().map_err(Failure::usage)?;
        let text = text.map(|text| Wanted { digest: digest_of(&text), text });
        Ok(Self { args, workspaces, text })
    }

    /// Whether a line is wanted.
    fn wants(&self, row: &Row) -> bool {
        let Self { args, workspaces, text } = self;
        let at = clock::seconds(&row.at);
        let is =
            |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| found == Some(wanted));
        args.event.is_none_or(|event| event.as_str() == row.event)
            && is(&args.tenant, row.tenant.as_deref())
            && is(&args.principal, row.principal.as_deref())
            && is(&args.verdict, Some(&row.verdict))
            && args.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && args.until.is_none_or(|until| at.is_some_and(|at| at < until))
            && workspaces
                .as_ref()
                .is_none_or(|pattern| row.workspace.as_deref().is_some_and(|name| pattern.matches(name)))
            && text.as_ref().is_none_or(|text| row.arguments.as_ref().is_some_and(|value| text.is_in(value)))
    }

    /// Prints lines: as rows, or as they are.
    fn show(&self, lines: Vec<(AuditLine, Row)>) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        if self.args.json {
            return lines.iter().try_for_each(|(line, _)| output::print_document(&raw(line)));
        }
        let heads = ["AT", "EVENT", "WHO", "FROM", "WORKSPACE", "WHAT", "VERDICT", "MS", "ARGUMENTS"];
        let mut table = vec![heads.map(str::to_owned).to_vec()];
        table.extend(lines.iter().map(|(_, row)| row.cells()));
        output::print(output::columns(&table))
    }
}

impl WorkspacePattern {
    /// `PATTERN`, `TENANT/PATTERN`, and both with `@` before the pattern for groups.
    fn new(text: &str) -> Result<Self, String> {
        let (tenant, pattern) = text.split_once('/').map_or((None, text), |(tenant, rest)| (Some(tenant), rest));
        let (is_group, pattern) = pattern.strip_prefix('@').map_or((false, pattern), |group| (true, group));
        Ok(Self { tenant: tenant.map(str::to_owned), names: NamePatterns::new(&[pattern])?, is_group })
    }

    fn matches(&self, name: &str) -> bool {
        let (tenant, name) = name.split_once('/').unwrap_or(("default", name));
        let group = name.strip_prefix('@');
        self.tenant.as_deref().is_none_or(|wanted| wanted == tenant)
            && group.is_some() == self.is_group
            && self.names.matches(group.unwrap_or(name))
    }
}

impl Wanted {
    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains(&self.text) || *text == self.digest,
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Object(members) => members.values().any(|member| self.is_in(member)),
            _ => false,
        }
    }
}

impl Row {
    /// The row of a whole line of a log.
    fn of(line: &AuditLine) -> Option<Self> {
        serde_json::from_slice(&line.bytes).ok().filter(|_| line.is_whole)
    }

    fn cells(&self) -> Vec<String> {
        let principal = self.principal.as_deref().unwrap_or("-");
        let who = match self.tenant.as_deref() {
            None | Some("default") => principal.to_owned(),
            Some(tenant) => format!("{tenant}/{principal}"),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let mut what: Vec<&str> = self.tool.iter().chain(&self.operation).map(String::as_str).collect();
        let count = self.count.map(|count| format!("{count} times"));
        what.extend(count.as_deref());
        let verdict = match &self.reason {
            Some(reason) => format!("{} ({reason})", self.verdict),
            None => self.verdict.clone(),
        };
        let arguments = self.arguments.as_ref().map(ToString::to_string).unwrap_or_default();
        let ms = self.ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"));
        vec![
            self.at.clone(),
            self.event.clone(),
            who,
            text(&self.from),
            text(&self.workspace),
            what.join(" "),
            verdict,
            ms,
            arguments.chars().take(MAX_ARGUMENTS_SHOWN).collect(),
        ]
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_named_by_patterns_with_and_without_a_tenant() {
        let names = ["web", "team-a/web", "team-b/api", "@all", "team-a/@all"];
        let matching = |text: &str| -> Vec<&str> {
            let pattern = WorkspacePattern::new(text).unwrap();
            names.into_iter().filter(|name| pattern.matches(name)).collect()
        };
        assert_eq!(matching("web"), ["web", "team-a/web"]);
        assert_eq!(matching("team-a/*"), ["team-a/web"]);
        assert_eq!(matching("default/web"), ["web"]);
        assert_eq!(matching("@*"), ["@all", "team-a/@all"]);
        assert_eq!(matching("team-a/@all"), ["team-a/@all"]);
        assert!(WorkspacePattern::new("a/b/c").is_err() && WorkspacePattern::new("").is_err());
    }
}
