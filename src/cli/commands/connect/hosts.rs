//! The agent hosts that `connect` knows: the file that each reads, where its servers stand in it, and its template.
//!
//! The templates are the files of `examples/clients`, which the host lab uses with the real hosts. Invariant: a template has one entry
//! named `codeyard`, at the path that the table says.

use std::path::{Path, PathBuf};

use self::Location::{Anywhere, Home, Root};

#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// The template for stdio.
    pub(super) stdio: &'static str,
    /// The template for HTTP, if the host has the transport.
    pub(super) http: Option<&'static str>,
    /// The form of the file.
    pub(super) form: Form,
    /// The file that it reads.
    pub(super) file: Location,
    /// How it gets the token.
    pub(super) token: TokenPlace,
    /// What to do after the file was written.
    pub(super) then: &'static str,
}

/// The form of a host's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON, possibly with comments. The servers are members of the object at this path.
    Json(&'static [&'static str]),
    /// TOML. The servers are tables in the table of this name.
    Toml(&'static str),
    /// Text that is shown and not merged: YAML, or a program.
    Text,
}

/// Where a file is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Location {
    /// In the repository.
    Root(&'static str),
    /// In the home folder.
    Home(&'static str),
    /// The person chooses it.
    Anywhere,
}

/// How a host gets the token for HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenPlace {
    /// From the environment variable `CODEYARD_TOKEN`.
    Variable,
    /// From its file: it replaces no variables.
    File,
    /// It asks its user.
    Prompt,
}

const SERVERS: Form = Form::Json(&["mcpServers"]);

/// A table of hosts: name, title, templates for stdio and HTTP, form, file, token, and what to do then.
macro_rules! hosts {
    ($($name:literal, $title:literal, [$stdio:literal $(, $http:literal)?]
        => $form:expr, $file:expr, $token:ident, $then:literal;)+) => {
        &[$(Host {
            name: $name,
            title: $title,
            stdio: include_str!(concat!("../../../../examples/clients/", $stdio)),
            http: {
                const HTTP: &[&str] = &[$(include_str!(concat!("../../../../examples/clients/", $http)))?];
                HTTP.first().copied()
            },
            form: $form,
            file: $file,
            token: TokenPlace::$token,
            then: $then,
        }),+]
    };
}

/// The hosts, sorted by name.
pub(super) const HOSTS: &[Host] = hosts! {
    "claude-code", "Claude Code", ["claude-code.stdio.json", "claude-code.http.json"]
        => SERVERS, Root(".mcp.json"), Variable, "Claude Code asks at its next start whether the project's server may be used.";
    "claude-desktop", "Claude Desktop", ["claude-desktop.stdio.json"]
        => SERVERS, Home(".config/Claude/claude_desktop_config.json"), File, "Restart Claude Desktop.";
    "cline", "Cline CLI", ["cline.stdio.json", "cline.http.json"]
        => SERVERS, Home(".cline/data/settings/cline_mcp_settings.json"), File, "";
    "codex", "Codex CLI", ["codex.stdio.toml", "codex.http.toml"]
        => Form::Toml("mcp_servers"), Home(".codex/config.toml"), Variable, "";
    "continue", "Continue CLI", ["continue.stdio.yaml", "continue.http.yaml"]
        => Form::Text, Anywhere, Variable, "Start it with `cn --config FILE`.";
    "copilot-cli", "Copilot CLI", ["copilot-cli.stdio.json", "copilot-cli.http.json"]
        => SERVERS, Home(".copilot/mcp-config.json"), Variable, "";
    "cursor", "Cursor", ["cursor.stdio.json", "cursor.http.json"]
        => SERVERS, Root(".cursor/mcp.json"), Variable, "Switch the server on in Cursor's settings.";
    "gemini-cli", "Gemini CLI", ["gemini-cli.stdio.json", "gemini-cli.http.json"]
        => SERVERS, Root(".gemini/settings.json"), Variable, "Gemini CLI starts MCP servers in trusted folders only.";
    "langchain", "LangChain", ["langchain-agent.py"]
        => Form::Text, Anywhere, Variable, "";
    "openai-agents", "OpenAI Agents SDK", ["openai-agents.py"]
        => Form::Text, Anywhere, Variable, "";
    "opencode", "OpenCode 1", ["opencode-v1.stdio.json", "opencode-v1.http.json"]
        => Form::Json(&["mcp"]), Root("opencode.json"), Variable, "";
    "opencode-2", "OpenCode 2", ["opencode.stdio.json", "opencode.http.json"]
        => Form::Json(&["mcp", "servers"]), Root("opencode.json"), Variable, "";
    "pydantic-ai", "Pydantic AI", ["pydantic-ai.py"]
        => Form::Text, Anywhere, Variable, "";
    "qwen-code", "Qwen Code", ["qwen-code.stdio.json", "qwen-code.http.json"]
        => SERVERS, Root(".qwen/settings.json"), Variable, "Run `qwen mcp approve codeyard` in the project.";
    "vscode", "VS Code (Copilot)", ["vscode.stdio.json", "vscode.http.json"]
        => Form::Json(&["servers"]), Root(".vscode/mcp.json"), Prompt, "VS Code shows the server in its list of MCP servers; start it there.";
    "windsurf", "Windsurf", ["windsurf.stdio.json", "windsurf.http.json"]
        => SERVERS, Home(".codeium/windsurf/mcp_config.json"), Variable, "";
    "zed", "Zed", ["zed.stdio.json", "zed.http.json"]
        => Form::Json(&["context_servers"]), Home(".config/zed/settings.json"), File, "";
};

impl Host {
    /// Whether its template is a program, which reads the repository from its environment.
    pub(super) fn is_program(&self) -> bool {
        self.form == Form::Text && self.stdio.starts_with("#!")
    }

    pub(super) fn find(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }
}

impl Location {
    /// The path of the file for the repository `root`; `None` if the person has to choose it.
    pub(super) fn path(self, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::Root(path) => Some(root.join(path)),
            Self::Home(path) => Some(home?.join(path)),
            Self::Anywhere => None,
        }
    }
}
