//! ripgrep, as it is on the `PATH`: how long it takes, and which lines it finds.
//!
//! It is told to search the files that the index is to hold: hidden ones too, ignored ones not, nothing of the user's own settings.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::asked::{Asked, Sort};
use crate::process;
use crate::stats::median;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_process::launch::Connection;

/// The folders that no walk of ours enters.
const NEVER: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];
/// Starts that tell what a start alone takes.
const STARTS: usize = 15;
/// Bytes read at once.
const READ_BYTES: usize = 256 * 1024;

/// See the module.
pub(super) struct Ripgrep {
    /// What `rg --version` takes, started in the same way.
    start: Duration,
    /// What it calls itself.
    pub version: String,
}

/// A line that was found: its file's path and its number.
pub(super) type Line = (String, u32);

impl Ripgrep {
    /// The one on the `PATH`.
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

    /// How long a question takes it, the start of a process not counted, and how many lines it finds. Its output is read and dropped.
    pub(super) async fn time(&self, asked: &Asked, root: &Path) -> Result<(Duration, u64), Failure> {
        let mut buffer = vec![0; READ_BYTES];
        let args = args(asked);
        let began = Instant::now();
        let Connection { mut reader, writer, process } = start(&args, root).await?;
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

    /// Every line that it finds, in the order of paths and numbers.
    pub(super) async fn lines(&self, asked: &Asked, root: &Path) -> Result<Vec<Line>, Failure> {
        let output = bytes(&args(asked), root).await?;
        let mut lines: Vec<Line> = output.split(|byte| *byte == b'\n').filter_map(line).collect();
        lines.sort_unstable();
        Ok(lines)
    }

    /// Every file that it searches.
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

fn args(asked: &Asked) -> Vec<OsString> {
    let mut args = common();
    args.extend(["--no-heading", "-H", "-n", "-0"].map(OsString::from));
    args.push(if asked.ignores_case { "-i" } else { "-s" }.into());
    if asked.is_word {
        args.push("-w".into());
    }
    if asked.sort == Sort::Text {
        args.push("-F".into());
    }
    args.extend(["-e".into(), asked.pattern.clone().into(), "./".into()]);
    args
}

/// A line of its output: the path, a zero, the number, a colon, the text. What it says of binary files has no zero.
fn line(line: &[u8]) -> Option<Line> {
    let (path, rest) = line.split_at(line.iter().position(|byte| *byte == 0)?);
    let digits = &rest[1..rest.iter().position(|byte| *byte == b':')?];
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let path = std::str::from_utf8(path.strip_prefix(b"./").unwrap_or(path)).ok()?;
    Some((path.to_owned(), number))
}

async fn start(args: &[OsString], root: &Path) -> Result<Connection, Failure> {
    process::start("rg", Path::new("rg"), args.to_vec(), root, std::env::vars_os().collect()).await
}

async fn bytes(args: &[OsString], root: &Path) -> Result<Vec<u8>, Failure> {
    let Connection { mut reader, writer, process } = start(args, root).await?;
    drop(writer);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).await.map_err(|error| Failure::new(format!("rg: {error}")))?;
    // It ends with 1 where nothing matches, and with 2 after a file that it couldn't read.
    process.exited().await;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_are_told_from_its_remarks() {
        assert_eq!(line(b"./a/b.c\x0012:int x; // 3:4"), Some(("a/b.c".to_owned(), 12)));
        assert_eq!(line(b"a b\x001:"), Some(("a b".to_owned(), 1)));
        for remark in [&b""[..], b"Binary file ./a matches", b"./a\x00x:y", b"./a\x0012"] {
            assert_eq!(line(remark), None);
        }
    }
}
