//! Packages that these tests fetch from registries: pinned, fetched once into the build folder, never changed.
//!
//! Each part has a folder named after its pins, so that a new pin never uses an old folder.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::mcp::until;

/// A registry package with its version, as its client spells them.
type Pin = &'static str;

const NPM: [Pin; 3] = [
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
];
/// The suite and the Inspector need a newer Node than many machines have; this npm package contains the program.
const NODE_VERSION: &str = "22.23.3";
const PYTHON_CLIENT: [Pin; 1] = ["mcp==2.3.0"];
/// Keeps traces, and answers questions about them.
const PHOENIX: [Pin; 1] = ["arize-phoenix==20.26.1"];
/// A collector: takes traces and metrics, and prints them.
const ROTEL: [Pin; 1] = ["rotel==0.0.1a15"];

/// The folder whose `node_modules` holds the packages from npm.
pub(crate) fn npm_folder() -> PathBuf {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("npm has no Node {NODE_VERSION} for {other}; these tests run on x86_64 and aarch64"),
    };
    let node = format!("node-linux-{architecture}@{NODE_VERSION}");
    let pins: Vec<&str> = NPM.into_iter().chain([node.as_str()]).collect();
    part("npm", &pins, |fresh| {
        fs::write(fresh.join("package.json"), "{\"private\": true}\n").expect("a file");
        let mut install = command("npm");
        install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--engine-strict=false"]);
        fetch(install.args(&pins).current_dir(fresh), "Node with npm");
        let node = format!("node_modules/node-linux-{architecture}/bin/node");
        fs::rename(fresh.join(node), fresh.join("node")).expect("the package carries the program");
    })
}

/// A folder whose `node_modules` holds these packages.
pub(crate) fn npm_packages(name: &str, pins: &[&str]) -> PathBuf {
    part(name, pins, |fresh| {
        fs::write(fresh.join("package.json"), "{\"private\": true}\n").expect("a file");
        let mut install = command("npm");
        install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]);
        fetch(install.args(pins).current_dir(fresh), "Node with npm");
    })
}

/// A Python with these packages.
pub(crate) fn python_packages(name: &str, pins: &[Pin]) -> Command {
    python(name, pins)
}

/// A Node that is new enough for all packages of [`npm_folder`] and for the agent hosts.
pub(crate) fn node() -> Command {
    command(node_program())
}

/// The program of [`node`].
pub(crate) fn node_program() -> PathBuf {
    npm_folder().join("node")
}

/// An agent host of the lab in `lab`, installed as its `hosts.toml` says.
pub(crate) fn host_folder(host: &str, packages: &[String], lab: &Path) -> PathBuf {
    let pins: Vec<&str> = packages.iter().map(String::as_str).collect();
    part(&format!("host-{host}"), &pins, |fresh| {
        let mut install = command("python3");
        install.arg("-B").arg(lab.join("lab.py")).args(["install", host]).arg("--into").arg(fresh);
        fetch(&mut install, "Python 3.11 or newer with pip, and Node with npm");
    })
}

/// A Python with the official client.
pub(crate) fn python_with_client() -> Command {
    python("python-client", &PYTHON_CLIENT)
}

pub(crate) fn python_with_phoenix() -> Command {
    python("phoenix", &PHOENIX)
}

/// The collector.
pub(crate) fn rotel() -> Command {
    command(python_folder("rotel", &ROTEL).join("rotel/rotel-agent"))
}

/// The programs of Debian's Prometheus package.
#[derive(Debug, Clone)]
pub(crate) struct Prometheus {
    folder: PathBuf,
}

impl Prometheus {
    /// Unpacks the package without installing it.
    pub(crate) fn fetched() -> Self {
        let folder = debian_packages("prometheus", &["prometheus"]);
        Self { folder }
    }

    pub(crate) fn server(&self) -> Command {
        command(self.folder.join("usr/bin/prometheus"))
    }

    /// promtool, which checks rules and metrics.
    pub(crate) fn promtool(&self) -> Command {
        command(self.folder.join("usr/bin/promtool"))
    }
}

/// A folder with Debian packages of the machine's release, unpacked without installing them.
pub(crate) fn debian_packages(name: &str, packages: &[&str]) -> PathBuf {
    part(name, &[packages, &["of the machine's Debian release"]].concat(), |fresh| {
        let needs = "apt-get and dpkg-deb, as Debian and Ubuntu have them";
        if !packages.iter().all(|package| has_candidate(package)) {
            fetch(
                command("apt-get").args(["update", "--quiet"]),
                "apt-get's lists of packages, so run `apt-get update` as root",
            );
        }
        fetch(command("apt-get").arg("download").args(packages).current_dir(fresh), needs);
        let files = fs::read_dir(fresh).expect("a folder").flatten().map(|entry| entry.path());
        for package in files.filter(|path| path.extension().is_some_and(|e| e == "deb")).collect::<Vec<_>>() {
            fetch(command("dpkg-deb").arg("-x").arg(&package).arg(fresh), needs);
            fs::remove_file(package).expect("a file");
        }
    })
}

