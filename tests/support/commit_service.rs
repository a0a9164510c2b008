//! A commit service on loopback, of both kinds, that works on a real git repository and fails as it is told.
//!
//! It serves one request a connection, on one thread.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use codeyard_base::base64_text;
use codeyard_process::git::Git;
use codeyard_runs::stage::StopFlag;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It isn't carried out; the answer has this status, these header lines and this content.
    Answer(u16, &'static str, String),
    /// It isn't carried out; the connection closes.
    Close,
    /// It is carried out, and its answer is lost.
    LoseAnswer,
    /// It is carried out twice; the second answer counts.
    Twice,
    /// It is carried out, and no answer comes while somebody waits for it.
    AnswerTooLate,
    /// A flag is set, and no answer comes.
    Hang(StopFlag),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Method and path.
    pub line: String,
    /// All headers, in lower case.
    pub headers: String,
    /// The content.
    pub body: Value,
}

type Faults = Box<dyn Fn(usize, &str) -> Option<Fault> + Send>;

/// The service.
pub struct Forge {
    address: String,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    repository: PathBuf,
    pulls: Vec<Value>,
    answers: BTreeMap<String, (u16, Value)>,
    seen: Vec<Seen>,
    faults: Faults,
}

impl Forge {
    /// A service of a repository.
    pub fn of(repository: &Path, faults: impl Fn(usize, &str) -> Option<Fault> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Mutex::new(Shared {
            repository: repository.to_owned(),
            pulls: Vec::new(),
            answers: BTreeMap::new(),
            seen: Vec::new(),
            faults: Box::new(faults),
        }));
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || {
            // An empty connection ends it.
            while let Some((seen, stream)) = listener.accept().ok().and_then(|(stream, _)| received(stream)) {
                serve(&of_thread, seen, stream);
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Its address.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on these faults; the requests are counted from 0 again.
    pub fn fails(&self, faults: impl Fn(usize, &str) -> Option<Fault> + Send + 'static) {
        let mut shared = self.shared.lock();
        shared.faults = Box::new(faults);
        shared.seen.clear();
    }

    /// The requests since the last change of the faults.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.lock().seen.clone()
    }

    /// The pull requests.
    pub fn pulls(&self) -> Vec<Value> {
        self.shared.lock().pulls.clone()
    }

    /// Forgets its repository's pull requests and answers.
    pub fn forget(&self) {
        let mut shared = self.shared.lock();
        shared.pulls.clear();
        shared.answers.clear();
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        TcpStream::connect(&self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

fn received(stream: TcpStream) -> Option<(Seen, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut headers = String::new();
    let mut length = 0;
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|read| *read > 2)
            .map(|_| ())
            .or_else(|| (line == "\r\n").then_some(()))?;
        if line == "\r\n" {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some((Seen { line, headers, body }, reader.into_inner()))
}

fn serve(shared: &Mutex<Shared>, seen: Seen, mut stream: TcpStream) {
    let mut state = shared.lock();
    let fault = (state.faults)(state.seen.len(), &seen.line);
    state.seen.push(seen.clone());
    let mut send = |status: u16, headers: &str, body: &str| {
        let head =
            format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok();
    };
    match fault {
        Some(Fault::Answer(status, headers, body)) => send(status, headers, &body),
        Some(Fault::Close) => {}
        Some(Fault::LoseAnswer) => drop(state.carry_out(&seen)),
        Some(Fault::AnswerTooLate) => {
            state.carry_out(&seen);
            drop(state);
            stream.read_exact(&mut [0]).ok();
        }
        Some(Fault::Hang(stop)) => {
            drop(state);
            stop.set();
            stream.read_exact(&mut [0]).ok();
        }
        Some(Fault::Twice) => {
            state.carry_out(&seen);
            let (status, body) = state.carry_out(&seen);
            send(status, "", &body.to_string());
        }
        None => {
            let (status, body) = state.carry_out(&seen);
            send(status, "", &body.to_string());
        }
    }
}

impl Shared {
    fn git(&self, args: &[&str]) -> Option<String> {
        Git::in_repository(&self.repository).args(args).text().ok()
    }

    fn carry_out(&mut self, seen: &Seen) -> (u16, Value) {
        let missing = (404, json!({"message": "Not Found"}));
        let Some((method, path)) = seen.line.split_once(' ') else { return missing };
        if let Some(path) = path.strip_prefix("/v1/") {
            return self.of_http(path, seen);
        }
        let Some(path) = path.strip_prefix("/repos/acme/site") else { return missing };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        match (method, path) {
            ("GET", "") => (200, json!({"default_branch": "main"})),
            ("GET", "/pulls") => {
                let branch = query.split('&').find_map(|part| part.strip_prefix("head=acme%3A")).unwrap_or_default();
                let branch = branch.replace("%2F", "/");
                let found = self.pulls.iter().filter(|pull| pull["head"]["ref"] == branch.as_str());
                (200, found.cloned().collect())
            }
            ("POST", "/pulls") => self.open(&seen.body, "head"),
            ("POST", "/git/blobs") => {
                let content = base64_text::decode(seen.body["content"].as_str().unwrap()).unwrap();
                (201, json!({"sha": self.blob(&content)}))
            }
            ("POST", "/git/trees") => (201, json!({"sha": self.tree(&seen.body)})),
            ("POST", "/git/commits") => {
                let tree = seen.body["tree"].as_str().unwrap();
                let parent = seen.body["parents"][0].as_str().unwrap();
                match self.commit(tree, parent, &seen.body["message"], &seen.body["author"]) {
                    Some(commit) => (201, json!({"sha": commit})),
                    None => (422, json!({"message": "no such parent"})),
                }
            }
            ("POST", "/git/refs") => {
                let name = seen.body["ref"].as_str().unwrap();
                let sha = seen.body["sha"].as_str().unwrap();
                match self.git(&["update-ref", name, sha, &"0".repeat(40)]) {
                    Some(_) => (201, json!({"ref": name, "object": {"sha": sha}})),
                    None => (422, json!({"message": "Reference already exists"})),
                }
            }
            _ => self.show(path).unwrap_or(missing),
        }
    }

    fn show(&self, path: &str) -> Option<(u16, Value)> {
        if let Some(name) = path.strip_prefix("/git/ref/") {
            let sha = self.git(&["rev-parse", "--verify", "--quiet", &format!("refs/{name}")])?;
            return Some((200, json!({"ref": name, "object": {"sha": sha}})));
        }
        let commit = path.strip_prefix("/git/commits/")?;
        let tree = self.git(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        let parents = self.git(&["show", "-s", "--format=%P", commit])?;
        let parents: Vec<Value> = parents.split(' ').map(|parent| json!({"sha": parent})).collect();
        Some((200, json!({"sha": commit, "tree": {"sha": tree}, "parents": parents})))
    }

    fn blob(&self, content: &[u8]) -> String {
        let file = self.repository.join(".git/new-blob");
        std::fs::write(&file, content).unwrap();
        self.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()]).unwrap()
    }

    fn tree(&self, body: &Value) -> String {
        let index = self.repository.join(".git/new-index");
        let git = |args: &[&str]| Git::in_repository(&self.repository).index_file(&index).args(args).text().unwrap();
        git(&["read-tree", body["base_tree"].as_str().unwrap()]);
        for entry in body["tree"].as_array().unwrap() {
            let path = entry["path"].as_str().unwrap();
            match entry["sha"].as_str() {
                Some(sha) => {
                    let info = format!("{},{sha},{path}", entry["mode"].as_str().unwrap());
                    git(&["update-index", "--add", "--cacheinfo", &info]);
                }
                None => drop(git(&["rm", "--cached", "--quiet", "--", path])),
            }
        }
        git(&["write-tree"])
    }

    fn commit(&self, tree: &str, parent: &str, message: &Value, author: &Value) -> Option<String> {
        let text = |name: &str| author[name].as_str().unwrap();
        let git = Git::in_repository(&self.repository).identity(text("name"), text("email"), text("date"));
        git.args(["commit-tree", tree, "-p", parent, "-m", message.as_str().unwrap()]).text().ok()
    }

    fn open(&mut self, body: &Value, head: &str) -> (u16, Value) {
        if self.pulls.iter().any(|pull| pull["head"]["ref"] == body[head]) {
            return (
                422,
                json!({"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}),
            );
        }
        let number = self.pulls.len() + 1;
        let url = format!("https://forge.example/acme/site/pull/{number}");
        let pull = json!({"number": number, "html_url": url, "head": {"ref": body[head]}, "title": body["title"], "body": body["body"]});
        self.pulls.push(pull.clone());
        (201, pull)
    }

    /// A request that was carried out with the same key has the same answer.
    fn of_http(&mut self, path: &str, seen: &Seen) -> (u16, Value) {
        let key = seen.headers.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap().to_owned();
        if let Some(answer) = self.answers.get(&key) {
            return answer.clone();
        }
        let body = &seen.body;
        let answer = match path {
            "commit" => {
                let files = body["files"].as_array().unwrap().iter();
                let entries: Vec<Value> = files
                    .map(|file| {
                        let sha = file["content"].as_str().map(|text| match file["encoding"].as_str().unwrap() {
                            "utf-8" => self.blob(text.as_bytes()),
                            _ => self.blob(&base64_text::decode(text).unwrap()),
                        });
                        json!({"path": file["path"], "mode": file["mode"], "sha": sha})
                    })
                    .collect();
                let parent = body["base"]["commit_sha"].as_str().unwrap();
                let tree = self.tree(&json!({"base_tree": parent, "tree": entries}));
                let commit = self.commit(&tree, parent, &body["message"], &body["author"]).unwrap();
                let name = format!("refs/heads/{}", body["branch"].as_str().unwrap());
                match self.git(&["update-ref", &name, &commit, &"0".repeat(40)]) {
                    Some(_) => (201, json!({"branch": body["branch"], "commit_sha": commit})),
                    None => (409, json!({"message": "the branch exists"})),
                }
            }
            _ => {
                let (status, pull) = self.open(body, "branch");
                (status, json!({"pr_url": pull["html_url"], "number": pull["number"]}))
            }
        };
        self.answers.insert(key, answer.clone());
        answer
    }
}
