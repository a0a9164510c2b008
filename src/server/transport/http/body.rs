//! Reads a request's body, bounded in bytes and time.
//!
//! `http_body_util::Limited` doesn't fit: it can't reject a body by its announced size before reading, and its errors don't tell an
//! oversized body from a broken connection without downcasts. Invariants: a body announced as too large isn't read; at most the
//! limit and one frame are buffered.

use std::time::Duration;

use axum::body::HttpBody;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::refusal::RefusalReason;

/// Reads the whole body.
///
/// # Errors
/// [`RefusalReason::BodySize`] past `limit` bytes, announced or counted; [`RefusalReason::BodyTime`] after `within`;
/// [`RefusalReason::BodyBroken`] if it ends early.
pub async fn read<B>(body: B, limit: usize, within: Duration) -> Result<Bytes, RefusalReason>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(RefusalReason::BodySize);
    }
    timeout(within, collect(body, limit)).await.unwrap_or(Err(RefusalReason::BodyTime))
}

async fn collect<B>(mut body: B, limit: usize) -> Result<Bytes, RefusalReason>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| RefusalReason::BodyBroken)?.into_data() else {
            continue;
        };
        if first.len().max(all.len()) + data.len() > limit {
            return Err(RefusalReason::BodySize);
        }
        // Most bodies are one frame, which is returned without a copy.
        if first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
