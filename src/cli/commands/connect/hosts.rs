//! The agent hosts that `connect` knows: the file that each reads, where its servers stand in it, and its template.
//!
//! The templates are the files of `examples/clients`, which the host lab uses with the real hosts. Invariant: a template has one entry
//! named `codeyard`, at the path that the table says.

use std::path::{Path, PathBuf};

/// An agent host.
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

macro_rules! client {
    ($file:literal) => {
        include_str!(concat!("../../../../examples/clients/", $file))
    };
}

const SERVERS: Form = Form::Json(&["mcpServers"]);

/// The hosts, sorted by name.
pub(super) const HOSTS: [Host; 17] = [
    Host {
        name: "claude-code",
        title: "Claude Code",
        stdio: client!("claude-code.stdio.json"),
        http: Some(client!("claude-code.http.json")),
        form: SERVERS,
        file: Location::Root(".mcp.json"),
        token: TokenPlace::Variable,
        then: "Claude Code asks at its next start whether the project's server may be used.",
    },
    Host {
        name: "claude-desktop",
        title: "Claude Desktop",
        stdio: client!("claude-desktop.stdio.json"),
        http: None,
        form: SERVERS,
        file: Location::Home(".config/Claude/claude_desktop_config.json"),
        token: TokenPlace::File,
        then: "Restart Claude Desktop.",
    },
    Host {
        name: "cline",
        title: "Cline CLI",
        stdio: client!("cline.stdio.json"),
        http: Some(client!("cline.http.json")),
        form: SERVERS,
        file: Location::Home(".cline/data/settings/cline_mcp_settings.json"),
        token: TokenPlace::File,
        then: "",
    },
    Host {
        name: "codex",
        title: "Codex CLI",
        stdio: client!("codex.stdio.toml"),
        http: Some(client!("codex.http.toml")),
        form: Form::Toml("mcp_servers"),
        file: Location::Home(".codex/config.toml"),
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "continue",
        title: "Continue CLI",
        stdio: client!("continue.stdio.yaml"),
        http: Some(client!("continue.http.yaml")),
        form: Form::Text,
        file: Location::Anywhere,
        token: TokenPlace::Variable,
        then: "Start it with `cn --config FILE`.",
    },
    Host {
        name: "copilot-cli",
        title: "Copilot CLI",
        stdio: client!("copilot-cli.stdio.json"),
        http: Some(client!("copilot-cli.http.json")),
        form: SERVERS,
        file: Location::Home(".copilot/mcp-config.json"),
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "cursor",
        title: "Cursor",
        stdio: client!("cursor.stdio.json"),
        http: Some(client!("cursor.http.json")),
        form: SERVERS,
        file: Location::Root(".cursor/mcp.json"),
        token: TokenPlace::Variable,
        then: "Switch the server on in Cursor's settings.",
    },
    Host {
        name: "gemini-cli",
        title: "Gemini CLI",
        stdio: client!("gemini-cli.stdio.json"),
        http: Some(client!("gemini-cli.http.json")),
        form: SERVERS,
        file: Location::Root(".gemini/settings.json"),
        token: TokenPlace::Variable,
        then: "Gemini CLI starts MCP servers in trusted folders only.",
    },
    Host {
        name: "langchain",
        title: "LangChain",
        stdio: client!("langchain-agent.py"),
        http: None,
        form: Form::Text,
        file: Location::Anywhere,
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "openai-agents",
        title: "OpenAI Agents SDK",
        stdio: client!("openai-agents.py"),
        http: None,
        form: Form::Text,
        file: Location::Anywhere,
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "opencode",
        title: "OpenCode 1",
        stdio: client!("opencode-v1.stdio.json"),
        http: Some(client!("opencode-v1.http.json")),
        form: Form::Json(&["mcp"]),
        file: Location::Root("opencode.json"),
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "opencode-2",
        title: "OpenCode 2",
        stdio: client!("opencode.stdio.json"),
        http: Some(client!("opencode.http.json")),
        form: Form::Json(&["mcp", "servers"]),
        file: Location::Root("opencode.json"),
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "pydantic-ai",
        title: "Pydantic AI",
        stdio: client!("pydantic-ai.py"),
        http: None,
        form: Form::Text,
        file: Location::Anywhere,
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "qwen-code",
        title: "Qwen Code",
        stdio: client!("qwen-code.stdio.json"),
        http: Some(client!("qwen-code.http.json")),
        form: SERVERS,
        file: Location::Root(".qwen/settings.json"),
        token: TokenPlace::Variable,
        then: "Run `qwen mcp approve codeyard` in the project.",
    },
    Host {
        name: "vscode",
        title: "VS Code (Copilot)",
        stdio: client!("vscode.stdio.json"),
        http: Some(client!("vscode.http.json")),
        form: Form::Json(&["servers"]),
        file: Location::Root(".vscode/mcp.json"),
        token: TokenPlace::Prompt,
        then: "VS Code shows the server in its list of MCP servers; start it there.",
    },
    Host {
        name: "windsurf",
        title: "Windsurf",
        stdio: client!("windsurf.stdio.json"),
        http: Some(client!("windsurf.http.json")),
        form: SERVERS,
        file: Location::Home(".codeium/windsurf/mcp_config.json"),
        token: TokenPlace::Variable,
        then: "",
    },
    Host {
        name: "zed",
        title: "Zed",
        stdio: client!("zed.stdio.json"),
        http: Some(client!("zed.http.json")),
        form: Form::Json(&["context_servers"]),
        file: Location::Home(".config/zed/settings.json"),
        token: TokenPlace::File,
        then: "",
    },
];

impl Host {
    /// Whether its template is a program, which reads the repository from its environment.
    pub(super) fn is_program(&self) -> bool {
        self.form == Form::Text && self.stdio.starts_with("#!")
    }

    /// The host of this name.
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
