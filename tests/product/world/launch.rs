//! Launch runs of real libraries of three platforms, and their pages as a browser gets them: built by Hugo, each link followed in the HTML.
//!
//! The pages stay in the build folder, with pictures of them where Chromium is installed, so that a person can look at them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::running_server::Yard;
use crate::world::parts::{command, crate_sources, npm_sources, python_sources};
use crate::world::program::{run, run_well};

use codeyard_test_support::git;
use codeyard_test_support::hugo;

/// A library, and what its pages must show.
struct Library {
    name: &'static str,
    version: &'static str,
    platform: &'static str,
    sources: fn(&str, &str) -> PathBuf,
    /// The command that installs it.
    install: &'static str,
    names: [&'static str; 3],
    /// What a doc comment says.
    sentence: &'static str,
}

const LIBRARIES: [Library; 3] = [
    Library {
        name: "bytes",
        version: "1.11.0",
        platform: "rust",
        sources: crate_sources,
        install: "cargo add bytes",
        names: ["BytesMut", "split_off", "try_into_mut"],
        sentence: "A cheaply cloneable and sliceable chunk of contiguous memory.",
    },
    Library {
        name: "click",
        version: "8.3.1",
        platform: "python",
        sources: python_sources,
        install: "pip install click",
        names: ["CliRunner", "make_context", "pass_context"],
        sentence: "Marks a callback as wanting to receive the current context",
    },
    Library {
        name: "zod",
        version: "4.1.12",
        platform: "typescript",
        sources: npm_sources,
        install: "npm install zod",
        names: ["ZodObject", "safeParse", "discriminatedUnion"],
        sentence: "Zod",
    },
];

#[test]
#[ignore = "fetches packages"]
fn a_rust_library() {
    pages_of(&LIBRARIES[0]);
}

#[test]
#[ignore = "fetches packages"]
fn a_python_library() {
    pages_of(&LIBRARIES[1]);
}

#[test]
#[ignore = "fetches packages"]
fn a_typescript_library() {
    pages_of(&LIBRARIES[2]);
}

fn pages_of(library: &Library) {
    let dir = tempfile::tempdir().expect("a folder");
    let top = dir.path().canonicalize().expect("a folder");
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/launch/site");
    for (name, from) in [("library", (library.sources)(library.name, library.version)), ("site", site)] {
        let to = top.join(name);
        run_well(command("cp").arg("-r").arg(&from).arg(&to));
        git::git(&to, &["init", "--quiet", "--initial-branch=main"]);
        git::git(&to, &["add", "--all", "--force"]);
        git::git(&to, &["commit", "--quiet", "--date=2026-01-20T10:00:00Z", "-m", "first"]);
    }
    let hugo = hugo::test_hugo().expect("Hugo");
    let yard = Yard::serve(&format!(
        "[[workspace]]\nname = \"lib\"\nroots = [{:?}]\n[runs]\nsources = [{top:?}]\nhugo = {hugo:?}\n",
        top.join("library")
    ));
    let mut client = yard.client("lib/launch");
    let mut call = |tool: &str, arguments: &Value| -> Value {
        let response: Value = serde_json::from_str(&client.call_text(tool, arguments)).expect("JSON");
        let object = response["result"]["structuredContent"].clone();
        assert_eq!(object["ok"], true, "{tool}: {response}");
        object
    };
    let config = json!({
        "schema_version": "1.0", "product_slug": library.name, "product_name": library.name, "family": "tex",
        "target_platform": library.platform, "github_repo_url": top.join("library"), "github_ref": "main",
        "required_sections": ["products", "docs", "reference", "kb", "blog"], "allowed_paths": ["content/**"],
        "site": {"repo_url": top.join("site"), "ref": "main", "kind": "hugo"},
        "budgets": {"max_files_changed": 1000},
    });
    let run = json!({"run_id": call("launch_start_run", &json!({"run_config": config}))["run_id"]});
    let status = call("launch_resume", &run)["status"].clone();
    assert_eq!((&status["state"], &status["open_issues"]), (&json!("READY_FOR_PR"), &json!([])), "{status}");
    let published = call("launch_open_pr", &run);
    yard.stop();

    let branch = published["branch"].as_str().expect("a branch");
    git::git(&top.join("site"), &["switch", "--quiet", branch]);
    let html = kept_folder(library.name);
    run_well(command(hugo).arg("--source").arg(top.join("site")).arg("--destination").arg(&html).arg("--quiet"));
    let pages = html_files(&html);
    let is_own = |page: &Path| page.strip_prefix(&html).is_ok_and(|page| page.iter().any(|part| part == library.name));
    let own: Vec<&PathBuf> = pages.iter().filter(|page| is_own(page)).collect();
    let text = |page: &Path| fs::read_to_string(page).expect("a page");
    let all: String = own.iter().map(|page| text(page)).collect();
    for wanted in library.names.iter().chain([&library.sentence, &library.install, &library.version]) {
        assert!(all.contains(wanted), "no page has {wanted:?}; look at {}", html.display());
    }
    for page in &own {
        let text = text(page);
        check_links(&html, page, &text);
        let prose = without_code(&text);
        for leftover in ["](", "```", "{{", "[[claim", "TODO"] {
            assert!(!prose.contains(leftover), "{} has {leftover:?} in its prose", page.display());
        }
    }
    println!("{}: {} pages in {}", library.name, own.len(), html.display());
    let section = |name: &str| own.iter().find(|page| page.starts_with(html.join(name))).map(|page| page.as_path());
    let shown = ["products", "docs", "reference", "kb", "blog"].into_iter().filter_map(section);
    pictures(&html, &shown.collect::<Vec<_>>());
}

/// The folder in the build folder whose files stay until the next time.
fn kept_folder(name: &str) -> PathBuf {
    let target = codeyard_test_support::real_servers::build_folder();
    let folder = target.join("codeyard-world/launch-pages").join(name);
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("the build folder can be written");
    folder
}

fn html_files(top: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "html") {
                files.insert(path);
            }
        }
    }
    files
}

