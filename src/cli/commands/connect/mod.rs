//! `codeyard connect`: writes the entry of codeyard into the configuration file of an agent host, and tests the connection.
//!
//! Without `--write` it only shows what it would do. Invariants: a file that is replaced is kept beside the new one; a token is made only
//! when something is written, and shown only on the terminal or written only into a file that no other user can read; the test uses
//! exactly what was written.

mod check;
mod hosts;
mod merge;
mod target;
mod template;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use self::hosts::{Form, HOSTS, Host, TokenPlace};
use self::target::Target;
use self::template::Values;
use crate::Failure;
use crate::args::ConnectArgs;
use crate::shared::{assemble, output};
use codeyard_base::atomic_file::{self, Durability};
use codeyard_catalog::CatalogSet;
use codeyard_state::{TokenAudience, TokenStore};

/// Mode of a new file that holds a token.
const SECRET_MODE: u32 = 0o600;
/// Mode of another new file.
const PUBLIC_MODE: u32 = 0o644;

/// Shows, or writes and tests, the configuration of a host.
pub(crate) fn run(args: ConnectArgs) -> Result<(), Failure> {
    let Some(name) = &args.host else { return list() };
    let host = Host::find(name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        Failure::usage(format!("there is no host `{name}`; the hosts are {}", names.join(", ")))
    })?;
    CatalogSet::parse(&args.catalog).map_err(|error| Failure::usage(format!("--catalog: {error}")))?;
    crate::runtime()?.block_on(connect(host, &args))
}

fn list() -> Result<(), Failure> {
    let mut rows = vec![["HOST", "NAME", "FILE"].map(str::to_owned).to_vec()];
    rows.extend(HOSTS.iter().map(|host| {
        let file = match host.file {
            hosts::Location::Root(path) => format!("{path} in the repository"),
            hosts::Location::Home(path) => format!("~/{path}"),
            hosts::Location::Anywhere => "shown, not written".to_owned(),
        };
        vec![host.name.to_owned(), host.title.to_owned(), file]
    }));
    output::print(output::columns(&rows))
}

async fn connect(host: &'static Host, args: &ConnectArgs) -> Result<(), Failure> {
    let root = root(args)?;
    let target = Target::find(host, args, &root).await?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let file = args.file.clone().or_else(|| host.file.path(&root, home.as_deref()));
    let file = file.map(|file| resolved(&file)).transpose()?;
    let program =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot find codeyard itself: {error}")))?;
    let values = Values {
        program: &program,
        root: &root,
        catalog: &args.catalog,
        state_dir: args.state.state_dir.as_deref(),
        url: target.url(),
        token: None,
    };
    let template = target.template(host)?;
    let Some(file) = file else { return show_text(host, &values.fill(template)) };
    let old = read(&file)?;
    let plan = |token: Option<&str>| {
        let mut text = Values { token, ..values.clone() }.fill(template);
        if target.is_open() {
            text = merge::without_token(host.form, &text).map_err(Failure::new)?;
        }
        merge::merged(host.form, old.as_deref(), &text).map_err(|problem| Failure::new(by_hand(&file, &problem, &text)))
    };
    if !args.write {
        return show(host, args, &file, old.as_deref(), &plan(None)?);
    }
    // Everything that can fail without a token fails before one is made.
    let without = plan(None)?;
    // A host that reads the variable has a token already if it is set.
    let known = std::env::var("CODEYARD_TOKEN").ok().filter(|_| host.token != TokenPlace::File);
    let token = match known {
        Some(_) => None,
        None => target.make_token(host, args)?,
    };
    let text = match (&token, host.token) {
        (Some(token), TokenPlace::File) => plan(Some(token))?,
        _ => without,
    };
    let holds_token = token.as_ref().is_some_and(|token| text.contains(token.as_str()));
    let kept = write(&file, old.as_deref(), &text, holds_token)?;
    output::print_line(format_args!("wrote {}", file.display()));
    if let Some(kept) = kept {
        output::print_line(format_args!("kept the old file as {}", kept.display()));
    }
    show_token(host, token.as_deref(), holds_token)?;
    let tested = check::check(&target, &values, token.as_deref().or(known.as_deref())).await;
    let tested = tested.map_err(|failure| Failure {
        message: format!("the file is written, but the connection does not work: {}", failure.message),
        ..failure
    })?;
    output::print_line(format_args!("tested: {tested}"));
    if !host.then.is_empty() {
        output::print_line(host.then);
    }
    Ok(())
}

/// The repository as an absolute path.
fn root(args: &ConnectArgs) -> Result<PathBuf, Failure> {
    let given = args.root.clone().unwrap_or_else(|| ".".into());
    let root = given.canonicalize().map_err(|error| {
        Failure::missing(format!("cannot open {}: {error}; name the repository with --root", given.display()))
    })?;
    if root.is_dir() { Ok(root) } else { Err(Failure::usage(format!("{} is not a folder", given.display()))) }
}

