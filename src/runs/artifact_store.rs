//! The artifacts of one run: files with a name, a digest and a content type, in the run's folder.
//!
//! It doesn't know what an artifact means. Invariants: a name can't leave the folder; an artifact has its new content only after the event
//! that announces it is durable, and a crash between the two is completed when the run is opened again; an artifact is read as a whole
//! with the announced digest, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256hex;

use crate::limits::MAX_ARTIFACT_BYTES;
use crate::run_folder::shown;

/// Length of the name of an artifact, in bytes.
const MAX_ARTIFACT_NAME_BYTES: usize = 128;

/// The folder of a run's artifacts.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    folder: PathBuf,
}

/// What identifies one version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ArtifactVersion {
    /// The name, `page_plan.json`.
    pub name: String,
    /// The digest of its content, lower-case hexadecimal.
    pub sha256: String,
    /// The length of its content.
    pub bytes: u64,
}

/// Why an artifact can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The name isn't one of an artifact.
    #[error(
        "{name:?} is no name of an artifact: use up to {MAX_ARTIFACT_NAME_BYTES} letters, digits, `.`, `_` and `-`, the first a letter or digit"
    )]
    Name { name: String },
    /// The content is too large.
    #[error("the artifact {name} has {bytes} bytes, more than {MAX_ARTIFACT_BYTES}")]
    TooLarge { name: String, bytes: u64 },
    /// The content on disk isn't the announced one.
    #[error("the artifact {name} of the run was changed on disk; resume the run or start another one")]
    Changed { name: String },
    #[error(
        "the artifact {} can't be read or written: {source}; free space and check its permissions, then resume the run",
        shown(file)
    )]
    Io { file: PathBuf, source: io::Error },
}

impl ArtifactStore {
    /// The artifacts in `folder`, which must exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Whether `name` can be one of an artifact.
    pub fn is_name(name: &str) -> bool {
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let bytes = name.as_bytes();
        (1..=MAX_ARTIFACT_NAME_BYTES).contains(&bytes.len())
            && bytes[0].is_ascii_alphanumeric()
            && bytes.iter().all(is_inner)
    }

