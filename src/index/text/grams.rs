//! Trigrams: how they are numbered, and how those of a text are collected.
//!
//! Invariants: a trigram never crosses a line break. A line of exactly two bytes counts as those two and a line break, so that every
//! pair of bytes that stands on a line is part of something indexed.

/// Three bytes, the first in the highest place.
pub(super) type Gram = u32;

/// How many there are.
const GRAMS: usize = 1 << 24;
const BREAK: u32 = b'\n' as u32;

/// Each byte with ASCII letters in lower case.
pub(super) const FOLDED: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = (at as u8).to_ascii_lowercase();
        at += 1;
    }
    table
};

/// The trigram of three folded bytes.
pub(super) fn gram(bytes: [u8; 3]) -> Gram {
    u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]])
}

/// Collects the trigrams of one text after the other; 2 MiB.
pub(super) struct Collector {
    /// One bit for each trigram of the text at hand; those with a line break are always set.
    seen: Box<[u64; GRAMS / 64]>,
    /// One bit for each pair that was a line of its own.
    short: Box<[u64; 1_024]>,
}

impl Collector {
    pub(super) fn new() -> Self {
        let mut bits = vec![0_u64; GRAMS / 64];
        for one in 0..=255 {
            for other in 0..=255 {
                for with_break in [[b'\n', one, other], [one, b'\n', other], [one, other, b'\n']] {
                    let number = gram(with_break);
                    bits[number as usize / 64] |= 1 << (number % 64);
                }
            }
        }
        // A box of the right length always converts.
        let seen = bits.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; GRAMS / 64]));
        Self { seen, short: Box::new([0; 1_024]) }
    }

    /// Appends the trigrams of `text` to `found`, each once, in the order in which they first stand there.
    pub(super) fn collect(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        let first = found.len();
        // The last four bytes; before the text there was a line break.
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
                self.line_ended(last, found);
            }
        }
        if last & 0xff != BREAK {
            self.line_ended((last << 8) | BREAK, found);
        }
        for number in &found[first..] {
            if number & 0xff == BREAK {
                self.short[(number >> 14) as usize & 1_023] = 0;
            } else {
                // Whole words are cleared; of the trigrams that are always set only those that end with a line break can be in
                // the same word as one that was found.
                let word = number >> 6;
                self.seen[word as usize] = if word & 3 == 0 { 1 << BREAK } else { 0 };
            }
        }
    }

    /// `last` ends with a line break: was there one three bytes before, and none between?
    fn line_ended(&mut self, last: u32, found: &mut Vec<Gram>) {
        let [before, one, other, _] = last.to_be_bytes();
        if before == b'\n' && one != b'\n' && other != b'\n' {
            let pair = (last >> 8) & 0xffff;
            let place = &mut self.short[(pair >> 6) as usize];
            if *place & (1 << (pair & 63)) == 0 {
                *place |= 1 << (pair & 63);
                found.push(last & 0x00ff_ffff);
            }
        }
    }
}
