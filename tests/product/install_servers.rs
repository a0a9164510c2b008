//! The installer against the real package registry: one small native server, once, into the build folder's cache.

use std::path::Path;

use codeyard_lsp::install::{Installer, ProgramSource, ProgramStatus};
use codeyard_lsp::registry::Registry;

#[test]
fn ty_is_installed_from_pypi_and_runs() {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/codeyard-servers");
    let installer = Installer::with_servers_dir(&cache);
    let registry = Registry::builtin();
    let done = installer.install(&registry, &["ty".to_string()], &|progress| println!("{progress:?}")).unwrap();
    let ProgramStatus::Ready(program) = installer.locate("ty", &registry.servers["ty"], None) else {
        panic!("not ready")
    };
    assert_eq!(program.source, ProgramSource::Installed);
    assert!(program.program.starts_with(&done[0].folder));
    let pinned = format!("ty=={}", program.version.unwrap());
    assert_eq!(done[0].packages, [pinned]);
}
