//! What persons have allowed for always: principal, workspace and permission, in a file of the state directory.
//!
//! It says what was allowed, not what the configuration wants. Other processes change the file (`permissions revoke`); this
//! one looks at it at every question. Invariants: a file that can't be read allows nothing, and is put aside, not
//! overwritten, when something is to be kept again; what was allowed for other roots of the same name doesn't hold; the
//! number of grants is bounded, the oldest goes first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::file::{self, Stamp};
use crate::limits::{MAX_PERMISSION_FILE_BYTES, MAX_PERMISSIONS};
use codeyard_base::clock::wall_ns;
use codeyard_base::ids::{PrincipalId, WorkspaceName};

/// Names that are tried for a damaged file.
const ASIDE_NAMES: u32 = 1_000;

/// Something that a person has allowed for always.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// To whom.
    pub principal: String,
    /// In which workspace.
    pub workspace: String,
    /// What.
    pub permission: String,
    /// The `rootsKey` that the workspace had.
    pub roots: String,
    /// When, in seconds since 1970.
    pub since: u64,
}

/// The file's content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFile {
    /// The oldest first.
    grants: Vec<Grant>,
}

/// The grants of one file.
#[derive(Debug)]
pub struct PermissionStore {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    grants: Vec<Grant>,
    /// Of the file as it was looked at last, whether it could be read or not.
    stamp: Option<Stamp>,
}

/// Two grants are the same whenever they were given.
impl PartialEq for Grant {
    fn eq(&self, other: &Self) -> bool {
        let parts =
            |grant: &Self| [&grant.principal, &grant.workspace, &grant.permission, &grant.roots].map(String::clone);
        parts(self) == parts(other)
    }
}

impl Grant {
    /// A grant that is given now.
    pub fn new(principal: &PrincipalId, workspace: &WorkspaceName, roots: &str, permission: &str) -> Self {
        Self {
            principal: principal.as_str().to_owned(),
            workspace: workspace.as_str().to_owned(),
            permission: permission.to_owned(),
            roots: roots.to_owned(),
            since: u64::try_from(wall_ns() / 1_000_000_000).unwrap_or(0),
        }
    }
}

impl PermissionStore {
    /// The grants in the file at `path`, which needn't be there.
    pub fn open(path: &Path) -> Self {
        let store = Self { path: path.to_owned(), known: Mutex::default() };
        store.known.lock().follow(path);
        store
    }

    /// Whether the file can be read, if it is there.
    ///
    /// # Errors
    /// If it can't.
    pub fn check(&self) -> io::Result<()> {
        let found = read(&self.path).map_err(|error| {
            io::Error::new(error.kind(), format!("the file of remembered permissions can't be used: {error}"))
        })?;
        drop(found);
        Ok(())
    }

    /// Whether this was allowed, and still is.
    pub fn holds(&self, grant: &Grant) -> bool {
        let mut known = self.known.lock();
        known.follow(&self.path);
        known.grants.contains(grant)
    }

    /// What is allowed, the oldest first.
    pub fn list(&self) -> Vec<Grant> {
        let mut known = self.known.lock();
        known.follow(&self.path);
        known.grants.clone()
    }

    /// Keeps a grant. It waits for the disk.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn remember(&self, grant: &Grant) -> io::Result<()> {
        self.change(|grants| {
            grants.retain(|known| known != grant);
            grants.push(grant.clone());
            let surplus = grants.len().saturating_sub(MAX_PERMISSIONS);
            if surplus > 0 {
                tracing::warn!(surplus, "more permissions are remembered than there may be; the oldest are forgotten");
            }
            grants.drain(..surplus);
        })
    }

    /// Takes back the grants that `wanted` names; how many there were.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn revoke(&self, wanted: impl Fn(&Grant) -> bool) -> io::Result<usize> {
        let mut revoked = 0;
        self.change(|grants| {
            let before = grants.len();
            grants.retain(|grant| !wanted(grant));
            revoked = before - grants.len();
        })?;
        Ok(revoked)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>)) -> io::Result<()> {
        let lock = file::lock(&self.path)?;
        let mut content = match read(&self.path) {
            Ok(found) => found.map(|(content, _)| content).unwrap_or_default(),
            // What can't be read for another reason may be well.
            Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
            Err(error) => {
                let aside = put_aside(&self.path)?;
                tracing::warn!(%error, aside = %aside.display(), "the file of remembered permissions was put aside");
                GrantFile::default()
            }
        };
        change(&mut content.grants);
        file::write(&self.path, &content, &lock)?;
        self.known.lock().follow(&self.path);
        Ok(())
    }
}

