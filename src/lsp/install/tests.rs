//! Finding with fake programs, installing with fake package tools; nothing here uses the network.

use std::os::unix::fs::PermissionsExt;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::*;

/// A tempdir with a `bin` folder on the `PATH` and an installer that sees nothing else but the system's folders.
struct Fixture {
    folder: TempDir,
    installer: Installer,
    registry: Registry,
    told: Mutex<Vec<InstallStep>>,
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
        Self { folder, installer, registry: registry.unwrap(), told: Mutex::default() }
    }

    fn script(&self, at: &str, body: &str) -> PathBuf {
        let path = self.folder.path().join(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn locate(&self, kind: &str) -> ProgramStatus {
        self.installer.locate(kind, &self.registry.servers[kind], None)
    }

    fn install(&self, kind: &str) -> Result<InstalledServer, InstallError> {
        let tell = |progress: InstallProgress| self.told.lock().push(progress.step);
        let done = self.installer.install(&self.registry, &[kind.to_string()], &tell);
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
        ProgramStatus::Broken { why } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_of_the_path_counts_if_its_probe_exits_with_0() {
    let bench = Fixture::new();
    let command = "codeyard servers install fake".to_string();
    assert_eq!(bench.locate("fake"), ProgramStatus::NotInstalled { command });
    let path = bench.script("bin/codeyard-fake-ls", "echo 'fake ls (version v1.4.0-rc.1)'");
    let found = ready(bench.locate("fake"));
    assert_eq!((found.program, found.source), (path, ProgramSource::Path));
    assert_eq!((found.args, found.version), (vec!["--stdio".to_string()], Some("1.4.0-rc.1".to_string())));
}

#[test]
fn a_failing_probe_is_said_with_its_words() {
    let bench = Fixture::new();
    bench.script("bin/codeyard-fake-ls", "echo; echo \"error: Unknown binary 'fake'\" >&2; exit 1");
    let why = broken(bench.locate("fake"));
    assert!(why.contains("exit status: 1") && why.contains("Unknown binary"), "{why}");
}

#[test]
fn a_hanging_probe_is_bounded_and_its_children_die() {
    let mut bench = Fixture::new();
    bench.installer.limits.0 = Duration::from_millis(300);
    let pid = bench.folder.path().join("pid");
    let body = format!("sleep 1000 & echo $! > '{}'; wait", pid.display());
    bench.script("bin/codeyard-fake-ls", &body);
    let started = Instant::now();
    assert!(broken(bench.locate("fake")).contains("too long"));
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    let child: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    // The killed grandchild is somebody else's to reap: it may stay as a zombie, but it must not run.
    let runs = || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(Instant::now() < until, "the child of the hanging program still runs");
        std::thread::yield_now();
    }
}

#[test]
fn a_grandchild_that_keeps_the_output_open_delays_nothing() {
    let bench = Fixture::new();
    bench.script("bin/codeyard-fake-ls", "sleep 1000 & echo 2.0.1");
    let started = Instant::now();
    assert_eq!(ready(bench.locate("fake")).version.as_deref(), Some("2.0.1"));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_probe_is_remembered_until_the_program_changes() {
    let bench = Fixture::new();
    let count = bench.folder.path().join("count");
    let body = |version: &str| format!("echo x >> '{}'; echo {version}", count.display());
    let path = bench.script("bin/codeyard-fake-ls", &body("1.0"));
    let asked = || fs::read_to_string(&count).unwrap().lines().count();
    assert_eq!(ready(bench.locate("fake")).version.as_deref(), Some("1.0"));
    assert_eq!(ready(bench.locate("fake")).version.as_deref(), Some("1.0"));
    assert_eq!(asked(), 1);
    bench.script("bin/codeyard-fake-ls", &body("1.1"));
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    assert_eq!(ready(bench.locate("fake")).version.as_deref(), Some("1.1"));
    assert_eq!(asked(), 2);
}

#[test]
fn a_workspace_does_not_bring_its_own_servers() {
    let bench = Fixture::new();
    bench.script("bin/codeyard-fake-ls", "echo 1.0");
    let server = &bench.registry.servers["fake"];
    let inside = bench.installer.locate("fake", server, Some(bench.folder.path()));
    assert!(matches!(inside, ProgramStatus::NotInstalled { .. }), "{inside:?}");
    ready(bench.installer.locate("fake", server, Some(Path::new("/elsewhere"))));
}

#[test]
fn a_configured_path_is_taken_as_it_is() {
    let bench = Fixture::new();
    let path = bench.script("opt/my-ls", "echo 3.0");
    let mut server = bench.registry.servers["fake"].clone();
    server.command[0] = path.to_str().unwrap().into();
    let found = ready(bench.installer.locate("fake", &server, None));
    assert_eq!((found.program, found.source, found.version.as_deref()), (path, ProgramSource::Configured, Some("3.0")));
    for (command, wanted) in
        [("./my-ls", "absolute"), ("/nonexistent/my-ls", "not a program"), ("/etc", "not a program")]
    {
        server.command[0] = command.into();
        let why = broken(bench.installer.locate("fake", &server, None));
        assert!(why.contains(wanted), "{why}");
    }
}

#[test]
fn npm_installs_once_and_ours_comes_before_the_path() {
    let bench = Fixture::new();
    bench.script("bin/codeyard-fake-ls", "echo 0.1");
    bench.fake_npm("echo 1.2.4");
    let done = bench.install("fake").unwrap();
    assert_eq!((done.version.as_str(), done.packages.len()), ("1.2.4", 2));
    let (calls, package_tools) = (bench.npm_calls(), std::mem::take(&mut *bench.told.lock()));
    assert!(calls.contains("--ignore-scripts") && calls.contains("-- fake@1.2.3 dep@4.5.6"), "{calls}");
    assert!(matches!(package_tools.first(), Some(InstallStep::Fetching { tool: "npm", .. })), "{package_tools:?}");
    assert!(matches!(package_tools.last(), Some(InstallStep::Done { .. })), "{package_tools:?}");
    let found = ready(bench.locate("fake"));
    assert_eq!((found.source, found.version.as_deref()), (ProgramSource::Installed, Some("1.2.4")));
    assert!(found.program.starts_with(found.bin.as_ref().unwrap()) && found.bin.unwrap().starts_with(&done.folder));
    assert_eq!(bench.install("fake").unwrap(), done);
    assert_eq!(bench.npm_calls(), calls);
    assert!(matches!(bench.told.lock().last(), Some(InstallStep::AlreadyThere { .. })));
    assert_eq!(bench.installer.list(), [done]);
    assert!(bench.installer.uninstall("fake").unwrap());
    assert!(!bench.installer.uninstall("fake").unwrap());
    assert!(bench.installer.uninstall("../bin").is_err());
    assert_eq!(ready(bench.locate("fake")).source, ProgramSource::Path);
}

#[test]
fn another_specification_is_another_folder() {
    let bench = Fixture::new();
    bench.fake_npm("echo 1.2.3");
    bench.install("fake").unwrap();
    let mut server = bench.registry.servers["fake"].clone();
    server.install = Some(InstallSource::Npm { packages: vec!["fake@1.2.3".into(), "dep@4.5.7".into()] });
    assert!(matches!(bench.installer.locate("fake", &server, None), ProgramStatus::NotInstalled { .. }));
}

#[test]
fn failures_say_what_to_do_and_leave_nothing() {
    let cases = [
        ("npm error code ENOTFOUND\nnpm error network request failed", "network"),
        ("npm error code ETARGET", "no such package"),
        ("npm error code EACCES", "who owns"),
        ("npm error: something odd", "something odd"),
    ];
    for (says, wanted) in cases {
        let bench = Fixture::new();
        bench.script("bin/npm", &format!("mkdir \"$3/half\"; echo '{says}' >&2; exit 7"));
        let error = bench.install("fake").unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("exit status: 7") && error.contains(says), "{error}");
        assert!(bench.installer.list().is_empty());
        assert_eq!(fs::read_dir(bench.installer.servers.join("fake")).unwrap().count(), 0);
        bench.fake_npm("echo 1.0");
        bench.install("fake").unwrap();
    }
}

#[test]
fn a_missing_tool_a_broken_program_and_a_hanging_tool_are_named() {
    let mut bench = Fixture::new();
    bench.installer = bench.installer.with_path(bench.folder.path().join("bin"));
    assert!(matches!(bench.install("fake"), Err(InstallError::MissingTool { tool, .. }) if tool == "npm"));
    assert!(matches!(bench.install("fake-pip"), Err(InstallError::MissingTool { tool, .. }) if tool == "python3"));
    assert!(matches!(bench.install("gopls"), Err(InstallError::Manual { .. })));
    assert!(matches!(bench.install("nothing"), Err(InstallError::UnknownKind(_))));
    bench.installer = bench.installer.with_path(format!("{}:/usr/bin:/bin", bench.folder.path().join("bin").display()));
    bench.fake_npm("echo broken; exit 3");
    assert!(matches!(bench.install("fake"), Err(InstallError::Unusable { why, .. }) if why.contains("broken")));
    bench.script("bin/npm", "exit 0");
    assert!(
        matches!(bench.install("fake"), Err(InstallError::Unusable { why, .. }) if why.contains("codeyard-fake-ls"))
    );
    bench.script("bin/npm", "sleep 1000");
    bench.installer.limits.1 = Duration::from_millis(100);
    assert!(matches!(bench.install("fake"), Err(InstallError::Failed { why, .. }) if why.contains("too long")));
}

/// A python3 whose pip is there or not; a venv of it has one. Installs a wrapper in `bin` and a native program.
fn fake_python(bench: &Fixture, has_pip: bool) {
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
    bench.script("bin/python3", &body);
}

#[test]
fn pip_installs_into_a_folder_and_the_native_program_is_preferred() {
    let bench = Fixture::new();
    fake_python(&bench, true);
    let done = bench.install("fake-pip").unwrap();
    let found = ready(bench.locate("fake-pip"));
    assert_eq!(found.program, done.folder.join("lib-9/native"));
    assert!(found.env.is_empty(), "a native program must not look for imports in its own package");
    assert_eq!(found.args, ["serve"]);
    fs::remove_file(done.folder.join("lib-9/native")).unwrap();
    let wrapper = ready(bench.locate("fake-pip"));
    assert_eq!(wrapper.program, done.folder.join("bin/codeyard-fake-ls"));
    assert_eq!(wrapper.env["PYTHONPATH"], done.folder.to_str().unwrap());
}

#[test]
fn without_pip_a_virtual_environment_lends_its_own() {
    let bench = Fixture::new();
    fake_python(&bench, false);
    let done = bench.install("fake-pip").unwrap();
    let script = fs::read_to_string(done.folder.join("bin/codeyard-fake-ls")).unwrap();
    assert!(script.starts_with("#!/usr/bin/env python3\n"), "{script}");
    assert!(!done.folder.join(".venv").exists());
    bench.script("bin/python3", "exit 1");
    bench.installer.uninstall("fake-pip").unwrap();
    let error = bench.install("fake-pip").unwrap_err().to_string();
    assert!(error.contains("neither pip nor venv"), "{error}");
}

#[test]
fn two_installers_at_once_install_once() {
    let bench = Fixture::new();
    bench.fake_npm("echo 1.2.3");
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| bench.install("fake").unwrap()));
        let [a, b] = both.map(|thread| thread.join().unwrap());
        assert_eq!(a, b);
    });
    assert_eq!(bench.npm_calls().lines().count(), 1);
}
