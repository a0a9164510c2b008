//! Gram numbers, and the collection of a text's grams.
//!
//! A *trigram* is three bytes with ASCII letters in lower case. A *long gram* is five bytes with their case. The number of a long gram
//! is a hash of its lower-case bytes followed by one bit for each byte in upper case, so long grams that differ in case only are
//! adjacent; different long grams may share a number.
//!
//! Invariants: a gram never crosses a line break. A line of exactly two bytes gives the trigram of those two and a line break, so
//! every pair of bytes in a line is part of some trigram. All trigram numbers are below all long gram numbers.

/// The number of a gram. For a trigram, its three bytes, big-endian.
pub(super) type Gram = u32;

/// The number of trigrams.
const TRIGRAMS: usize = 1 << 24;
const BREAK: u32 = b'\n' as u32;
/// Bytes of a long gram.
pub(super) const LONG_GRAM_BYTES: usize = 5;
/// The smallest number of a long gram.
pub(super) const FIRST_LONG_GRAM: Gram = 1 << (HASH_BITS + LONG_GRAM_BYTES as u32);
/// Bits of a long gram's hash. One more bit makes the dictionary half as large again.
const HASH_BITS: u32 = 22;
/// The bits of a gram number.
pub(super) const GRAM_BITS: u32 = HASH_BITS + LONG_GRAM_BYTES as u32 + 1;

/// The number in place of the grams of a part that isn't indexed. No text has this gram, because a gram never crosses a line break.
pub(super) const UNINDEXED: Gram = BREAK << 16 | BREAK << 8 | BREAK;

/// Maps each byte to lower case, if it is an ASCII letter.
pub(super) const FOLDED: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = (at as u8).to_ascii_lowercase();
        at += 1;
    }
    table
};

/// The trigram of three lower-case bytes.
pub(super) fn trigram(bytes: [u8; 3]) -> Gram {
    u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]])
}

/// The number of the long gram with these lower-case bytes. Setting one of its lowest five bits gives the number of the long gram with
/// that byte in upper case; the highest of the five bits belongs to the first byte.
pub(super) fn long_gram(folded: [u8; LONG_GRAM_BYTES]) -> Gram {
    let [one, two, three, four, five] = folded;
    long_gram_number(u64::from_be_bytes([0, 0, 0, one, two, three, four, five]))
}

fn long_gram_number(folded: u64) -> Gram {
    // The high bits of the product depend on all bytes.
    let hash = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS);
    FIRST_LONG_GRAM | ((hash as Gram) << LONG_GRAM_BYTES)
}

/// Collects the grams of texts, one text at a time. Takes a little more than 2 MiB of memory.
pub(super) struct GramCollector {
    /// One bit for each trigram of the current text. The bits of trigrams with a line break are always set.
    seen: Box<[u64; TRIGRAMS / 64]>,
    /// One bit for each pair of bytes that is a whole line of the current text.
    two_byte_lines: Box<[u64; 1_024]>,
    long: LongGramSet,
}

impl GramCollector {
    pub(super) fn new() -> Self {
        let mut bits = vec![0_u64; TRIGRAMS / 64];
        for one in 0..=255 {
            for other in 0..=255 {
                for with_break in [[b'\n', one, other], [one, b'\n', other], [one, other, b'\n']] {
                    let number = trigram(with_break);
                    bits[number as usize / 64] |= 1 << (number % 64);
                }
            }
        }
        // The conversion of a box with the right length never fails.
        let seen = bits.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; TRIGRAMS / 64]));
        Self { seen, two_byte_lines: Box::new([0; 1_024]), long: LongGramSet::new() }
    }

    /// Appends the grams of `text` to `found`, each once.
    pub(super) fn collect(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        self.collect_trigrams(text, found);
        self.long.collect(text, found);
    }

    fn collect_trigrams(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        let first = found.len();
        // The last four bytes, as if a line break preceded the text.
        let mut last = BREAK | (BREAK << 8);
        for byte in text {
            let folded = u32::from(FOLDED[usize::from(*byte)]);
            last = (last << 8) | folded;
            let number = last & 0x00ff_ffff;
            let place = &mut self.seen[(number >> 6) as usize];
            let bit = 1_u64 << (number & 63);
            if *place & bit == 0 {
                *place |= bit;
                found.push(number);
            } else if folded == BREAK {
                self.end_line(last, found);
            }
        }
        if last & 0xff != BREAK {
            self.end_line((last << 8) | BREAK, found);
        }
        for number in &found[first..] {
            if number & 0xff == BREAK {
                self.two_byte_lines[(number >> 14) as usize & 1_023] = 0;
            } else {
                // Clears whole words. Of the bits that are always set, only those of trigrams that end with a line break can be in
                // the word of a found trigram.
                let word = number >> 6;
                self.seen[word as usize] = if word & 3 == 0 { 1 << BREAK } else { 0 };
            }
        }
    }

    /// Adds the line that ends with `last`, a line break included, if it has exactly two bytes.
    fn end_line(&mut self, last: u32, found: &mut Vec<Gram>) {
        let [before, one, other, _] = last.to_be_bytes();
        if before == b'\n' && one != b'\n' && other != b'\n' {
            let pair = (last >> 8) & 0xffff;
            let place = &mut self.two_byte_lines[(pair >> 6) as usize];
            if *place & (1 << (pair & 63)) == 0 {
                *place |= 1 << (pair & 63);
                found.push(last & 0x00ff_ffff);
            }
        }
    }
}

/// The set of one text's long grams: a hash table with linear probing.
struct LongGramSet {
    /// A power of two; at least half of the slots are free. A free slot is zero.
    slots: Vec<Gram>,
    used: usize,
}

/// The number of slots that are kept from one text to the next.
const KEPT_SLOTS: usize = 1 << 14;

impl LongGramSet {
    fn new() -> Self {
        Self { slots: vec![0; KEPT_SLOTS], used: 0 }
    }

    fn collect(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        // The last five bytes in lower case, a bit for each byte in upper case, and the number of bytes in this line.
        let mut last = 0_u64;
        let mut uppers = 0_u32;
        let mut length = 0_usize;
        for byte in text {
            if *byte == b'\n' {
                length = 0;
                continue;
            }
            last = ((last << 8) | u64::from(FOLDED[usize::from(*byte)])) & 0xff_ffff_ffff;
            uppers = (uppers << 1) | u32::from(byte.is_ascii_uppercase());
            length += 1;
            if length >= LONG_GRAM_BYTES {
                let number = long_gram_number(last) | (uppers & 31);
                if self.insert(number) {
                    found.push(number);
                }
            }
        }
        self.used = 0;
        if self.slots.len() > KEPT_SLOTS {
            self.slots = vec![0; KEPT_SLOTS];
        } else {
            self.slots.fill(0);
        }
    }

    /// Adds a number; `false` if the set contains it already.
    fn insert(&mut self, number: Gram) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = slot_of(number) & mask;
        loop {
            match self.slots[at] {
                0 => break,
                other if other == number => return false,
                _ => at = (at + 1) & mask,
            }
        }
        self.slots[at] = number;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        true
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2];
        let mask = larger.len() - 1;
        for number in std::mem::replace(&mut self.slots, larger).into_iter().filter(|number| *number != 0) {
            let mut at = slot_of(number) & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = number;
        }
    }
}

/// The hash of a number.
fn slot_of(number: Gram) -> usize {
    ((number >> LONG_GRAM_BYTES) ^ (number << 9)) as usize
}
