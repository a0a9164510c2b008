//! The checker against a server on loopback that answers well, wrongly, late or with redirects out of what may be asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::*;

/// A server that answers by the path, and the requests that it got.
pub(crate) struct LinkServer {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl LinkServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), requests: Arc::default() };
        let requests = server.requests.clone();
        let port = server.address.port();
        // It ends with the process: `accept` can't be told to stop.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = requests.clone();
                std::thread::spawn(move || serve(stream, port, &requests));
            }
        });
        server
    }

    pub(crate) fn link(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().len()
    }
}

fn serve(mut stream: TcpStream, port: u16, requests: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let _headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    requests.lock().push(request.clone());
    let is_head = request.starts_with("HEAD");
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let status = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    let to = |target: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    };
    let response = match path.as_str() {
        "no-head" if is_head => status("405 Method Not Allowed"),
        "wrong-head" if is_head => status("404 Not Found"),
        "gone" => status("410 Gone"),
        "missing" => status("404 Not Found"),
        "login" => status("401 Unauthorized"),
        "busy" => status("503 Service Unavailable"),
        "moved" => to("/there?a=b#part"),
        "loop" => to("/loop"),
        "moved-to-missing" => to("/missing"),
        "to-metadata" => to("http://169.254.169.254/latest/meta-data"),
        "to-loopback" => to(&format!("http://localhost:{port}/there")),
        "to-file" => to("file:///etc/passwd"),
        "garbage" => "garbage\r\n\r\n".to_owned(),
        "endless" => {
            // More than anybody reads.
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok();
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
            return;
        }
        "silent" => {
            // Until the client goes away.
            BufReader::new(stream).lines().map_while(Result::ok).for_each(drop);
            return;
        }
        "closed" => return,
        _ => status("200 OK"),
    };
    stream.write_all(response.as_bytes()).ok();
}

const LONG: Duration = Duration::from_secs(60);

fn checker(server: &LinkServer) -> LinkChecker {
    LinkChecker::new(&[server.address.to_string()])
}

fn kind(answer: &LinkAnswer) -> &'static str {
    match answer {
        LinkAnswer::Alive => "alive",
        LinkAnswer::Gone(_) => "gone",
        LinkAnswer::Unreachable(_) => "unreachable",
        LinkAnswer::Unknown(_) => "unknown",
    }
}

#[test]
fn each_answer_of_a_server_has_its_meaning() {
    let server = LinkServer::start();
    let checker = checker(&server);
    let cases = [
        ("", "alive"),
        ("page#part", "alive"),
        ("no-head", "alive"),
        ("wrong-head", "alive"),
        ("moved", "alive"),
        ("endless", "alive"),
        ("gone", "gone"),
        ("missing", "gone"),
        ("moved-to-missing", "gone"),
        ("busy", "unreachable"),
        ("loop", "unreachable"),
        ("garbage", "unreachable"),
        ("closed", "unreachable"),
        ("login", "unknown"),
        ("to-metadata", "unknown"),
        ("to-loopback", "unknown"),
        ("to-file", "unknown"),
    ];
    let links: Vec<String> = cases.iter().map(|(path, _)| server.link(path)).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let answers = checker.ask("run", &links, LONG, &StopFlag::default());
    for ((path, expected), link) in cases.iter().zip(&links) {
        let answer = &answers[without_fragment(link)];
        assert_eq!(kind(answer), *expected, "{path}: {answer:?}");
    }
    assert!(!server.requests.lock().iter().any(|request| request.contains('#')), "{:?}", server.requests.lock());
    let silent = server.link("silent");
    let impatient = checker.with_request_limit(Duration::from_millis(100));
    let answers = impatient.ask("run", &[&silent], LONG, &StopFlag::default());
    assert_eq!(kind(&answers[&silent]), "unreachable", "{answers:?}");
}

#[test]
fn a_run_asks_for_an_address_once_and_other_runs_ask_again() {
    let server = LinkServer::start();
    let checker = checker(&server);
    let one = server.link("page");
    let again = server.link("page#part");
    let ask = |run: &str| checker.ask(run, &[&one, &again, &one], LONG, &StopFlag::default());
    assert_eq!(ask("a"), ask("a"));
    assert_eq!(server.count(), 1);
    ask("b");
    assert_eq!(server.count(), 2);
}

#[test]
fn private_addresses_are_not_asked_unless_they_are_listed() {
    let server = LinkServer::start();
    let port = server.address.port();
    let nobody = LinkChecker::new(&["127.0.0.1:1".to_owned(), "other.example".to_owned()]);
    let links = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://user@localhost:{port}/"),
        "ftp://127.0.0.1/".to_owned(),
        "http://".to_owned(),
    ];
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let answers = nobody.ask("run", &links, LONG, &StopFlag::default());
    assert_eq!(server.count(), 0, "{:?}", server.requests.lock());
    for link in links {
        assert!(matches!(&answers[link], LinkAnswer::Unknown(_)), "{link}: {:?}", answers[link]);
    }
    // A name that is listed may be private.
    let listed = LinkChecker::new(&["LOCALHOST".to_owned()]);
    let link = format!("http://localhost:{port}/");
    assert_eq!(listed.ask("run", &[&link], LONG, &StopFlag::default())[&link], LinkAnswer::Alive);
    // A name that is listed with a port is private on all others, also after a redirect.
    let asked = server.count();
    let one_port = LinkServer::start();
    let with_port = LinkChecker::new(&[format!("localhost:{}", one_port.address.port())]);
    let right = format!("http://localhost:{}/", one_port.address.port());
    let answers = with_port.ask("run", &[&link, &right], LONG, &StopFlag::default());
    assert_eq!((&answers[&link], &answers[&right]), (&LinkAnswer::Unknown(PRIVATE.into()), &LinkAnswer::Alive));
    assert_eq!(server.count(), asked);
}

#[test]
fn what_is_too_much_or_too_late_is_unknown() {
    let server = LinkServer::start();
    let checker = checker(&server);
    let many: Vec<String> = (0..MAX_ASKED_LINKS + 7).map(|number| server.link(&format!("page{number}"))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let answers = checker.ask("run", &many, LONG, &StopFlag::default());
    let alive = answers.values().filter(|answer| **answer == LinkAnswer::Alive).count();
    assert_eq!((alive, answers.len()), (MAX_ASKED_LINKS, many.len()));
    let silent: Vec<String> = (0..40).map(|number| server.link(&format!("silent?{number}"))).collect();
    let silent: Vec<&str> = silent.iter().map(String::as_str).collect();
    let late = checker.ask("run", &silent, Duration::from_millis(1), &StopFlag::default());
    assert!(late.values().all(|answer| matches!(answer, LinkAnswer::Unknown(_))), "{late:?}");
    let stop = StopFlag::default();
    stop.set();
    assert_eq!(checker.ask("other", &silent, LONG, &stop).len(), 40, "a stop ends it at once");
}
