//! Files on disk that the path gate has let in, so that the benchmarks have true canonical URIs.

use std::collections::HashMap;

use codeyard_canon::{UriAdmission, UriGate};
use codeyard_files::gate::Gate;
use codeyard_model::uri::CanonicalUri;
use tempfile::TempDir;

/// A folder of `part_<n>.py`, and what the gate said of them.
pub(crate) struct Place {
    _folder: TempDir,
    uris: Vec<CanonicalUri>,
    admitted: HashMap<String, CanonicalUri>,
}

impl Place {
    /// A folder with `files` files.
    pub(crate) fn new(files: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let names = (0..files).map(|index| root.join(format!("part_{index}.py")));
        for path in names.clone() {
            std::fs::write(path, "pass\n").unwrap();
        }
        let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap();
        let uris: Vec<CanonicalUri> = names
            .map(|path| match gate.admit(&format!("file://{}", path.display())) {
                UriAdmission::Inside(uri) => uri,
                _ => panic!("not inside"),
            })
            .collect();
        let admitted = uris.iter().map(|uri| (uri.as_str().to_owned(), uri.clone())).collect();
        Self { _folder: folder, uris, admitted }
    }

    /// The URI of the file `index`.
    pub(crate) fn uri(&self, index: usize) -> &CanonicalUri {
        &self.uris[index]
    }

    /// What the gate said, said again without asking the kernel, which is measured with the whole path.
    pub(crate) fn gate(&self) -> Remembered<'_> {
        Remembered(&self.admitted)
    }
}

/// Answers of the path gate, remembered.
pub(crate) struct Remembered<'a>(&'a HashMap<String, CanonicalUri>);

impl UriGate for Remembered<'_> {
    fn admit(&mut self, uri: &str) -> UriAdmission {
        self.0.get(uri).map_or(UriAdmission::Outside, |uri| UriAdmission::Inside(uri.clone()))
    }
}
