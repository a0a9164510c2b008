//! A bare language server with its own client; the product's answers are compared with its answers.
//!
//! It uses none of the product's client, conversion or canonicalization code: messages are plain JSON; lists are sorted,
//! filtered and converted here as the contract specifies. Only the registry's data (program, options, settings) and the decoding of
//! percent signs in URIs are shared.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use codeyard_engine::redact::{redact, without_foreign_links};
use codeyard_lsp::install::Installer;
use codeyard_lsp::registry::{LanguageIndex, Registry, ServerSpec};
use codeyard_model::roots::RootSet;
use codeyard_model::uri::percent_decode;
use codeyard_projects::{ProjectInference, ProjectMemory, ProjectRequest, RunBuild, prepare};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::bare_process::BareProcess;
use super::question::Ask;
use codeyard_test_support::bare_client::{BareLaunch, initialize_params, note_progress, result_for};
use codeyard_test_support::real_servers::servers_dir;

/// Longest wait for one message.
const PATIENCE: Duration = Duration::from_secs(60);
/// No progress for this long counts as ready.
const QUIET: Duration = Duration::from_millis(1_500);

/// A started server.
pub(crate) struct Bare {
    process: BareProcess,
    pub root: PathBuf,
    settings: Value,
    /// The position encoding that the server chose.
    pub encoding: String,
    pulls: bool,
    capabilities: Value,
    /// Its workspace symbols begin where the declaration does.
    symbols_at_declaration: bool,
    next_id: u64,
    open: BTreeMap<PathBuf, i64>,
    pushed: BTreeMap<PathBuf, Value>,
    running: HashSet<String>,
    languages: LanguageIndex,
    _cache: tempfile::TempDir,
}

/// The options with a project of Eclipse for the sources of Java below `root`.
fn eclipse_project(server: &ServerSpec, root: &Path, cache: &Path) -> Value {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "java" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let request = ProjectRequest {
        server,
        root,
        top: root,
        files: &files,
        scripts: &[],
        scripts_max: 0,
        cache,
        generated: cache,
        build: RunBuild::Never,
        memory: &ProjectMemory::default(),
    };
    prepare(&request).expect("a cache").initialization_options.expect("a project")
}

impl Bare {
    /// Starts the registry's server of this kind for `root` and initializes it. `encodings` are offered in this order.
    pub(crate) fn start(kind: &str, root: &Path, encodings: &[&str]) -> Self {
        Self::start_from(servers_dir(), kind, root, encodings)
    }

