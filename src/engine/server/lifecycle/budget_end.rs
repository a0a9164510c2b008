//! The ends of servers that exceeded a budget which the kernel or the guard keeps.

use crate::server::lifecycle::memory_limit::MEMORY_LIMIT;
use codeyard_base::ids::ServerKind;
use codeyard_process::launch::{ExceededBudget, ProcessExit};

/// The reason of an end, for metrics and the log, and one sentence for people, if a budget caused it.
pub(in crate::server) fn of(exit: Option<ProcessExit>, kind: &ServerKind) -> Option<(&'static str, String)> {
    let (reason, what, key) = match exit?.exceeded()? {
        ExceededBudget::Memory => {
            let key = format!("servers.{kind}.memory_limit_mib");
            let message =
                format!("the language server used more memory than {key} allows; raise it if the server needs more");
            return Some((MEMORY_LIMIT, message));
        }
        ExceededBudget::Processes => ("process_limit", "more processes", "server_processes"),
        ExceededBudget::FileSize => ("file_limit", "a larger file", "server_file_mib"),
    };
    let message =
        format!("the language server had {what} than supervision.{key} allows; raise it if {kind} needs more");
    Some((reason, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_over_a_budget_names_its_setting() {
        let kind = ServerKind::new("ty");
        let end = |code, signal| {
            of(Some(ProcessExit { code, signal, ..ProcessExit::default() }), &kind).map(|(reason, _)| reason)
        };
        assert_eq!(end(None, Some(25)), Some("file_limit"));
        assert_eq!(end(Some(128 + 25), None), Some("file_limit"), "as bubblewrap reports it");
        assert_eq!(end(Some(123), None), Some("process_limit"));
        assert_eq!((end(Some(1), None), end(None, Some(9)), of(None, &kind)), (None, None, None));
        let (reason, message) =
            of(Some(ProcessExit { over_memory: true, ..ProcessExit::of_signal(9) }), &kind).unwrap();
        assert_eq!(reason, MEMORY_LIMIT);
        assert!(message.contains("servers.ty.memory_limit_mib"), "{message}");
    }
}
