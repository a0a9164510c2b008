//! Notes the signals that ask this process to end, so that what runs is stopped and what is half made is removed before the end.
//!
//! It ends nothing itself: [tools](super::tool) stop, and callers ask [`received`]. Invariants: signals are noted only while a
//! [`SignalWatch`] exists, and then what was set before holds again; a signal that is ignored stays ignored, as SIGHUP is under `nohup`.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use libc::c_int;

/// The signals, with their names.
const SIGNALS: [(c_int, &str); 3] = [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM"), (libc::SIGHUP, "SIGHUP")];

/// The last signal; 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// A signal that asked this process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption(c_int);

impl Interruption {
    /// Its name, for example `SIGTERM`.
    pub fn name(self) -> &'static str {
        SIGNALS.into_iter().find(|(number, _)| *number == self.0).map_or("a signal", |(_, name)| name)
    }

    /// The exit code of a process that it ended, as shells expect: 128 plus its number.
    pub fn exit_code(self) -> u8 {
        u8::try_from(self.0).unwrap_or_default().saturating_add(128)
    }
}

/// The signal that asked this process to end while it was watched. From then on, each tool is stopped.
pub fn received() -> Option<Interruption> {
    Some(RECEIVED.load(Relaxed)).filter(|number| *number != 0).map(Interruption)
}

/// Notes SIGINT, SIGTERM and SIGHUP until it is dropped, instead of ending this process.
#[must_use = "dropping it ends the watch"]
pub struct SignalWatch {
    /// What was set for each watched signal.
    before: Vec<(c_int, libc::sigaction)>,
}

impl SignalWatch {
    /// Begins to watch.
    pub fn begin() -> Self {
        extern "C" fn record(number: c_int) {
            RECEIVED.store(number, Relaxed);
        }
        let mut before = Vec::new();
        for (number, _) in SIGNALS {
            // SAFETY: the structures are zeroed, which is a valid empty value, and outlive the calls; the handler only stores to an atomic.
            unsafe {
                let mut found = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                libc::sigaction(number, ptr::null(), &mut found);
                if found.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = record as extern "C" fn(c_int) as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(number, &action, ptr::null_mut());
                before.push((number, found));
            }
        }
        Self { before }
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        for (number, action) in &self.before {
            // SAFETY: the structure is one that the system has returned for this signal.
            unsafe {
                libc::sigaction(*number, action, ptr::null_mut());
            }
        }
    }
}
