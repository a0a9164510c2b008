//! Asks the servers of links whether the links lead somewhere.
//!
//! It decides nothing about pages: the gate [`external_links`](crate::validation::gates) does. Invariants: a request goes to public addresses alone, or to hosts that
//! the operator has listed, also after a redirect and whatever a name resolves to; no content is kept and no cookie or token is sent; the number, time
//! and size of requests are bounded; one run asks for one address once in a while, so that validations that follow each other agree. Source:
//! `docs/internals/reference/contract-launch.md#links-out-of-the-site`.

mod public_address;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::clock::Instant;
use codeyard_runs::stage::StopFlag;
use lru::LruCache;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, LOCATION};
use reqwest::{Client, Method, StatusCode, Url};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::http_client;
use crate::limits::MAX_ASKED_LINKS;
use crate::markdown::outer_address::without_fragment;
use public_address::is_public;

/// Links that are asked at once.
const MAX_LINK_REQUESTS: usize = 8;
/// Redirects that are followed from one link.
const MAX_LINK_REDIRECTS: usize = 5;
/// Time of one request to the server of a link, in seconds.
const LINK_REQUEST_LIMIT_S: u64 = 10;
/// Time after which a run asks for a link again, in seconds.
const LINK_ANSWER_AGE_S: u64 = 600;
/// Answers of links that are kept.
const MAX_LINK_ANSWERS: usize = 8_192;

/// What the server of a link has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkAnswer {
    /// There is something.
    Alive,
    /// There is nothing: the status.
    Gone(u16),
    /// Whether there is something isn't known, and the link is worth a look.
    Unreachable(String),
    /// It wasn't asked, or doesn't answer programs.
    Unknown(String),
}

/// Asks servers. Cheap to clone.
#[derive(Clone)]
pub struct LinkChecker {
    /// Hosts, with or without a port, that are asked although their addresses are private.
    private_hosts: Arc<[String]>,
    request_limit: Duration,
    /// Answers by run and address.
    known: Arc<Mutex<LruCache<(String, String), KnownAnswer>>>,
}

/// An answer, and when it came.
type KnownAnswer = (Instant, LinkAnswer);

impl fmt::Debug for LinkChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkChecker").field("private_hosts", &self.private_hosts).finish_non_exhaustive()
    }
}

impl LinkChecker {
    /// One that also asks these hosts (`name` or `name:port`) although their addresses are private.
    pub fn new(private_hosts: &[String]) -> Self {
        Self {
            private_hosts: private_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            request_limit: Duration::from_secs(LINK_REQUEST_LIMIT_S),
            known: Arc::new(Mutex::new(LruCache::new(
                NonZeroUsize::new(MAX_LINK_ANSWERS).unwrap_or(NonZeroUsize::MIN),
            ))),
        }
    }

    /// The same with another time for a request.
    #[cfg(test)]
    pub(crate) fn with_request_limit(mut self, limit: Duration) -> Self {
        self.request_limit = limit;
        self
    }

    /// The answers for these addresses, without their fragments. It ends at the latest after `limit`, and soon after the stop flag is set; what wasn't
    /// asked until then is [`LinkAnswer::Unknown`].
    pub fn ask(&self, run: &str, links: &[&str], limit: Duration, stop: &StopFlag) -> BTreeMap<String, LinkAnswer> {
        let mut answers = BTreeMap::new();
        let mut left: Vec<String> = Vec::new();
        for link in links {
            let address = without_fragment(link);
            if answers.contains_key(address) || left.iter().any(|other| other == address) {
                continue;
            }
            match self.recent(run, address) {
                Some(answer) => drop(answers.insert(address.to_owned(), answer)),
                None => left.push(address.to_owned()),
            }
        }
        let over = left.split_off(left.len().min(MAX_ASKED_LINKS));
        let why = format!("only the first {MAX_ASKED_LINKS} links are asked");
        answers.extend(over.into_iter().map(|address| (address, LinkAnswer::Unknown(why.clone()))));
        let mut asked = BTreeMap::new();
        let work = async {
            let Ok(client) = self.client() else { return };
            let places = Arc::new(Semaphore::new(MAX_LINK_REQUESTS));
            let mut requests = JoinSet::new();
            for address in left.clone() {
                let checker = self.clone();
                let client = client.clone();
                let places = places.clone();
                requests.spawn(async move {
                    let _place = places.acquire().await;
                    let answer = checker.answer(&client, &address).await;
                    (address, answer)
                });
            }
            // What hasn't answered by then is reported as such.
            let all = async {
                while let Some(ended) = requests.join_next().await {
                    asked.extend(ended);
                }
            };
            tokio::time::timeout(limit, all).await.ok();
        };
        http_client::run_until_stopped(work, stop).ok();
        for address in left {
            let answer = asked.get(&address).cloned();
            if let Some(answer) = &answer {
                self.known.lock().put((run.to_owned(), address.clone()), (Instant::now(), answer.clone()));
            }
            let late = || LinkAnswer::Unknown("there was no time left to ask".to_owned());
            answers.insert(address, answer.unwrap_or_else(late));
        }
        answers
    }

