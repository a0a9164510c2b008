//! Files on disk that the gate admitted, so that the benchmarks have real canonical URIs.

use std::collections::HashMap;

use codeyard_canon::{UriAdmission, UriGate};
use codeyard_files::gate::Gate;
use codeyard_model::uri::CanonicalUri;
use tempfile::TempDir;

/// A folder of `part_<n>.py`, with the gate's decisions.
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

    /// Repeats the gate's decisions without system calls, which `codeyard bench` measures.
    pub(crate) fn gate(&self) -> Remembered<'_> {
        Remembered(&self.admitted)
    }
}

/// Recorded decisions of the gate.
pub(crate) struct Remembered<'a>(&'a HashMap<String, CanonicalUri>);

impl UriGate for Remembered<'_> {
    fn admit(&mut self, uri: &str) -> UriAdmission {
        self.0.get(uri).map_or(UriAdmission::Outside, |uri| UriAdmission::Inside(uri.clone()))
    }
}