    /// Starts a server that is installed in this servers directory or on the `PATH`.
    pub(crate) fn start_from(servers: &Path, kind: &str, root: &Path, encodings: &[&str]) -> Self {
        let cache = tempfile::tempdir().expect("a folder");
        let launch = BareLaunch::prepare(kind, root, &Installer::with_servers_dir(servers), cache.path());
        let BareLaunch { server, config: launch, cache: cache_folder } = launch.expect("it is installed");
        #[expect(clippy::disallowed_methods, reason = "the bare server is started without the product")]
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).envs(&launch.env).current_dir(root);
        let process = BareProcess::start(command);
        let settings = launch.settings.unwrap_or(Value::Null);
        let mut bare = Self {
            process,
            root: root.into(),
            settings,
            encoding: "utf-16".into(),
            pulls: false,
            capabilities: Value::Null,
            symbols_at_declaration: server.quirks.symbols_at_declaration,
            next_id: 0,
            open: BTreeMap::new(),
            pushed: BTreeMap::new(),
            running: HashSet::new(),
            languages: LanguageIndex::new(&Registry::builtin()),
            _cache: cache,
        };
        let mut options = launch.initialization_options;
        if server.project == Some(ProjectInference::JavaPackages) {
            // Without it the server knows no file below a `pom.xml`, unless it runs the build.
            let project = eclipse_project(&server, root, &cache_folder);
            options.get_or_insert(json!({}))["workspaceFolders"] = project["workspaceFolders"].clone();
        }
        bare.shake_hands(options, encodings);
        bare
    }

    fn shake_hands(&mut self, options: Option<Value>, encodings: &[&str]) {
        let params = initialize_params(&self.root, &uri_of(&self.root), options, encodings);
        let result = self.request("initialize", &params).expect("initialize succeeds");
        if let Some(encoding) = result["capabilities"]["positionEncoding"].as_str() {
            self.encoding = encoding.into();
        }
        self.pulls |= result["capabilities"]["diagnosticProvider"].is_object();
        self.capabilities = result["capabilities"].clone();
        self.notify("initialized", &json!({}));
        if !self.settings.is_null() {
            self.notify("workspace/didChangeConfiguration", &json!({"settings": self.settings}));
        }
    }

    /// Whether its capabilities contain this one, such as `hoverProvider`.
    pub(crate) fn offers(&self, provider: &str) -> bool {
        let said = &self.capabilities[provider];
        said.is_object() || said == true
    }

    /// Opens a file with its content on disk, at most once.
    pub(crate) fn open(&mut self, path: &Path) {
        if self.open.contains_key(path) {
            return;
        }
        self.open.insert(path.into(), 1);
        let text = fs::read_to_string(path).expect("UTF-8");
        let language = self.languages.language_of(path).unwrap_or_else(|| panic!("no language: {}", path.display()));
        let document = json!({"uri": uri_of(path), "languageId": language, "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}));
    }

    /// Waits until the server reports no progress for a while.
    pub(crate) fn settle(&mut self) {
        while self.pump(if self.running.is_empty() { QUIET } else { PATIENCE }) {}
    }

    /// The canonical answer in the contract's shape, without a summary.
    pub(crate) fn answer(&mut self, ask: &Ask) -> Value {
        if let Some(path) = ask.path() {
            self.open(path);
        }
        match ask {
            Ask::Definition(at) => {
                let raw = self.at("textDocument/definition", &at.path, at.line, at.character, None);
                json!({"locations": self.locations(&raw)})
            }
            Ask::References(at, declaration) => {
                let raw = self.at("textDocument/references", &at.path, at.line, at.character, Some(*declaration));
                json!({"items": self.locations(&raw)})
            }
            Ask::Hover(at) => {
                let raw = self.at("textDocument/hover", &at.path, at.line, at.character, None);
                self.hover(&at.path, &raw)
            }
            Ask::DocumentSymbols(path) => {
                let params = json!({"textDocument": {"uri": uri_of(path)}});
                let raw = self.request("textDocument/documentSymbol", &params).expect("symbols");
                json!({"symbols": self.document_symbols(path, &raw)})
            }
            Ask::WorkspaceSymbols(query) => {
                let raw = self.request("workspace/symbol", &json!({"query": query})).expect("symbols");
                json!({"items": self.workspace_symbols(&raw)})
            }
            Ask::Diagnostics(path) => {
                let raw = self.diagnostics(path);
                json!({"uri": uri_of(path), "diagnostics": canonical_diagnostics(&self.root, path, raw)})
            }
        }
    }

    /// A document's diagnostics, columns in UTF-16, in the server's order.
    pub(crate) fn diagnostics(&mut self, path: &Path) -> Vec<Value> {
        self.open(path);
        let raw = if self.pulls {
            let params = json!({"textDocument": {"uri": uri_of(path)}});
            self.request("textDocument/diagnostic", &params).expect("diagnostics")["items"].take()
        } else {
            self.settle();
            while !self.pushed.contains_key(path) {
                assert!(self.pump(PATIENCE), "no diagnostics of {}", path.display());
            }
            self.pushed[path].clone()
        };
        let Value::Array(mut items) = raw else { panic!("no list: {raw}") };
        for item in &mut items {
            item["range"] = self.range(path, &item["range"]);
        }
        items
    }

    /// The raw answer to a request about a position, whose column counts UTF-16 units.
    pub(crate) fn at(
        &mut self,
        method: &str,
        path: &Path,
        line: usize,
        character: usize,
        declaration: Option<bool>,
    ) -> Value {
        let character = column(path, line, character, "utf-16", &self.encoding);
        let position = json!({"line": line, "character": character});
        let mut params = json!({"textDocument": {"uri": uri_of(path)}, "position": position});
        if let Some(declaration) = declaration {
            params["context"] = json!({"includeDeclaration": declaration});
        }
        self.request(method, &params).unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    /// Locations in UTF-16, sorted, without duplicates, those inside the root.
    pub(crate) fn locations(&self, raw: &Value) -> Vec<Value> {
        let mut found = Vec::new();
        for entry in list(raw) {
            let target = entry.get("targetUri").is_some();
            let (uri, range) = if target { ("targetUri", "targetSelectionRange") } else { ("uri", "range") };
            if let Some(path) = self.inside(entry[uri].as_str().expect("a URI")) {
                found.push((uri_of(&path), key(&self.range(&path, &entry[range]))));
            }
        }
        found.sort();
        found.dedup();
        found.into_iter().map(|(uri, range)| json!({"uri": uri, "range": unkey(range)})).collect()
    }

    /// Links out of the root are removed as the product does, which has its own test.
    fn hover(&self, path: &Path, raw: &Value) -> Value {
        let mut contents = fragments(raw);
        let roots = RootSet::of_real_paths(vec![self.root.clone()], vec![]);
        for (kind, value) in &mut contents {
            if *kind == "markdown" {
                *value = without_foreign_links(value, &roots).into_owned();
            }
        }
        contents.sort();
        contents.dedup();
        let entries: Vec<Value> = contents.iter().map(|(kind, value)| json!({"kind": kind, "value": value})).collect();
        let mut hover = json!({"contents": entries});
        if raw["range"].is_object() && !contents.is_empty() {
            hover["range"] = self.range(path, &raw["range"]);
        }
        hover
    }

    fn document_symbols(&self, path: &Path, raw: &Value) -> Vec<Value> {
        let mut flat = Vec::new();
        let mut waiting: Vec<(Option<String>, Value)> = list(raw).into_iter().map(|entry| (None, entry)).collect();
        while let Some((parent, entry)) = waiting.pop() {
            let name = entry["name"].as_str().expect("a name").to_owned();
            let own = entry.get("location").map_or(&entry["range"], |location| &location["range"]);
            let selection = entry.get("selectionRange").unwrap_or(own);
            let container = parent.or_else(|| text(&entry["containerName"]));
            let kind = entry["kind"].as_u64().expect("a kind");
            let range = key(&self.range(path, own));
            let selection = key(&self.range(path, selection));
            let last = container.is_none();
            flat.push((range, name.clone(), kind, last, container.unwrap_or_default(), selection));
            for child in list(&entry["children"]) {
                waiting.push((Some(name.clone()), child));
            }
        }
        flat.sort();
        flat.dedup();
        let uri = uri_of(path);
        let shown = flat.into_iter().take(200).map(|(range, name, kind, no_container, container, selection)| {
            let places = [&range[..2], &range[2..], &selection[..2], &selection[2..]].map(place).join("|");
            let id = id(&format!("{uri}|{name}|{kind}|{places}|{container}"));
            let mut symbol = json!({"id": id, "name": name, "kind": kind, "range": unkey(range),
                "selectionRange": unkey(selection)});
            if !no_container {
                symbol["containerName"] = json!(container);
            }
            symbol
        });
        shown.collect()
    }

    fn workspace_symbols(&self, raw: &Value) -> Vec<Value> {
        let mut found = Vec::new();
        for entry in list(raw) {
            let Some(path) = self.inside(entry["location"]["uri"].as_str().expect("a URI")) else { continue };
            let range = self.symbol_range(&path, &entry).map_or([0; 4], |range| key(&range));
            let name = entry["name"].as_str().expect("a name").to_owned();
            let container = text(&entry["containerName"]);
            let kind = entry["kind"].as_u64().expect("a kind");
            found.push((uri_of(&path), range, name, kind, container.is_none(), container.unwrap_or_default()));
        }
        found.sort();
        found.dedup();
        let rows = found.into_iter().map(|(uri, range, name, kind, no_container, container)| {
            let places = [&range[..2], &range[2..]].map(place).join("|");
            let id = id(&format!("{uri}|{name}|{kind}|{places}|{container}"));
            let mut symbol =
                json!({"id": id, "name": name, "kind": kind, "location": {"uri": uri, "range": unkey(range)}});
            if !no_container {
                symbol["containerName"] = json!(container);
            }
            symbol
        });
        rows.collect()
    }

    /// The range of a workspace symbol: that of its name, if the server gives more.
    pub(crate) fn symbol_range(&self, path: &Path, entry: &Value) -> Option<Value> {
        let range = self.range(path, entry["location"].get("range")?);
        if !self.symbols_at_declaration {
            return Some(range);
        }
        let name = entry["name"].as_str().expect("a name");
        let number = |place: &Value| usize::try_from(place.as_u64().expect("a number")).expect("small");
        let from = [number(&range["start"]["line"]), number(&range["start"]["character"])];
        let text = fs::read_to_string(path).expect("UTF-8");
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let found = text.lines().enumerate().skip(from[0]).take(from[0] + 32).find_map(|(line, text)| {
            let skipped = if line == from[0] { text.encode_utf16().take(from[1]).count() } else { 0 };
            let is_decorator = text.trim_start().starts_with('@');
            let mut places = text.match_indices(name).filter(|(at, _)| {
                !is_decorator
                    && !text[..*at].ends_with(is_part)
                    && !text[at + name.len()..].starts_with(is_part)
                    && text[..*at].encode_utf16().count() >= skipped
            });
            places.next().map(|(at, _)| (line, text[..at].encode_utf16().count()))
        });
        let Some((line, character)) = found else { return Some(range) };
        let end = character + name.encode_utf16().count();
        Some(json!({"start": {"line": line, "character": character}, "end": {"line": line, "character": end}}))
    }

    /// Real path of a URI if it is a file inside the root.
    pub(crate) fn inside(&self, uri: &str) -> Option<PathBuf> {
        let path = fs::canonicalize(path_of(uri)?).ok()?;
        (path.starts_with(&self.root) && path.is_file()).then_some(path)
    }

    /// A range with its columns in UTF-16.
    pub(crate) fn range(&self, path: &Path, range: &Value) -> Value {
        let convert = |place: &Value| {
            let number = |name: &str| usize::try_from(place[name].as_u64().expect("a number")).expect("small");
            let line = number("line");
            json!({"line": line, "character": column(path, line, number("character"), &self.encoding, "utf-16")})
        };
        json!({"start": convert(&range["start"]), "end": convert(&range["end"])})
    }

    /// Sends a request and waits for its answer; repeats it while the server answers that the content was modified.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        for _ in 0..50 {
            self.next_id += 1;
            let id = self.next_id;
            self.process.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
            let mut answer = loop {
                let message = self.process.receive(PATIENCE).unwrap_or_else(|| panic!("no answer to {method}"));
                if message["id"] == id && message.get("method").is_none() {
                    break message;
                }
                self.take(message);
            };
            match answer["error"]["code"].as_i64() {
                None => return Ok(answer["result"].take()),
                Some(-32802..=-32800) => super::mcp::pause(50),
                Some(_) => return Err(answer["error"].take()),
            }
        }
        panic!("{method}: outdated again and again");
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.process.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Receives one message if it arrives in time.
    fn pump(&mut self, wait: Duration) -> bool {
        match self.process.receive(wait) {
            Some(message) => {
                self.take(message);
                true
            }
            None => false,
        }
    }

    fn take(&mut self, message: Value) {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some("$/progress"), _) => note_progress(&mut self.running, params),
            (Some("textDocument/publishDiagnostics"), _) => {
                let path = params["uri"].as_str().and_then(path_of);
                let path = path.and_then(|path| fs::canonicalize(path).ok());
                if let Some(path) = path {
                    self.pushed.insert(path, params["diagnostics"].clone());
                }
            }
            (Some(method), Some(id)) => {
                self.pulls |=
                    method == "client/registerCapability" && params.to_string().contains("\"textDocument/diagnostic\"");
                let result = result_for(method, params, &uri_of(&self.root), &self.settings);
                self.process.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            }
            _ => {}
        }
    }
}

