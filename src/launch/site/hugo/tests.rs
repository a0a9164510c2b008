//! Hostile sites, built by the real Hugo. Without it the tests say that they are skipped.

use std::os::unix::fs::symlink;

use codeyard_test_support::hugo::test_hugo;

use super::*;

const CONFIG: &str = "baseURL = 'https://example.org/'\ndisableKinds = ['taxonomy', 'term', 'rss', 'sitemap', '404']\n";
/// A site's own policy that allows everything.
const OPEN_POLICY: &str = "[security]\nenableInlineShortcodes = true\n[security.exec]\nallow = ['.*']\nosEnv = ['.*']\n[security.funcs]\n\
                           getenv = ['.*']\n[security.http]\nmethods = ['.*']\nurls = ['.*']\n";
/// What no build may show.
const SECRET: &str = "kept-away-4711";

/// A site in a folder, with a secret beside it.
struct Site(tempfile::TempDir);

impl Site {
    /// `None` without Hugo.
    fn new(files: &[(&str, &str)]) -> Option<Self> {
        test_hugo()?;
        let site = Self(tempfile::tempdir().unwrap());
        fs::write(site.0.path().join("outside.txt"), SECRET).unwrap();
        fs::create_dir(site.0.path().join("outside")).unwrap();
        fs::write(site.0.path().join("outside/a.txt"), SECRET).unwrap();
        let page = "<p>{{ .Content }}</p>";
        site.write("hugo.toml", &format!("{CONFIG}{OPEN_POLICY}"));
        site.write("config.toml", &format!("{CONFIG}{OPEN_POLICY}"));
        for layout in ["layouts/index.html", "layouts/_default/single.html", "layouts/_default/list.html"] {
            site.write(layout, page);
        }
        site.write("content/a.md", "---\ntitle: A\n---\nhello\n");
        for (path, text) in files {
            site.write(path, text);
        }
        Some(site)
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.top().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn top(&self) -> PathBuf {
        self.0.path().join("site")
    }

    fn scratch(&self) -> PathBuf {
        self.0.path().join("scratch")
    }

    fn build(&self, limit: Duration, max_bytes: u64) -> Result<BuiltSite, StageError> {
        let program = test_hugo().unwrap();
        let site = self.top();
        let scratch = self.scratch();
        build(&SiteBuildOrder { program, site: &site, scratch: &scratch, limit, max_bytes, stop: &StopFlag::default() })
    }

    /// Builds, and looks for the secret in all that the build has left and said.
    fn built(&self) -> BuiltSite {
        let built = self.build(Duration::from_secs(60), 1 << 30).unwrap();
        assert!(!built.output.contains(SECRET), "{}", built.output);
        for file in files_below(&self.scratch()) {
            if let Ok(text) = fs::read_to_string(self.scratch().join(&file)) {
                let is_source = file.starts_with("source/");
                assert!(is_source || !text.contains(SECRET), "{file}");
            }
        }
        built
    }
}

/// All files below a folder with their bytes; links aren't followed.
fn snapshot(top: &Path) -> Vec<(String, Vec<u8>)> {
    files_below(top).into_iter().map(|file| (file.clone(), fs::read(top.join(file)).unwrap())).collect()
}

#[test]
fn a_plain_site_is_built_and_left_as_it_was() {
    let Some(site) = Site::new(&[("static/x.txt", "x")]) else { return };
    let before = snapshot(&site.top());
    let built = site.built();
    assert!(built.ok, "{}", built.output);
    for file in ["index.html", "a/index.html", "x.txt"] {
        assert!(built.files.contains(&file.to_owned()), "{:?}", built.files);
    }
    assert_eq!(snapshot(&site.top()), before);
}

#[test]
fn settings_that_make_hugo_write_into_the_site_write_into_the_copy() {
    let config =
        format!("{CONFIG}enableGitInfo = true\n[build]\nwriteStats = true\n[build.buildStats]\nenable = true\n");
    let template = "{{ $a := resources.FromString \"x.css\" \"a { b: c }\" | resources.Minify | resources.Fingerprint }}{{ $a.Permalink }}";
    let files = [("hugo.toml", config.as_str()), ("config.toml", &config), ("layouts/index.html", template)];
    let Some(site) = Site::new(&files) else { return };
    let before = snapshot(&site.top());
    let built = site.built();
    assert!(built.ok, "{}", built.output);
    assert_eq!(snapshot(&site.top()), before);
}

#[test]
fn templates_read_nothing_outside_of_the_site() {
    let outside =
        ["../outside.txt", "../../outside.txt", "/etc/passwd", "top.txt", "static/link.txt", "static/folder/a.txt"];
    let read = outside.iter().flat_map(|path| {
        [
            format!("{{{{ readFile \"{path}\" }}}}"),
            format!("{{{{ with resources.Get \"{path}\" }}}}{{{{ .Content }}}}{{{{ end }}}}"),
        ]
    });
    let lists = ["..", "../outside", "static/folder"]
        .map(|path| format!("{{{{ range readDir \"{path}\" }}}}{{{{ .Name }}}}{{{{ readFile (printf \"{path}/%s\" .Name) }}}}{{{{ end }}}}"));
    for template in read.chain(lists) {
        let Some(site) = Site::new(&[("layouts/index.html", &template)]) else { return };
        symlink("../outside.txt", site.top().join("top.txt")).unwrap();
        site.write("static/x.txt", "x");
        symlink("../../outside.txt", site.top().join("static/link.txt")).unwrap();
        symlink("../../outside", site.top().join("static/folder")).unwrap();
        symlink("../../outside.txt", site.top().join("content/z.md")).unwrap();
        let built = site.built();
        let index = fs::read_to_string(site.scratch().join("public/index.html")).unwrap_or_default();
        assert!(!index.contains("root:") && !index.contains("outside.txt"), "{template}: {index}");
        assert!(!built.files.iter().any(|file| file.contains("link") || file.contains("folder")), "{:?}", built.files);
    }
}

#[test]
fn a_site_that_allows_itself_everything_gets_no_variables_no_network_and_no_programs() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    let remote = format!(
        "{{{{ with resources.GetRemote \"{address}\" }}}}{{{{ with .Err }}}}{{{{ errorf \"%s\" . }}}}{{{{ end }}}}{{{{ end }}}}"
    );
    let json = format!("{{{{ getJSON \"{address}\" }}}}");
    let index = "layouts/index.html";
    let mut cases = vec![
        (index, "{{ getenv \"HOME\" }}", "security.funcs.getenv"),
        (index, "{{ os.Getenv \"PATH\" }}", "security.funcs.getenv"),
        (index, remote.as_str(), "security.http"),
        (index, "{{ $a := resources.FromString \"x.css\" \"a{}\" | postCSS }}{{ $a.Content }}", "security.exec.allow"),
        (index, "{{ $a := resources.FromString \"x.js\" \"a\" | babel }}{{ $a.Content }}", "security.exec.allow"),
        ("content/b.adoc", "---\ntitle: b\n---\nhello\n", "not found in $PATH"),
        ("content/b.pandoc", "---\ntitle: b\n---\nhello\n", "not found in $PATH"),
    ];
    // Versions from 0.147 on don't have the function any more.
    if Site::new(&[(index, "{{ getJSON }}")])
        .is_some_and(|site| !site.built().output.contains("\"getJSON\" not defined"))
    {
        cases.push((index, json.as_str(), "security.http"));
    }
    for (path, text, policy) in cases {
        let Some(site) = Site::new(&[(path, text)]) else { return };
        let built = site.built();
        // Hugo goes on without pandoc.
        let is_refused = !built.ok || path.ends_with(".pandoc");
        assert!(is_refused && built.output.contains(policy), "{path} {text}: {}", built.output);
        assert!(listener.accept().is_err(), "{text} has asked a server");
    }
}

