//! The files of `examples/proxies` in front of the real binary: each proxy from Debian's packages, tried by the script beside the files.

use std::process::Command;

use super::parts::debian_packages;

fn try_proxy(proxy: &str, packages: &[&str]) {
    let folder = debian_packages(proxy, packages);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/proxies/try.py");
    let programs: Vec<_> = ["usr/sbin", "usr/bin"].map(|part| folder.join(part)).into_iter().collect();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&inherited))).unwrap();
    let libraries = folder.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    #[expect(clippy::disallowed_methods, reason = "the script of the example")]
    let mut tried = Command::new("python3");
    tried.args(["-B", script, proxy, env!("CARGO_BIN_EXE_codeyard")]);
    let output = tried.env("PATH", path).env("LD_LIBRARY_PATH", libraries).env("TRY_VERBOSE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "slow: fetches nginx, and waits 70 s"]
fn nginx_passes_everything_on() {
    try_proxy("nginx", &["nginx"]);
}

#[test]
#[ignore = "slow: fetches Caddy, and waits 70 s"]
fn caddy_passes_everything_on() {
    try_proxy("caddy", &["caddy"]);
}

#[test]
#[ignore = "slow: fetches haproxy, and waits 70 s"]
fn haproxy_passes_everything_on() {
    try_proxy("haproxy", &["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"]);
}