/// Non-blank parts of a hover, each with its kind, in the server's order.
pub(crate) fn fragments(raw: &Value) -> Vec<(&'static str, String)> {
    let mut contents = Vec::new();
    let mut take = |part: &Value| {
        let (kind, value) = match (part.as_str(), part["kind"].as_str(), part["language"].as_str()) {
            (Some(text), _, _) => ("markdown", text.to_owned()),
            (_, Some("plaintext"), _) => ("plaintext", part["value"].as_str().expect("text").to_owned()),
            (_, Some(_), _) => ("markdown", part["value"].as_str().expect("text").to_owned()),
            (_, _, Some(language)) => {
                ("markdown", format!("```{language}\n{}\n```", part["value"].as_str().expect("text")))
            }
            _ => panic!("a hover of an unknown shape: {part}"),
        };
        if !value.trim().is_empty() {
            contents.push((kind, value));
        }
    };
    match &raw["contents"] {
        Value::Null => {}
        Value::Array(parts) => parts.iter().for_each(&mut take),
        part => take(part),
    }
    contents
}

/// Diagnostics as the contract specifies: normalized, sorted, without duplicates, the first 200.
/// Redacts paths outside the root as the product does, which has its own test.
pub(crate) fn canonical_diagnostics(root: &Path, path: &Path, raw: Vec<Value>) -> Vec<Value> {
    let roots = RootSet::of_real_paths(vec![root.into()], vec![]);
    let uri = uri_of(path);
    let mut found = Vec::new();
    for item in raw {
        let range = key(&item["range"]);
        let severity = item["severity"].as_u64();
        let code = match item["code"].get("value").unwrap_or(&item["code"]) {
            Value::Null => None,
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            number => Some(number.to_string()),
        };
        let source = text(&item["source"]);
        let message = redact(item["message"].as_str().expect("a message"), &roots).into_owned();
        let start = [range[0], range[1]];
        let missing = |one: bool| one;
        found.push((
            (start, missing(severity.is_none()), severity),
            (code.is_none(), code.clone()),
            (source.is_none(), source.clone()),
            message,
            [range[2], range[3]],
        ));
    }
    found.sort();
    found.dedup();
    let entries = found.into_iter().take(200).map(|((start, _, severity), (_, code), (_, source), message, end)| {
        let number = severity.map(|number| number.to_string()).unwrap_or_default();
        let code_text = code.as_deref().unwrap_or("");
        let source_text = source.as_deref().unwrap_or("");
        let id = id(&format!("{uri}|{}|{}|{number}|{code_text}|{source_text}|{message}", place(&start), place(&end)));
        let range = unkey([start[0], start[1], end[0], end[1]]);
        let mut entry = json!({"id": id, "range": range, "message": message});
        for (name, value) in [
            ("severity", severity.map(Value::from)),
            ("code", code.map(Value::from)),
            ("source", source.map(Value::from)),
        ] {
            if let Some(value) = value {
                entry[name] = value;
            }
        }
        entry
    });
    entries.collect()
}

