//! Names of workspaces, and patterns of them.

use wildmatch::WildMatch;

/// Names and patterns of one list.
const MAX_NAME_PATTERNS: usize = 1_000;
/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 128;

/// Names and patterns that select workspaces. `*` stands for any characters, `?` for one; a pattern that begins with `!` excludes.
///
/// They are matched as they stand: tokens bring them, and compiling those of all tokens would take seconds.
#[derive(Debug, Clone)]
pub struct NamePatterns {
    included: Vec<WildMatch>,
    excluded: Vec<WildMatch>,
    /// Whether there are only patterns that exclude: then all other names pass.
    only_excludes: bool,
}

impl NamePatterns {
    /// Reads patterns. Case doesn't matter.
    ///
    /// # Errors
    /// A sentence about the first wrong pattern, or about their number.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        if patterns.len() > MAX_NAME_PATTERNS {
            return Err(format!("{} patterns, but at most {MAX_NAME_PATTERNS} are allowed", patterns.len()));
        }
        let mut read = Self { included: Vec::new(), excluded: Vec::new(), only_excludes: true };
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let wrong = || format!("`{pattern}` is not a name or a pattern");
            match pattern.strip_prefix('!') {
                Some(bare) => read.excluded.push(wildcards(bare).ok_or_else(wrong)?),
                None => {
                    read.only_excludes = false;
                    read.included.push(wildcards(pattern).ok_or_else(wrong)?);
                }
            }
        }
        Ok(read)
    }

    /// Whether a workspace of this name is selected.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let any = |patterns: &[WildMatch]| patterns.iter().any(|pattern| pattern.matches(&name));
        (self.only_excludes || any(&self.included)) && !any(&self.excluded)
    }
}

/// A pattern of the characters of names, `*` and `?`, not longer than two names.
fn wildcards(text: &str) -> Option<WildMatch> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '?');
    let is_valid = (1..=MAX_PATTERN_BYTES).contains(&text.len()) && text.chars().all(is_plain);
    is_valid.then(|| WildMatch::new(&text.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_select_and_exclude() {
        let matching = |patterns: &[&str], names: &[&str]| -> Vec<String> {
            let patterns = NamePatterns::new(patterns).unwrap();
            names.iter().filter(|name| patterns.matches(name)).map(|name| (*name).to_owned()).collect()
        };
        let names = ["redis", "redis-py", "svc-a", "svc-old", "zod"];
        assert_eq!(matching(&["redis"], &names), ["redis"], "a plain name is the whole name");
        assert_eq!(matching(&["REDIS*"], &names), ["redis", "redis-py"]);
        assert_eq!(matching(&["svc-*", "!svc-old", "zo?"], &names), ["svc-a", "zod"]);
        assert_eq!(matching(&["!svc-*"], &names), ["redis", "redis-py", "zod"]);
        assert_eq!(matching(&[], &names), names);
        for bad in ["", "!", "a/b", "[a", "a b", "{a,b}", &"a".repeat(MAX_PATTERN_BYTES + 1)] {
            assert!(NamePatterns::new(&[bad]).is_err(), "{bad}");
        }
        let many = vec!["a"; MAX_NAME_PATTERNS + 1];
        assert!(NamePatterns::new(&many).is_err());
    }
}