    fn recent(&self, run: &str, address: &str) -> Option<LinkAnswer> {
        let mut known = self.known.lock();
        let (at, answer) = known.get(&(run.to_owned(), address.to_owned()))?;
        (at.elapsed() < Duration::from_secs(LINK_ANSWER_AGE_S)).then(|| answer.clone())
    }

    fn client(&self) -> reqwest::Result<Client> {
        let resolver = PublicResolver { private_hosts: self.private_hosts.clone() };
        http_client::builder(self.request_limit).dns_resolver(resolver).user_agent(AGENT).build()
    }

    async fn answer(&self, client: &Client, address: &str) -> LinkAnswer {
        // Some servers answer `HEAD` wrongly, so what it says is asked again before it counts as a fault.
        match self.follow(client, address, &Method::HEAD).await {
            LinkAnswer::Alive => LinkAnswer::Alive,
            unasked @ LinkAnswer::Unknown(_) if self.refusal(address).is_some() => unasked,
            _ => self.follow(client, address, &Method::GET).await,
        }
    }

    /// Why an address isn't asked, as far as it says so itself.
    fn refusal(&self, address: &str) -> Option<String> {
        let Ok(url) = Url::parse(address) else { return Some("it is no address".to_owned()) };
        if !matches!(url.scheme(), "http" | "https") {
            return Some("its scheme isn't one of web pages".to_owned());
        }
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        if self.private_hosts.iter().any(|listed| *listed == host || *listed == with_port) {
            return None;
        }
        // The resolver doesn't know the port. A host that is listed for other ports alone isn't asked.
        let is_listed = |listed: &String| listed.strip_prefix(&host).is_some_and(|port| port.starts_with(':'));
        if self.private_hosts.iter().any(is_listed) {
            return Some(PRIVATE.to_owned());
        }
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        literal.is_ok_and(|ip| !is_public(ip)).then(|| PRIVATE.to_owned())
    }

    async fn follow(&self, client: &Client, address: &str, method: &Method) -> LinkAnswer {
        let mut at = address.to_owned();
        for _ in 0..=MAX_LINK_REDIRECTS {
            if let Some(why) = self.refusal(&at) {
                return LinkAnswer::Unknown(why);
            }
            let response = match client.request(method.clone(), &at).header(ACCEPT, "text/html, */*;q=0.8").send().await
            {
                Ok(response) => response,
                Err(error) => return failed(&error),
            };
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            match target.filter(|_| response.status().is_redirection()) {
                Some(target) => match response.url().join(target) {
                    Ok(url) => at = without_fragment(url.as_str()).to_owned(),
                    Err(_) => return LinkAnswer::Unreachable("it is redirected to what is no address".to_owned()),
                },
                None => return of_status(response.status()),
            }
        }
        LinkAnswer::Unreachable(format!("it is redirected more than {MAX_LINK_REDIRECTS} times"))
    }
}

/// How a request names its sender.
const AGENT: &str = concat!("codeyard/", env!("CARGO_PKG_VERSION"));
/// Why an address isn't asked.
const PRIVATE: &str =
    "its host has a private address, and `private_link_hosts` in the section `[runs]` doesn't list it with this port";

fn of_status(status: StatusCode) -> LinkAnswer {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => LinkAnswer::Gone(status.as_u16()),
        status if status.is_success() || status.is_redirection() => LinkAnswer::Alive,
        status if status.is_server_error() => {
            LinkAnswer::Unreachable(format!("its server answers with the status {}", status.as_u16()))
        }
        // Pages for people who have logged in, and servers that refuse programs.
        status => LinkAnswer::Unknown(format!("its server refuses the request with the status {}", status.as_u16())),
    }
}

fn failed(error: &reqwest::Error) -> LinkAnswer {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if cause.is::<PrivateHost>() {
            return LinkAnswer::Unknown(PRIVATE.to_owned());
        }
        source = cause.source();
    }
    LinkAnswer::Unreachable(if error.is_timeout() {
        "its server doesn't answer in time".to_owned()
    } else if error.is_connect() {
        "its server can't be reached".to_owned()
    } else {
        "its server's answer can't be read".to_owned()
    })
}

/// Resolves names to public addresses alone.
struct PublicResolver {
    private_hosts: Arc<[String]>,
}

/// A name that has no public address.
#[derive(Debug, thiserror::Error)]
#[error("the host has a private address")]
struct PrivateHost;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_ascii_lowercase();
        let listed = |listed: &String| listed.split(':').next() == Some(host.as_str());
        let is_listed = self.private_hosts.iter().any(listed);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            let is_known = !found.is_empty();
            let allowed: Vec<SocketAddr> =
                found.into_iter().filter(|address| is_listed || is_public(address.ip())).collect();
            if is_known && allowed.is_empty() {
                return Err(PrivateHost.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