/// A column of a line, counted in another encoding. Columns beyond the line are its end.
fn column(path: &Path, line: usize, column: usize, from: &str, to: &str) -> usize {
    if from == to {
        return column;
    }
    let whole = fs::read_to_string(path).expect("UTF-8");
    let unix = whole.replace("\r\n", "\n").replace('\r', "\n");
    let text = unix.split('\n').nth(line).unwrap_or_default();
    let width = |letter: char, encoding: &str| match encoding {
        "utf-8" => letter.len_utf8(),
        "utf-16" => letter.len_utf16(),
        _ => 1,
    };
    let mut before = 0;
    let mut after = 0;
    for letter in text.chars() {
        if before >= column {
            break;
        }
        before += width(letter, from);
        after += width(letter, to);
    }
    after
}

/// The entries of a list, of one entry alone, or of nothing.
pub(crate) fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![],
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    }
}

/// A text that isn't blank.
pub(crate) fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(String::from)
}

pub(crate) fn key(range: &Value) -> [u64; 4] {
    let number = |end: &str, name: &str| range[end][name].as_u64().expect("a number");
    [number("start", "line"), number("start", "character"), number("end", "line"), number("end", "character")]
}

/// A range as written in JSON.
pub(crate) fn unkey(key: [u64; 4]) -> Value {
    json!({"start": {"line": key[0], "character": key[1]}, "end": {"line": key[2], "character": key[3]}})
}

fn place(place: &[u64]) -> String {
    format!("{}:{}", place[0], place[1])
}

fn id(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// A path as the contract spells URIs.
pub(crate) fn uri_of(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_str().expect("UTF-8").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(char::from(byte)),
            b'/' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';'
            | b'=' | b':' | b'@' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a file URI.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    let path = percent_decode(uri.strip_prefix("file://")?.as_bytes());
    String::from_utf8(path).ok().map(PathBuf::from)
}
