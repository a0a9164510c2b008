//! A client of the catalog `launch`.

use serde_json::{Value, json};

use super::sample::LaunchSample;
use crate::codeyard_server::McpHttpClient;
use codeyard_cli::Failure;

/// One connection.
pub(super) struct RunClient(pub(super) McpHttpClient);

impl RunClient {
    /// Calls a tool. An answer that isn't `ok` is a failure.
    pub(super) async fn call(&mut self, tool: &str, arguments: &str) -> Result<Value, Failure> {
        let body = self.0.call(tool, arguments).await.map_err(Failure::new)?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|error| Failure::new(error.to_string()))?;
        let content = answer["result"]["structuredContent"].take();
        if content["ok"] == true {
            return Ok(content);
        }
        Err(Failure::new(format!("{tool}: {}{}", content["error"], answer["error"])))
    }

    /// Starts a run and returns its id.
    pub(super) async fn start(&mut self, sample: &LaunchSample) -> Result<String, Failure> {
        let started = self.call("launch_start_run", &sample.start()).await?;
        started["run_id"].as_str().map(str::to_owned).ok_or_else(|| Failure::new("the answer has no run_id"))
    }

    /// Waits until a run is in `READY_FOR_PR`, without an open issue.
    pub(super) async fn settle(&mut self, run: &str) -> Result<(), Failure> {
        let status = self.call("launch_resume", &json!({"run_id": run}).to_string()).await?["status"].take();
        if status["state"] == "READY_FOR_PR" && status["open_issues"] == json!([]) {
            return Ok(());
        }
        Err(Failure::new(format!("a run of the sample isn't good: {status}")))
    }

    /// A run from its start to its branch.
    pub(super) async fn finish_one(&mut self, sample: &LaunchSample) -> Result<(), Failure> {
        let run = self.start(sample).await?;
        self.settle(&run).await?;
        self.call("launch_open_pr", &json!({"run_id": run}).to_string()).await.map(drop)
    }
}
