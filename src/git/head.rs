//! The branch and commit that are checked out, from `HEAD`, one file per reference, and `packed-refs`.
//!
//! Read in this process, because every answer of the code index names them. Invariants: only regular files inside the git directory are
//! read, strictly and with a bound; no object is read.

use codeyard_files::git_layout::GitLayout;

/// Largest `HEAD` or file of one reference that is read, in bytes.
const MAX_REF_FILE_BYTES: u64 = 4_096;
/// Largest `packed-refs` that is read, in bytes.
const MAX_PACKED_REFS_BYTES: u64 = 64 * 1024 * 1024;
/// Symbolic references followed from `HEAD`, as many as git follows.
const MAX_SYMBOLIC_REFS: usize = 5;

/// The branch and commit that are checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryHead {
    /// The branch's name without `refs/heads/`; `None` if the head is detached.
    pub branch: Option<String>,
    /// The commit in hexadecimal digits; `None` before the first commit.
    pub commit: Option<String>,
}

/// Reads the head of a working tree.
pub(crate) fn read(layout: &GitLayout) -> RepositoryHead {
    let Some(head) = layout.read("HEAD", MAX_REF_FILE_BYTES) else { return RepositoryHead::default() };
    let Some(mut name) = symbolic(&head) else { return RepositoryHead { branch: None, commit: commit_id(&head) } };
    let branch = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
    for _ in 0..MAX_SYMBOLIC_REFS {
        let loose = layout
            .read_common(&name, MAX_REF_FILE_BYTES)
            .or_else(|| layout.read(&name, MAX_REF_FILE_BYTES).filter(|_| layout.git_dir != layout.common_dir));
        let Some(loose) = loose else {
            let commit = layout.read_common("packed-refs", MAX_PACKED_REFS_BYTES).and_then(|text| packed(&text, &name));
            return RepositoryHead { branch: Some(branch), commit };
        };
        match symbolic(&loose) {
            Some(next) => name = next,
            None => return RepositoryHead { branch: Some(branch), commit: commit_id(&loose) },
        }
    }
    RepositoryHead { branch: Some(branch), commit: None }
}

/// The reference that a symbolic one names; `None` if the text is something else or the name isn't one of git.
fn symbolic(text: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(text).ok()?.strip_prefix("ref:")?.trim();
    let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    is_plain.then(|| name.to_owned())
}

/// The id of a commit on the first line.
fn commit_id(text: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(text.split(|byte| *byte == b'\n').next()?).ok()?.trim();
    let is_id = matches!(line.len(), 40 | 64) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| line.to_ascii_lowercase())
}

fn packed(text: &[u8], name: &str) -> Option<String> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let named = |line: &&[u8]| line.get(41..) == Some(name.as_bytes()) || line.get(65..) == Some(name.as_bytes());
    lines.find(named).and_then(|line| commit_id(line.split(|byte| *byte == b' ').next()?))
}
