//! The state that outlives a process: the state directory, its database and what codeyard keeps in it.
//!
//! [`StateDir`] locates the directory and opens its [`StateStore`]. Tokens, permissions, epochs and the warm set keep their records
//! in that store. The code index and the installed language servers lie in the same directory and belong to other crates.
//! Invariants: only the owner can read the directory and its files; two serving processes never share one directory.

mod cached_records;
mod known_tokens;
pub mod limits;
mod permission_store;
mod roots_epochs;
mod serve_lock;
mod sqlite;
mod state_dir;
mod state_store;
mod token;
mod token_record;
mod token_store;
mod token_uses;
mod warmset;

pub use permission_store::{Grant, PermissionStore};
pub use roots_epochs::RootsEpochs;
pub use serve_lock::{LockHolder, LockState, ServeLock, ServeLockError};
pub use sqlite::{STATE_FILE, SqliteStore};
pub use state_dir::{INDEX_FOLDER, StateDir, StateDirError, index_folder};
pub use state_store::{ChangeStamp, Namespace, Record, Snapshot, StateError, StateStore, StoreHandle, Write};
pub use token::{Token, TokenId};
pub use token_record::{TokenGrant, TokenInfo};
pub use token_store::{TokenAudience, TokenError, TokenStore};
pub use warmset::{WarmWorkspace, Warmset};
