//! The kernel's queue of file events: inotify, one instance for the process.
//!
//! It reports the watch, the name and whether the entry was replaced or written, nothing else. On other systems opening it
//! fails, and workspaces have no watcher.

/// A watch's number. A queue never reuses one.
pub(super) type WatchId = i32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// The named file was created, deleted, or moved here or away.
    Replaced,
    /// The same of a directory.
    FolderReplaced,
    /// The named entry's content or attributes changed.
    Written,
    /// The watched directory itself was deleted or moved.
    SelfLost,
    /// The kernel has dropped the watch.
    Unwatched,
    Overflow,
}

/// Why a directory can't be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddError {
    /// The user's limit of watches is reached.
    Full,
    /// It doesn't exist, isn't a directory, or can't be read.
    Gone,
}

#[cfg(target_os = "linux")]
pub(super) use linux::EventQueue;
#[cfg(not(target_os = "linux"))]
pub(super) use other::EventQueue;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::event::{EventfdFlags, PollFd, PollFlags};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{AddError, EventKind, WatchId};

    const READ_BYTES: usize = 64 * 1024;
    const INTEREST: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::ATTRIB)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR)
        .union(WatchFlags::DONT_FOLLOW);

    /// An inotify instance, and an eventfd that ends [`EventQueue::wait`].
    #[derive(Debug)]
    pub(crate) struct EventQueue {
        inotify: OwnedFd,
        end: OwnedFd,
        watches_max: usize,
    }

    impl EventQueue {
        /// A new, empty queue.
        pub(crate) fn open() -> io::Result<Self> {
            let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let end = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap_or_default();
            Ok(Self { inotify, end, watches_max: limit.trim().parse().unwrap_or(0) })
        }

        /// Watches a directory. The same directory has the same number.
        pub(crate) fn add(&self, dir: &Path) -> Result<WatchId, AddError> {
            inotify::add_watch(&self.inotify, dir, INTEREST).map_err(|errno| match errno {
                Errno::NOSPC | Errno::NOMEM => AddError::Full,
                _ => AddError::Gone,
            })
        }

        /// Watches that the system allowed to this user when the queue was opened; 0 if it doesn't say.
        pub(crate) fn watches_max(&self) -> usize {
            self.watches_max
        }

        /// Removes a watch. The directory may be gone already.
        pub(crate) fn remove(&self, id: WatchId) {
            let _ = inotify::remove_watch(&self.inotify, id);
        }

        /// Bytes of events in the queue.
        pub(crate) fn waiting_bytes(&self) -> u64 {
            rustix::io::ioctl_fionread(&self.inotify).unwrap_or(0)
        }

        /// Calls `each` for every event that was in the queue at the call, and perhaps for later ones.
        pub(crate) fn drain(&self, mut each: impl FnMut(WatchId, Option<&OsStr>, EventKind)) {
            let mut buffer = [MaybeUninit::<u8>::uninit(); READ_BYTES];
            let mut left = self.waiting_bytes();
            while left > 0 {
                let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
                let mut read: u64 = 0;
                loop {
                    let Ok(event) = reader.next() else { return };
                    read += 16 + event.file_name().map_or(0, |name| name.to_bytes().len() as u64 + 1);
                    if let Some(kind) = event_kind(event.events()) {
                        each(event.wd(), event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())), kind);
                    }
                    if reader.is_buffer_empty() {
                        break;
                    }
                }
                left = left.saturating_sub(read);
            }
        }

        /// Waits until the queue has events. Returns `false` after [`EventQueue::end`].
        pub(crate) fn wait(&self) -> bool {
            loop {
                let mut ends = [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&self.end, PollFlags::IN)];
                match rustix::event::poll(&mut ends, None) {
                    Ok(_) if !ends[1].revents().is_empty() => return false,
                    Ok(_) => return ends[0].revents().contains(PollFlags::IN),
                    Err(Errno::INTR) => {}
                    Err(_) => return false,
                }
            }
        }

        /// Ends [`EventQueue::wait`].
        pub(crate) fn end(&self) {
            let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        }
    }

    fn event_kind(flags: ReadFlags) -> Option<EventKind> {
        let replaced = ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
        let written = ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE | ReadFlags::ATTRIB;
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            Some(EventKind::Overflow)
        } else if flags.contains(ReadFlags::IGNORED) {
            Some(EventKind::Unwatched)
        } else if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT) {
            Some(EventKind::SelfLost)
        } else if flags.intersects(replaced) && flags.contains(ReadFlags::ISDIR) {
            Some(EventKind::FolderReplaced)
        } else if flags.intersects(replaced) {
            Some(EventKind::Replaced)
        } else if flags.intersects(written) {
            Some(EventKind::Written)
        } else {
            None
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;

    use super::{AddError, EventKind, WatchId};

    /// This system has no queue.
    #[derive(Debug)]
    pub enum EventQueue {}

    impl EventQueue {
        /// Always fails.
        pub fn open() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Never called.
        pub fn add(&self, _: &Path) -> Result<WatchId, AddError> {
            match *self {}
        }

        /// Never called.
        pub fn watches_max(&self) -> usize {
            match *self {}
        }

        /// Never called.
        pub fn remove(&self, _: WatchId) {
            match *self {}
        }

        /// Never called.
        pub fn waiting_bytes(&self) -> u64 {
            match *self {}
        }

        /// Never called.
        pub fn drain(&self, _: impl FnMut(WatchId, Option<&OsStr>, EventKind)) {
            match *self {}
        }

        /// Never called.
        pub fn wait(&self) -> bool {
            match *self {}
        }

        /// Never called.
        pub fn end(&self) {
            match *self {}
        }
    }
}
