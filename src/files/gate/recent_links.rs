//! The paths that were symbolic links a short while ago.
//!
//! A language server that isn't confined follows links. If a link out of the roots is replaced by a file, the gate admits the path, but the
//! server may still answer from what the link led to. Whoever answers with texts of a server about such a path looks first whether the
//! file has them. Invariant: bounded; when there are too many links, every path counts as one.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_base::clock::Instant;
use parking_lot::Mutex;

use crate::limits::MAX_RECENT_LINKS;

/// Time for which a path counts as a former symbolic link, in milliseconds.
const RECENT_LINK_MS: u64 = 60_000;

/// Symbolic links that appeared, changed or are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkChanges {
    pub paths: BTreeSet<PathBuf>,
    /// There were more than are kept.
    pub too_many: bool,
}

impl LinkChanges {
    pub(crate) fn add(&mut self, path: PathBuf) {
        self.paths.insert(path);
        if self.paths.len() > MAX_RECENT_LINKS {
            self.paths.clear();
            self.too_many = true;
        }
    }

    pub(crate) fn merge(&mut self, later: Self) {
        later.paths.into_iter().for_each(|path| self.add(path));
        self.too_many |= later.too_many;
    }
}

#[derive(Debug, Default)]
pub(super) struct RecentLinks(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    seen: HashMap<PathBuf, Instant>,
    /// When there were too many to keep.
    too_many: Option<Instant>,
}

impl RecentLinks {
    /// Adds links that were seen now.
    pub(super) fn add(&self, links: LinkChanges) {
        if links.paths.is_empty() && !links.too_many {
            return;
        }
        let now = Instant::now();
        let mut known = self.0.lock();
        known.seen.retain(|_, seen| is_recent(*seen, now));
        known.seen.extend(links.paths.into_iter().map(|path| (path, now)));
        if links.too_many || known.seen.len() > MAX_RECENT_LINKS {
            known.seen.clear();
            known.too_many = Some(now);
        }
    }

    /// Whether the path, or a folder that it is in, was a link.
    pub(super) fn concern(&self, path: &Path) -> bool {
        let now = Instant::now();
        let known = self.0.lock();
        if known.too_many.is_some_and(|seen| is_recent(seen, now)) {
            return true;
        }
        !known.seen.is_empty()
            && path.ancestors().any(|path| known.seen.get(path).is_some_and(|seen| is_recent(*seen, now)))
    }
}

fn is_recent(seen: Instant, now: Instant) -> bool {
    now.saturating_duration_since(seen) < Duration::from_millis(RECENT_LINK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(paths: impl IntoIterator<Item = String>) -> LinkChanges {
        LinkChanges { paths: paths.into_iter().map(PathBuf::from).collect(), too_many: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_counts_for_a_while_with_all_below_it() {
        let recent = RecentLinks::default();
        assert!(!recent.concern(Path::new("/w/a.py")));
        recent.add(links(["/w/a.py".to_owned(), "/w/folder".to_owned()]));
        for (path, concerned) in [("/w/a.py", true), ("/w/folder/b/c.py", true), ("/w/b.py", false), ("/w", false)] {
            assert_eq!(recent.concern(Path::new(path)), concerned, "{path}");
        }
        tokio::time::advance(Duration::from_millis(RECENT_LINK_MS)).await;
        assert!(!recent.concern(Path::new("/w/a.py")));
        recent.add(links((0..MAX_RECENT_LINKS).map(|number| format!("/w/{number}"))));
        assert!(recent.concern(Path::new("/w/0")) && !recent.concern(Path::new("/anything")));
        recent.add(links(["/w/another".to_owned()]));
        assert!(recent.concern(Path::new("/anything")));
        tokio::time::advance(Duration::from_millis(RECENT_LINK_MS)).await;
        recent.add(links(["/w/a.py".to_owned()]));
        assert!(recent.concern(Path::new("/w/a.py")) && !recent.concern(Path::new("/anything")));
        recent.add(LinkChanges { paths: [].into(), too_many: true });
        assert!(recent.concern(Path::new("/anything")));
    }
}
