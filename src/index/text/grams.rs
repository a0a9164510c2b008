//! Grams: how they are numbered, and how those of a text are collected.
//!
//! A *trigram* is three folded bytes, a *long gram* five bytes as they stand there. Long grams are numbered by a hash of their folded
//! bytes and by which of them are in upper case, so that those that differ in case only are neighbours; some share a number.
//! Invariants: a gram never crosses a line break. A line of exactly two bytes counts as those two and a line break, so that every
//! pair of bytes that stands on a line is part of something indexed. Every trigram's number is below every long gram's.

/// The number of a gram: of a trigram its three bytes, the first in the highest place.
pub(super) type Gram = u32;

/// How many trigrams there are.
const TRIGRAMS: usize = 1 << 24;
const BREAK: u32 = b'\n' as u32;
/// Bytes of a long gram.
pub(super) const LONG: usize = 5;
/// The first number of a long gram.
pub(super) const FIRST_LONG: Gram = 1 << (HASH_BITS + LONG as u32);
/// Bits of a long gram's hash. With one more the dictionary grows by half, and grams that nothing is asked of lie apart.
const HASH_BITS: u32 = 22;
/// All numbers are smaller than two to this power.
pub(super) const GRAM_BITS: u32 = HASH_BITS + LONG as u32 + 1;

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

/// The number of the long gram with these folded bytes, none of them in upper case; by setting its lowest bits the others' numbers are
/// made, the highest of the five bits for the first byte.
pub(super) fn long_gram(folded: [u8; LONG]) -> Gram {
    let [one, two, three, four, five] = folded;
    numbered(u64::from_be_bytes([0, 0, 0, one, two, three, four, five]))
}

fn numbered(folded: u64) -> Gram {
    // The highest bits of the product depend on all bytes.
    let hash = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS);
    FIRST_LONG | ((hash as Gram) << LONG)
}

/// Collects the grams of one text after the other; 2 MiB and a little.
pub(super) struct Collector {
    /// One bit for each trigram of the text at hand; those with a line break are always set.
    seen: Box<[u64; TRIGRAMS / 64]>,
    /// One bit for each pair that was a line of its own.
    short: Box<[u64; 1_024]>,
    long: LongGrams,
}

impl Collector {
    pub(super) fn new() -> Self {
        let mut bits = vec![0_u64; TRIGRAMS / 64];
        for one in 0..=255 {
            for other in 0..=255 {
                for with_break in [[b'\n', one, other], [one, b'\n', other], [one, other, b'\n']] {
                    let number = gram(with_break);
                    bits[number as usize / 64] |= 1 << (number % 64);
                }
            }
        }
        // A box of the right length always converts.
        let seen = bits.into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; TRIGRAMS / 64]));
        Self { seen, short: Box::new([0; 1_024]), long: LongGrams::new() }
    }

    /// Appends the grams of `text` to `found`, each once.
    pub(super) fn collect(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        self.collect_short(text, found);
        self.long.collect(text, found);
    }

    fn collect_short(&mut self, text: &[u8], found: &mut Vec<Gram>) {
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

/// The long grams of one text: a table in which each has its place or stands in the next free one behind it.
struct LongGrams {
    /// As many as a power of two, at least half of them free, which are zero.
    places: Vec<Gram>,
    used: usize,
}

/// Places that are kept from one text to the next.
const PLACES: usize = 1 << 14;

impl LongGrams {
    fn new() -> Self {
        Self { places: vec![0; PLACES], used: 0 }
    }

    fn collect(&mut self, text: &[u8], found: &mut Vec<Gram>) {
        // The last bytes, those of them that are in upper case, and how many there are on this line.
        let (mut last, mut uppers, mut length) = (0_u64, 0_u32, 0_usize);
        for byte in text {
            if *byte == b'\n' {
                length = 0;
                continue;
            }
            last = ((last << 8) | u64::from(FOLDED[usize::from(*byte)])) & 0xff_ffff_ffff;
            uppers = (uppers << 1) | u32::from(byte.is_ascii_uppercase());
            length += 1;
            if length >= LONG {
                let number = numbered(last) | (uppers & 31);
                if self.is_new(number) {
                    found.push(number);
                }
            }
        }
        self.used = 0;
        if self.places.len() > PLACES {
            self.places = vec![0; PLACES];
        } else {
            self.places.fill(0);
        }
    }

    fn is_new(&mut self, number: Gram) -> bool {
        let mask = self.places.len() - 1;
        let mut at = place(number) & mask;
        loop {
            match self.places[at] {
                0 => break,
                other if other == number => return false,
                _ => at = (at + 1) & mask,
            }
        }
        self.places[at] = number;
        self.used += 1;
        if self.used * 2 > self.places.len() {
            self.grow();
        }
        true
    }

    fn grow(&mut self) {
        let larger = vec![0; self.places.len() * 2];
        let mask = larger.len() - 1;
        for number in std::mem::replace(&mut self.places, larger).into_iter().filter(|number| *number != 0) {
            let mut at = place(number) & mask;
            while self.places[at] != 0 {
                at = (at + 1) & mask;
            }
            self.places[at] = number;
        }
    }
}

/// Where a number would stand in a table without end.
fn place(number: Gram) -> usize {
    ((number >> LONG) ^ (number << 9)) as usize
}
