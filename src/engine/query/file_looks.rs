//! Looks at files on disk for the workspace's actor, which touches none: the actor says what it must know ([`Look`]), the call looks on
//! the blocking pool, and the actor compares what was seen ([`Sight`]) with what it knows by then
//! ([`KnownFiles`](super::known_files::KnownFiles)).
//!
//! A file whose stamp was taken within two seconds of its last change may change again without a change of the stamp. Its hash is taken
//! too, and compared until the stamp is old enough. Invariant: a file is called unchanged only if its stamp, and for a young stamp its hash,
//! equal those of the observation that the look began with.

use std::sync::Arc;

use parking_lot::Mutex;

use super::known_files::KnownFiles;
use codeyard_base::clock;
use codeyard_base::digest::sha256;
use codeyard_files::gate::{FileStamp, Gate};
use codeyard_lsp::documents::document_input::DocumentSource;
use codeyard_lsp::limits::MAX_DOCUMENT_BYTES;
use codeyard_lsp::text::Document;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::uri::CanonicalUri;

/// The message for a document that exists but can't be opened.
pub const NOT_UTF8: &str = "the document is not UTF-8 text and can't be opened";

/// An observation of a file: what must stay the same for the file to count as unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    pub(super) stamp: FileStamp,
    /// Set while the stamp is young.
    pub(super) hash: Option<[u8; 32]>,
}

/// The comparison of a file with its last observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCheck {
    /// It is unchanged.
    Same,
    /// It changed or is gone.
    Changed,
    /// It was never observed before.
    New,
}

/// A file to be looked at.
#[derive(Debug, Clone)]
pub struct Look {
    /// The file.
    pub(super) uri: CanonicalUri,
    /// Its last observation.
    pub(super) before: Option<ObservedFile>,
    /// Which text of it is wanted.
    pub(super) text: WantedText,
}

/// When a look reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedText {
    /// Never: only whether the file changed matters.
    Never,
    /// If the file isn't the same: its text is known.
    Changed,
    /// In any case.
    Always,
}

/// What a look found.
#[derive(Debug)]
pub struct Sight {
    pub(super) uri: CanonicalUri,
    /// The observation that it was compared with.
    pub(super) before: Option<ObservedFile>,
    /// How it compares, and the new observation if there is one. An error: the file is gone, outside the roots or not readable.
    pub(super) found: Result<(FileCheck, Option<ObservedFile>), ToolError>,
    /// The text, if it was read. An error: it is too large or not UTF-8.
    pub(super) text: Option<Result<Arc<DocumentSource>, ToolError>>,
}

impl Sight {
    /// The file.
    pub(crate) fn uri(&self) -> &CanonicalUri {
        &self.uri
    }

    /// Why the text can't be had, if reading it failed.
    pub(crate) fn text_error(&self) -> Option<&ToolError> {
        self.text.as_ref()?.as_ref().err()
    }
}

/// Looks at these files. Blocks.
pub fn look_at(gate: &Gate, looks: Vec<Look>) -> Vec<Sight> {
    let mut batch = gate.batch_lookup();
    let mut stat = |uri: &CanonicalUri| batch.stat(uri);
    looks.into_iter().map(|look| sight(gate, look, &mut stat)).collect()
}

/// Looks at a document whose path was just checked, for a call that begins; `stamp` is what the check saw. Blocks.
pub fn look_at_checked(gate: &Gate, known: &Mutex<KnownFiles>, uri: &CanonicalUri, stamp: Option<FileStamp>) -> Sight {
    let look = known.lock().look_at_document(uri);
    // A stamp that differs from the last observation's may be older than that.
    let is_current = |stamp: &FileStamp| look.before.as_ref().is_none_or(|before| before.stamp == *stamp);
    let stamp = stamp.filter(is_current);
    sight(gate, look, |uri| stamp.map_or_else(|| gate.stat(uri), Ok))
}

fn sight(gate: &Gate, look: Look, stat: impl FnOnce(&CanonicalUri) -> Result<FileStamp, ToolError>) -> Sight {
    let Look { uri, before, text } = look;
    let mut found = stat(&uri).and_then(|stamp| compared(gate, &uri, before.as_ref(), stamp));
    let is_wanted = match &found {
        Err(_) => false,
        Ok((check, _)) => text == WantedText::Always || text == WantedText::Changed && *check != FileCheck::Same,
    };
    let read = is_wanted.then(|| source(gate, &uri));
    if let (Ok((check, now)), Some(Ok((source, observed)))) = (&mut found, &read) {
        // The text is newer than the check.
        if let Some(before) = &before
            && (before.stamp != observed.stamp || before.hash.is_some_and(|hash| hash != source.hash))
        {
            *check = FileCheck::Changed;
        }
        *now = Some(observed.clone());
    }
    Sight { uri, before, found, text: read.map(|read| read.map(|(source, _)| source)) }
}

/// Compares a stamp that was just taken with the last observation.
fn compared(
    gate: &Gate,
    uri: &CanonicalUri,
    before: Option<&ObservedFile>,
    stamp: FileStamp,
) -> Result<(FileCheck, Option<ObservedFile>), ToolError> {
    let Some(before) = before else { return Ok((FileCheck::New, None)) };
    if before.hash.is_none() && stamp == before.stamp {
        return Ok((FileCheck::Same, None));
    }
    let now = observed(gate, uri, stamp)?;
    let is_same = match (before.hash, now.hash) {
        (Some(before_hash), Some(after)) => before_hash == after && now.stamp == before.stamp,
        (Some(before_hash), None) if now.stamp == before.stamp => {
            sha256(&gate.read(uri, MAX_DOCUMENT_BYTES)?.0) == before_hash
        }
        _ => false,
    };
    Ok((if is_same { FileCheck::Same } else { FileCheck::Changed }, Some(now)))
}

/// Observes a file whose stamp was just taken: its hash too, while the stamp is young. Blocks.
///
/// # Errors
/// The file is gone, outside the roots or not readable.
pub fn observed(gate: &Gate, uri: &CanonicalUri, stamp: FileStamp) -> Result<ObservedFile, ToolError> {
    if !stamp.is_fresh(clock::wall_ns()) {
        return Ok(ObservedFile { stamp, hash: None });
    }
    let (bytes, stamp) = gate.read(uri, MAX_DOCUMENT_BYTES)?;
    Ok(ObservedFile { hash: Some(sha256(&bytes)), stamp })
}

/// The text of a file, with the observation of the same bytes.
fn source(gate: &Gate, uri: &CanonicalUri) -> Result<(Arc<DocumentSource>, ObservedFile), ToolError> {
    let (bytes, stamp) = gate.read(uri, MAX_DOCUMENT_BYTES)?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| ToolError::new(ErrorCode::NotFound, NOT_UTF8))?;
    let settled = (!stamp.is_fresh(clock::wall_ns())).then_some(stamp);
    let source = DocumentSource { uri: uri.clone(), document: Arc::new(Document::new(text)), hash, settled };
    Ok((Arc::new(source), ObservedFile { hash: settled.is_none().then_some(hash), stamp }))
}
