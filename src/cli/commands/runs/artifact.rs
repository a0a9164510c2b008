//! Artifacts of a run: reads them in parts, lists them, writes them.

use std::path::Path;

use codeyard_base::base64_text;
use serde_json::{Value, json};

use super::call;
use crate::Failure;
use crate::shared::mcp_client::Client;
use crate::shared::output;

/// Prints or writes an artifact, or lists all.
pub(super) async fn run(
    client: &mut Client,
    run: &str,
    name: Option<&str>,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let Some(name) = name else {
        let mut answer = call(client, "launch_get_status", &json!({"run_id": run})).await?;
        let artifacts = answer["status"]["artifacts"].take();
        let of = |artifact: &Value, name: &str| artifact[name].as_str().unwrap_or_default().to_owned();
        let all = artifacts.as_array().into_iter().flatten();
        let rows: Vec<Vec<String>> = all.map(|artifact| vec![of(artifact, "name"), of(artifact, "sha256")]).collect();
        return output::print(output::columns(&rows));
    };
    let (content, _) = read(client, run, name).await?;
    match file {
        Some(file) => std::fs::write(file, content).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}; choose another file with --output", file.display()))
        }),
        None => match String::from_utf8(content) {
            Ok(text) => output::print_document(&text),
            Err(_) => Err(Failure::usage(format!("{name} isn't text; write it into a file with --output FILE"))),
        },
    }
}

/// The whole content of an artifact, and its digest.
pub(super) async fn read(client: &mut Client, run: &str, name: &str) -> Result<(Vec<u8>, String), Failure> {
    let mut content = Vec::new();
    let mut offset = 0;
    let mut digest = None::<String>;
    loop {
        let wanted = json!({"run_id": run, "artifact_name": name, "offset": offset});
        let artifact = call(client, "launch_get_artifact", &wanted).await?["artifact"].take();
        let sha256 = artifact["sha256"].as_str().unwrap_or_default().to_owned();
        if digest.as_ref().is_some_and(|digest| *digest != sha256) {
            // It was written anew between two parts.
            (content, offset, digest) = (Vec::new(), 0, None);
            continue;
        }
        let part = artifact["content"].as_str().unwrap_or_default();
        if artifact["content_type"].as_str().is_some_and(|kind| kind.ends_with(";base64")) {
            let part = base64_text::decode(part);
            let damaged = || Failure::new(format!("the server sends a damaged {name}; try again"));
            content.extend(part.ok_or_else(damaged)?);
        } else {
            content.extend_from_slice(part.as_bytes());
        }
        match artifact["next_offset"].as_u64() {
            Some(next) => (offset, digest) = (next, Some(sha256)),
            None => return Ok((content, sha256)),
        }
    }
}
