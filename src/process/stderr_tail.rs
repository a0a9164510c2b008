//! The kept end of a language server's standard error.
//!
//! Invariant: it is always read, so a server never blocks on it, and at most `STDERR_TAIL_BYTES` are kept.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::limits;

/// The last bytes of standard error. Secrets of known shapes are taken out when they are read.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Mutex<VecDeque<u8>>);

impl StderrTail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        let bytes = &bytes[bytes.len().saturating_sub(limits::STDERR_TAIL_BYTES)..];
        let overflow = (kept.len() + bytes.len()).saturating_sub(limits::STDERR_TAIL_BYTES);
        kept.drain(..overflow);
        kept.extend(bytes);
    }

    pub(super) fn text(&self) -> String {
        let mut kept = self.0.lock();
        codeyard_base::secrets::redact(&String::from_utf8_lossy(kept.make_contiguous())).into_owned()
    }
}

/// Reads standard error to its end.
pub(super) async fn drain<R: AsyncRead + Unpin>(mut stderr: R, tail: Arc<StderrTail>) {
    let mut buffer = vec![0; 4 * 1024];
    while let Ok(got @ 1..) = stderr.read(&mut buffer).await {
        tail.push(&buffer[..got]);
    }
}
