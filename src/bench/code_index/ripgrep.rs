//! The ripgrep on the `PATH`: its duration and the lines that it finds.
//!
//! It searches the same files as the index: hidden files, no ignored files, without the user's configuration.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::search_questions::{PatternKind, SearchQuestion};
use crate::process;
use crate::stats::median;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::launch::LaunchedServer;

/// Folders that the index never contains.
const NEVER: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];
/// Number of starts that measure the process start.
const STARTS: usize = 15;
/// Size of the read buffer in bytes.
const READ_BYTES: usize = 256 * 1024;

/// The ripgrep on the `PATH`.
pub(super) struct Ripgrep {
    /// Duration of `rg --version`, started in the same way.
    start: Duration,
    /// Its version line.
    pub version: String,
}

/// A matching line: path of the file, number of the line.
pub(super) type MatchedLine = (String, u32);

impl Ripgrep {
    /// Finds ripgrep and measures its process start.
    pub(super) async fn find() -> Result<Self, Failure> {
        let missing = |_| {
            Failure::missing(
                "`rg` isn't on the PATH; install the package `ripgrep` (`apt-get install ripgrep`, `brew install ripgrep`)",
            )
        };
        let mut version = Vec::new();
        let mut times = Vec::new();
        for _ in 0..STARTS {
            let began = Instant::now();
            version = bytes(&["--version".into()], Path::new("/")).await.map_err(missing)?;
            times.push(began.elapsed().as_secs_f64());
        }
        let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
        if version.is_empty() {
            return Err(missing(Failure::new("")));
        }
        Ok(Self { start: Duration::from_secs_f64(median(times)), version })
    }

    /// The duration of a search without the process start, and the number of lines. The output is read and dropped.
    pub(super) async fn time(&self, question: &SearchQuestion, root: &Path) -> Result<(Duration, u64), Failure> {
        let mut buffer = vec![0; READ_BYTES];
        let args = args(question);
        let began = Instant::now();
        let LaunchedServer { mut reader, writer, process } = start(&args, root).await?;
        drop(writer);
        let mut lines = 0_u64;
        loop {
            let read = reader.read(&mut buffer).await.map_err(|error| Failure::new(format!("rg: {error}")))?;
            if read == 0 {
                break;
            }
            lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        process.exited().await;
        Ok((began.elapsed().saturating_sub(self.start), lines))
    }

    /// All matching lines, sorted by path and number.
    pub(super) async fn lines(&self, question: &SearchQuestion, root: &Path) -> Result<Vec<MatchedLine>, Failure> {
        let output = bytes(&args(question), root).await?;
        let mut lines: Vec<MatchedLine> = output.split(|byte| *byte == b'\n').filter_map(line).collect();
        lines.sort_unstable();
        Ok(lines)
    }

    pub(super) async fn files(&self, root: &Path) -> Result<Vec<String>, Failure> {
        let mut args = common();
        args.push("--files".into());
        let output = bytes(&args, root).await?;
        let path = |line: &[u8]| String::from_utf8(line.strip_prefix(b"./").unwrap_or(line).to_vec()).ok();
        let mut files: Vec<String> =
            output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).filter_map(path).collect();
        files.sort_unstable();
        Ok(files)
    }
}

fn common() -> Vec<OsString> {
    let flags = ["--no-config", "--hidden", "--no-ignore-global", "--color=never"];
    let mut args: Vec<OsString> = flags.map(OsString::from).to_vec();
    for folder in NEVER {
        args.extend(["-g".into(), format!("!{folder}").into()]);
    }
    args
}

fn args(question: &SearchQuestion) -> Vec<OsString> {
    let mut args = common();
    args.extend(["--no-heading", "-H", "-n", "-0"].map(OsString::from));
    args.push(if question.ignores_case { "-i" } else { "-s" }.into());
    if question.is_word {
        args.push("-w".into());
    }
    if question.pattern_kind == PatternKind::Text {
        args.push("-F".into());
    }
    args.extend(["-e".into(), question.pattern.clone().into(), "./".into()]);
    args
}

/// Parses a line of the output: path, NUL, number, colon, text. Messages about binary files contain no NUL.
fn line(line: &[u8]) -> Option<MatchedLine> {
    let (path, rest) = line.split_at(line.iter().position(|byte| *byte == 0)?);
    let digits = &rest[1..rest.iter().position(|byte| *byte == b':')?];
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let path = std::str::from_utf8(path.strip_prefix(b"./").unwrap_or(path)).ok()?;
    Some((path.to_owned(), number))
}

async fn start(args: &[OsString], root: &Path) -> Result<LaunchedServer, Failure> {
    process::start("rg", Path::new("rg"), args.to_vec(), root, std::env::vars_os().collect()).await
}

async fn bytes(args: &[OsString], root: &Path) -> Result<Vec<u8>, Failure> {
    let LaunchedServer { mut reader, writer, process } = start(args, root).await?;
    drop(writer);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).await.map_err(|error| Failure::new(format!("rg: {error}")))?;
    // The exit code is 1 without a match, and 2 if a file could not be read. Both are accepted.
    process.exited().await;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_lines_are_parsed_and_messages_are_ignored() {
        assert_eq!(line(b"./a/b.c\x0012:int x; // 3:4"), Some(("a/b.c".to_owned(), 12)));
        assert_eq!(line(b"a b\x001:"), Some(("a b".to_owned(), 1)));
        for remark in [&b""[..], b"Binary file ./a matches", b"./a\x00x:y", b"./a\x0012"] {
            assert_eq!(line(remark), None);
        }
    }
}
