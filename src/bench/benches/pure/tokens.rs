//! The check of a token, which comes before each call over HTTP.

use std::sync::Arc;

use codeyard_base::ids::{PrincipalId, TenantId};
use codeyard_state::{SqliteStore, StoreHandle, TokenAudience, TokenGrant, TokenStore};
use criterion::Criterion;

/// How many tokens the store has.
const SIZES: [usize; 2] = [1, 500];

pub(crate) fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("token");
    for size in SIZES {
        let folder = tempfile::tempdir().expect("a folder");
        let store: StoreHandle = Arc::new(SqliteStore::open(folder.path()).expect("a database"));
        let tokens = TokenStore::open(store, TokenAudience::Mcp).expect("tokens");
        let grant = |number: usize| TokenGrant {
            tenant: TenantId::new(&format!("team-{}", number % 100)).expect("a tenant"),
            workspaces: vec!["web*".to_owned()],
            ..TokenGrant::of(PrincipalId::new("ann"))
        };
        for number in 1..size {
            tokens.add(&grant(number)).expect("a token");
        }
        let token = tokens.add(&grant(size)).expect("a token");
        group.bench_function(format!("of {size}"), |run| run.iter(|| tokens.principal(token.reveal()).is_some()));
    }
    group.finish();
}