/// Each link of the HTML to the site itself leads to a file, and each anchor to an element of that file.
fn check_links(top: &Path, page: &Path, text: &str) {
    for quoted in text.split("href=").skip(1) {
        let target = match quoted.strip_prefix('"') {
            Some(rest) => rest.split('"').next().unwrap_or_default(),
            None => quoted.split([' ', '>']).next().unwrap_or_default(),
        };
        let target = target.strip_prefix("https://docs.example.org").unwrap_or(target);
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = match path {
            "" => page.to_owned(),
            path if path.starts_with('/') => top.join(path.trim_start_matches('/')),
            path => page.parent().expect("a folder").join(path),
        };
        let file = if file.is_dir() { file.join("index.html") } else { file };
        let found = fs::read_to_string(&file).ok();
        assert!(found.is_some() || file.is_file(), "{}: {target:?} leads nowhere", page.display());
        let has_anchor =
            |text: &str| text.contains(&format!("id=\"{anchor}\"")) || text.contains(&format!("id={anchor}"));
        assert!(
            anchor.is_empty() || found.is_some_and(|text| has_anchor(&text)),
            "{}: {target:?} leads to no element",
            page.display()
        );
    }
}

/// The HTML without its code.
fn without_code(text: &str) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("<code") {
        prose.push_str(&rest[..at]);
        rest = rest[at..].split_once("</code>").map_or("", |(_, after)| after);
    }
    prose.push_str(rest);
    prose
}

/// Pictures of pages beside the HTML, if there is a browser.
fn pictures(top: &Path, pages: &[&Path]) {
    let has_browser = command("chromium").arg("--version").output().is_ok();
    if !has_browser {
        codeyard_test_support::parts::skip("chromium", "there is none; apt-get install chromium");
        return;
    }
    let profile = tempfile::tempdir().expect("a folder");
    for page in pages {
        let section = page.strip_prefix(top).expect("a page").iter().next().expect("a section");
        let picture = top.join(section).with_extension("png");
        let mut browser = command("chromium");
        browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]);
        browser.args(["--disable-background-networking", "--disable-sync", "--allow-file-access-from-files"]);
        browser.arg(format!("--user-data-dir={}", profile.path().display())).arg("--window-size=1100,1600");
        let _ =
            run(browser.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display())));
        println!("{}", picture.display());
    }
}
