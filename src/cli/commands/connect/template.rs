//! A host's template with the values of this machine in the place of its example values.
//!
//! The text is replaced, not parsed, so that comments, order and indentation stay. Invariants: every example value of a template is
//! replaced; a value that was inserted is never changed.

use serde_json::Value;

use super::check::Launch;

#[derive(Debug, Clone)]
pub(super) struct Values<'a> {
    pub(super) program: &'a str,
    pub(super) root: &'a str,
    pub(super) catalog: &'a str,
    /// The state directory, if it isn't the default one.
    pub(super) state_dir: Option<&'a str>,
    /// The endpoint; empty for a program.
    pub(super) url: &'a str,
    /// The token that the file holds; `None` keeps the name of the variable.
    pub(super) token: Option<&'a str>,
}

/// The example values of the templates.
const ROOT: &str = "/path/to/repository";
const PROGRAM: &str = "/path/to/codeyard";
const URL: &str = "http://127.0.0.1:3939/mcp/my-repository/agent";
/// What the templates write for the token.
const TOKENS: [&str; 4] =
    ["${CODEYARD_TOKEN}", "${env:CODEYARD_TOKEN}", "{env:CODEYARD_TOKEN}", "${input:codeyard-token}"];
/// Where the templates name the program without its folder. YAML has the word without quotes.
const PROGRAMS: [&str; 5] = [
    "\"command\": \"codeyard\"", "command = \"codeyard\"", "command: codeyard", "\"codeyard\",\n",
    "StdioTransport(\"codeyard\"",
];

impl Values<'_> {
    /// The arguments of the program, over stdio.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["stdio", "--root", self.root];
        if let Some(dir) = self.state_dir {
            arguments.extend(["--state-dir", dir]);
        }
        arguments.extend(["--catalog", self.catalog]);
        arguments.into_iter().map(str::to_owned).collect()
    }

    /// `template` with these values.
    pub(super) fn fill(&self, template: &str) -> String {
        replaced(template, &self.replacements())
    }

    /// Whether `entry`, of a filled template, has these values.
    pub(super) fn are_in(&self, entry: &Value) -> bool {
        if self.url.is_empty() {
            return Launch::of_entry(entry).is_some_and(|launch| launch.is_of(self));
        }
        let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(|name| entry.get(name));
        let has_token = |token: &str| entry["headers"]["Authorization"] == format!("Bearer {token}");
        url.is_some_and(|url| url == self.url) && self.token.is_none_or(has_token)
    }

    /// Each example value with what replaces it.
    fn replacements(&self) -> Vec<(String, String)> {
        let root = quoted(self.root);
        let program = quoted(self.program);
        let state_dir = self.state_dir.map(|dir| format!("\"--state-dir\", {}, ", quoted(dir))).unwrap_or_default();
        let mut pairs = vec![
            (quoted(ROOT), root.clone()),
            ("\"${workspaceFolder}\"".to_owned(), root.clone()),
            (ROOT.to_owned(), root),
            (quoted(PROGRAM), program.clone()),
            ("\"agent\"".to_owned(), quoted(self.catalog)),
            ("--catalog, agent]".to_owned(), format!("{state_dir}--catalog, {}]", quoted(self.catalog))),
            ("\"--catalog\"".to_owned(), format!("{state_dir}\"--catalog\"")),
        ];
        pairs.extend(PROGRAMS.map(|example| {
            let word = if example.contains("\"codeyard\"") { "\"codeyard\"" } else { "codeyard" };
            (example.to_owned(), example.replace(word, &program))
        }));
        if !self.url.is_empty() {
            pairs.push((URL.to_owned(), inner(self.url)));
        }
        if let Some(token) = self.token {
            pairs.extend(TOKENS.map(|example| (example.to_owned(), inner(token))));
        }
        pairs
    }
}

/// `template` with each example replaced, in one pass: of those at a place, the longest.
fn replaced(template: &str, pairs: &[(String, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(next) = rest.chars().next() {
        let here = pairs.iter().filter(|(example, _)| rest.starts_with(example.as_str()));
        match here.max_by_key(|(example, _)| example.len()) {
            Some((example, value)) => {
                text.push_str(value);
                rest = &rest[example.len()..];
            }
            None => {
                text.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    text
}

/// A JSON string, which TOML, YAML and Python read the same.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The same without its quotes.
fn inner(text: &str) -> String {
    let quoted = quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::hosts::{Form, HOSTS, TokenPlace};
    use super::super::merge;
    use super::*;

    fn values() -> Values<'static> {
        Values {
            program: "/opt/a \"b\"/codeyard",
            root: "/src/my repo",
            catalog: "agent+code",
            state_dir: Some("/state"),
            url: "",
            token: None,
        }
    }

    fn over_http() -> Values<'static> {
        Values { url: "http://127.0.0.1:7/mcp/w/agent+code", token: Some("cyd_secret"), ..values() }
    }

    #[test]
    fn every_example_value_is_replaced() {
        for host in HOSTS {
            let text = values().fill(host.stdio);
            for example in [ROOT, PROGRAM, "\"agent\"", ", agent]", "\"codeyard\",\n", "workspaceFolder"] {
                assert!(!text.contains(example), "{}: {example} in {text}", host.name);
            }
            let mut expected = vec!["/opt/a \\\"b\\\"/codeyard", "\"--state-dir\", \"/state\"", "\"agent+code\""];
            // The programs read the repository from their environment.
            expected.extend((!host.is_program()).then_some("\"/src/my repo\""));
            for value in expected {
                assert!(text.contains(value), "{}: no {value} in {text}", host.name);
            }
            let Some(template) = host.http else { continue };
            let text = over_http().fill(template);
            assert!(text.contains(over_http().url) && !text.contains("3939"), "{}: {text}", host.name);
            let holds_token = host.token == TokenPlace::File;
            assert!(!holds_token || text.contains("cyd_secret"), "{}: {text}", host.name);
        }
    }

    #[test]
    fn the_entry_of_a_filled_template_has_the_values() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            let entry = merge::entry(host.form, &values().fill(host.stdio)).unwrap();
            assert!(values().are_in(&entry), "{}: {entry}", host.name);
            assert!(!Values { catalog: "code", ..values() }.are_in(&entry), "{}", host.name);
            let (Some(template), Form::Json(_)) = (host.http, host.form) else { continue };
            let entry = merge::entry(host.form, &over_http().fill(template)).unwrap();
            assert!(over_http().are_in(&entry), "{}: {entry}", host.name);
        }
    }

    #[test]
    fn inserted_values_are_not_changed_again() {
        for host in HOSTS.iter().filter(|host| host.form != Form::Text) {
            let root = "/src/path/to/repository/path/to/codeyard/${CODEYARD_TOKEN}";
            let values = Values { root, program: "/path/to/repository/codeyard", token: Some("t"), ..values() };
            let entry = merge::entry(host.form, &values.fill(host.stdio)).unwrap();
            assert!(values.are_in(&entry), "{}: {entry}", host.name);
        }
    }
}
