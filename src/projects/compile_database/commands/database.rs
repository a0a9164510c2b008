//! Compile databases (`compile_commands.json`): reading one as tools write it, and writing one.
//!
//! Reading accepts both forms of an entry, `command` and `arguments`, relative directories and files, and entries that name files that are
//! gone; those are left out and counted. Invariant: what is written depends only on the entries.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::shell_words;
use crate::changed_file::write_if_changed;
use crate::limits::MAX_DATABASE_BYTES;
pub(crate) use codeyard_files::gate::normal;
use codeyard_files::gate::{FileRefusal, read_below};

/// One entry of a database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CompileCommand {
    /// The working directory, absolute.
    pub directory: PathBuf,
    /// The source: absolute, or relative to the directory.
    pub file: PathBuf,
    /// The compiler and its arguments.
    pub arguments: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadDatabase {
    /// Its entries, in order.
    pub commands: Vec<CompileCommand>,
    /// Entries that name no file that exists.
    pub gone: usize,
    /// Entries that lack a file or a command.
    pub malformed: usize,
}

impl CompileCommand {
    /// The absolute path of the source, without `.` and `..`.
    pub(crate) fn path(&self) -> PathBuf {
        normal(&self.directory.join(&self.file))
    }

    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("arguments".into(), self.arguments.clone().into());
        entry.insert("directory".into(), self.directory.to_string_lossy().into());
        entry.insert("file".into(), self.file.to_string_lossy().into());
        Value::Object(entry)
    }
}

/// Reads the database at `path`, below the folder `top`.
///
/// # Errors
/// A sentence that says why it can't be used.
pub(crate) fn read(path: &Path, top: &Path) -> Result<ReadDatabase, String> {
    let bytes = read_below(top, path, MAX_DATABASE_BYTES).map_err(|error| match error {
        FileRefusal::TooLarge(limit) => format!("it is larger than {} MiB", limit / 1024 / 1024),
        error => format!("it can't be read: {error}"),
    })?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut reader = serde_json::Deserializer::from_slice(text);
    let found = reader.deserialize_seq(Entries { folder }).and_then(|found| reader.end().map(|()| found));
    found.map_err(|error| format!("it is not a JSON array of entries: {error}"))
}

/// Reads entries one after another, so that only what is kept of them takes memory.
struct Entries<'a> {
    folder: &'a Path,
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ReadDatabase;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<ReadDatabase, A::Error> {
        let mut found = ReadDatabase::default();
        while let Some(entry) = entries.next_element::<Value>()? {
            match command_of(&entry, self.folder) {
                None => found.malformed += 1,
                Some(command) if !command.path().is_file() => found.gone += 1,
                Some(command) => found.commands.push(command),
            }
        }
        Ok(found)
    }
}

fn command_of(entry: &Value, folder: &Path) -> Option<CompileCommand> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let arguments: Vec<String> = match entry.get("arguments").and_then(Value::as_array) {
        Some(arguments) => arguments.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        None => shell_words::split(text("command")?),
    };
    let directory = normal(&folder.join(text("directory").unwrap_or(".")));
    (!arguments.is_empty()).then_some(CompileCommand { directory, file: text("file")?.into(), arguments })
}

/// Writes a database, if its content differs from the file's. Returns its path.
///
/// # Errors
/// If it can't be written.
pub(crate) fn write(path: &Path, commands: &[CompileCommand]) -> io::Result<()> {
    let mut text = String::from("[\n");
    for (at, command) in commands.iter().enumerate() {
        text.push_str(&command.to_value().to_string());
        text.push_str(if at + 1 < commands.len() { ",\n" } else { "\n" });
    }
    text.push_str("]\n");
    write_if_changed(path, &text)
}

/// The files that a database lists, as real paths.
pub(crate) fn listed_files(commands: &[CompileCommand]) -> BTreeSet<PathBuf> {
    commands.iter().map(|command| command.path()).map(|path| path.canonicalize().unwrap_or(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn both_forms_relative_paths_and_gone_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("build")).unwrap();
        for name in ["a b.c", "ü.c", "c.c"] {
            fs::write(root.join(name), "").unwrap();
        }
        let path = root.join("build/compile_commands.json");
        let text = format!(
            "\u{feff}[{{\"directory\": \"..\", \"file\": \"a b.c\", \"command\": \"cc -I'x y' -c 'a b.c'\"}},
             {{\"file\": \"../ü.c\", \"arguments\": [\"cc\", \"../ü.c\"]}},
             {{\"directory\": \"{}\", \"file\": \"./c.c\", \"command\": \"cc c.c\"}},
             {{\"directory\": \"..\", \"file\": \"gone.c\", \"command\": \"cc gone.c\"}}, {{\"file\": \"c.c\"}}, 7]",
            root.display()
        );
        fs::write(&path, text).unwrap();
        let found = read(&path, &root).unwrap();
        assert_eq!((found.commands.len(), found.gone, found.malformed), (3, 1, 2));
        let paths: Vec<PathBuf> = found.commands.iter().map(CompileCommand::path).collect();
        assert_eq!(paths, ["a b.c", "ü.c", "c.c"].map(|name| root.join(name)));
        assert_eq!(found.commands[0].arguments, ["cc", "-Ix y", "-c", "a b.c"]);
        let copy = root.join("copy.json");
        write(&copy, &found.commands).unwrap();
        assert_eq!(read(&copy, &root).unwrap().commands, found.commands);
    }

    #[test]
    fn what_is_no_database_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("compile_commands.json");
        assert_eq!(read(&path, folder.path()).unwrap_err(), "it can't be read: no readable regular file is there");
        for text in ["{ not json", "{}", "[{]", "", "[] []", "7"] {
            fs::write(&path, text).unwrap();
            assert!(read(&path, folder.path()).unwrap_err().starts_with("it is not a JSON array"), "{text}");
        }
        fs::write(&path, "[]").unwrap();
        assert_eq!(read(&path, folder.path()), Ok(ReadDatabase::default()));
    }
}
