//! The paths of a manifest in one buffer, which one substring search covers.

use crate::Manifest;

/// All paths in lower case, one per line, in the manifest's order. Takes the size of the paths and 4 bytes for each.
pub(super) struct PathTable {
    text: Vec<u8>,
    starts: Box<[u32]>,
}

/// How well a path matches a query that names it.
const WHOLE: f64 = 1.0;
const END: f64 = 0.9;
const END_WITHOUT_EXTENSION: f64 = 0.8;
const SEGMENT: f64 = 0.6;
const PART: f64 = 0.4;
/// The file name without its extension, for a symbol query. Ranks after a symbol with this name.
const STEM: f64 = 0.84;

impl PathTable {
    /// The paths of a manifest. Paths after the first 4 GiB of text aren't found.
    pub(super) fn new(manifest: &Manifest) -> Self {
        let length = manifest.entries().iter().map(|entry| entry.path.len() + 1).sum();
        let mut text = Vec::with_capacity(length);
        let mut starts = Vec::with_capacity(manifest.entries().len());
        for entry in manifest.entries() {
            let Ok(start) = u32::try_from(text.len()) else { break };
            starts.push(start);
            text.extend(entry.path.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte.to_ascii_lowercase() }));
            text.push(b'\n');
        }
        Self { text, starts: starts.into() }
    }

    fn path(&self, entry: usize) -> &[u8] {
        let Some(start) = self.starts.get(entry) else { return b"" };
        let end = self.starts.get(entry + 1).map_or(self.text.len(), |end| *end as usize);
        self.text.get(*start as usize..end.saturating_sub(1)).unwrap_or_default()
    }

    /// The number of these words that the path contains: at the start of one of its words, or anywhere for words of
    /// four letters or more.
    pub(super) fn count_words(&self, entry: usize, words: &[String]) -> usize {
        let path = self.path(entry);
        let holds = |word: &&String| {
            let mut found = memchr::memmem::find_iter(path, word.as_bytes());
            found.any(|at| word.len() >= 4 || at == 0 || !path[at - 1].is_ascii_alphanumeric())
        };
        words.iter().filter(holds).count()
    }

    /// Calls `each` with every entry that a path matches, in ascending order, each once, and how well it matches.
    pub(super) fn find_path(&self, query: &str, mut each: impl FnMut(usize, f64)) {
        let needle = query.trim_start_matches("./").trim_matches('/').to_ascii_lowercase();
        self.find(needle.as_bytes(), |entry, path, at| {
            let before = at == 0 || path[at - 1] == b'/';
            let end = at + needle.len();
            let is_extension = path.get(end) == Some(&b'.') && !path[end..].contains(&b'/');
            each(
                entry,
                match (before, path.get(end)) {
                    (true, None) if at == 0 => WHOLE,
                    (true, None) => END,
                    (true, Some(_)) if is_extension => END_WITHOUT_EXTENSION,
                    (true, Some(b'/')) => SEGMENT,
                    _ => PART,
                },
            );
        });
    }

    /// Calls `each` with every entry whose file name without extension is `stem`, in ascending order.
    pub(super) fn find_stem(&self, stem: &str, mut each: impl FnMut(usize, f64)) {
        let needle = stem.to_ascii_lowercase();
        self.find(needle.as_bytes(), |entry, path, at| {
            let before = at == 0 || path[at - 1] == b'/';
            let rest = &path[at + needle.len()..];
            if before && !rest.contains(&b'/') && (rest.is_empty() || rest[0] == b'.') {
                each(entry, STEM);
            }
        });
    }

    /// Calls `each` with the last occurrence of `needle` in each path that contains it.
    fn find(&self, needle: &[u8], mut each: impl FnMut(usize, &[u8], usize)) {
        if needle.is_empty() || needle.contains(&b'\n') {
            return;
        }
        let mut last = None;
        for at in memchr::memmem::find_iter(&self.text, needle) {
            let entry = self.starts.partition_point(|start| *start as usize <= at) - 1;
            if let Some((before, place)) = last.replace((entry, at))
                && before != entry
            {
                each(before, self.path(before), place - self.starts[before] as usize);
            }
        }
        if let Some((entry, place)) = last {
            each(entry, self.path(entry), place - self.starts[entry] as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileClass, ManifestEntry};

    fn paths(paths: &[&str]) -> PathTable {
        let entries = paths.iter().map(|path| ManifestEntry {
            path: (*path).into(),
            content: 0,
            language: None,
            size: 1,
            class: FileClass::of(path),
        });
        PathTable::new(&Manifest::new(entries.collect()))
    }

    fn found(paths: &PathTable, query: &str) -> Vec<(usize, f64)> {
        let mut all = Vec::new();
        paths.find_path(query, |entry, exact| all.push((entry, exact)));
        all
    }

    #[test]
    fn paths_match_better_the_more_of_them_the_query_names() {
        let paths = paths(&["a/Run.rs", "run.rs", "run.rs/x", "src/prerun.rs", "z"]);
        assert_eq!(found(&paths, "run.rs"), [(0, END), (1, WHOLE), (2, SEGMENT), (3, PART)]);
        assert_eq!(found(&paths, "./a/run.rs"), [(0, WHOLE)]);
        assert_eq!(found(&paths, "a/run"), [(0, END_WITHOUT_EXTENSION)]);
        assert_eq!(found(&paths, "run.r"), [(0, PART), (1, PART), (2, PART), (3, PART)]);
        assert_eq!(found(&paths, "a/run.rs\nrun.rs"), []);
        assert_eq!(found(&paths, "/"), []);
        assert_eq!(found(&self::paths(&[]), "x"), []);
        let mut stems = Vec::new();
        paths.find_stem("RUN", |entry, _| stems.push(entry));
        assert_eq!(stems, [0, 1]);
    }

    #[test]
    fn words_match_at_the_start_of_path_words() {
        let paths = paths(&["net/server.rs"]);
        let count = |words: &[&str]| paths.count_words(0, &words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(count(&["net", "serv", "rs"]), 3);
        assert_eq!(count(&["et", "erver"]), 1, "short words must begin one");
        assert_eq!(paths.count_words(7, &["net".into()]), 0);
    }
}
