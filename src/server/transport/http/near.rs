//! Where a connection is served: on the thread of the workspace that it asks first, so that a question is read, asked and
//! answered by one thread.
//!
//! It looks at the bytes that came first and leaves them unread; whatever they say, what is answered is the same.
//! Invariants: nothing is looked up for somebody who isn't let in; a connection whose beginning says too little is served
//! where it was accepted; one that says nothing is closed in the time of a head.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::ConnectionLimits;
use super::connection::serve_connection;
use super::handler::{Door, Visits, bearer};
use super::path::EndpointPath;
use codeyard_gateway::home::Home;
use codeyard_gateway::service::Principal;

/// As much of a head is looked at; an `Authorization` beyond it isn't seen.
const LOOKED_AT: usize = 2 * 1024;

/// Serves a connection to its end, or to `shutdown`.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    door: Arc<Door>,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) {
    let mut space = [0_u8; LOOKED_AT];
    let seen = tokio::select! {
        biased;
        () = shutdown.cancelled() => return,
        seen = tokio::time::timeout(limits.head, stream.peek(&mut space)) => seen,
    };
    let Ok(Ok(count)) = seen else { return };
    let home = home(&door, &space[..count]);
    let visits = Visits { door, peer };
    let Some(home) = home else { return serve_connection(stream, visits, &limits, shutdown).await };
    // Its events are to wake the other thread.
    let Ok(stream) = stream.into_std() else { return };
    let work = async move {
        if let Ok(stream) = TcpStream::from_std(stream) {
            serve_connection(stream, visits, &limits, shutdown).await;
        }
    };
    home.run(work).await;
}

/// The home of the workspace that a request with this beginning is for, if its sender may see it.
fn home(door: &Door, beginning: &[u8]) -> Option<Home> {
    let text = std::str::from_utf8(beginning).ok()?;
    let mut lines = text.split("\r\n");
    let target = lines.next()?.split(' ').nth(1)?;
    let path = EndpointPath::parse(target.split('?').next()?)?;
    let principal = match &door.auth {
        None => Principal::local(),
        Some(tokens) => {
            let mut fields = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
            let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
            bearer(tokens, value.trim_matches([' ', '\t']))?
        }
    };
    door.service.home(&door.service.endpoint(&principal, path.workspace, path.catalogs.as_deref())?)
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use serde_json::value::RawValue;

    use super::*;
    use crate::transport::http::{HttpOptions, door};
    use codeyard_base::ids::WorkspaceName;
    use codeyard_gateway::service::{Endpoint, ToolReply, Service, ToolCall};
    use codeyard_state::{StateDir, TokenAudience, TokenStore};

    /// Notes what is looked up.
    #[derive(Default)]
    struct Asked(Mutex<Vec<Option<String>>>);

    impl Service for Asked {
        fn default_workspace(&self) -> Option<WorkspaceName> {
            None
        }

        fn endpoint(&self, _: &Principal, workspace: Option<&str>, _: Option<&str>) -> Option<Endpoint> {
            self.0.lock().push(workspace.map(str::to_owned));
            None
        }

        fn tools(&self, _: &Endpoint) -> Arc<RawValue> {
            Arc::from(RawValue::NULL.to_owned())
        }

        fn call(&self, _: ToolCall) -> BoxFuture<'static, ToolReply> {
            Box::pin(std::future::pending())
        }

        fn instructions(&self, _: &Endpoint) -> Option<String> {
            None
        }
    }

    fn looked_up(auth: Option<Arc<TokenStore>>, beginnings: &[&str]) -> Vec<Option<String>> {
        let asked = Arc::new(Asked::default());
        let door = door(asked.clone(), HttpOptions::new(auth));
        for beginning in beginnings {
            assert!(home(&door, beginning.as_bytes()).is_none());
        }
        std::mem::take(&mut *asked.0.lock())
    }

    #[test]
    fn the_first_request_names_the_workspace() {
        let beginnings = [
            "POST /mcp/linux HTTP/1.1\r\nHost: localhost\r\n\r\n{}",
            "POST /mcp?x HTTP/1.1\r\n",
            "GET /livez HTTP/1.1\r\n\r\n",
            "POST /m",
            "POST http://localhost/mcp/linux HTTP/1.1\r\n",
            "\u{16}\u{3}",
            "",
        ];
        assert_eq!(looked_up(None, &beginnings), [Some("linux".to_owned()), None]);
    }

    #[tokio::test]
    async fn nothing_is_looked_up_for_who_has_no_token() {
        let dir = tempfile::tempdir().unwrap();
        let (store, made) = TokenStore::open_or_create(
            StateDir::open(dir.path()).unwrap().store().unwrap(),
            TokenAudience::Mcp,
        )
        .unwrap();
        let (store, token) = (Arc::new(store), made.unwrap());
        let head = |field: &str| format!("POST /mcp/linux HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n{{}}");
        let right = format!("authorization:  Bearer {}", token.reveal());
        for (field, expected) in [
            ("Accept: */*", vec![]),
            ("Authorization: Bearer cyd_wrong", vec![]),
            (&format!("\r\n{right}"), vec![]),
            (&right, vec![Some("linux".to_owned())]),
        ] {
            assert_eq!(looked_up(Some(store.clone()), &[&head(field)]), expected, "{field}");
        }
    }
}