/// The sources of a crate, as they were published.
pub(crate) fn crate_sources(name: &str, version: &str) -> PathBuf {
    let folder = part(&format!("crate-{name}"), &[name, version], |fresh| {
        let manifest = format!(
            "[package]\nname = \"fetcher\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
        );
        fs::write(fresh.join("Cargo.toml"), manifest).expect("a file");
        fs::write(fresh.join("lib.rs"), "").expect("a file");
        fetch(command("cargo").args(["vendor", "--quiet", "sources"]).current_dir(fresh), "cargo");
    });
    folder.join("sources").join(name)
}

/// The sources of a package of PyPI, as they were published.
pub(crate) fn python_sources(name: &str, version: &str) -> PathBuf {
    let folder = part(&format!("sdist-{name}"), &[name, version], |fresh| {
        let mut download = command("python3");
        download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]);
        fetch(download.arg(format!("{name}=={version}")).current_dir(fresh), "Python with pip");
        unpack(fresh, "gz");
    });
    folder.join(format!("{name}-{version}"))
}

/// The sources of a package of npm, as they were published.
pub(crate) fn npm_sources(name: &str, version: &str) -> PathBuf {
    let folder = part(&format!("npm-{name}"), &[name, version], |fresh| {
        fetch(command("npm").args(["pack", "--silent", &format!("{name}@{version}")]).current_dir(fresh), "npm");
        unpack(fresh, "tgz");
    });
    folder.join("package")
}

/// Unpacks the one archive of a folder.
fn unpack(folder: &Path, ending: &str) {
    let files = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let archive = files.filter(|path| path.extension().is_some_and(|e| e == ending)).max().expect("an archive");
    fetch(command("tar").arg("-xzf").arg(&archive).current_dir(folder), "tar");
    fs::remove_file(archive).expect("a file");
}

/// Whether the package lists know a version to download.
fn has_candidate(package: &str) -> bool {
    let output = command("apt-cache").args(["policy", package]).output();
    let output = output.unwrap_or_else(|error| {
        panic!("apt-cache can't be started ({error}); Prometheus comes from Debian's packages")
    });
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().any(|line| line.trim().strip_prefix("Candidate:").is_some_and(|version| version.trim() != "(none)"))
}

fn python(name: &str, pins: &[Pin]) -> Command {
    let mut python = command("python3");
    python.env("PYTHONPATH", python_folder(name, pins));
    python
}

/// A folder of Python packages for `PYTHONPATH`.
fn python_folder(name: &str, pins: &[Pin]) -> PathBuf {
    part(name, pins, |fresh| {
        let mut install = command("python3");
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]);
        fetch(install.arg("--target").arg(fresh).args(pins), "Python 3.10 or newer with pip");
    })
}

/// A command of an external program.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a part of the world, not of the product")]
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn world_folder() -> PathBuf {
    let target = codeyard_test_support::real_servers::build_folder();
    target.join("codeyard-world")
}

/// Folder of a part, built by `build` if missing. Concurrent callers wait.
fn part(name: &str, pins: &[&str], build: impl FnOnce(&Path)) -> PathBuf {
    let all = world_folder();
    let digest = format!("{:x?}", Sha256::digest(pins.join(" ")).as_slice());
    let key: String = digest.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    let done = all.join(format!("{name}-{key}"));
    fs::create_dir_all(&all).expect("the build folder can be written");
    let lock = File::create(all.join(format!(".{name}.lock"))).expect("the build folder can be written");
    lock.lock().expect("a lock");
    if !done.exists() {
        print_progress(&format!("fetching {}", pins.join(", ")));
        let prefix = format!(".{name}-fresh-");
        remove_interrupted(&all, &prefix);
        let fresh = tempfile::Builder::new().prefix(&prefix).tempdir_in(&all).expect("a folder");
        build(fresh.path());
        fs::rename(fresh.path(), &done).expect("one file system");
        print_progress(&format!("{name} is there"));
    }
    done
}

/// Removes the rest of an interrupted fetch. The caller holds the part's lock.
fn remove_interrupted(all: &Path, prefix: &str) {
    for entry in fs::read_dir(all).expect("a folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_dir_all(entry.path()).expect("the build folder can be written");
        }
    }
}

/// Runs a registry client until it exits.
fn fetch(command: &mut Command, needs: &str) {
    let shown = format!("{command:?}");
    let program = command.get_program().to_string_lossy().into_owned();
    let log = tempfile::tempfile().expect("a file");
    command.stdout(log.try_clone().expect("a file")).stderr(log.try_clone().expect("a file"));
    let child = command.spawn();
    let mut child =
        child.unwrap_or_else(|error| panic!("{program} can't be started ({error}); the slow suite needs {needs}"));
    let mut waited_s = 0;
    while !until(15_000, || child.try_wait().expect("our child").is_some()) {
        waited_s += 15;
        print_progress(&format!("{program} has been at it for {waited_s} s"));
    }
    if !child.wait().expect("our child").success() {
        panic!("the slow suite needs {needs} and the package registries; this failed: {shown}\n{}", text_of(log));
    }
}

fn text_of(mut log: File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    log.rewind().and_then(|()| log.read_to_string(&mut text)).expect("what a program printed");
    text
}

/// Prints progress even if the tests' output is captured.
fn print_progress(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}
