//! A launch run of the real binary whose prose a language model on loopback words: some of it proven, some made up, and one page refused.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::running_server::Yard;
use codeyard_test_support::real_servers::files_below;

const KEY: &str = "key-that-nobody-may-see";
/// Begins a block that says nothing new.
const PROVEN: &str = "As its source shows, ";
/// A number that no source has.
const MADE_UP: &str = "9876";

/// A model that words the odd blocks of a page well and the even ones badly. It refuses pages of the section `kb`.
struct Model {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = requests.clone();
        let thread = std::thread::spawn(move || {
            // An empty connection ends it.
            while let Some((request, stream)) = listener.accept().ok().and_then(|(stream, _)| received(stream)) {
                answer(&request, stream);
                seen.lock().push(request);
            }
        });
        Self { address, requests, thread: Some(thread) }
    }

    fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        TcpStream::connect(&self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

/// A whole request; `None` if there is none.
fn received(stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    while !request.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        request.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.push_str(&String::from_utf8(body).ok()?);
    Some((request, reader.into_inner()))
}

/// What a request asks to be worded.
fn task(request: &str) -> Value {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap()
}

fn answer(request: &str, mut stream: TcpStream) {
    let task = task(request);
    let (status, body) = if task["section"] == "kb" {
        ("400 Bad Request", json!({"error": {"message": format!("no {KEY}")}}))
    } else {
        let block = |block: &Value| {
            let number = block["block"].as_u64().unwrap();
            let text = block["text"].as_str().unwrap();
            let claims: Vec<&str> = block["claims"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let claims = claims.join(",");
            match number % 2 {
                1 => format!("[[block:{number}]] {PROVEN}{text} [[claim:{claims}]]\n"),
                _ => format!("[[block:{number}]] {text} It is used {MADE_UP} times. [[claim:{claims}]]\n"),
            }
        };
        let text: String = task["blocks"].as_array().unwrap().iter().map(block).collect();
        let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        ("200 OK", json!({"choices": [choice], "usage": {"prompt_tokens": 70, "completion_tokens": 9}}))
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ");
    stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).ok();
}

#[test]
fn a_model_words_what_is_proven_and_nothing_else() {
    let sample = Sample::new();
    let model = Model::start();
    let services = format!("services = [{{ base_url = {:?}, token_env = \"MODEL_KEY\" }}]\n", model.base_url());
    let yard = Yard::serve_in(&format!("{}{services}", sample.configuration()), &[], &[("MODEL_KEY", KEY)]);
    let mut client = Client::of(&yard);
    let plain = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    client.wait(&plain, "READY_FOR_PR");
    assert_eq!(model.requests.lock().len(), 0);
    let mut config = sample.run_config();
    config["writer"] =
        json!({"kind": "openai", "base_url": model.base_url(), "model": "small", "api_key_env": "MODEL_KEY"});
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&run, "READY_FOR_PR");

    let events = client.events(&run);
    let of = |kind: &str| -> Vec<Value> {
        events.iter().filter(|event| event["type"] == kind).map(|event| event["payload"].clone()).collect()
    };
    let [started, finished, failed] = ["LLM_CALL_STARTED", "LLM_CALL_FINISHED", "LLM_CALL_FAILED"].map(of);
    let requests = model.requests.lock().clone();
    assert!(!finished.is_empty() && !failed.is_empty(), "{finished:?} {failed:?}");
    assert_eq!(
        (started.len(), requests.len()),
        (finished.len() + failed.len(), started.len()),
        "one request and one end for each start"
    );
    for call in &failed {
        assert!(call["page"].as_str().unwrap().starts_with("kb/"), "{call}");
        assert_eq!([&call["reason"], &call["http_status"]], [&json!("http_status"), &json!(400)], "{call}");
    }
    let sum = |name: &str| finished.iter().filter_map(|call| call[name].as_u64()).sum::<u64>();
    let refused: u64 = finished.iter().filter_map(|call| call["blocks_refused"]["unproven_number"].as_u64()).sum();
    assert!(sum("blocks_kept") > 0 && refused > 0, "{finished:?}");
    assert_eq!(sum("blocks_offered"), sum("blocks_kept") + refused, "nothing else was refused: {finished:?}");
    assert_eq!(
        (sum("prompt_tokens"), sum("completion_tokens")),
        (70 * finished.len() as u64, 9 * finished.len() as u64)
    );
    for request in &requests {
        assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
        assert!(request.to_ascii_lowercase().contains(&format!("authorization: bearer {KEY}\r\n")), "{request}");
    }

    let runs = yard.state.path().join("runs");
    let pages = |run: &Value| -> Vec<(String, String)> {
        let site = runs.join(run["run_id"].as_str().unwrap()).join("work/site");
        let mut pages = Vec::new();
        for path in files_below(&site) {
            let name = path.strip_prefix(&site).unwrap().display().to_string();
            if name.contains("tabtidy") && name.ends_with(".md") {
                pages.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
        pages.sort();
        pages
    };
    let worded = pages(&run);
    let templates = pages(&plain);
    let count = |pages: &[(String, String)], text: &str| -> u64 {
        pages.iter().map(|(_, page)| page.matches(text).count() as u64).sum()
    };
    assert_eq!(count(&worded, PROVEN), sum("blocks_kept"), "each proven block is on its page");
    assert_eq!((count(&worded, MADE_UP), count(&templates, PROVEN)), (0, 0));
    // Without its words the model has changed nothing.
    let without = |pages: &[(String, String)]| -> Vec<(String, String)> {
        pages.iter().map(|(name, page)| (name.clone(), page.replace(PROVEN, ""))).collect()
    };
    assert_eq!(without(&worded), templates);

    for file in files_below(&runs.join(run["run_id"].as_str().unwrap())) {
        let content = std::fs::read(&file).unwrap();
        let holds = content.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!holds, "the key is in {}", file.display());
    }
    assert!(!yard.log().contains(KEY));
    let shown = format!("{events:?}");
    assert!(!shown.contains("You word documentation") && !shown.contains(PROVEN), "an event has a prompt or an answer");
    yard.stop();
}
