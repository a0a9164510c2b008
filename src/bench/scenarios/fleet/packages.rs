//! The repositories of the fleet: packages of PyPI, npm and crates.io at fixed versions, fetched once.
//!
//! Invariants: the fetched files are not changed; a run works on copies; each copy has the project file that a bare language server needs,
//! so that both sides read the same project.

use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::{self, Corpus, Language};
use crate::process::{Scratch, run_tool};
use codeyard_cli::Failure;

/// Wheels of Python packages.
const PYTHON: [&str; 30] = [
    "flask==3.1.3", "click==8.5.1", "requests==2.34.2", "jinja2==3.1.6", "werkzeug==3.1.9", "sqlalchemy==2.1.9",
    "attrs==26.1.0", "rich==15.0.0", "httpx==0.28.1", "pydantic==2.14.3", "fastapi==0.165.0", "starlette==1.10.0",
    "django==5.2.19", "celery==5.7.0", "tornado==6.6.1", "networkx==3.6.1", "sympy==1.14.0", "pytest==9.2.0",
    "tox==4.67.15", "black==26.10.1", "pygments==2.21.0", "docutils==0.23", "sphinx==9.0.4", "babel==2.18.0",
    "paramiko==5.1.0", "boto3==1.44.5", "scrapy==2.19.0", "ansible-core==2.19.14", "poetry-core==2.5.0",
    "marshmallow==4.4.0",
];
/// Packages of npm, in JavaScript or TypeScript.
const NODE: [&str; 20] = [
    "express@5.3.0", "koa@3.3.0", "eslint@10.15.0", "webpack@5.112.2", "mocha@12.0.3", "async@3.2.6", "lodash@4.18.1",
    "commander@14.0.3", "semver@7.8.6", "ajv@8.20.0", "zod@4.6.7", "rxjs@7.8.2", "immer@11.2.10", "typeorm@1.1.1",
    "date-fns@4.4.0", "moment@2.31.0", "knex@3.3.0", "sequelize@6.37.8", "inquirer@14.2.5", "fastify@5.12.8",
];
/// Crates that carry sources in C: name, version, features.
const C: [(&str, &str, &str); 10] = [
    ("zstd-sys", "2.1.3", ""),
    ("libz-sys", "1.1.31", ""),
    ("lz4-sys", "1.11.1", ""),
    ("bzip2-sys", "0.1.13", ""),
    ("curl-sys", "0.4.91", ""),
    ("libssh2-sys", "0.3.4", ""),
    ("lzma-sys", "0.1.20", ""),
    ("libsqlite3-sys", "0.37.0", "bundled"),
    ("onig_sys", "69.9.3", ""),
    ("libgit2-sys", "0.18.8", ""),
];
/// Number of repositories.
pub(super) const REPOSITORIES: usize = PYTHON.len() + NODE.len() + C.len();
/// The folder of the fetched packages, with the version of this list.
const FOLDER: &str = "fleet-1";
const TSCONFIG: &str = r#"{"compilerOptions": {"target": "es2022", "module": "esnext", "moduleResolution": "bundler", "allowJs": true,
"types": [], "noEmit": true}, "include": ["**/*"]}"#;

const PYTHON_LANGUAGE: Language = Language { kind: "ty", endings: &["py"], id: "python" };
const TYPESCRIPT: Language = Language { kind: "typescript", endings: &["ts"], id: "typescript" };
const JAVASCRIPT: Language = Language { kind: "typescript", endings: &["js"], id: "javascript" };
const C_LANGUAGE: Language = Language { kind: "clangd", endings: &["c", "h"], id: "c" };

/// Copies of the first `count` repositories of a mixed order, so that a smaller fleet has all languages too.
pub(super) async fn fleet(count: usize, kept: &Path, scratch: &Scratch) -> Result<Vec<Corpus>, Failure> {
    let fetched = fetched(kept).await?;
    let work = scratch.folder("fleet")?;
    let mut all = Vec::new();
    for (name, source, is_c) in mixed(&fetched)?.into_iter().take(count) {
        let root = work.join(&name);
        corpus::copy_tree(&source, &root)?;
        all.push(prepared(name, root, is_c)?);
    }
    Ok(all)
}

