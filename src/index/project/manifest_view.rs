//! A published manifest with everything that queries need. Made once per generation and shared by all queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeyard_git::GitRepository;

use super::Project;
use crate::classify::ExclusionReason;
use crate::index_dir::{IndexDir, IndexOpenError, PooledStore};
use crate::manifest::{ContentNo, Manifest};
use crate::ranked;
use crate::store::listing;
use crate::store::{FileOrigin, FileState, IndexStore, LIVE, ManifestHead, ManifestKey, StoreError, StoreStamp};
use crate::text::{CandidateSet, Pattern, Segment};

/// A published manifest, with the connection that sees it, and its view if it was asked for.
pub(super) type FoundManifest = (PooledStore, ManifestHead, Option<Arc<ManifestView>>);

/// A published manifest and the indexes of its contents.
pub(crate) struct ManifestView {
    /// The generation, and the database's random id.
    pub stamp: StoreStamp,
    /// The manifest's key, commit, time and counts.
    pub head: ManifestHead,
    /// The searched files.
    pub manifest: Arc<Manifest>,
    /// The source of the bytes of each entry.
    pub origins: Box<[FileOrigin]>,
    /// The number of files that aren't searched, by reason.
    pub left_out: BTreeMap<ExclusionReason, u64>,
    /// The contents that are too complex to parse, ordered.
    pub too_complex: Vec<ContentNo>,
    pub segments: Vec<Arc<Segment>>,
    /// The symbol index, restricted to this manifest.
    pub ranked: ranked::SymbolIndexView,
}

impl ManifestView {
    /// Loads the view of a published manifest.
    pub(super) fn load(
        repository: &IndexDir,
        store: &IndexStore,
        head: ManifestHead,
        stamp: StoreStamp,
    ) -> Result<Self, IndexOpenError> {
        let listing = store.listing(head.id)?;
        let manifest = Arc::new(listing::manifest(&listing));
        let mut origins = Vec::with_capacity(listing.len());
        let mut left_out = BTreeMap::new();
        for file in &listing {
            match file.state {
                FileState::Content(..) => origins.push(file.origin),
                FileState::Excluded(why) => *left_out.entry(why).or_insert(0) += 1,
            }
        }
        let too_complex = store.too_complex_contents()?;
        let segments = store.segments()?.iter().map(|row| repository.segment(&row.file)).collect::<Result<_, _>>()?;
        let symbols = repository.symbols()?;
        symbols.reload()?;
        let ranked = symbols.view(manifest.clone())?;
        Ok(Self { stamp, head, manifest, origins: origins.into(), left_out, too_complex, segments, ranked })
    }

    /// The contents in which the pattern may match.
    ///
    /// # Errors
    /// The text index is damaged.
    pub(super) fn candidates(&self, pattern: &Pattern) -> Result<CandidateSet, StoreError> {
        let segments = self.segments.iter().map(|segment| &**segment);
        CandidateSet::from_segments(segments, pattern.plan()).map_err(|_| StoreError::Damaged)
    }

    /// The source of the bytes of the file at this path.
    pub(super) fn origin(&self, path: &str) -> Option<FileOrigin> {
        let at = self.manifest.entries().binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.origins.get(at).copied()
    }
}

impl Project {
    /// The published manifest of a reference; for a branch, tag or commit, the one of this root's files.
    pub(super) fn find_manifest(
        &self,
        reference: Option<&str>,
        git: Option<&GitRepository>,
    ) -> Result<Option<(PooledStore, ManifestHead)>, StoreError> {
        let Some(key) = ManifestKey::of(&self.root, reference, git).filter(|_| self.index_dir.exists()) else {
            return Ok(None);
        };
        let store = self.index_dir.reader()?;
        // What a job deletes from now on stays visible to this query.
        store.begin_read()?;
        let mut found = store.manifest(&key)?;
        if found.is_none() && key.reference != LIVE {
            let commit = git.and_then(|git| git.resolve(&key.reference).ok());
            found = commit.map(|commit| store.manifest_of_commit(&key.place, &commit)).transpose()?.flatten();
        }
        Ok(found.map(|head| (store, head)))
    }

    /// The manifest that [`Self::find_manifest`] returns, with its view if `needs_view` is set.
    pub(super) fn find_view(
        &self,
        reference: Option<&str>,
        git: Option<&GitRepository>,
        needs_view: bool,
    ) -> Result<Option<FoundManifest>, IndexOpenError> {
        let mut before = None;
        loop {
            let Some((store, head)) = self.find_manifest(reference, git)? else { return Ok(None) };
            if !needs_view {
                return Ok(Some((store, head, None)));
            }
            let stamp = store.stamp()?;
            match self.view(&store, head.clone()) {
                Ok(view) => return Ok(Some((store, head, Some(view)))),
                // Another process may have replaced files while they were opened. Repeats the attempt if the index has
                // changed.
                Err(_) if before.replace(stamp) != Some(stamp) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn view(&self, store: &PooledStore, head: ManifestHead) -> Result<Arc<ManifestView>, IndexOpenError> {
        let stamp = store.stamp()?;
        let key = head.key.clone();
        if let Some(view) = self.views.lock().get(&key)
            && view.stamp == stamp
        {
            return Ok(view.clone());
        }
        // Several threads may load it at once, with the same result.
        let view = Arc::new(ManifestView::load(&self.index_dir, store, head, stamp)?);
        // Closes files, which isn't done under the lock.
        let _replaced = self.views.lock().push(key, view.clone());
        Ok(view)
    }

    /// Drops the views. Their files are closed without the lock.
    pub(super) fn forget_views(&self) {
        let views: Vec<_> = {
            let mut views = self.views.lock();
            std::iter::from_fn(|| views.pop_lru()).collect()
        };
        drop(views);
    }

    /// Loads the view of the working tree.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn prewarm(&self) -> Result<(), String> {
        self.find_view(None, None, true).map(drop).map_err(|error| error.to_string())
    }
}
