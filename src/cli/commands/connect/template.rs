//! A host's template with the values of this machine in the place of its example values.
//!
//! The text is replaced, not parsed, so that comments, order and indentation stay. Invariant: every example value of a template is
//! replaced.

use std::path::Path;

use serde_json::Value;

/// The values of one connection.
#[derive(Debug, Clone)]
pub(super) struct Values<'a> {
    /// The program of codeyard.
    pub(super) program: &'a Path,
    /// The repository.
    pub(super) root: &'a Path,
    /// The catalogs.
    pub(super) catalog: &'a str,
    /// The state directory, if it isn't the default one.
    pub(super) state_dir: Option<&'a Path>,
    /// The endpoint.
    pub(super) url: &'a str,
    /// The token that the file holds; `None` keeps the name of the variable.
    pub(super) token: Option<&'a str>,
}

/// The example values of the templates.
const ROOT: &str = "/path/to/repository";
const PROGRAM: &str = "/path/to/codeyard";
const URL: &str = "http://127.0.0.1:3939/mcp/my-repository/agent";
const TOKEN: &str = "${CODEYARD_TOKEN}";

impl Values<'_> {
    /// The arguments of the program, over stdio.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["stdio".to_owned(), "--root".to_owned(), shown(self.root)];
        if let Some(dir) = self.state_dir {
            arguments.extend(["--state-dir".to_owned(), shown(dir)]);
        }
        arguments.extend(["--catalog".to_owned(), self.catalog.to_owned()]);
        arguments
    }

    /// `template` with these values.
    pub(super) fn fill(&self, template: &str) -> String {
        let program = quoted(&shown(self.program));
        let state_dir =
            self.state_dir.map(|dir| format!("\"--state-dir\", {}, ", quoted(&shown(dir)))).unwrap_or_default();
        let mut text = template.to_owned();
        let mut replace = |example: &str, value: &str| text = text.replace(example, value);
        // YAML and the programs have some words without quotes; those with quotes come first.
        replace(&quoted(ROOT), &quoted(&shown(self.root)));
        replace(ROOT, &quoted(&shown(self.root)));
        replace(&quoted(PROGRAM), &program);
        for example in ["\"command\": \"codeyard\"", "command = \"codeyard\"", "command: codeyard", "\"codeyard\",\n"] {
            replace(example, &example.replace("\"codeyard\"", &program).replace(": codeyard", &format!(": {program}")));
        }
        replace("\"agent\"", &quoted(self.catalog));
        replace("--catalog, agent]", &format!("{}--catalog, {}]", state_dir, quoted(self.catalog)));
        replace("\"--catalog\"", &format!("{state_dir}\"--catalog\""));
        replace(URL, self.url);
        if let Some(token) = self.token {
            replace(TOKEN, token);
        }
        text
    }
}

/// A JSON string, which TOML, YAML and Python read the same.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::hosts::{Form, HOSTS, TokenPlace};
    use super::*;

    fn values() -> Values<'static> {
        Values {
            program: Path::new("/opt/a \"b\"/codeyard"),
            root: Path::new("/src/my repo"),
            catalog: "agent+code",
            state_dir: Some(Path::new("/state")),
            url: "http://127.0.0.1:7/mcp/w/agent+code",
            token: Some("cyd_secret"),
        }
    }

    #[test]
    fn every_example_value_is_replaced() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            for (template, is_http) in [(Some(host.stdio), false), (host.http, true)] {
                let Some(template) = template else { continue };
                let text = values().fill(template);
                for example in [ROOT, PROGRAM, "my-repository", "\"agent\"", "\"codeyard\",", "3939"] {
                    assert!(!text.contains(example), "{}: {example} in {text}", host.name);
                }
                let expected = match is_http {
                    true => vec!["http://127.0.0.1:7/mcp/w/agent+code"],
                    false => vec![
                        "/opt/a \\\"b\\\"/codeyard",
                        "\"--state-dir\", \"/state\"",
                        "\"/src/my repo\"",
                        "\"agent+code\"",
                    ],
                };
                for value in expected {
                    assert!(text.contains(value), "{}: no {value} in {text}", host.name);
                }
                let holds_token = is_http && host.token == TokenPlace::File;
                assert!(!holds_token || text.contains("cyd_secret"), "{}: {text}", host.name);
            }
        }
    }
}