/// The folder of the fetched packages: `python`, `node` and `c`, each with a folder for each package.
async fn fetched(kept: &Path) -> Result<PathBuf, Failure> {
    let there = kept.join(FOLDER);
    if there.is_dir() {
        return Ok(there);
    }
    eprintln!("fetching {REPOSITORIES} packages");
    let failed =
        |path: &Path, error: &std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let fresh = kept.join(format!(".{FOLDER}-{:08x}", rand::random::<u32>()));
    for folder in ["python", "node", "c/src", "wheels", "tarballs"] {
        let folder = fresh.join(folder);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    }
    let done = fetch_into(&fresh).await;
    let done = done.and_then(|()| fs::rename(&fresh, &there).map_err(|error| failed(&there, &error)));
    // Remove what remains of a failed download.
    let _ = fs::remove_dir_all(&fresh);
    done.map(|()| there)
}

async fn fetch_into(fresh: &Path) -> Result<(), Failure> {
    let mut args = vec!["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", "wheels"];
    args.extend(PYTHON);
    run_tool("python3", &args, fresh).await?;
    for wheel in corpus::files_below(&fresh.join("wheels")) {
        let target = format!("python/{}", stem(&wheel, '-'));
        run_tool("python3", &["-m", "zipfile", "-e", &wheel.to_string_lossy(), &target], fresh).await?;
    }
    let mut args = vec!["pack", "--silent", "--pack-destination", "tarballs"];
    args.extend(NODE);
    run_tool("npm", &args, fresh).await?;
    for tarball in corpus::files_below(&fresh.join("tarballs")) {
        let target = format!("node/{}", stem(&tarball, '\0').trim_end_matches(".tgz"));
        run_tool("mkdir", &[&target], fresh).await?;
        let from = tarball.to_string_lossy();
        run_tool("tar", &["xzf", &from, "--strip-components=1", "-C", &target], fresh).await?;
    }
    let c = fresh.join("c");
    let mut manifest = "[package]\nname = \"fleet\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n".to_owned();
    manifest.push_str("[dependencies]\n");
    for (name, version, features) in C {
        let features = if features.is_empty() { String::new() } else { format!("\"{features}\"") };
        manifest.push_str(&format!("{name} = {{ version = \"={version}\", features = [{features}] }}\n"));
    }
    corpus::write(&c.join("Cargo.toml"), &manifest)?;
    corpus::write(&c.join("src/lib.rs"), "")?;
    run_tool("cargo", &["vendor", "--quiet", "vendor"], &c).await
}

/// The file name up to `end`.
fn stem(path: &Path, end: char) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(end).next().unwrap_or_default().to_owned()
}

/// Name, folder and whether it is one of the C packages. Three of Python, two of npm and one of C follow each other.
fn mixed(fetched: &Path) -> Result<Vec<(String, PathBuf, bool)>, Failure> {
    let folders = |below: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(fetched.join(below)).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let c = C.map(|(name, ..)| fetched.join("c/vendor").join(name));
    let mut python = folders("python").into_iter();
    let mut node = folders("node").into_iter();
    let mut c = c.into_iter().map(|folder| (folder, true));
    let mut all = Vec::new();
    for _ in 0..C.len() {
        all.extend(python.by_ref().take(3).map(|folder| (folder, false)));
        all.extend(node.by_ref().take(2).map(|folder| (folder, false)));
        all.extend(c.by_ref().take(1));
    }
    if all.len() < REPOSITORIES || all.iter().any(|(folder, _)| !folder.is_dir()) {
        let shown = fetched.display();
        return Err(Failure::new(format!("{shown} is incomplete; remove the folder, then run the benchmark again")));
    }
    let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(all.into_iter().map(|(folder, is_c)| (name(&folder), folder, is_c)).collect())
}

/// The repository in `root`, with a project file if it has none.
fn prepared(name: String, root: PathBuf, is_c: bool) -> Result<Corpus, Failure> {
    let root = root.canonicalize().map_err(|error| Failure::new(format!("cannot read {}: {error}", root.display())))?;
    let all = corpus::files_below(&root);
    let of = |language: &Language| corpus::sources(&all, language);
    let language = match is_c {
        true => C_LANGUAGE,
        false => {
            let candidates = [PYTHON_LANGUAGE, TYPESCRIPT, JAVASCRIPT];
            candidates.into_iter().max_by_key(|language| of(language).len()).unwrap_or(PYTHON_LANGUAGE)
        }
    };
    match language.kind {
        "typescript" if !root.join("tsconfig.json").exists() => corpus::write(&root.join("tsconfig.json"), TSCONFIG)?,
        "clangd" => corpus::write(&root.join("compile_commands.json"), &corpus::compile_database(&root))?,
        _ => {}
    }
    Ok(Corpus { name, files: of(&language), root, language })
}
