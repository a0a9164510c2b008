//! The checksum of a segment's sections, and the error for a damaged section.
//!
//! It detects accidental damage, not forgery. Invariant: one changed byte always changes the 64-bit state that the checksum is
//! derived from, because each step is a bijection of that state.

use std::io;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of `bytes`.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut state = (bytes.len() as u64).wrapping_mul(ODD) ^ ODD;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = step(state, u64::from_le_bytes(*word));
    }
    for byte in rest {
        state = step(state, u64::from(*byte));
    }
    state ^= state >> 29;
    state = state.wrapping_mul(ODD);
    (state >> 32) as u32
}

fn step(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(ODD).rotate_left(29)
}

/// The error for a damaged file; `what` names the damaged section.
pub(super) fn damaged(what: &str) -> io::Error {
    let advice = "run `codeyard index --force` to rebuild it";
    io::Error::new(io::ErrorKind::InvalidData, format!("the text index is damaged ({what}); {advice}"))
}
