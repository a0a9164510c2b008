//! `codeyard connect`: tests a connection, and writes the entry of codeyard into the configuration file of an agent host.
//!
//! Without `--write` it only shows what it would do. Invariants: a file that is replaced is kept beside the new one; a token is made only
//! when something is written, and shown only on the terminal or written only into a file that no other user can read; the test comes
//! before the file is written, and uses exactly what will be written.

mod access;
mod check;
mod config_file;
mod hosts;
mod merge;
mod merge_json;
mod merge_toml;
mod place;
mod show;
mod target;
mod template;

use std::path::{Path, PathBuf};

use self::access::Access;
use self::check::Launch;
use self::config_file::ConfigFile;
use self::hosts::{Form, HOSTS, Host};
use self::place::Place;
use self::target::Target;
use self::template::Values;
use crate::Failure;
use crate::args::ConnectArgs;
use crate::shared::output;
use codeyard_catalog::CatalogSet;

/// Shows, or tests and writes, the configuration of a host.
pub(crate) fn run(args: ConnectArgs) -> Result<(), Failure> {
    let Some(name) = &args.host else { return show::hosts() };
    let host = Host::find(name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        Failure::usage(format!("there is no host `{name}`; the hosts are {}", names.join(", ")))
    })?;
    CatalogSet::parse(&args.catalog).map_err(|error| Failure::usage(format!("--catalog: {error}")))?;
    crate::runtime()?.block_on(connect(host, &args))
}

async fn connect(host: &'static Host, args: &ConnectArgs) -> Result<(), Failure> {
    let place = Place::find(args)?;
    let root = Path::new(&place.root);
    let target = Target::find(host, args, root).await?;
    let values = Values {
        program: &place.program,
        root: &place.root,
        catalog: &args.catalog,
        state_dir: place.state_dir.as_deref(),
        url: target.url(),
        token: None,
    };
    let template = target.template(host);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let Some(path) = args.file.clone().or_else(|| host.file.path(root, home.as_deref())) else {
        return show::text(host, &values.fill(template), &values);
    };
    let plan = Plan { host, target: &target, values: &values, template, file: ConfigFile::open(&path)? };
    // Everything that can fail without a token fails before one is made.
    let without = plan.text(None)?;
    if args.write { plan.write(args).await } else { show::change(host, args, &plan.file, &without) }
}

/// A connection and the file that gets it.
struct Plan<'a> {
    host: &'static Host,
    target: &'a Target,
    values: &'a Values<'a>,
    template: &'static str,
    file: ConfigFile,
}

impl Plan<'_> {
    /// The new text of the file, which holds `token`.
    fn text(&self, token: Option<&str>) -> Result<String, Failure> {
        let form = self.host.form;
        let values = Values { token, ..self.values.clone() };
        let mut filled = values.fill(self.template);
        if self.target.is_open() {
            filled = merge::without_token(form, &filled).map_err(Failure::new)?;
        }
        let by_hand = |problem: &str| show::by_hand(&self.file, problem, &filled);
        let new = merge::merged(form, self.file.old.as_deref(), &filled).map_err(|problem| by_hand(&problem))?;
        let has_values = |entry: &serde_json::Value| values.are_in(entry);
        if form != Form::Text && !merge::entry(form, &new).as_ref().is_some_and(has_values) {
            return Err(by_hand("the entry would not have the values of this connection"));
        }
        Ok(new)
    }

    /// Tests the connection, then writes the file.
    async fn write(&self, args: &ConnectArgs) -> Result<(), Failure> {
        self.file.check_writable()?;
        let before = self.file.old.as_deref().and_then(|text| merge::entry(self.host.form, text));
        let access = Access::find(self.host, args, self.target, before.as_ref()).await?;
        let written = self.write_with(&access, before.as_ref()).await;
        if written.is_err() {
            access.withdraw()?;
        }
        let (text, kept) = written?;
        show::token(self.host, &access, before.as_ref(), &text, kept.as_deref())?;
        show::exports(self.host, self.values)?;
        if !self.host.then.is_empty() {
            output::print_line(self.host.then);
        }
        Ok(())
    }

    /// The same with a token. Returns what was written, and where the old file is.
    async fn write_with(
        &self,
        access: &Access,
        before: Option<&serde_json::Value>,
    ) -> Result<(String, Option<PathBuf>), Failure> {
        let in_file = access.token_in_file(self.host);
        let text = self.text(in_file)?;
        let entry = merge::entry(self.host.form, &text);
        let launch = entry.as_ref().and_then(Launch::of_entry).unwrap_or_else(|| Launch::of_values(self.values));
        let tested = check::check(self.target, &launch, access.token()).await;
        let (how, found) = tested.map_err(|failure| Failure {
            message: format!("the connection does not work, so nothing was written: {}", failure.message),
            ..failure
        })?;
        show::tested(self.host, &how, &found);
        let kept = self.file.write(&text, in_file.is_some())?;
        output::print_line(format_args!("wrote {}", self.file.path.display()));
        if before.is_some_and(|before| entry.as_ref() != Some(before)) {
            output::print_line("changed the entry `codeyard` that was there; its other members stay");
        }
        if let Some(kept) = &kept {
            output::print_line(format_args!("kept the old file as {}", kept.display()));
        }
        Ok((text, kept))
    }
}
