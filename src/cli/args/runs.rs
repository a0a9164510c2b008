//! Flags of `codeyard runs`. The doc comments here are help texts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SourceArgs;
use crate::terminal_style::When;

/// Subcommands of `codeyard runs`.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Start a run and follow it until it needs a decision.
    ///
    /// The configuration is a file in JSON, TOML or YAML; `-` reads it from standard input. With --product-url or --repository it is
    /// derived from an address. Without a running server the run works in this process; Ctrl-C interrupts it, and `resume` goes on.
    #[command(
        after_help = "Examples:\n  codeyard runs start run.yaml\n  codeyard runs start run.json --key nightly-2026-01-20 --no-follow\n  codeyard runs start --repository https://github.com/acme/Acme.Cells-for-Python"
    )]
    Start(StartRunArgs),
    /// List runs, the latest first.
    List {
        /// Only runs in this state, such as READY_FOR_PR.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Only runs of this product.
        #[arg(long, value_name = "SLUG")]
        product: Option<String>,
        /// Most runs to list.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=200))]
        limit: u64,
        /// Print the answer as JSON.
        #[arg(long)]
        json: bool,
        /// Where the runs are.
        #[command(flatten)]
        target: RunTargetArgs,
    },
    /// Show a run: state, sections, open issues, the next command.
    Show {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
        /// Watch it until it needs a decision.
        #[arg(long)]
        follow: bool,
        /// Print the answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the events of a run, one line each.
    Logs {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
        /// Go on until the run needs a decision.
        #[arg(long)]
        follow: bool,
        /// Print the events as JSON lines.
        #[arg(long)]
        json: bool,
    },
    /// Print an artifact, or list the artifacts of a run.
    Artifact {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
        /// Name, such as validation_report.json [default: list all].
        name: Option<String>,
        /// Write it into this file.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print what the pull request changes, as a unified diff.
    Diff {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
        /// Print files and numbers of lines only.
        #[arg(long)]
        stat: bool,
    },
    /// Run the gates on the working copy as it is.
    Validate {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
    },
    /// Repair the next issue, then validate.
    Fix {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
        /// Repair one issue after the other until none is left or one can't be repaired.
        #[arg(long)]
        all: bool,
    },
    /// Go on after an interruption, or to the next boundary.
    Resume {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
    },
    /// End a run. Nothing is published.
    Cancel {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
    },
    /// Publish the result: one commit, one branch, one pull request.
    OpenPr {
        /// Which run.
        #[command(flatten)]
        run: OneRunArgs,
    },
    /// Take a sample from its source to its pull request, without network.
    ///
    /// Makes two git repositories from a sample that is part of this program, runs the whole workflow on them, and shows the pages. It
    /// needs git; with Hugo on the PATH the site is built by it.
    #[command(after_help = "Examples:\n  codeyard runs demo\n  codeyard runs demo --keep /tmp/launch")]
    Demo {
        /// Keep repositories, runs and pages in this new folder.
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Colours.
        #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
        color: When,
    },
}

/// Flags of `runs start`.
#[derive(Debug, Args)]
pub struct StartRunArgs {
    /// Configuration of the run (.json, .toml, .yaml), or `-`.
    #[arg(value_name = "CONFIG", required_unless_present_any = ["product_url", "repository"])]
    pub file: Option<PathBuf>,
    /// Derive the configuration from the address of a product page.
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "repository"])]
    pub product_url: Option<String>,
    /// Derive the configuration from the address of a repository.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub repository: Option<String>,
    /// Idempotency key: the same start with the same key is the same run.
    #[arg(long)]
    pub key: Option<String>,
    /// Print the run's identifier and return at once; needs a running server.
    #[arg(long)]
    pub no_follow: bool,
    /// Where the run works.
    #[command(flatten)]
    pub target: RunTargetArgs,
}

/// One run.
#[derive(Debug, Args)]
pub struct OneRunArgs {
    /// The run: its identifier, a part that only it has, or `latest`.
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Where the runs are.
    #[command(flatten)]
    pub target: RunTargetArgs,
}

/// Where runs are.
#[derive(Debug, Args)]
pub struct RunTargetArgs {
    /// Endpoint of a server with the catalog `launch`, such as http://127.0.0.1:3939/mcp/NAME/launch.
    #[arg(long, value_name = "URL", conflicts_with_all = ["root", "config", "server"])]
    pub url: Option<String>,
    /// Bearer token for --url.
    #[arg(long, env = "CODEYARD_TOKEN", hide_env_values = true, requires = "url")]
    pub token: Option<String>,
    /// Workspace of the runs [default: the one that contains the current folder, else the default workspace].
    #[arg(long, value_name = "NAME")]
    pub workspace: Option<String>,
    /// Colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: When,
    /// The workspaces and the state directory.
    #[command(flatten)]
    pub source: SourceArgs,
}
