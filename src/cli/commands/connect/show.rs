//! What `connect` prints. Invariant: nothing here changes a file.

use super::access::{self, Access};
use super::config_file::ConfigFile;
use super::hosts::{Form, HOSTS, Host, Location, TokenPlace};
use super::merge;
use super::template::Values;
use crate::Failure;
use crate::args::ConnectArgs;
use crate::shared::{output, shell};

pub(super) fn hosts() -> Result<(), Failure> {
    let mut rows = vec![["HOST", "NAME", "FILE"].map(str::to_owned).to_vec()];
    rows.extend(HOSTS.iter().map(|host| {
        let file = match host.file {
            Location::Root(path) => format!("{path} in the repository"),
            Location::Home(path) => format!("~/{path}"),
            Location::Anywhere => "shown, not written".to_owned(),
        };
        vec![host.name.to_owned(), host.title.to_owned(), file]
    }));
    output::print(output::columns(&rows))
}

/// Prints what would be written.
pub(super) fn change(host: &Host, args: &ConnectArgs, file: &ConfigFile, new: &str) -> Result<(), Failure> {
    let old = file.old.as_deref();
    let before = old.and_then(|text| merge::entry(host.form, text));
    let after = merge::entry(host.form, new);
    let change = match (old, &before) {
        (None, _) => "a new file",
        (Some(old), _) if old == new => "nothing: the entry is there already",
        (_, Some(known)) if Some(known) == after.as_ref() => "nothing: the entry is there already",
        (_, Some(_)) => "the entry `codeyard`, which is changed; everything else stays",
        (_, None) => "the entry `codeyard`; everything else stays",
    };
    let shown = match (old, after) {
        (Some(_), Some(entry)) => {
            serde_json::to_string_pretty(&serde_json::json!({merge::ENTRY: entry})).unwrap_or_default()
        }
        _ => new.trim_end().to_owned(),
    };
    output::print(format_args!(
        "{} reads {}.\nThis would be written: {change}.\n\n{shown}\n\n",
        host.title,
        file.path.display()
    ))?;
    let line = command(host, args);
    output::print(format_args!(
        "Nothing was changed. `{line}` tests the connection, writes this, and keeps the old file.\n"
    ))
}

/// The command that writes what was shown.
fn command(host: &Host, args: &ConnectArgs) -> String {
    let mut words = vec!["codeyard".to_owned(), "connect".to_owned(), host.name.to_owned()];
    words.extend(args.http.then(|| "--http".to_owned()));
    let mut add = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    };
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    // The argument parser takes the flag or the variable.
    let variable = std::env::var_os("CODEYARD_STATE_DIR");
    let is_flag = args.state.state_dir.as_ref().map(|dir| dir.as_os_str()) != variable.as_deref();
    add("--url", args.url.clone());
    add("--root", path(&args.root));
    add("--catalog", (args.catalog != "agent").then(|| args.catalog.clone()));
    add("--file", path(&args.file));
    add("--state-dir", path(&args.state.state_dir).filter(|_| is_flag));
    words.push("--write".to_owned());
    shell::line(words.iter().map(String::as_str))
}

/// Prints a configuration that isn't written.
pub(super) fn text(host: &Host, text: &str, values: &Values<'_>) -> Result<(), Failure> {
    let how = if host.is_program() {
        "this program connects to codeyard; write it into a new file with `--file FILE --write`."
    } else {
        "add this to its configuration file, or write it into a new file with `--file FILE --write`."
    };
    output::print(format_args!("{}: {how}\n\n{}\n", host.title, text.trim_end()))?;
    exports(host, values)?;
    if host.then.is_empty() { Ok(()) } else { output::print(format_args!("\n{}\n", host.then)) }
}

/// Prints the variables that a program reads.
pub(super) fn exports(host: &Host, values: &Values<'_>) -> Result<(), Failure> {
    if !host.is_program() {
        return Ok(());
    }
    let root = shell::quoted(values.root);
    output::print(format_args!("\nSet the repository where you start the program:\nexport CODEYARD_ROOT={root}\n"))
}

/// Prints how the host gets the token, and which token of the entry `before` has no use any more.
pub(super) fn token(
    host: &Host,
    access: &Access,
    before: Option<&serde_json::Value>,
    new: &str,
    kept: Option<&std::path::Path>,
) -> Result<(), Failure> {
    if let Access::Made { token, .. } = access {
        let token = token.reveal();
        if access.token_in_file(host).is_some() {
            output::print_line("made a token, which the file holds; only you can read the file");
        } else if host.token == TokenPlace::Prompt {
            output::print(format_args!("{} asks for this token at the first start:\n{token}\n", host.title))?;
        } else {
            output::print(format_args!(
                "Set the token where you start {}:\nexport CODEYARD_TOKEN={token}\n",
                host.title
            ))?;
        }
    }
    let Some(before) = before.and_then(access::token_in) else { return Ok(()) };
    let is_used = new.contains(before);
    let list = "`codeyard token list` shows the tokens, and `codeyard token remove ID` removes one";
    match kept {
        Some(kept) if is_used => {
            let kept = kept.display();
            output::print_line(format_args!(
                "the old file {kept} holds the token too; delete it when you don't need it"
            ));
        }
        _ if !is_used => {
            output::print_line(format_args!("the entry held another token, which the old file still has: {list}"));
        }
        _ => {}
    }
    Ok(())
}

/// The failure of an entry that can't be added.
pub(super) fn by_hand(file: &ConfigFile, problem: &str, text: &str) -> Failure {
    Failure::new(format!(
        "cannot add codeyard to {}: {problem}. Nothing was written. Add this by hand, or name another file with --file:\n\n{text}",
        file.path.display()
    ))
}

/// Prints the result of the test.
pub(super) fn tested(host: &Host, how: &str, found: &str) {
    if host.form == Form::Text {
        output::print_line(format_args!("codeyard itself answers {how}: {found}; the file was not run"));
    } else {
        output::print_line(format_args!("tested: {found} {how}"));
    }
}
