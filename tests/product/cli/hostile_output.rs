//! Names and texts of a hostile repository reach no terminal as escape sequences, whichever command prints them; JSON stays exact.

use std::fs;

use serde_json::Value;

use crate::cli::harness::{CommandOutput, Sandbox};

/// Sets the title, clears the screen, and turns the order of what follows; with a C1 character and a mark.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\u{9b}31m\u{200f}";

/// What is left of it in a printed line.
const HARMLESS: &str = r"x\x1b]0;owned\x07\x1b[2J\u{202e}\u{9b}31m\u{200f}";

fn is_obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn assert_harmless(ran: CommandOutput) -> CommandOutput {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(is_obeyed), "{ran:#?}");
    }
    ran
}

/// A repository whose file names, headings, member names and lines are hostile.
fn hostile_repository() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let file = format!("{HOSTILE}.md");
    fs::write(sandbox.path("repo").join(&file), format!("# needle {HOSTILE}\n\nneedle in {HOSTILE}\n")).unwrap();
    fs::write(sandbox.path("repo/a.js"), format!("class Needle {{ \"{HOSTILE}\"() {{ return 1; }} }}\n")).unwrap();
    fs::create_dir(sandbox.path("repo").join(HOSTILE)).unwrap();
    fs::write(sandbox.path("repo").join(HOSTILE).join("b.py"), "def needle_b():\n    pass\n").unwrap();
    fs::write(sandbox.path("repo").join("one\nforged.py"), "def needle_c():\n    pass\n").unwrap();
    (sandbox, file)
}

#[test]
fn searches_and_outlines_of_a_hostile_repository_print_no_escape_sequence() {
    let (sandbox, file) = hostile_repository();
    assert_harmless(sandbox.run(&["index", "--root", "."]).code(0));
    for mode in [&["search", "needle"][..], &["search", "--mode", "text", "needle"]] {
        let found = assert_harmless(sandbox.run(&[mode, &["--root", "."]].concat()).code(0));
        assert!(found.stdout.contains(HARMLESS), "{found:#?}");
        assert!(!found.stdout.lines().any(|line| line.starts_with("forged.py")), "{found:#?}");
        let json = assert_harmless(sandbox.run(&[mode, &["--root", ".", "--json"]].concat()).code(0));
        let names_file = |value: &Value| value.to_string().contains(&serde_json::to_string(&file).unwrap()[1..]);
        let rows: Vec<Value> =
            serde_json::Deserializer::from_str(&json.stdout).into_iter().map(Result::unwrap).collect();
        assert!(rows.iter().any(names_file), "the exact name: {json:#?}");
    }
    for name in [&file, "a.js"] {
        let outline = assert_harmless(sandbox.run(&["outline", name, "--root", "."]).code(0));
        assert!(outline.stdout.contains("eedle"), "{outline:#?}");
        assert_harmless(sandbox.run(&["outline", name, "--root", ".", "--json"]).code(0));
    }
}

#[test]
fn no_other_command_prints_an_escape_sequence_of_a_name() {
    let (sandbox, file) = hostile_repository();
    let missing = format!("missing {HOSTILE}");
    let commands: &[&[&str]] = &[
        &["doctor", "."],
        &["doctor", &file],
        &["doctor", HOSTILE],
        &["doctor", &file, "--json"],
        &["doctor", &missing],
        &["outline", &missing, "--root", "."],
        &["search", &missing, "--root", "."],
        &["serve", "--root", &missing],
        &["serve", "--root", ".", "--listen", HOSTILE],
        &["config", "check", &missing],
        &["token", "remove", HOSTILE],
        &["token", "rotate", HOSTILE],
        &["servers", "path", HOSTILE],
        &["call", HOSTILE, "{}"],
        &["workspaces", "delete", HOSTILE],
    ];
    for words in commands {
        let ran = assert_harmless(sandbox.run(words));
        assert!(!format!("{}{}", ran.stdout, ran.stderr).is_empty(), "{words:?}");
    }
}