#[test]
fn a_build_without_an_end_is_ended() {
    let template =
        "{{ range seq 2000 }}{{ range seq 2000 }}{{ range seq 2000 }}{{ $x := . }}{{ end }}{{ end }}{{ end }}";
    let Some(site) = Site::new(&[("layouts/index.html", template)]) else { return };
    let built = site.build(Duration::from_millis(1500), 1 << 30).unwrap();
    assert!(!built.ok && built.ended.unwrap().contains("longer than"));
}

#[test]
fn a_build_that_needs_too_much_memory_is_ended() {
    let at_once = "{{ $x := strings.Repeat 4000000000 \"x\" }}{{ len $x }}";
    let bit_by_bit = "{{ $s := newScratch }}{{ range seq 4000 }}{{ $s.Add \"a\" (slice (strings.Repeat 1000000 (printf \"%d\" .))) }}{{ end }}";
    for template in [at_once, bit_by_bit] {
        let Some(site) = Site::new(&[("layouts/index.html", template)]) else { return };
        let built = site.build(Duration::from_secs(60), 1 << 30).unwrap();
        assert_eq!(built, BuiltSite::ended("the build needs more than 2048 MiB of memory".into()));
    }
}

#[test]
fn a_build_that_is_stopped_ends_as_cancelled() {
    let template =
        "{{ range seq 2000 }}{{ range seq 2000 }}{{ range seq 2000 }}{{ $x := . }}{{ end }}{{ end }}{{ end }}";
    let Some(site) = Site::new(&[("layouts/index.html", template)]) else { return };
    let program = test_hugo().unwrap();
    let top = site.top();
    let scratch = site.scratch();
    for is_stopped_before in [true, false] {
        let stop = StopFlag::default();
        let limit = Duration::from_secs(60);
        let order = SiteBuildOrder { program, site: &top, scratch: &scratch, limit, max_bytes: 1 << 30, stop: &stop };
        let outcome = std::thread::scope(|scope| {
            if is_stopped_before {
                stop.set();
            }
            let building = scope.spawn(|| build(&order));
            // It is stopped wherever it is after its beginning.
            while !is_stopped_before && !scratch.join("public").is_dir() {
                std::thread::yield_now();
            }
            stop.set();
            building.join().unwrap()
        });
        assert_eq!(outcome.unwrap_err().code, "CANCELLED");
    }
}

