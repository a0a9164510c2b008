//! A published manifest with everything that queries need. Made once per generation and shared by all queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::classify::ExclusionReason;
use crate::index_dir::{IndexDir, IndexOpenError};
use crate::manifest::{ContentNo, Manifest};
use crate::ranked;
use crate::store::listing;
use crate::store::{FileOrigin, FileState, IndexStore, ManifestHead, StoreStamp};
use crate::text::Segment;

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

    /// The source of the bytes of the file at this path.
    pub(super) fn origin(&self, path: &str) -> Option<FileOrigin> {
        let at = self.manifest.entries().binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.origins.get(at).copied()
    }
}
