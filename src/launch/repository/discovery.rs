//! What an inference needs to know of a repository on GitHub: its head, the files at its top, the beginning of its README.
//!
//! It clones into a folder that is removed again. Invariant: what can't be found and what needs a password are the same to the caller.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use codeyard_base::atomic_file::Durability;
use codeyard_files::gate::RootReader;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::repository::checkout::{CheckoutSettings, check_out_as};
use crate::repository::git_errors::of_io;
use crate::repository::repo_scout::{TreeEntry, TreeEntryKind, readme_of, tree};
use crate::repository::repository_address::shown;
use crate::request::repository_inference::{GithubRepository, RepositoryFacts};

/// The beginning of a README that an inference reads, in bytes.
const MAX_DISCOVERY_README_BYTES: u64 = 64 * 1024;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// The full commit of the head.
    pub head: String,
    /// What the inference reads.
    pub facts: RepositoryFacts,
}

/// Reads `repository` at its head. `scratch` is an existing folder.
///
/// # Errors
/// `REPO_NOT_FOUND` if there is none or it isn't public; otherwise as for [`check_out_as`].
pub fn discover(
    settings: &CheckoutSettings,
    repository: &GithubRepository,
    scratch: &Path,
    stop: &StopFlag,
) -> Result<Discovered, StageError> {
    let folder = tempfile::Builder::new().prefix(".discovery-").tempdir_in(scratch);
    let folder = folder.map_err(|error| of_io("making the folder of a clone", &error))?;
    let clone = folder.path().join("clone");
    let url = repository.url();
    let checkout = check_out_as(settings, &url, "HEAD", &clone, Durability::Process, stop)
        .map_err(|error| not_found(&url, error))?;
    let entries = tree(&clone, &checkout.commit, stop)?;
    let is_top = |entry: &&TreeEntry| entry.kind == TreeEntryKind::File && entry.is_utf8 && !entry.path.contains('/');
    let files: Vec<String> = entries.iter().filter(is_top).map(|entry| entry.path.clone()).collect();
    let root = clone.canonicalize().map_err(|error| of_io("opening a clone", &error))?;
    let readme =
        readme_of(&entries, &RootReader::open(&root)).map(|path| beginning(&clone.join(path))).unwrap_or_default();
    Ok(Discovered { head: checkout.commit, facts: RepositoryFacts { name: repository.name.clone(), files, readme } })
}

/// The error of a clone as the caller has it.
fn not_found(url: &str, error: StageError) -> StageError {
    let reason = error.details.get("reason").and_then(|reason| reason.as_str());
    if !matches!(reason, Some("repository_not_found" | "authentication_required")) {
        return error;
    }
    let message = format!(
        "there is no repository at {}, or it isn't public; check the address, with `git ls-remote` for example",
        shown(url)
    );
    StageError::new("REPO_NOT_FOUND", message)
}

/// The beginning of a text file; empty if it isn't a file or can't be read.
fn beginning(path: &Path) -> String {
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let mut bytes = Vec::new();
    if is_file && let Ok(file) = File::open(path) {
        // What was read before a failure is enough.
        let _ = file.take(MAX_DISCOVERY_README_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::repository::repository_address::UrlRewrite;
    use crate::request::repository_inference::{family, platform};
    use crate::request::sites::Sites;
    use crate::testing::TestRepository;

    fn settings(dir: &Path) -> CheckoutSettings {
        CheckoutSettings {
            rewrites: vec![UrlRewrite { from: "https://github.com/".into(), to: format!("{}/", dir.display()) }],
            sources: Vec::new(),
            max_bytes: 256 * 1024 * 1024,
            limit: Duration::from_secs(120),
        }
    }

    #[test]
    fn a_repository_is_read_and_its_clone_removed() {
        let dir = tempfile::tempdir().unwrap();
        let repository = TestRepository::new(&dir.path().join("acme/Acme.Cells-for-Python"));
        let readme = std::fs::File::create(repository.path().join("README.md")).unwrap();
        std::io::Write::write_all(&mut &readme, b"# Cells for Python\n").unwrap();
        readme.set_len(50 * 1024 * 1024).unwrap();
        let files: [(&str, &[u8]); 3] =
            [("setup.py", b"setup()\n"), ("LICENSE", b"MIT\n"), ("cells/go.mod", b"module x\n")];
        let head = repository.commit(&files, "2026-01-21T10:00:00Z");
        let scratch = dir.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        let wanted = GithubRepository::parse("https://github.com/acme/Acme.Cells-for-Python").unwrap();
        let sites = Sites::builtin();
        let found = discover(&settings(dir.path()), &wanted, &scratch, &StopFlag::default()).unwrap();
        assert_eq!((found.head.as_str(), found.facts.name.as_str()), (head.as_str(), "Acme.Cells-for-Python"));
        assert_eq!(found.facts.files, ["LICENSE", "README.md", "setup.py"]);
        assert!(found.facts.readme.starts_with("# Cells for Python\n"));
        assert_eq!(family(&sites, &found.facts).chosen(), Some("cells"));
        assert_eq!(platform(&sites, &found.facts).chosen(), Some("python"));
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let find = |url: &str| {
            let wanted = GithubRepository::parse(url).unwrap();
            discover(&settings(dir.path()), &wanted, dir.path(), &StopFlag::default()).unwrap_err()
        };
        let error = find("https://github.com/acme/none");
        assert_eq!((error.code, error.retryable), ("REPO_NOT_FOUND", false));
        assert!(!error.message.contains(dir.path().to_str().unwrap()), "{error}");
        TestRepository::new(&dir.path().join("acme/empty"));
        assert_eq!(find("https://github.com/acme/empty").details["reason"], "reference_not_found");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
