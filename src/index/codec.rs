//! The binary encoding of blobs in the index's database: varints, texts, compression and checksums.
//!
//! Decoding never panics and never allocates by an encoded length alone. Bytes that don't decode give [`DamagedBytes`].

/// The bytes are damaged or aren't in the expected format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedBytes;

/// Appends `value` as a varint, seven bits a byte.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of a text and the text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads from the front of a byte slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteReader<'b>(pub &'b [u8]);

impl<'b> ByteReader<'b> {
    pub(crate) fn number(&mut self) -> Result<u64, DamagedBytes> {
        let mut value = 0_u64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(DamagedBytes)?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(DamagedBytes);
            }
        }
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, DamagedBytes> {
        u32::try_from(self.number()?).map_err(|_| DamagedBytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DamagedBytes> {
        let (first, rest) = self.0.split_first().ok_or(DamagedBytes)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'b [u8], DamagedBytes> {
        if len > self.0.len() {
            return Err(DamagedBytes);
        }
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, DamagedBytes> {
        let len = usize::try_from(self.number()?).map_err(|_| DamagedBytes)?;
        std::str::from_utf8(self.bytes(len)?).map_err(|_| DamagedBytes)
    }

    /// Reads a number of items that follow, of at least one byte each.
    pub(crate) fn count(&mut self) -> Result<usize, DamagedBytes> {
        let count = usize::try_from(self.number()?).map_err(|_| DamagedBytes)?;
        if count > self.0.len() { Err(DamagedBytes) } else { Ok(count) }
    }
}

/// Compresses bytes with LZ4 and puts their checksum in front.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    let sum = codeyard_base::digest::sha256(bytes);
    let mut packed = sum[..CHECKSUM_BYTES].to_vec();
    packed.extend(lz4_flex::compress_prepend_size(bytes));
    packed
}

/// Reverses [`pack`]. A size over `max_bytes` counts as damage.
pub(super) fn unpack(packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, DamagedBytes> {
    let (sum, rest) = packed.split_at_checked(CHECKSUM_BYTES).ok_or(DamagedBytes)?;
    let (size, _) = lz4_flex::block::uncompressed_size(rest).map_err(|_| DamagedBytes)?;
    if size > max_bytes {
        return Err(DamagedBytes);
    }
    let bytes = lz4_flex::decompress_size_prepended(rest).map_err(|_| DamagedBytes)?;
    if codeyard_base::digest::sha256(&bytes)[..CHECKSUM_BYTES] == *sum { Ok(bytes) } else { Err(DamagedBytes) }
}

/// Bytes of the checksum in front of packed bytes.
const CHECKSUM_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn encoded_values_are_read_back(numbers in proptest::collection::vec(any::<u64>(), 0..20), text in ".{0,40}") {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put_varint(&mut out, *number));
            put_text(&mut out, &text);
            let mut reader = ByteReader(&out);
            for number in &numbers {
                prop_assert_eq!(reader.number(), Ok(*number));
            }
            prop_assert_eq!(reader.text(), Ok(text.as_str()));
            prop_assert!(reader.0.is_empty());
            prop_assert_eq!(unpack(&pack(&out), out.len()), Ok(out));
        }

        #[test]
        fn damage_is_detected(bytes in proptest::collection::vec(any::<u8>(), 1..60), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let mut packed = pack(&bytes);
            let at = at.index(packed.len());
            packed[at] ^= 1 << bit;
            // Changed packed bytes may still decode to the same bytes, but never to others.
            prop_assert!(unpack(&packed, 1 << 20).is_ok_and(|found| found == bytes) || unpack(&packed, 1 << 20) == Err(DamagedBytes));
            let mut reader = ByteReader(&packed);
            while reader.number().is_ok() {}
            _ = ByteReader(&packed).text();
        }
    }
}