#[test]
fn a_build_that_prints_without_end_is_ended() {
    let template = "{{ range seq 2000 }}{{ $n := . }}{{ range seq 2000 }}{{ warnf \"%d %d %s\" $n . (strings.Repeat 2000 \"x\") }}{{ end }}{{ end }}";
    let Some(site) = Site::new(&[("layouts/index.html", template)]) else { return };
    let built = site.build(Duration::from_secs(60), 1 << 30).unwrap();
    assert!(!built.ok && built.ended.as_deref() == Some("the build printed too much"), "{:?}", built.ended);
}

#[test]
fn a_site_that_is_too_large_or_becomes_so_is_not_built() {
    let pages = "{{ range seq 2000 }}{{ $a := resources.FromString (printf \"%d.txt\" .) (strings.Repeat 20000 \"x\") }}{{ $a.Permalink }}{{ end }}";
    let Some(becomes) = Site::new(&[("layouts/index.html", pages)]) else { return };
    let built = becomes.build(Duration::from_secs(60), 4 << 20).unwrap();
    assert!(!built.ok && built.ended.is_some_and(|why| why.contains("larger than 4 MiB")));
    let one_file = "{{ strings.Repeat 20000000 \"x\" }}";
    let Some(file) = Site::new(&[("layouts/index.html", one_file)]) else { return };
    assert!(!file.build(Duration::from_secs(60), 4 << 20).unwrap().ok);
    let Some(is) = Site::new(&[("static/x.bin", &"x".repeat(5 << 20))]) else { return };
    let built = is.build(Duration::from_secs(60), 4 << 20).unwrap();
    assert!(!built.ok && built.ended.is_some_and(|why| why.contains("larger than 4 MiB")));
}

#[test]
fn faults_name_files_of_the_site_alone() {
    let Some(site) = Site::new(&[("content/a.md", "---\ntitle: A\n---\n{{< no-such >}}\n")]) else { return };
    let built = site.built();
    assert!(!built.ok && built.output.contains("content/a.md"), "{}", built.output);
    assert!(!built.output.contains(site.0.path().to_str().unwrap()), "{}", built.output);
}

#[test]
fn no_line_of_the_output_has_a_clock() {
    for (line, shown) in [
        ("ERROR 2023/05/01 12:00:00 render of \"page\" failed", "ERROR render of \"page\" failed"),
        ("WARN 2023/05/01 12:00:00 found no layout", "WARN found no layout"),
        ("2023/05/01 12:00:00 Total", "Total"),
        ("ERROR render of 2023/05/01 12:00:00 failed", "ERROR render of 2023/05/01 12:00:00 failed"),
        ("ERROR 2023/05/01 ä", "ERROR 2023/05/01 ä"),
        ("", ""),
    ] {
        assert_eq!(without_clock(line), shown);
    }
    // A Hugo of that time.
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("hugo");
    let site = dir.path().join("site");
    let scratch = dir.path().join("scratch");
    fs::create_dir(&site).unwrap();
    fs::write(&program, "#!/bin/sh\necho 'Start building sites'\necho 'ERROR 2023/05/01 12:00:00 why'\nexit 255\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let limit = Duration::from_secs(60);
    let stop = StopFlag::default();
    let order =
        SiteBuildOrder { program: &program, site: &site, scratch: &scratch, limit, max_bytes: 1 << 30, stop: &stop };
    assert_eq!(build(&order).unwrap().output, "Start building sites\nERROR why\n");
}

/// A program of this text.
fn program(dir: &Path, text: &str) -> PathBuf {
    let file = dir.join("hugo");
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn a_program_counts_once_it_has_answered_as_hugo() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hugo");
    let why = |file: &Path| find(Some(file), &|| false).unwrap_err();
    assert_eq!(why(&file), "`hugo` in the section `[runs]` names no program");
    fs::write(&file, "").unwrap();
    assert_eq!(why(&file), "`hugo` in the section `[runs]` names no program");
    assert_eq!(why(dir.path()), "`hugo` in the section `[runs]` names no program");
    let version = "case $1 in version) echo 'hugo v0.80.0 linux/amd64' ;;";
    for (text, expected) in [
        ("exit 3", "fails at `hugo version`"),
        ("echo 'Hugo, the assistant'", "isn't the site generator Hugo"),
        ("echo hugo version 7", "isn't the site generator Hugo"),
        (&format!("{version} *) echo 'unknown flag' >&2; exit 255 ;; esac"), "fails at `hugo --help`"),
        (
            &format!("{version} *) echo '--source --destination --cacheDir --panicOnWarning --environment' ;; esac"),
            "is version v0.80.0, which has no option --noBuildLock",
        ),
    ] {
        let found = why(&program(dir.path(), text));
        assert!(found.contains(expected) && !found.contains(dir.path().to_str().unwrap()), "{text}: {found}");
    }
    let Some(real) = test_hugo() else { return };
    assert_eq!(find(Some(real), &|| false).as_deref(), Ok(real));
}
