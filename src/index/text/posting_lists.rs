//! The encoding of posting lists: the ranks of the parts that contain one gram.
//!
//! A list with more than an eighth of all parts is a bitmap. A shorter list is a sequence of gaps between ranks, as varints.
//! Invariants: decoded ranks are strictly ascending and below the number of parts; otherwise decoding fails. Each list has one encoding.

/// The position of a part among all parts of its segment.
pub(super) type PartRank = u32;

/// Appends `value` as a varint: seven bits a byte, the lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint from the front; `None` if there is none.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = bytes.get(at + 1..)?;
            return Some(value);
        }
    }
    None
}

/// Takes a varint that must fit in 32 bits.
pub(super) fn take_varint_u32(bytes: &mut &[u8]) -> Option<u32> {
    take_varint(bytes).and_then(|value| u32::try_from(value).ok())
}

fn is_dense(count: u32, universe: u32) -> bool {
    u64::from(count) * 8 > u64::from(universe)
}

/// Appends the encoded list of `ranks`, which are strictly ascending and below `universe`, the number of parts.
pub(super) fn encode(ranks: &[PartRank], universe: u32, out: &mut Vec<u8>) {
    if is_dense(ranks.len() as u32, universe) {
        let from = out.len();
        out.resize(from + (universe as usize).div_ceil(8), 0);
        for rank in ranks {
            out[from + *rank as usize / 8] |= 1 << (rank % 8);
        }
        return;
    }
    let mut next = 0;
    for rank in ranks {
        put_varint(out, u64::from(rank - next));
        next = rank + 1;
    }
}

/// Decodes a list of `count` ranks and appends them to `out`; `None` if the list is damaged.
pub(super) fn decode(mut bytes: &[u8], count: u32, universe: u32, out: &mut Vec<PartRank>) -> Option<()> {
    let before = out.len();
    if is_dense(count, universe) {
        for (at, byte) in (0_u32..).zip(bytes) {
            let mut bits = *byte;
            while bits != 0 {
                out.push(at * 8 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        let is_last_right = out.get(before..)?.last().is_none_or(|last| *last < universe);
        let is_whole = bytes.len() == (universe as usize).div_ceil(8);
        return (is_whole && is_last_right && out.len() - before == count as usize).then_some(());
    }
    let mut next = 0_u32;
    for _ in 0..count {
        // Nearly all gaps fit in one byte.
        let gap = match bytes {
            [byte, rest @ ..] if *byte < 0x80 => {
                bytes = rest;
                u32::from(*byte)
            }
            _ => take_varint_u32(&mut bytes)?,
        };
        let rank = next.checked_add(gap).filter(|rank| *rank < universe)?;
        out.push(rank);
        next = rank + 1;
    }
    bytes.is_empty().then_some(())
}

/// Keeps the ranks of `kept`, strictly ascending, that are in the list; `None` if the list is damaged.
pub(super) fn intersect(bytes: &[u8], count: u32, universe: u32, kept: &mut Vec<PartRank>) -> Option<()> {
    if is_dense(count, universe) {
        kept.retain(|rank| bytes.get(*rank as usize / 8).is_some_and(|byte| byte & (1 << (rank % 8)) != 0));
        return Some(());
    }
    let mut others = Vec::with_capacity(most_ranks(bytes, count));
    decode(bytes, count, universe, &mut others)?;
    let mut others = others.into_iter().peekable();
    kept.retain(|rank| {
        while others.next_if(|other| other < rank).is_some() {}
        others.next_if_eq(rank).is_some()
    });
    Some(())
}

/// The number of ranks that memory is reserved for. Each takes a byte at least, so memory doesn't grow by a count that the list can't have.
fn most_ranks(bytes: &[u8], count: u32) -> usize {
    bytes.len().min(count as usize)
}

/// Sorts `ranks` and removes duplicates. All are below `universe`.
pub(super) fn sort_and_dedup(ranks: &mut Vec<PartRank>, universe: u32) {
    if ranks.is_sorted_by(|one, other| one < other) {
        return;
    }
    if ranks.len() < universe as usize / 64 {
        // Usually a few runs that are sorted already.
        ranks.sort();
        ranks.dedup();
        return;
    }
    let mut bits = vec![0_u64; (universe as usize).div_ceil(64)];
    for rank in ranks.iter() {
        bits[*rank as usize / 64] |= 1 << (rank % 64);
    }
    ranks.clear();
    for (at, word) in (0_u32..).zip(bits) {
        let mut word = word;
        while word != 0 {
            ranks.push(at * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_an_intersection_is_bounded_by_the_bytes_of_the_list() {
        let gaps = [0, 4, 90];
        let universe = u32::MAX;
        for (count, most) in [(0, 0), (2, 2), (3, 3), (4, 3), (universe / 8, 3)] {
            assert_eq!(most_ranks(&gaps, count), most, "{count}");
            let mut kept = vec![0, 3, 5, 96, 99];
            let expected = (count == 3).then_some(());
            assert_eq!(intersect(&gaps, count, universe, &mut kept), expected, "{count}");
            assert_eq!(kept, if count == 3 { vec![0, 5, 96] } else { vec![0, 3, 5, 96, 99] }, "{count}");
        }
    }

    #[test]
    fn an_intersection_with_either_encoding_keeps_what_both_have() {
        let others = [3, 8, 9, 40, 63];
        for universe in [39 + 25, 100, 1_000] {
            let mut bytes = Vec::new();
            encode(&others, universe, &mut bytes);
            assert_eq!(is_dense(5, universe), bytes.len() == (universe as usize).div_ceil(8), "{universe}");
            for kept in [vec![], vec![3], vec![0, 1, 2], vec![8, 9, 10, 63], (0..64).collect()] {
                let mut found = kept.clone();
                assert_eq!(intersect(&bytes, 5, universe, &mut found), Some(()));
                let expected: Vec<PartRank> = kept.into_iter().filter(|rank| others.contains(rank)).collect();
                assert_eq!(found, expected, "{universe}");
            }
        }
    }
}
