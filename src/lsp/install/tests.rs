//! Lookup with fake programs and installation with fake package tools. Nothing here uses the network.

use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::*;
use crate::registry::CheckerSpec;

/// A temporary directory with a `bin` folder on the `PATH`, and an installer that sees only it and the system folders.
struct Fixture {
    folder: TempDir,
    installer: Installer,
    registry: Registry,
    reported: Mutex<Vec<InstallStep>>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        let path = format!("{}:relative:/usr/bin:/bin", folder.path().join("bin").display());
        let installer = Installer::with_servers_dir(&folder.path().join("servers")).with_path(path);
        let registry = Registry::merged(
            &r#"
            [servers.fake]
            languages = ["python"]
            group = "python"
            priority = 9
            command = ["codeyard-fake-ls", "--stdio"]
            version_args = ["--version"]
            install = { from = "npm", packages = ["fake@1.2.3", "dep@4.5.6"] }
            [servers.fake-pip]
            languages = ["python"]
            group = "python"
            priority = 10
            command = ["codeyard-fake-ls", "serve"]
            direct = ["lib-*/native"]
            version_args = ["--version"]
            install = { from = "pypi", packages = ["fake==1.2.3"] }
            "#
            .parse()
            .unwrap(),
        );
        Self { folder, installer, registry: registry.unwrap(), reported: Mutex::default() }
    }

    fn script(&self, at: &str, body: &str) -> PathBuf {
        let path = self.folder.path().join(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A program on the `PATH` that answers `initialize`, and runs `body` for its version.
    fn server(&self, body: &str) -> PathBuf {
        let answer = "printf 'Content-Length: 36\\r\\n\\r\\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'";
        let body = format!("[ \"$1\" = --version ] || {{ {answer}; exec sleep 1000; }}\n{body}");
        self.script("bin/codeyard-fake-ls", &body)
    }

    fn locate(&self, kind: &str) -> ProgramStatus {
        self.installer.locate(kind, &self.registry.servers[kind], None)
    }

    fn install(&self, kind: &str) -> Result<InstalledServer, InstallError> {
        let report = |progress: InstallProgress| self.reported.lock().push(progress.step);
        let done = self.installer.install(&self.registry, &[kind.to_string()], &report);
        done.map(|mut all| all.remove(0))
    }

    fn fake_npm(&self, server: &str) {
        // $3 is the folder: `npm install --prefix FOLDER …`.
        let body = format!(
            "[ \"$1 $2\" = 'install --prefix' ] || exit 9\nmkdir -p \"$3/node_modules/.bin\"\n\
             cat > \"$3/node_modules/.bin/codeyard-fake-ls\" <<'END'\n#!/bin/sh\n{server}\nEND\n\
             chmod 755 \"$3/node_modules/.bin/codeyard-fake-ls\"\necho \"$@\" >> '{}'",
            self.folder.path().join("npm-calls").display()
        );
        self.script("bin/npm", &body);
    }

    fn npm_calls(&self) -> String {
        fs::read_to_string(self.folder.path().join("npm-calls")).unwrap_or_default()
    }
}

fn ready(located: ProgramStatus) -> ServerProgram {
    match located {
        ProgramStatus::Ready(program) => program,
        other => panic!("{other:?}"),
    }
}

fn broken(located: ProgramStatus) -> String {
    match located {
        ProgramStatus::Broken { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_on_the_path_counts_if_its_probe_exits_with_0() {
    let fixture = Fixture::new();
    let command = "codeyard servers install fake".to_string();
    assert_eq!(fixture.locate("fake"), ProgramStatus::NotInstalled { command });
    let path = fixture.server("echo 'fake ls (version v1.4.0-rc.1)'");
    let found = ready(fixture.locate("fake"));
    assert_eq!((found.program, found.source), (path, ProgramSource::Path));
    assert_eq!((found.args, found.version), (vec!["--stdio".to_string()], Some("1.4.0-rc.1".to_string())));
}

#[test]
fn a_program_on_the_path_counts_only_if_it_answers_as_a_language_server() {
    let mut fixture = Fixture::new();
    let count = fixture.folder.path().join("count");
    let body = format!(
        "[ \"$1\" = --version ] && exec echo 1.0\necho x >> '{}'; echo 'Unknown option' >&2; exit 2",
        count.display()
    );
    let path = fixture.script("bin/codeyard-fake-ls", &body);
    for _ in 0..2 {
        let why = broken(fixture.locate("fake"));
        assert!(why.contains("doesn't answer as a language server: exit status: 2 (Unknown option)"), "{why}");
    }
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 1, "the result is kept");
    // Other arguments make it another server.
    broken(fixture.locate("fake-pip"));
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2);
    fixture.installer.limits.0 = Duration::from_millis(100);
    fixture.script("bin/codeyard-fake-ls", "[ \"$1\" = --version ] && exec echo 1.0\nexec sleep 1000");
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    let why = broken(fixture.locate("fake"));
    assert!(why.contains("it took too long (no output)"), "{why}");
    // What an operator names is the operator's decision.
    let mut server = fixture.registry.servers["fake"].clone();
    server.command[0] = path.to_str().unwrap().into();
    ready(fixture.installer.locate("fake", &server, None));
}

#[test]
fn a_program_on_the_path_must_be_older_than_the_first_version_that_codeyard_cannot_use() {
    let fixture = Fixture::new();
    fixture.server("echo 3.0.1");
    let located = |below: &str| {
        let mut server = fixture.registry.servers["fake"].clone();
        server.below_version = Some(below.into());
        fixture.installer.locate("fake", &server, None)
    };
    assert_eq!(broken(located("3")), "`codeyard-fake-ls` is version 3.0.1; codeyard can use versions below 3");
    ready(located("3.1"));
    ready(located("10"));
}

#[test]
fn a_checker_is_found_on_the_path_and_not_in_the_workspace() {
    let fixture = Fixture::new();
    fixture.server("echo 1.0");
    let mut server = fixture.registry.servers["fake"].clone();
    server.checker = Some(CheckerSpec { program: "fake-check".into(), command: "apt-get install fake-check".into() });
    let checker = |root: Option<&Path>| ready(fixture.installer.locate("fake", &server, root)).checker;
    assert_eq!(checker(None), None);
    let path = fixture.script("bin/fake-check", "exit 1");
    assert_eq!(checker(None), Some(path.clone()), "it isn't run");
    // The server itself must not be in the workspace either, so this asks for the checker alone.
    assert_eq!(fixture.installer.on_path("fake-check", path.parent()), None);
    assert_eq!(ready(fixture.locate("fake")).checker, None, "only where the entry names one");
}

#[test]
fn a_failing_probe_is_reported_with_its_output() {
    let fixture = Fixture::new();
    fixture.server("echo; echo \"error: Unknown binary 'fake'\" >&2; exit 1");
    let why = broken(fixture.locate("fake"));
    assert!(why.contains("exit status: 1") && why.contains("Unknown binary"), "{why}");
}

#[test]
fn a_broken_program_comes_with_what_mends_it() {
    let fixture = Fixture::new();
    fixture.server("exit 1");
    let command = |server: &ServerSpec| match fixture.installer.locate("fake", server, None) {
        ProgramStatus::Broken { command, .. } => command,
        other => panic!("{other:?}"),
    };
    let mut server = fixture.registry.servers["fake"].clone();
    assert_eq!(command(&server), "codeyard servers install fake");
    // What codeyard doesn't install, `servers install` doesn't mend.
    server.install = Some(InstallSource::Manual { hint: "rustup component add fake".into() });
    assert_eq!(command(&server), "rustup component add fake");
    server.install = None;
    assert!(command(&server).contains("`codeyard-fake-ls` on the PATH"), "{}", command(&server));
    // An installation doesn't replace a configured path.
    server.install = fixture.registry.servers["fake"].install.clone();
    server.command[0] = "/nowhere/fake".into();
    assert!(command(&server).contains("correct `command` of `[servers.fake]`"), "{}", command(&server));
}

#[test]
fn a_hanging_probe_is_bounded_and_its_children_die() {
    let mut fixture = Fixture::new();
    fixture.installer.limits.0 = Duration::from_millis(300);
    let pid = fixture.folder.path().join("pid");
    let body = format!("sleep 1000 & echo $! > '{}'; wait", pid.display());
    fixture.server(&body);
    let started = Instant::now();
    assert!(broken(fixture.locate("fake")).contains("too long"));
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    let child: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    // Another process reaps the killed grandchild: it may stay as a zombie, but it must not run.
    let runs = || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(Instant::now() < until, "the child of the hanging program still runs");
        std::thread::yield_now();
    }
}

#[test]
fn a_grandchild_that_keeps_the_output_open_delays_nothing() {
    let fixture = Fixture::new();
    fixture.server("sleep 1000 & echo 2.0.1");
    let started = Instant::now();
    assert_eq!(ready(fixture.locate("fake")).version.as_deref(), Some("2.0.1"));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_probe_is_cached_until_the_program_changes() {
    let fixture = Fixture::new();
    let count = fixture.folder.path().join("count");
    let body = |version: &str| format!("echo x >> '{}'; echo {version}", count.display());
    let path = fixture.server(&body("1.0"));
    let probes = || fs::read_to_string(&count).unwrap().lines().count();
    assert_eq!(ready(fixture.locate("fake")).version.as_deref(), Some("1.0"));
    assert_eq!(ready(fixture.locate("fake")).version.as_deref(), Some("1.0"));
    assert_eq!(probes(), 1);
    fixture.server(&body("1.1"));
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    assert_eq!(ready(fixture.locate("fake")).version.as_deref(), Some("1.1"));
    assert_eq!(probes(), 2);
}

#[test]
fn a_workspace_does_not_bring_its_own_servers() {
    let fixture = Fixture::new();
    fixture.server("echo 1.0");
    let server = &fixture.registry.servers["fake"];
    let inside = fixture.installer.locate("fake", server, Some(fixture.folder.path()));
    assert!(matches!(inside, ProgramStatus::NotInstalled { .. }), "{inside:?}");
    ready(fixture.installer.locate("fake", server, Some(Path::new("/elsewhere"))));
}

#[test]
fn a_configured_path_is_used_unchanged() {
    let fixture = Fixture::new();
    let path = fixture.script("opt/my-ls", "echo 3.0");
    let mut server = fixture.registry.servers["fake"].clone();
    server.command[0] = path.to_str().unwrap().into();
    let found = ready(fixture.installer.locate("fake", &server, None));
    assert_eq!((found.program, found.source, found.version.as_deref()), (path, ProgramSource::Configured, Some("3.0")));
    for (command, wanted) in
        [("./my-ls", "absolute"), ("/nonexistent/my-ls", "not a program"), ("/etc", "not a program")]
    {
        server.command[0] = command.into();
        let why = broken(fixture.installer.locate("fake", &server, None));
        assert!(why.contains(wanted), "{why}");
    }
}

#[test]
fn npm_installs_once_and_the_installation_precedes_the_path() {
    let fixture = Fixture::new();
    fixture.server("echo 0.1");
    fixture.fake_npm("echo 1.2.4");
    let done = fixture.install("fake").unwrap();
    assert_eq!((done.version.as_str(), done.packages.len()), ("1.2.4", 2));
    let calls = fixture.npm_calls();
    let package_tools = std::mem::take(&mut *fixture.reported.lock());
    assert!(calls.contains("--ignore-scripts") && calls.contains("-- fake@1.2.3 dep@4.5.6"), "{calls}");
    assert!(matches!(package_tools.first(), Some(InstallStep::Fetching { tool: "npm", .. })), "{package_tools:?}");
    assert!(matches!(package_tools.last(), Some(InstallStep::Done { .. })), "{package_tools:?}");
    let found = ready(fixture.locate("fake"));
    assert_eq!((found.source, found.version.as_deref()), (ProgramSource::Installed, Some("1.2.4")));
    assert!(found.program.starts_with(found.bin.as_ref().unwrap()) && found.bin.unwrap().starts_with(&done.folder));
    assert_eq!(fixture.install("fake").unwrap(), done);
    assert_eq!(fixture.npm_calls(), calls);
    assert!(matches!(fixture.reported.lock().last(), Some(InstallStep::AlreadyThere { .. })));
    assert_eq!(fixture.installer.list(), [done]);
    assert!(fixture.installer.uninstall("fake").unwrap());
    assert!(!fixture.installer.uninstall("fake").unwrap());
    assert!(fixture.installer.uninstall("../bin").is_err());
    assert_eq!(ready(fixture.locate("fake")).source, ProgramSource::Path);
}

#[test]
fn kinds_with_the_same_packages_share_them_and_are_removed_alone() {
    let mut fixture = Fixture::new();
    fixture.fake_npm("echo 1.2.4");
    let twin = fixture.registry.servers["fake"].clone();
    fixture.registry.servers.insert("twin".into(), twin);
    let first = fixture.install("fake").unwrap();
    let calls = fixture.npm_calls();
    let second = fixture.install("twin").unwrap();
    assert_eq!(fixture.npm_calls(), calls, "nothing is fetched again");
    assert_eq!((second.kind.as_str(), &second.packages), ("twin", &first.packages));
    let program = ready(fixture.locate("twin")).program;
    assert!(program.starts_with(&second.folder), "{program:?}");
    fixture.installer.uninstall("fake").unwrap();
    assert_eq!(ready(fixture.locate("twin")).program, program);
    assert_eq!(fixture.installer.list(), [second]);
}

#[test]
fn cargo_and_go_install_into_a_folder() {
    for (tool, install, wanted) in [
        (
            "cargo",
            InstallSource::Cargo { packages: vec!["fake@1.2.3".into()], features: vec!["lsp".into(), "x".into()] },
            "install --locked --root $ROOT --features lsp,x -- fake@1.2.3",
        ),
        (
            "go",
            InstallSource::Go { packages: vec!["example.org/fake@v1.2.3".into()] },
            "install -- example.org/fake@v1.2.3",
        ),
    ] {
        let mut fixture = Fixture::new();
        let server = "printf '#!/bin/sh\\necho 1.2.3\\n' > bin/codeyard-fake-ls; chmod 755 bin/codeyard-fake-ls";
        let body = format!(
            "echo \"$@\" > called; mkdir -p bin; [ {tool} = cargo ] || [ \"$GOBIN\" = \"$PWD/bin\" ] || exit 3; {server}"
        );
        fixture.script(&format!("bin/{tool}"), &body);
        let mut entry = fixture.registry.servers["fake"].clone();
        entry.install = Some(install);
        fixture.registry.servers.insert("fake".into(), entry);
        let done = fixture.install("fake").unwrap();
        assert_eq!(done.version, "1.2.3");
        let called = fs::read_to_string(done.folder.join("called")).unwrap();
        let root = done.folder.with_file_name(".new");
        assert_eq!(called.trim(), wanted.replace("$ROOT", root.to_str().unwrap()));
        assert_eq!(ready(fixture.locate("fake")).program, done.folder.join("bin/codeyard-fake-ls"));
    }
}

#[test]
fn another_specification_is_another_folder() {
    let fixture = Fixture::new();
    fixture.fake_npm("echo 1.2.3");
    fixture.install("fake").unwrap();
    let mut server = fixture.registry.servers["fake"].clone();
    server.install = Some(InstallSource::Npm { packages: vec!["fake@1.2.3".into(), "dep@4.5.7".into()] });
    assert!(matches!(fixture.installer.locate("fake", &server, None), ProgramStatus::NotInstalled { .. }));
}

#[test]
fn failures_give_advice_and_leave_nothing_behind() {
    let cases = [
        ("npm error code ENOTFOUND\nnpm error network request failed", "network"),
        ("npm error code ETARGET", "no such package"),
        ("npm error code EACCES", "who owns"),
        ("npm error: something odd", "something odd"),
    ];
    for (output, wanted) in cases {
        let fixture = Fixture::new();
        fixture.script("bin/npm", &format!("mkdir \"$3/half\"; echo '{output}' >&2; exit 7"));
        let error = fixture.install("fake").unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("exit status: 7") && error.contains(output), "{error}");
        assert!(fixture.installer.list().is_empty());
        assert_eq!(fs::read_dir(fixture.installer.servers.join("fake")).unwrap().count(), 0);
        fixture.fake_npm("echo 1.0");
        fixture.install("fake").unwrap();
    }
}

#[test]
fn missing_tools_broken_programs_and_hanging_tools_are_distinguished() {
    let mut fixture = Fixture::new();
    fixture.installer = fixture.installer.with_path(fixture.folder.path().join("bin"));
    assert!(matches!(fixture.install("fake"), Err(InstallError::MissingTool { tool, .. }) if tool == "npm"));
    assert!(matches!(fixture.install("fake-pip"), Err(InstallError::MissingTool { tool, .. }) if tool == "python3"));
    assert!(matches!(fixture.install("dart"), Err(InstallError::Manual { .. })));
    assert!(matches!(fixture.install("nothing"), Err(InstallError::UnknownKind(_))));
    fixture.installer =
        fixture.installer.with_path(format!("{}:/usr/bin:/bin", fixture.folder.path().join("bin").display()));
    fixture.fake_npm("echo broken; exit 3");
    assert!(matches!(fixture.install("fake"), Err(InstallError::Unusable { why, .. }) if why.contains("broken")));
    fixture.script("bin/npm", "exit 0");
    assert!(
        matches!(fixture.install("fake"), Err(InstallError::Unusable { why, .. }) if why.contains("codeyard-fake-ls"))
    );
    fixture.script("bin/npm", "sleep 1000");
    fixture.installer.limits.1 = Duration::from_millis(100);
    assert!(matches!(fixture.install("fake"), Err(InstallError::Failed { why, .. }) if why.contains("too long")));
}

/// A python3 with or without pip; its venv always has pip. It installs a wrapper in `bin` and a native program.
fn fake_python(fixture: &Fixture, has_pip: bool) {
    let pip = "pip() { shift 2; case \"$1\" in --version) exit 0;; esac\n\
         while [ \"$1\" != --target ]; do shift; done; mkdir -p \"$2/bin\" \"$2/lib-9\"\n\
         printf '#!%s\\necho wrapper\\n' \"$0\" > \"$2/bin/codeyard-fake-ls\"; chmod 755 \"$2/bin/codeyard-fake-ls\"\n\
         printf '#!/bin/sh\\necho 1.2.3\\n' > \"$2/lib-9/native\"; chmod 755 \"$2/lib-9/native\"; exit 0; }";
    let venv = "venv() { mkdir -p \"$3/bin\"; sed 's/^has_pip=0/has_pip=1/' \"$0\" > \"$3/bin/python\"\n\
         chmod 755 \"$3/bin/python\"; exit 0; }";
    let has = u8::from(has_pip);
    let body = format!(
        "has_pip={has}\n{pip}\n{venv}\ncase \"$2\" in\npip) [ $has_pip = 1 ] && pip \"$@\"; exit 1;;\nvenv) venv \"$@\";;\nesac\nexit 8"
    );
    fixture.script("bin/python3", &body);
}

#[test]
fn pip_installs_into_a_folder_and_the_native_program_is_preferred() {
    let fixture = Fixture::new();
    fake_python(&fixture, true);
    let done = fixture.install("fake-pip").unwrap();
    let found = ready(fixture.locate("fake-pip"));
    assert_eq!(found.program, done.folder.join("lib-9/native"));
    assert!(found.env.is_empty(), "a native program must not look for imports in its own package");
    assert_eq!(found.args, ["serve"]);
    fs::remove_file(done.folder.join("lib-9/native")).unwrap();
    let wrapper = ready(fixture.locate("fake-pip"));
    assert_eq!(wrapper.program, done.folder.join("bin/codeyard-fake-ls"));
    assert_eq!(wrapper.env["PYTHONPATH"], done.folder.to_str().unwrap());
}

#[test]
fn without_pip_a_virtual_environment_provides_it() {
    let fixture = Fixture::new();
    fake_python(&fixture, false);
    let done = fixture.install("fake-pip").unwrap();
    let script = fs::read_to_string(done.folder.join("bin/codeyard-fake-ls")).unwrap();
    assert!(script.starts_with("#!/usr/bin/env python3\n"), "{script}");
    assert!(!done.folder.join(".venv").exists());
    fixture.script("bin/python3", "exit 1");
    fixture.installer.uninstall("fake-pip").unwrap();
    let error = fixture.install("fake-pip").unwrap_err().to_string();
    assert!(error.contains("neither pip nor venv"), "{error}");
}

#[test]
fn two_concurrent_installers_install_once() {
    let fixture = Fixture::new();
    fixture.fake_npm("echo 1.2.3");
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| fixture.install("fake").unwrap()));
        let [a, b] = both.map(|thread| thread.join().unwrap());
        assert_eq!(a, b);
    });
    assert_eq!(fixture.npm_calls().lines().count(), 1);
}
