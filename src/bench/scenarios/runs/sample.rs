//! The sample of launch runs as git repositories, and the runs' configuration.
//!
//! Invariant: each call makes new repositories in the temporary folder of the benchmark; the sample itself is only read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::corpus;
use crate::process::{self, Scratch};
use codeyard_cli::Failure;

/// The sections of the sample's site.
const SECTIONS: [&str; 5] = ["products", "docs", "reference", "kb", "blog"];

/// The sample in a temporary folder.
pub(super) struct LaunchSample {
    /// The product's repository.
    pub library: PathBuf,
    /// The site's repository.
    pub site: PathBuf,
    /// Whether Hugo builds the site.
    pub has_hugo: bool,
}

impl LaunchSample {
    /// Makes both repositories.
    pub(super) async fn new(scratch: &Scratch) -> Result<Self, Failure> {
        let top = scratch.folder("launch")?;
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch");
        let sample = Self { library: top.join("library"), site: top.join("site"), has_hugo: on_path("hugo").is_some() };
        for (name, to) in [("library", &sample.library), ("site", &sample.site)] {
            corpus::copy_tree(&from.join(name), to)?;
            process::run_git(to, &["init", "--quiet", "--initial-branch=main"]).await?;
            process::run_git(to, &["add", "--all"]).await?;
            let author = ["-c", "user.name=codeyard", "-c", "user.email=codeyard@localhost"];
            let commit = ["commit", "--quiet", "--message", "first"];
            process::run_git(to, &[&author[..], &commit].concat()).await?;
        }
        Ok(sample)
    }

    /// The lines of the server's configuration that allow both repositories.
    pub(super) fn allowed(&self) -> String {
        let paths = [&self.library, &self.site].map(|path| toml::Value::String(path.display().to_string()));
        format!("[runs]\nsources = [{}, {}]\n", paths[0], paths[1])
    }

    /// The arguments of `launch_start_run`.
    pub(super) fn start(&self) -> String {
        let (kind, content) = if self.has_hugo { ("hugo", "content/") } else { ("markdown", "") };
        let config: Value = json!({
            "schema_version": "1.0",
            "product_slug": "tabtidy",
            "product_name": "tabtidy",
            "family": "cells",
            "target_platform": "python",
            "github_repo_url": self.library,
            "github_ref": "main",
            "required_sections": SECTIONS,
            "allowed_paths": SECTIONS.map(|name| format!("{content}{name}/tabtidy/**")),
            "site": {"repo_url": self.site, "ref": "main", "kind": kind},
        });
        json!({"run_config": config}).to_string()
    }
}

/// The program with this name on the `PATH`.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}
