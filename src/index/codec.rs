//! Numbers and texts as bytes: what the index keeps in its database beside plain columns.
//!
//! A reader never panics and never allocates by what the bytes claim: what doesn't fit is [`Damaged`].

/// The bytes aren't what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Appends `value` in as few bytes as it needs, seven bits each.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text and its length.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'b>(pub &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(Damaged)?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(Damaged);
            }
        }
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damaged> {
        let (first, rest) = self.0.split_first().ok_or(Damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'b [u8], Damaged> {
        if len > self.0.len() {
            return Err(Damaged);
        }
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, Damaged> {
        let len = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        std::str::from_utf8(self.bytes(len)?).map_err(|_| Damaged)
    }

    /// How many things of at least a byte each follow.
    pub(crate) fn count(&mut self) -> Result<usize, Damaged> {
        let count = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        if count > self.0.len() { Err(Damaged) } else { Ok(count) }
    }
}

/// Packs bytes, with their checksum in front.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    let sum = codeyard_base::digest::sha256(bytes);
    let mut packed = sum[..CHECKSUM].to_vec();
    packed.extend(lz4_flex::compress_prepend_size(bytes));
    packed
}

/// Undoes [`pack`]. A size over `max_bytes` is damage.
pub(super) fn unpack(packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, Damaged> {
    let (sum, rest) = packed.split_at_checked(CHECKSUM).ok_or(Damaged)?;
    let (size, _) = lz4_flex::block::uncompressed_size(rest).map_err(|_| Damaged)?;
    if size > max_bytes {
        return Err(Damaged);
    }
    let bytes = lz4_flex::decompress_size_prepended(rest).map_err(|_| Damaged)?;
    if codeyard_base::digest::sha256(&bytes)[..CHECKSUM] == *sum { Ok(bytes) } else { Err(Damaged) }
}

/// Bytes of the checksum in front of packed bytes.
const CHECKSUM: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_comes_back(numbers in proptest::collection::vec(any::<u64>(), 0..20), text in ".{0,40}") {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put(&mut out, *number));
            put_text(&mut out, &text);
            let mut reader = Reader(&out);
            for number in &numbers {
                prop_assert_eq!(reader.number(), Ok(*number));
            }
            prop_assert_eq!(reader.text(), Ok(text.as_str()));
            prop_assert!(reader.0.is_empty());
            prop_assert_eq!(unpack(&pack(&out), out.len()), Ok(out));
        }

        #[test]
        fn damage_is_noticed(bytes in proptest::collection::vec(any::<u8>(), 1..60), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let mut packed = pack(&bytes);
            let at = at.index(packed.len());
            packed[at] ^= 1 << bit;
            // Other packed bytes may stand for the same bytes; never for others.
            prop_assert!(unpack(&packed, 1 << 20).is_ok_and(|found| found == bytes) || unpack(&packed, 1 << 20) == Err(Damaged));
            let mut reader = Reader(&packed);
            while reader.number().is_ok() {}
            _ = Reader(&packed).text();
        }
    }
}
