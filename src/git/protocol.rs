//! The messages between codeyard and a reader process: a byte that says what it is, a length, and that many bytes.
//!
//! Both ends are the same program. Invariant: no more is allocated than has arrived.

use std::io::{self, Read, Write};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// The commit that a reference names. Text: the reference.
    Resolve,
    /// The files of a commit. Text: the commit, a line break, and the folder that the paths are below, ending with `/`, or nothing.
    Files,
    /// A blob. Bytes: its id and the largest size, 8 bytes.
    Blob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Done,
    /// There is no such reference or object.
    Missing,
    /// It is over a limit. Bytes: the size, 8 bytes, or which limit.
    TooLarge,
    /// It can't be read. Text: why.
    Failed,
    /// It exists, and an object that it needs doesn't.
    Incomplete,
}

const REQUESTS: [Request; 3] = [Request::Resolve, Request::Files, Request::Blob];
const REPLIES: [Reply; 5] = [Reply::Done, Reply::Missing, Reply::TooLarge, Reply::Failed, Reply::Incomplete];

pub(crate) fn write(to: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut head = [kind, 0, 0, 0, 0, 0, 0, 0, 0];
    head[1..].copy_from_slice(&(bytes.len() as u64).to_be_bytes());
    to.write_all(&head)?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads one message of at most `max_bytes` into `into`, replacing its content. Returns its kind; `None` at the end of the connection.
pub(crate) fn read(from: &mut impl Read, max_bytes: u64, into: &mut Vec<u8>) -> io::Result<Option<u8>> {
    into.clear();
    let mut head = [0; 9];
    let first = from.read(&mut head)?;
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut head[first..])?;
    let mut length = [0; 8];
    length.copy_from_slice(&head[1..]);
    let length = u64::from_be_bytes(length);
    if length > max_bytes {
        return Err(io::Error::other("the message is too long"));
    }
    if from.take(length).read_to_end(into)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(head[0]))
}

impl Request {
    /// The byte that stands for it.
    pub(crate) fn byte(self) -> u8 {
        self as u8
    }

    /// The request of a byte.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        REQUESTS.get(usize::from(byte)).copied()
    }
}

impl Reply {
    /// The byte that stands for it.
    pub(crate) fn byte(self) -> u8 {
        self as u8
    }

    /// The reply of a byte.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        REPLIES.get(usize::from(byte)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_broken_ones_are_refused() {
        let mut wire = Vec::new();
        write(&mut wire, Request::Blob.byte(), b"abc").unwrap();
        write(&mut wire, Reply::Missing.byte(), b"").unwrap();
        let mut from = &wire[..];
        let mut bytes = Vec::new();
        assert_eq!(read(&mut from, 3, &mut bytes).unwrap().and_then(Request::of), Some(Request::Blob));
        assert_eq!(bytes, b"abc");
        assert_eq!(read(&mut from, 3, &mut bytes).unwrap().and_then(Reply::of), Some(Reply::Missing));
        assert_eq!(read(&mut from, 3, &mut bytes).unwrap(), None);
        assert!(read(&mut &wire[..], 2, &mut bytes).is_err(), "too long");
        for cut in 1..12 {
            assert!(read(&mut &wire[..cut], 3, &mut bytes).is_err(), "{cut}");
        }
        // A length that nothing follows allocates nothing.
        let huge = [[0].as_slice(), &u64::MAX.to_be_bytes()].concat();
        assert!(read(&mut &huge[..], u64::MAX, &mut bytes).is_err());
        assert!(Request::of(9).is_none() && Reply::of(5).is_none());
        assert!(REQUESTS.iter().enumerate().all(|(at, request)| usize::from(request.byte()) == at));
        assert!(REPLIES.iter().enumerate().all(|(at, reply)| usize::from(reply.byte()) == at));
    }
}
