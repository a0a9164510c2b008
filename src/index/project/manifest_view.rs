//! One published manifest with everything that questions about it need. Made once for each generation, shared by all questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::Manifest;
use crate::ranked;
use crate::index_dir::{IndexOpenError, IndexDir};
use crate::store::listing;
use crate::store::{FileState, ExclusionReason, ManifestHead, FileOrigin, IndexStore};
use crate::text::Segment;

/// See the module.
pub(crate) struct ManifestView {
    /// The generation and the incarnation of the index that it is of.
    pub stamp: (u64, u64),
    /// See there.
    pub head: ManifestHead,
    /// See there.
    pub manifest: Arc<Manifest>,
    /// Where the bytes of each of its entries are.
    pub origins: Box<[FileOrigin]>,
    /// Files that aren't searched.
    pub left_out: BTreeMap<ExclusionReason, u64>,
    /// See there.
    pub segments: Vec<Arc<Segment>>,
    /// See there.
    pub ranked: ranked::SymbolIndexView,
}

impl ManifestView {
    /// The view of a manifest that is published.
    pub(super) fn load(
        repository: &IndexDir,
        store: &IndexStore,
        head: ManifestHead,
        stamp: (u64, u64),
    ) -> Result<Self, IndexOpenError> {
        let listing = store.listing(head.id)?;
        let manifest = Arc::new(listing::manifest(&listing));
        let (mut origins, mut left_out) = (Vec::with_capacity(listing.len()), BTreeMap::new());
        for file in &listing {
            match file.held {
                FileState::Content(..) => origins.push(file.origin),
                FileState::Excluded(why) => *left_out.entry(why).or_insert(0) += 1,
            }
        }
        let segments = store.segments()?.iter().map(|row| repository.segment(&row.file)).collect::<Result<_, _>>()?;
        let symbols = repository.symbols()?;
        symbols.reload()?;
        let ranked = symbols.view(manifest.clone())?;
        Ok(Self { stamp, head, manifest, origins: origins.into(), left_out, segments, ranked })
    }

    /// Where the bytes of the file at this path are.
    pub(super) fn origin(&self, path: &str) -> Option<FileOrigin> {
        let at = self.manifest.entries().binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.origins.get(at).copied()
    }
}
