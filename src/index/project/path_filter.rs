//! Filters paths by globs, with the meaning of ripgrep's `-g`.

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};

/// Decides which paths a query is about.
#[derive(Debug)]
pub(super) struct PathFilter {
    /// `None`: every path passes.
    globs: Option<Override>,
    /// Whether paths pass that match no glob.
    others_pass: bool,
}

impl PathFilter {
    /// A filter of these globs. A glob without a wildcard also matches everything below the folder of this name.
    pub(super) fn new(globs: &[String]) -> Result<Self, String> {
        if globs.is_empty() {
            return Ok(Self { globs: None, others_pass: true });
        }
        let mut builder = OverrideBuilder::new("");
        for glob in globs {
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            let bare = glob.trim_end_matches('/');
            let is_plain = !bare.contains(['*', '?', '[', '{']);
            let added = match (is_plain, bare.trim_start_matches('!').is_empty()) {
                (_, true) => {
                    return Err(format!("'{glob}' in paths is empty; give a path or a glob such as 'src/**/*.rs'."));
                }
                (true, _) => builder.add(bare).and_then(|builder| builder.add(&format!("{bare}/**"))),
                (false, _) => builder.add(bare),
            };
            added.map_err(|_| {
                format!(
                    "'{glob}' in paths is not a valid glob; give one such as 'src/**/*.rs', or '!vendor/**' to exclude."
                )
            })?;
        }
        let others_pass = globs.iter().all(|glob| glob.starts_with('!'));
        let globs = builder.build().map_err(|_| "the globs in paths are too large; give fewer.".to_owned())?;
        Ok(Self { globs: Some(globs), others_pass })
    }

    /// Whether the file at this path passes.
    pub(super) fn passes(&self, path: &str) -> bool {
        let Some(globs) = &self.globs else { return true };
        match globs.matched(path, false) {
            Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
            Match::None => self.others_pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_like_those_of_ripgrep() {
        let table: [(&[&str], &[&str], &[&str]); 6] = [
            (&[], &["a", "b/c.rs"], &[]),
            (&["*.rs"], &["a.rs", "b/c.rs"], &["a.c", "rs"]),
            (&["src"], &["src/a.c", "src/b/c.rs"], &["a.c", "lib/a.c"]),
            (&["./src/", "docs/*.md"], &["src/a.c", "docs/a.md"], &["docs/x/a.md", "a.md"]),
            (&["!vendor/**"], &["src/a.c", "a"], &["vendor/a.c", "vendor/x/y"]),
            (&["*.c", "!test_*"], &["src/a.c"], &["src/test_a.c", "a.rs"]),
        ];
        for (globs, passing, others) in table {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let filter = PathFilter::new(&globs).unwrap();
            for path in passing {
                assert!(filter.passes(path), "{globs:?} {path}");
            }
            for path in others {
                assert!(!filter.passes(path), "{globs:?} {path}");
            }
        }
        for bad in ["[", "", "!", "a{"] {
            assert!(PathFilter::new(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
