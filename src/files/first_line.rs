//! What the first line of a file says about it: the program that a `#!` line names.

/// Bytes at the start of a file in which its first line is looked for.
pub const MAX_FIRST_LINE_BYTES: u64 = 256;

/// The interpreter that the first line of `text` names after `#!`, without its folder and version: `python` of `#!/usr/bin/env python3`.
pub fn interpreter(text: &[u8]) -> Option<&str> {
    let head = &text[..text.len().min(MAX_FIRST_LINE_BYTES as usize)];
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = match std::str::from_utf8(line) {
        Ok(line) => line,
        Err(error) => std::str::from_utf8(&line[..error.valid_up_to()]).ok()?,
    };
    // `#!/usr/bin/env -S node --flag`: the first word that is neither `env` nor a flag nor a variable.
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = words.find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    (!program.is_empty()).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_without_folder_version_and_flags() {
        for (text, expected) in [
            ("#!/bin/sh", Some("sh")),
            ("#! /usr/bin/env bash\r\necho", Some("bash")),
            ("#!/usr/bin/env python3\nimport os\n", Some("python")),
            ("#!/usr/bin/python3.11 -u", Some("python")),
            ("#!/usr/bin/env -S LANG=C node --x", Some("node")),
            ("#!/usr/bin/perl -w\u{e9}", Some("perl")),
            ("#!\n/bin/sh", None),
            ("#!/usr/bin/env", None),
            ("#!/usr/bin/env 3.1", None),
            (" #!/bin/sh", None),
            ("", None),
        ] {
            assert_eq!(interpreter(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(interpreter(b"#!/bin/sh \xff\n"), Some("sh"), "what comes later doesn't matter");
        let long = format!("#!/{}/sh", "x".repeat(MAX_FIRST_LINE_BYTES as usize));
        assert_ne!(interpreter(long.as_bytes()), Some("sh"), "no more is read");
    }
}