    /// The content type that the name means (`docs/internals/reference/contract-launch.md#artifacts`). Content that isn't UTF-8 is sent as
    /// base64.
    pub fn content_type(name: &str) -> &'static str {
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "json" => "application/json",
            "ndjson" => "application/x-ndjson",
            "yaml" | "yml" => "application/x-yaml",
            "md" => "text/markdown",
            "png" => "image/png",
            "gz" => "application/gzip",
            _ => "text/plain",
        }
    }

    /// Writes the next version beside the present one, durably. It counts only after [`Self::publish`].
    ///
    /// # Errors
    /// If the name or the size isn't allowed, or it can't be written.
    pub fn stage(&self, name: &str, content: &[u8]) -> Result<ArtifactVersion, ArtifactError> {
        let (staged, _) = self.paths(name)?;
        let bytes = content.len() as u64;
        if bytes > MAX_ARTIFACT_BYTES {
            return Err(ArtifactError::TooLarge { name: name.to_owned(), bytes });
        }
        let write = || {
            // A link that something put there isn't followed.
            remove_if_exists(&staged)?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(|source| ArtifactError::Io { file: staged.clone(), source })?;
        Ok(ArtifactVersion { name: name.to_owned(), sha256: sha256hex(content), bytes })
    }

    /// Makes the staged version the present one. Call it when the event that announces it is durable.
    ///
    /// # Errors
    /// If it can't be renamed.
    pub fn publish(&self, version: &ArtifactVersion) -> Result<(), ArtifactError> {
        let (staged, published) = self.paths(&version.name)?;
        let rename = || {
            fs::rename(&staged, &published)?;
            File::open(&self.folder)?.sync_all()
        };
        rename().map_err(|source| ArtifactError::Io { file: published.clone(), source })
    }

    /// Completes what a crash has interrupted: announced versions are published, others are removed.
    ///
    /// # Errors
    /// If an announced version is missing, or the folder can't be changed.
    pub fn recover(&self, announced: &[ArtifactVersion]) -> Result<(), ArtifactError> {
        for version in announced {
            let (staged, published) = self.paths(&version.name)?;
            if !is_version(&published, version) && is_version(&staged, version) {
                self.publish(version)?;
            }
        }
        let failed = |source| ArtifactError::Io { file: self.folder.clone(), source };
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                remove_if_exists(&entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The content of an announced version.
    ///
    /// # Errors
    /// If it can't be read, or isn't the announced one.
    pub fn read(&self, version: &ArtifactVersion) -> Result<Vec<u8>, ArtifactError> {
        let (_, published) = self.paths(&version.name)?;
        let content = read_bounded(&published, version.bytes)
            .map_err(|source| ArtifactError::Io { file: published.clone(), source })?;
        let is_announced = content.len() as u64 == version.bytes && sha256hex(&content) == version.sha256;
        if is_announced { Ok(content) } else { Err(ArtifactError::Changed { name: version.name.clone() }) }
    }

    /// Where the next and the present version are.
    fn paths(&self, name: &str) -> Result<(PathBuf, PathBuf), ArtifactError> {
        if !Self::is_name(name) {
            return Err(ArtifactError::Name { name: name.to_owned() });
        }
        Ok((self.folder.join(format!(".{name}.new")), self.folder.join(name)))
    }
}

/// The first `bytes` of a file, and one more if it is longer.
fn read_bounded(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(bytes.saturating_add(1)).read_to_end(&mut content)?;
    Ok(content)
}

fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

fn is_version(path: &Path, version: &ArtifactVersion) -> bool {
    read_bounded(path, version.bytes)
        .is_ok_and(|content| content.len() as u64 == version.bytes && sha256hex(&content) == version.sha256)
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_artifact_changes_only_when_it_is_published() {
        let dir = tempfile::tempdir().unwrap();
        let store = ArtifactStore::new(dir.path().to_owned());
        let old = store.stage("report.json", b"{}").unwrap();
        assert!(store.read(&old).is_err());
        store.publish(&old).unwrap();
        let new = store.stage("report.json", b"{\"ok\":true}").unwrap();
        assert_eq!(store.read(&old).unwrap(), b"{}");
        store.publish(&new).unwrap();
        assert_eq!(store.read(&new).unwrap(), b"{\"ok\":true}");
        assert!(matches!(store.read(&old), Err(ArtifactError::Changed { .. })));
        assert_eq!(names(dir.path()), ["report.json"]);
    }

    #[test]
    fn a_crash_before_the_event_or_before_the_publication_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let store = ArtifactStore::new(dir.path().to_owned());
        let old = store.stage("a.md", b"old").unwrap();
        store.publish(&old).unwrap();
        let new = store.stage("a.md", b"new").unwrap();
        store.recover(std::slice::from_ref(&old)).unwrap();
        assert_eq!((store.read(&old).unwrap(), names(dir.path())), (b"old".to_vec(), vec!["a.md".to_owned()]));
        store.stage("a.md", b"new").unwrap();
        store.recover(std::slice::from_ref(&new)).unwrap();
        assert_eq!((store.read(&new).unwrap(), names(dir.path())), (b"new".to_vec(), vec!["a.md".to_owned()]));
    }

    #[test]
    fn names_stay_inside_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let store = ArtifactStore::new(dir.path().to_owned());
        let long = "x".repeat(MAX_ARTIFACT_NAME_BYTES + 1);
        for name in ["", ".", "..", ".a", "-a", "a/b", "../a", "/a", "a\\b", "a\0", "é", "a b", "a\n", "ａ", &long] {
            assert!(matches!(store.stage(name, b""), Err(ArtifactError::Name { .. })), "{name:?}");
        }
        for name in ["a", "page_plan.json", "9.A-b_c", &long[1..]] {
            assert!(store.stage(name, b"").is_ok(), "{name:?}");
        }
        let large = vec![0; usize::try_from(MAX_ARTIFACT_BYTES).unwrap() + 1];
        assert!(matches!(store.stage("a", &large), Err(ArtifactError::TooLarge { .. })));
    }

    #[test]
    fn links_are_neither_followed_nor_kept() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "secret").unwrap();
        let folder = dir.path().join("artifacts");
        fs::create_dir(&folder).unwrap();
        let store = ArtifactStore::new(folder.clone());
        std::os::unix::fs::symlink(&outside, folder.join(".a.md.new")).unwrap();
        std::os::unix::fs::symlink(&outside, folder.join("b.md")).unwrap();
        store.stage("a.md", b"mine").unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"secret");
        let linked = ArtifactVersion { name: "b.md".into(), sha256: sha256hex("secret"), bytes: 6 };
        assert!(store.read(&linked).is_err());
    }

    #[test]
    fn content_types_follow_the_name() {
        for (name, expected) in [
            ("a.json", "application/json"),
            ("a.yaml", "application/x-yaml"),
            ("a.md", "text/markdown"),
            ("a", "text/plain"),
        ] {
            assert_eq!(ArtifactStore::content_type(name), expected);
        }
    }
}
