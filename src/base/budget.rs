//! A byte budget: a writer that refuses the first byte beyond its cap.
//!
//! Invariant: the output of a [`BoundedWriter`] never exceeds its cap, not even by one chunk.

use std::io::{self, Write};

/// The error of a writer whose cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("payload exceeds {cap} bytes")]
pub struct BudgetExceeded {
    /// The cap in bytes.
    pub cap: usize,
}

/// A growing buffer that never holds more than `cap` bytes.
#[derive(Debug)]
pub struct BoundedWriter {
    buffer: Vec<u8>,
    cap: usize,
    exceeded: bool,
}

impl BoundedWriter {
    /// An empty writer with room for `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self { buffer: Vec::with_capacity(cap.min(1_024)), cap, exceeded: false }
    }

    /// The bytes written, or the error if anything was refused.
    pub fn finish(self) -> Result<Vec<u8>, BudgetExceeded> {
        if self.exceeded { Err(BudgetExceeded { cap: self.cap }) } else { Ok(self.buffer) }
    }
}

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > self.cap {
            self.exceeded = true;
            return Err(io::Error::new(io::ErrorKind::StorageFull, BudgetExceeded { cap: self.cap }));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `value` as JSON of at most `cap` bytes.
pub fn to_json_bounded<T: serde::Serialize>(value: &T, cap: usize) -> Result<Vec<u8>, BudgetExceeded> {
    let mut writer = BoundedWriter::new(cap);
    match serde_json::to_writer(&mut writer, value) {
        Ok(()) => writer.finish(),
        Err(_) => Err(BudgetExceeded { cap }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_exact() {
        assert_eq!(to_json_bounded(&"abc", 5).unwrap(), b"\"abc\"");
        assert_eq!(to_json_bounded(&"abc", 4), Err(BudgetExceeded { cap: 4 }));
    }
}
