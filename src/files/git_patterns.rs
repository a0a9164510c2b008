//! The lines of a `.gitignore` as git reads them, in the dialect of the crate `ignore`.
//!
//! The crate knows alternatives in braces, which git doesn't, and lacks what git allows in brackets: escapes and named classes. It reads no
//! file. Invariant: a line that matches nothing in git becomes no pattern.

use std::iter::Peekable;
use std::str::Bytes;

/// The bytes that a bracket expression matches.
type ByteSet = [bool; 256];

/// Characters that the crate's dialect gives a meaning.
const SPECIAL: &[u8] = b"*?[]{}\\!#,";

/// The pattern of one line; `None` if the line matches nothing.
pub(crate) fn pattern_of(line: &str) -> Option<String> {
    let line = trimmed(line);
    if line.starts_with('#') {
        return None;
    }
    let (sign, body) = line.strip_prefix('!').map_or(("", line), |body| ("!", body));
    let (body, end) = body.strip_suffix('/').map_or((body, ""), |body| (body, "/"));
    let translated = translated(body.strip_prefix('/').unwrap_or(body))?;
    // A slash in any place but the end binds the pattern to its folder. The crate also counts one that a class excludes.
    let start = match body.contains('/') {
        true => "/",
        false if translated.contains('/') => "**/",
        false => "",
    };
    Some([sign, start, &translated, end].concat()).filter(|_| !translated.is_empty())
}

/// The line without the spaces at its end, unless they are escaped.
fn trimmed(line: &str) -> &str {
    let mut end = 0;
    let mut bytes = line.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => {}
            b'\\' => end = bytes.next().map_or(line.len(), |(at, _)| at + 1),
            _ => end = at + 1,
        }
    }
    // An escaped character of several bytes is whole.
    while !line.is_char_boundary(end) {
        end += 1;
    }
    &line[..end]
}

fn translated(body: &str) -> Option<String> {
    let mut pattern: Vec<u8> = Vec::with_capacity(body.len());
    let mut bytes = body.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => {
                let is_at_start = matches!(pattern.last(), None | Some(b'/'));
                let mut stars = 1;
                while bytes.next_if_eq(&b'*').is_some() {
                    stars += 1;
                }
                let is_component = is_at_start && matches!(bytes.peek(), None | Some(b'/'));
                pattern.extend(if stars > 1 && is_component { &b"**"[..] } else { b"*" });
            }
            b'?' => pattern.push(b'?'),
            b'[' => put_class(&mut pattern, &class(&mut bytes)?)?,
            b'\\' => put_literal(&mut pattern, bytes.next()?),
            byte => put_literal(&mut pattern, byte),
        }
    }
    // The crate removes white space at the end of a line, git only spaces that aren't escaped.
    if let Some(last) = pattern.pop_if(|last| last.is_ascii_whitespace() || *last == 0x0b) {
        pattern.extend([b'[', last, b']']);
    }
    String::from_utf8(pattern).ok()
}

fn put_literal(pattern: &mut Vec<u8>, byte: u8) {
    pattern.extend(SPECIAL.contains(&byte).then_some(b'\\'));
    pattern.push(byte);
}

/// The set of a bracket expression whose opening bracket has been read, as git's `wildmatch` reads it. `None`: the pattern matches nothing.
fn class(bytes: &mut Peekable<Bytes<'_>>) -> Option<ByteSet> {
    let mut set = [false; 256];
    let is_negated = bytes.next_if(|byte| matches!(byte, b'!' | b'^')).is_some();
    let mut previous = None;
    let mut byte = bytes.next()?;
    loop {
        match byte {
            b'-' if previous.is_some() && bytes.peek().is_some_and(|next| *next != b']') => {
                let end = match bytes.next()? {
                    b'\\' => bytes.next()?,
                    end => end,
                };
                let start = previous.take().unwrap_or(end);
                (start..=end).for_each(|byte| set[usize::from(byte)] = true);
            }
            b'[' if bytes.peek() == Some(&b':') && named_class(bytes, &mut set)? => previous = None,
            b'\\' => {
                byte = bytes.next()?;
                set[usize::from(byte)] = true;
                previous = Some(byte);
            }
            byte => {
                set[usize::from(byte)] = true;
                previous = Some(byte);
            }
        }
        byte = bytes.next()?;
        if byte == b']' {
            break;
        }
    }
    set.iter_mut().for_each(|has| *has ^= is_negated);
    // Neither in names.
    set[usize::from(b'/')] = false;
    set[0] = false;
    Some(set)
}

/// Adds a class such as `[:alpha:]`, whose bracket has been read. `Some(false)`: it is none, and nothing was read. `None`: the pattern matches
/// nothing.
fn named_class(bytes: &mut Peekable<Bytes<'_>>, set: &mut ByteSet) -> Option<bool> {
    let mut ahead = bytes.clone();
    let mut name = Vec::new();
    loop {
        match ahead.next()? {
            b']' => break,
            byte => name.push(byte),
        }
    }
    let Some(name) = name.strip_prefix(b":").and_then(|name| name.strip_suffix(b":")) else { return Some(false) };
    let is_member: fn(&u8) -> bool = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    (0..=u8::MAX).filter(is_member).for_each(|byte| set[usize::from(byte)] = true);
    *bytes = ahead;
    Some(true)
}

