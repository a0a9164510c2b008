//! Reads figures in KiB from the text of `/proc/<pid>/status` and `/proc/meminfo`, which only Linux has.
//!
//! It reads no file. Invariant: what isn't there is `None`, never zero.

/// The bytes in the line of `text` that begins with `name`, such as `VmRSS:`.
pub fn bytes_in(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_name() {
        let text = "VmRSS:\t   90 kB\nRssAnon:\t 3 kB\nName:\tx\n";
        assert_eq!((bytes_in(text, "VmRSS:"), bytes_in(text, "RssAnon:")), (Some(92_160), Some(3_072)));
        assert_eq!((bytes_in(text, "Name:"), bytes_in(text, "RssShmem:"), bytes_in("", "VmRSS:")), (None, None, None));
    }
}
