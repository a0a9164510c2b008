//! The sample of launch runs as git repositories.
//!
//! Invariant: each call makes new repositories in the temporary folder of the benchmark.

use std::path::PathBuf;

use codeyard_launch::sample;
use codeyard_launch::site::hugo;
use serde_json::json;

use crate::process::{self, Scratch};
use codeyard_cli::Failure;

/// The sample in a temporary folder.
pub(super) struct LaunchSample {
    folder: PathBuf,
    /// Whether Hugo builds the site.
    pub has_hugo: bool,
}

impl LaunchSample {
    /// Makes both repositories.
    pub(super) async fn new(scratch: &Scratch) -> Result<Self, Failure> {
        let folder = scratch.folder("launch")?;
        sample::write(&folder).map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
        for name in ["library", "site"] {
            let to = folder.join(name);
            process::run_git(&to, &["init", "--quiet", "--initial-branch=main"]).await?;
            process::run_git(&to, &["add", "--all"]).await?;
            let author = ["-c", "user.name=codeyard", "-c", "user.email=codeyard@localhost"];
            let commit = ["commit", "--quiet", "--message", "first"];
            process::run_git(&to, &[&author[..], &commit].concat()).await?;
        }
        Ok(Self { folder, has_hugo: hugo::find(None, &|| false).is_ok() })
    }

    /// The product's repository.
    pub(super) fn library(&self) -> PathBuf {
        self.folder.join("library")
    }

    /// The lines of the server's configuration that allow both repositories.
    pub(super) fn allowed(&self) -> String {
        format!("[runs]\nsources = [{}]\n", toml::Value::String(self.folder.display().to_string()))
    }

    /// The arguments of `launch_start_run`.
    pub(super) fn start(&self) -> String {
        json!({"run_config": sample::run_config(&self.folder, self.has_hugo)}).to_string()
    }
}

/// The program with this name on the `PATH`.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}
