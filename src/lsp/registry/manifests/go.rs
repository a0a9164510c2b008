//! Go workspaces: the nearest `go.work` upwards, if it uses the file's module. A module that it doesn't use stands
//! alone.

use super::context::{ManifestContext, Membership};

const NAME: &str = "go.work";

pub(super) fn membership(context: &ManifestContext<'_>) -> Membership {
    let Some(folder) = context.nearest(NAME) else { return Membership::default() };
    let Some(module) = context.nearest("go.mod") else { return Membership::of(folder, NAME) };
    let text = context.text(&folder.join(NAME)).unwrap_or_default();
    let is_used = used_folders(&text).iter().filter_map(|path| context.within(folder, path)).any(|used| used == module);
    if is_used { Membership::of(folder, NAME) } else { Membership::default() }
}

/// The folders after `use`, single or in parentheses.
fn used_folders(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = match (inside, line.strip_prefix("use")) {
            (true, _) if line.starts_with(')') => {
                inside = false;
                continue;
            }
            (true, _) => line,
            (false, Some(rest)) if rest.trim_start().starts_with('(') => {
                inside = true;
                rest.trim_start().trim_start_matches('(').trim()
            }
            (false, Some(rest)) if rest.starts_with([' ', '\t', '"', '`']) => rest.trim(),
            (false, _) => continue,
        };
        let path = path.strip_suffix(')').inspect(|_| inside = false).unwrap_or(path).trim();
        let path = path.trim_matches(['"', '`']);
        if !path.is_empty() {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_lines_and_blocks() {
        let text = "go 1.24 // use ./no\n\nuse ./a\nuse `./b b` // why\nuser ./no\nuse (\n\t./c\n\t\"../d\" // d\n\n)\n\
                    replace x => ./no\nuse (./e)\nuse .\n";
        assert_eq!(used_folders(text), ["./a", "./b b", "./c", "../d", "./e", "."]);
        assert!(used_folders("").is_empty());
    }
}
