//! A request's body, bounded in bytes and time.
//!
//! Invariants: a body announced as too large isn't read at all; never more than the limit and one frame is held.

use std::time::Duration;

use axum::body::HttpBody;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::refusal::Refusal;

/// Reads the whole body.
///
/// # Errors
/// [`Refusal::BodySize`] past `limit` bytes, announced or counted; [`Refusal::BodyTime`] after `within`;
/// [`Refusal::BodyBroken`] if it ends early.
pub async fn read<B>(body: B, limit: usize, within: Duration) -> Result<Bytes, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(Refusal::BodySize);
    }
    timeout(within, collect(body, limit)).await.unwrap_or(Err(Refusal::BodyTime))
}

async fn collect<B>(mut body: B, limit: usize) -> Result<Bytes, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BodyBroken)?.into_data() else {
            continue;
        };
        if first.len().max(all.len()) + data.len() > limit {
            return Err(Refusal::BodySize);
        }
        // Most bodies are one frame, which is passed on uncopied.
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