/// The path behind links, so that a linked file is replaced and not its link.
fn resolved(file: &Path) -> Result<PathBuf, Failure> {
    match file.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::path::absolute(file).map_err(|error| Failure::new(format!("cannot use {}: {error}", file.display())))
        }
        Err(error) => Err(Failure::new(format!("cannot use {}: {error}", file.display()))),
    }
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(format!("cannot read {}: {error}; nothing was written", file.display()))),
    }
}

/// Replaces `file` and keeps the old one, whose path it returns.
fn write(file: &Path, old: Option<&str>, text: &str, holds_token: bool) -> Result<Option<PathBuf>, Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::new(format!("cannot {what} {}: {error}", file.display()));
    if old == Some(text) {
        return Ok(None);
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| failed("create the folder of", error))?;
    }
    let mode = fs::metadata(file).map(|known| known.permissions().mode()).unwrap_or(PUBLIC_MODE);
    let kept = match old {
        Some(_) => Some(keep(file).map_err(|error| failed("copy", error))?),
        None => None,
    };
    atomic_file::replace_with(file, Durability::Power, text.as_bytes()).map_err(|error| failed("write", error))?;
    let mode = if holds_token { SECRET_MODE } else { mode };
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).map_err(|error| failed("set the mode of", error))?;
    Ok(kept)
}

/// Copies `file` beside itself, under a name that is free.
fn keep(file: &Path) -> std::io::Result<PathBuf> {
    let name = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(".codeyard-backup");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let free = (0..u32::MAX).map(name).find(|path| !path.exists()).ok_or(std::io::ErrorKind::AlreadyExists)?;
    fs::copy(file, &free)?;
    Ok(free)
}

fn by_hand(file: &Path, problem: &str, text: &str) -> String {
    format!(
        "cannot add codeyard to {}: {problem}. Nothing was written. Add this by hand, or name another file with --file:\n\n{text}",
        file.display()
    )
}

/// Prints what would be written.
fn show(host: &Host, args: &ConnectArgs, file: &Path, old: Option<&str>, new: &str) -> Result<(), Failure> {
    let before = old.and_then(|text| merge::entry(host.form, text));
    let after = merge::entry(host.form, new);
    let change = match (old, &before) {
        (None, _) => "a new file",
        (_, Some(known)) if Some(known) == after.as_ref() => "nothing: the entry is there already",
        (_, Some(_)) => "the entry `codeyard`, which is replaced; everything else stays",
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
        file.display()
    ))?;
    let flags: String = [
        (args.http, "--http".to_owned()),
        (args.url.is_some(), format!("--url {}", args.url.as_deref().unwrap_or_default())),
        (args.root.is_some(), format!("--root {}", args.root.as_deref().unwrap_or(Path::new(".")).display())),
        (args.catalog != "agent", format!("--catalog {}", args.catalog)),
        (args.file.is_some(), format!("--file {}", file.display())),
    ]
    .into_iter()
    .filter_map(|(is_given, flag)| is_given.then(|| format!(" {flag}")))
    .collect();
    let host = host.name;
    output::print(format_args!(
        "Nothing was changed. `codeyard connect {host}{flags} --write` writes it, keeps the old file, and tests the connection.\n"
    ))
}

/// Prints a configuration that isn't written.
fn show_text(host: &Host, text: &str) -> Result<(), Failure> {
    let how = match host.form {
        Form::Text if !host.stdio.starts_with("name:") => "this program connects to codeyard.",
        _ => "add this to its configuration file, or write it into a new file with `--file FILE --write`.",
    };
    output::print(format_args!("{}: {how}\n\n{}\n", host.title, text.trim_end()))?;
    if host.then.is_empty() { Ok(()) } else { output::print(format_args!("\n{}\n", host.then)) }
}

/// Tells the person how the host gets a token that was made.
fn show_token(host: &Host, token: Option<&str>, holds_token: bool) -> Result<(), Failure> {
    let Some(token) = token else { return Ok(()) };
    if holds_token {
        output::print_line("made a token, which the file holds; only you can read the file");
        return Ok(());
    }
    let how = match host.token {
        TokenPlace::Prompt => format!("{} asks for this token at the first start:\n{token}\n", host.title),
        _ => format!("Set the token where you start {}:\nexport CODEYARD_TOKEN={token}\n", host.title),
    };
    output::print(how)
}

/// Makes a token of the host's name.
fn new_token(host: &Host, args: &ConnectArgs) -> Result<String, Failure> {
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let store = assemble::open_store(&state)?;
    let made = TokenStore::open(store, TokenAudience::Mcp).and_then(|tokens| tokens.add(host.name));
    made.map(|token| token.reveal().to_owned()).map_err(|error| Failure::new(format!("no token was created: {error}")))
}
