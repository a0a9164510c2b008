//! Copies of lines for the system's log, which journald and every syslog daemon read at the same socket.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Facility 10 (security, private) and severity 6 (information) of RFC 3164.
const PRIORITY: u8 = 10 * 8 + 6;

/// A connection to the system's log. It is opened again when the daemon was started again.
#[derive(Debug)]
pub(crate) struct Syslog {
    path: Box<Path>,
    socket: Option<UnixDatagram>,
}

impl Syslog {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.into(), socket: None }
    }

    /// Sends a line; never waits.
    ///
    /// # Errors
    /// Nobody listens, or reads too slowly.
    pub(crate) fn send(&mut self, line: &str) -> std::io::Result<()> {
        // Without a time: daemons take that of the receipt, and the line has one of its own.
        let message = format!("<{PRIORITY}>codeyard-audit[{}]: {line}", std::process::id());
        if let Some(socket) = &self.socket
            && socket.send(message.as_bytes()).is_ok()
        {
            return Ok(());
        }
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect(&self.path)?;
        socket.send(message.as_bytes())?;
        self.socket = Some(socket);
        Ok(())
    }
}
