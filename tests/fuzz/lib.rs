//! What the fuzz targets share: an allocator that refuses large allocations, and a reader of small values from an input.
//!
//! libFuzzer measures the memory of the process only now and then, and memory that was reserved and not used not at all. The allocator sees
//! each request: an input that makes a parser reserve memory by a length that the input merely names is found at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest single allocation, in bytes. No input is longer than 1 MiB, and no parser needs a multiple of its input.
const DEFAULT_LIMIT: usize = 16 << 20;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

#[global_allocator]
static ALLOCATOR: BoundedAllocator = BoundedAllocator;

/// Ends the process, which libFuzzer counts as a finding, when a single allocation is larger than the limit.
struct BoundedAllocator;

impl BoundedAllocator {
    fn check(size: usize) {
        if size > LIMIT.load(Ordering::Relaxed) {
            // Without a limit while the message and the stack are printed.
            LIMIT.store(usize::MAX, Ordering::Relaxed);
            panic!("an allocation of {size} bytes");
        }
    }
}

// SAFETY: every call is passed on to the allocator of the system unchanged.
unsafe impl GlobalAlloc for BoundedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::check(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::check(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::check(size);
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Takes small values from the front of an input. At its end every value is zero.
pub struct Values<'d>(pub &'d [u8]);

impl<'d> Values<'d> {
    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// A number of two bytes.
    pub fn short(&mut self) -> u32 {
        u32::from(self.byte()) << 8 | u32::from(self.byte())
    }

    /// A number of eight bytes.
    pub fn long(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// Up to `length` bytes.
    pub fn bytes(&mut self, length: usize) -> &'d [u8] {
        self.0.split_off(..length.min(self.0.len())).unwrap_or_default()
    }

    /// The rest as text; what is not UTF-8 is replaced.
    pub fn text(self) -> String {
        text_of(self.0.to_vec())
    }

    /// The rest, in which `0xff n byte` is that byte `64 * n` times, so that short inputs reach the limits of long texts. At most `most`
    /// bytes.
    pub fn expanded(self, most: usize) -> Expanded {
        let mut data = self.0;
        let mut bytes = Vec::new();
        let mut runs = Vec::new();
        loop {
            let plain = data.iter().position(|byte| *byte == 0xff).unwrap_or(data.len());
            bytes.extend_from_slice(&data[..plain]);
            data = &data[plain..];
            match data {
                [_, times, byte, rest @ ..] if bytes.len() < most => {
                    let run = bytes.len()..(bytes.len() + usize::from(*times) * 64).min(most);
                    bytes.resize(run.end, *byte);
                    runs.push(run);
                    data = rest;
                }
                rest => {
                    bytes.extend_from_slice(rest);
                    bytes.truncate(most);
                    return Expanded { bytes, runs };
                }
            }
        }
    }
}

/// What a short input stands for.
pub struct Expanded {
    pub bytes: Vec<u8>,
    /// Where one byte was repeated, in order.
    pub runs: Vec<Range<usize>>,
}

impl Expanded {
    /// The bytes as text; what is not UTF-8 is replaced.
    pub fn text(self) -> String {
        text_of(self.bytes)
    }
}

/// Takes most texts as they are, which is faster.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