/// Adds a bracket expression of the crate's dialect, where `]` is a member only as the first one, and `-` as the last one. `None`: the set is
/// empty.
fn put_class(pattern: &mut Vec<u8>, set: &ByteSet) -> Option<()> {
    // git compares bytes, so a class can't contain a character of several bytes; the negation of one contains all their bytes.
    let is_negated = set[128..].iter().filter(|has| **has).count() > 64;
    let members: Vec<u8> = (1..128).filter(|byte| set[usize::from(*byte)] != is_negated).collect();
    match members.as_slice() {
        [] => return None,
        [one] if !is_negated => put_literal(pattern, *one),
        [b'!', b'^'] if !is_negated => pattern.extend(b"{\\!,\\^}"),
        members => {
            // The first of the signs would negate the class.
            let is_sign = |byte: &u8| matches!(byte, b'!' | b'^');
            let has = |byte| members.contains(&byte);
            let plain: Vec<u8> =
                members.iter().copied().filter(|byte| !is_sign(byte) && !matches!(byte, b']' | b'-')).collect();
            pattern.push(b'[');
            pattern.extend(is_negated.then_some(b'!'));
            pattern.extend(has(b']').then_some(b']'));
            for run in plain.chunk_by(|one, other| one + 1 == *other) {
                match run {
                    [first, _, _, .., last] => pattern.extend([*first, b'-', *last]),
                    few => pattern.extend(few),
                }
            }
            let is_first = !is_negated && plain.is_empty() && !has(b']');
            pattern.extend(Some(b'-').filter(|dash| is_first && has(*dash)));
            pattern.extend(members.iter().filter(|byte| is_sign(byte)));
            pattern.extend(Some(b'-').filter(|dash| !is_first && has(*dash)));
            pattern.push(b']');
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ignore::Match;
    use ignore::gitignore::GitignoreBuilder;

    use super::*;

    /// Lines, and what git must be asked about each of them.
    const LINES: &[&str] = &[
        "*.{log,tmp}", "{out,dist}/", "a{b", "a}b", "\\{a\\}", "[a\\]]", "[]a]", "[!]a]", "[^]]", "[a-]", "[-a]",
        "[!-a]", "[]-a]", "[a\\-z]", "[\\!a]", "[\\^]", "[!!]", "[\\^!]", "[\\!\\^-]", "[[:alpha:]]", "[[:digit:]x]",
        "[![:upper:]]", "[[:nope:]]", "[[:alpha]", "[[:space:]]", "[a-c]x", "[z-a]", "[a", "a[", "[]", "[!]", "[\\]",
        "[a/b]", "x[/]y", "[+-9]", "\\a", "a\\", "a\\*", "\\#a", "\\!a", "#a", "!a", "a\\ ", "a ", "a  ", "a\t", "\\ ",
        " ", "/", "//", "/a", "a/", "a\\/", "/a/b", "a/b", "a//b", "**", "***", "**/a", "a/**", "a/**/b", "a/***/b",
        "a**", "a**b", "**a", "a/**b", "a/b**", "*", "*/b", "a/*", "/*", "?", "??", "a?b", "a,b", "[!a]*", "*.[oa]",
        "[[]", "[]]", "[a-\\]]", "[[:punct:]]", "[{,}]", "{a,b}c", "a{1..3}", "d/[x]/e", "*[[:upper:]]*", "[\\\\]",
    ];

    /// Paths of files.
    const PATHS: &[&str] = &[
        "a", "b", "c", "z", "x", "-", "!", "^", "]", "[", "{", "}", ",", "\\", "a.log", "b.tmp", "b.{log,tmp}",
        "out/f", "dist/f", "{out,dist}/f", "a{b", "a}b", "{a}", "a]", "a ", "a  ", "a\t", "#a", "!a", "a\\", "a*",
        "ax", "bx", "dx", "5", "A", "\u{e9}", "a/b", "a/x/b", "a/x/y/b", "x/a", "x/y/a", "x/b", "ab", "axb", "a/xb",
        "a/x/yb", "a/bx", "a,b", "f.o", "f.a", "f.c", "ac", "bc", "{a,b}c", "a1", "a{1..3}", "d/x/e", "x/y", "[a",
        "a[", "[]", "[!]", "fooBar", "+", "d", "aa", "_",
    ];

    #[test]
    fn git_is_the_judge_of_patterns() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let git = |args: &[&str]| crate::test_git::run_git(root, args);
        git(&["init", "-q"]).unwrap();
        let mut differences = Vec::new();
        for line in LINES {
            std::fs::write(root.join(".gitignore"), format!("{line}\n")).unwrap();
            let args = [&["check-ignore", "-v", "-n", "--no-index", "--"], PATHS].concat();
            // One line for each path. It fails if no path is ignored.
            let said = match git(&args) {
                Ok(said) => said,
                Err(error) if error.to_string().contains("exit status: 1)") => "::\n".repeat(PATHS.len()),
                Err(error) => panic!("{line:?}: {error}"),
            };
            assert_eq!(said.lines().count(), PATHS.len(), "{said}");
            let mut builder = GitignoreBuilder::new("");
            if let Some(pattern) = pattern_of(line)
                && let Err(error) = builder.add_line(None, &pattern)
            {
                differences.push(format!("{line:?}: {pattern:?} is invalid: {error}"));
            }
            let rules = builder.build().unwrap();
            for (path, said) in PATHS.iter().zip(said.lines()) {
                let matches = |path: &Path, is_dir| matches!(rules.matched(path, is_dir), Match::Ignore(_));
                let below = Path::new(path).ancestors().filter(|above| !above.as_os_str().is_empty());
                let ours = below.enumerate().any(|(nth, above)| matches(above, nth > 0));
                let gits = said.strip_prefix(".gitignore:1:").is_some_and(|pattern| !pattern.starts_with('!'));
                if ours != gits {
                    differences.push(format!("{line:?} ({:?}) and {path:?}: git {gits}", pattern_of(line)));
                }
            }
        }
        assert_eq!(differences, Vec::<String>::new());
    }
}
