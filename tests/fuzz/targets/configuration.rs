//! The configuration. An accepted one is shown as a configuration that is accepted and shown the same; an error is one line that names the
//! file, a position inside it, and a next step.

#![no_main]

use std::path::Path;

use codeyard_config::{Source, parse_source};
use codeyard_fuzz::Values;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = Values(data).text();
    let source = Source { file: "yard.toml", base_dir: Path::new("/etc/yard"), home: Some(Path::new("/home/ada")) };
    match parse_source(&text, source) {
        Ok(config) => {
            assert!(config.validate().is_ok());
            let mut roots = config.workspaces.iter().flat_map(|workspace| &workspace.roots);
            assert!(roots.all(|root| root.is_absolute()));
            let shown = config.show();
            let again = parse_source(&shown, source).unwrap_or_else(|error| panic!("{error}\n{text}\n---\n{shown}"));
            assert_eq!(again.show(), shown, "{text}");
        }
        Err(error) => {
            assert_eq!(error.file, "yard.toml");
            assert!(!error.problem.is_empty() && !error.remedy.is_empty(), "{error}");
            let printed = error.to_string();
            assert!(!printed.contains(['\n', '\r']), "{printed:?}");
            if let Some(position) = error.position {
                // An error may stand behind the last character.
                let mut lines = text.split('\n');
                let line = lines.nth(position.line - 1).unwrap_or_else(|| panic!("{printed}: no such line"));
                assert!((1..=line.chars().count() + 1).contains(&position.column), "{printed}");
            }
        }
    }
});
