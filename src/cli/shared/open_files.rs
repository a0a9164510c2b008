//! Checks the limit of open files before anything is opened: with too few, threads and listeners fail in ways that name no cause.

use rustix::process::{Resource, getrlimit};

use crate::Failure;

/// Fewest open files that a process must be allowed to have. Threads, listeners and the state directory take most of them.
const MIN_OPEN_FILES: u64 = 256;

/// Fails if this process may have fewer open files than codeyard needs.
pub(crate) fn check() -> Result<(), Failure> {
    check_limit(getrlimit(Resource::Nofile).current)
}

fn check_limit(current: Option<u64>) -> Result<(), Failure> {
    match current {
        Some(current) if current < MIN_OPEN_FILES => Err(Failure::new(format!(
            "this process may have {current} open files, and codeyard needs at least {MIN_OPEN_FILES}; run `ulimit -n 1024`, then start again"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_refused_with_the_command_that_raises_it() {
        let message = check_limit(Some(MIN_OPEN_FILES - 1)).unwrap_err().message;
        assert!(message.contains("at least 256") && message.contains("`ulimit -n 1024`"), "{message}");
        assert!(check_limit(Some(MIN_OPEN_FILES)).is_ok() && check_limit(None).is_ok());
    }
}