impl Known {
    /// Reads the file again if it looks different.
    fn follow(&mut self, path: &Path) {
        let stamp = file::stamp(path);
        if stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        self.grants.clear();
        match read(path) {
            Ok(Some((content, stamp))) => {
                self.grants = content.grants;
                self.stamp = Some(stamp);
            }
            Ok(None) => self.stamp = None,
            Err(error) => {
                if error.kind() != io::ErrorKind::InvalidData {
                    self.stamp = None;
                }
                tracing::warn!(
                    %error,
                    path = %path.display(),
                    "the file of remembered permissions can't be read, nothing in it holds; look at it, or take it away"
                );
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Option<(GrantFile, Stamp)>> {
    let found = file::read::<GrantFile>(path, MAX_PERMISSION_FILE_BYTES)?;
    let too_many = found.as_ref().is_some_and(|(content, _)| content.grants.len() > MAX_PERMISSIONS);
    if too_many { Err(file::malformed()) } else { Ok(found) }
}

/// Gives the file another name beside its own; which one.
fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let names = (1..=ASIDE_NAMES).map(|number| file::beside(path, &format!(".damaged-{number}")));
    let free = names.into_iter().find(|name| fs::symlink_metadata(name).is_err());
    let aside = free.ok_or_else(|| io::Error::other("too many damaged files lie beside it; take some away"))?;
    fs::rename(path, &aside)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn grant(principal: &str, workspace: &str) -> Grant {
        Grant::new(&PrincipalId::new(principal), &WorkspaceName::new(workspace).unwrap(), "roots", "lsp")
    }

    #[test]
    fn what_is_remembered_survives_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("permissions.json");
        let store = PermissionStore::open(&path);
        assert!(!store.holds(&grant("ann", "shop")) && !path.exists());
        store.remember(&grant("ann", "shop")).unwrap();
        store.remember(&grant("ann", "shop")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = PermissionStore::open(&path);
        assert_eq!(again.list(), [grant("ann", "shop")]);
        for other in [grant("bob", "shop"), grant("ann", "blog")] {
            assert!(!again.holds(&other));
        }
        let moved = Grant { roots: "others".into(), ..grant("ann", "shop") };
        let more = Grant { permission: "launch".into(), ..grant("ann", "shop") };
        assert!(!again.holds(&moved) && !again.holds(&more), "other folders, another permission");
    }

    #[test]
    fn another_process_revokes_and_it_holds_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("permissions.json");
        let (server, tool) = (PermissionStore::open(&path), PermissionStore::open(&path));
        for name in ["ann", "bob"] {
            server.remember(&grant(name, "shop")).unwrap();
        }
        assert_eq!(tool.revoke(|grant| grant.principal == "ann").unwrap(), 1);
        assert!(!server.holds(&grant("ann", "shop")) && server.holds(&grant("bob", "shop")));
        assert_eq!(tool.revoke(|_| false).unwrap(), 0);
        fs::remove_file(&path).unwrap();
        assert!(!server.holds(&grant("bob", "shop")));
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("permissions.json");
        let store = PermissionStore::open(&path);
        for (number, damage) in ["{\"grants\":[", "{\"grants\":[{\"principal\":\"ann\"}]}"].iter().enumerate() {
            store.remember(&grant("ann", "shop")).unwrap();
            fs::write(&path, damage).unwrap();
            assert!(!store.holds(&grant("ann", "shop")));
            assert_eq!(store.list(), []);
            assert_eq!(fs::read_to_string(&path).unwrap(), *damage, "looking changes nothing");
            store.remember(&grant("bob", "shop")).unwrap();
            assert_eq!(store.list(), [grant("bob", "shop")]);
            let aside = dir.path().join(format!("permissions.json.damaged-{}", number + 1));
            assert_eq!(fs::read_to_string(aside).unwrap(), *damage);
        }
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let linked = PermissionStore::open(&link);
        assert_eq!(linked.list(), [], "a link is no file of ours");
        assert!(linked.remember(&grant("ann", "shop")).is_err() && link.is_symlink());
    }

    #[test]
    fn the_oldest_grant_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("permissions.json");
        let lock = file::lock(&path).unwrap();
        let many = (0..MAX_PERMISSIONS).map(|n| grant(&format!("p{n}"), "shop"));
        file::write(&path, &GrantFile { grants: many.collect() }, &lock).unwrap();
        drop(lock);
        let store = PermissionStore::open(&path);
        assert_eq!(store.list().len(), MAX_PERMISSIONS);
        store.remember(&grant("new", "shop")).unwrap();
        assert_eq!(store.list().len(), MAX_PERMISSIONS);
        assert!(!store.holds(&grant("p0", "shop")) && store.holds(&grant("p1", "shop")));
        assert!(store.holds(&grant("new", "shop")));
    }
}
