//! Help, exit codes, documents: what costs no server.

use std::fs;

use crate::cli::harness::{Sandbox, run};

const COMMANDS: [&str; 14] = [
    "index", "search", "outline", "serve", "stdio", "quickstart", "call", "servers", "doctor", "config", "token",
    "permissions", "completions", "man",
];

#[test]
fn every_help_text_has_examples() {
    let sandbox = Sandbox::new();
    let overview = sandbox.run(&["--help"]).code(0).stdout;
    for command in COMMANDS {
        assert!(overview.contains(command), "{command}");
        let help = sandbox.run(&[command, "--help"]).code(0).stdout;
        assert!(help.contains("Usage: codeyard"), "{help}");
        let teaches = help.contains("Example") || help.contains("Commands:");
        assert!(teaches, "{command}: {help}");
    }
    for leaf in [["servers", "install"], ["servers", "list"], ["config", "check"], ["config", "show"], ["token", "add"]]
    {
        assert!(sandbox.run(&[leaf[0], leaf[1], "--help"]).code(0).stdout.contains("Example"), "{leaf:?}");
    }
}

#[test]
fn an_installation_for_a_path_can_be_shown_first() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("p")).expect("a folder");
    fs::write(sandbox.path("p/query.graphql"), "type A { a: Int }\n").expect("a file");
    fs::write(sandbox.path("p/.graphqlrc.json"), "{}").expect("a file");
    let folder = sandbox.path("p").display().to_string();
    let shown = sandbox.run(&["servers", "install", "--for", &folder, "--dry-run"]).code(0);
    let text = &shown.stderr;
    assert!(text.contains("npm: graphql-language-service-cli") && text.contains(" MiB"), "{text}");
    assert!(text.contains("about ") && text.contains("nothing was installed"), "{text}");
    let listed = sandbox.run(&["servers", "list", "--json"]).code(0).stdout;
    let rows: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let graphql = rows.as_array().and_then(|rows| rows.iter().find(|row| row["kind"] == "graphql")).expect("a row");
    assert_ne!(graphql["state"], "installed", "{graphql}");
}

#[test]
fn what_cannot_be_installed_is_said_first_and_nothing_is_compiled_unasked() {
    let sandbox = Sandbox::new();
    let files = ["a.s", "b.s", "a.graphql", "b.graphql", "c.graphql", "a.swift", ".graphqlrc.json", "Package.swift"];
    fs::create_dir(sandbox.path("p")).unwrap();
    files.iter().for_each(|name| fs::write(sandbox.path("p").join(name), "{}").unwrap());
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    let put = |name: &str| {
        fs::write(bin.join(name), format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", bin.join("log").display()))
            .unwrap();
        fs::set_permissions(bin.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let folder = sandbox.path("p").display().to_string();
    let install = |words: &[&str]| {
        let mut command = sandbox.command(&[&["servers", "install"][..], words].concat());
        run(command.env("PATH", &bin)).stderr
    };
    put("npm");
    let text = install(&["--for", &folder, "--dry-run"]);
    let place = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} in {text}"));
    let no_swift = "cannot be installed here: 2 files of swift: ";
    let no_asm = "cannot be installed here: 2 files of asm: asm-lsp needs cargo, which is not on the PATH";
    let plan = "for 3 files of graphql\n";
    assert!(place(&text, no_swift) < place(&text, plan) && place(&text, no_asm) < place(&text, plan), "{text}");
    put("cargo");
    let config = sandbox.configure("[[workspace]]\nname = \"p\"\nroots = [\"p\"]\n");
    for words in [&["--for", &*folder, "--dry-run"][..], &["--config", &config, "--dry-run"]] {
        let text = install(words);
        assert!(!text.contains("files of asm: "), "{text}");
        assert!(place(&text, plan) < place(&text, "compiled here: asm-lsp@"), "those with most files first: {text}");
    }
    // A script has nobody to ask.
    let text = install(&["--for", &folder]);
    assert!(
        text.contains("asm-lsp would be compiled here, for 2 files of asm; `codeyard servers install asm-lsp`"),
        "{text}"
    );
    let log = || fs::read_to_string(bin.join("log")).unwrap();
    assert!(log().contains("npm install") && !log().contains("cargo"), "{}", log());
    install(&["--for", &folder, "--yes"]);
    assert!(log().contains("cargo install"), "{}", log());
    fs::remove_file(sandbox.path("repo/a.tiny")).unwrap();
    assert!(install(&["--config", &sandbox.configured(), "--dry-run"]).contains("nothing to install"));
}

#[test]
fn errors_have_exit_codes_and_the_next_command() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&[], 2, &["Usage"]),
        (&["nonsense"], 2, &["nonsense", "--help"]),
        (&["serve"], 1, &["--root PATH", "codeyard serve --help"]),
        (&["serve", "--root", ".", "--config", "x"], 2, &["cannot be used with"]),
        (&["serve", "--config", "missing.toml"], 1, &["cannot read the configuration missing.toml", "check the path"]),
        (&["serve", "--root", ".", "--listen", "nowhere"], 1, &["nowhere", "ADDR:PORT"]),
        (&["serve", "--root", ".", "--listen", "0.0.0.0:0", "--no-auth"], 1, &["only loopback", "drop --no-auth"]),
        (&["serve", "--root", "missing"], 1, &["cannot open the workspace missing", "check the roots"]),
        (
            &["serve", "--root", ".", "--server", "nonsense", "--listen", "127.0.0.1:0"],
            2,
            &["nonsense", "servers list"],
        ),
        (&["call"], 2, &["TOOL"]),
        (&["call", "hover", "{"], 2, &["JSON", "query"]),
        (&["call", "hover", "--url", "ftp://x"], 1, &["not an endpoint", "http://127.0.0.1:3939/mcp"]),
        (&["call", "hover", "--url", "http://127.0.0.1:1/mcp"], 1, &["no server at", "codeyard serve"]),
        (&["call", "hover", "--token", "x"], 2, &["--url"]),
        (&["call", "nonsense", "--config", &config], 2, &["no tool `nonsense`", "vscode.lsp.hover"]),
        (&["call", "hover", "--config", &config, "--workspace", "x"], 3, &["no such workspace"]),
        (&["servers"], 2, &["install"]),
        (&["servers", "install"], 2, &["KIND"]),
        (&["servers", "install", "nonsense"], 3, &["codeyard servers list"]),
        (&["servers", "uninstall", "ty"], 3, &["not installed"]),
        (&["servers", "path", "nonsense"], 3, &["codeyard servers list"]),
        (&["servers", "path", "ty"], 3, &["codeyard servers install ty"]),
        (&["doctor", "missing"], 3, &["missing"]),
        (&["doctor", "--server", "nonsense"], 3, &["codeyard servers list"]),
        (&["token", "remove", "nobody"], 3, &["codeyard token list"]),
        (&["permissions"], 2, &["revoke"]),
        (&["permissions", "revoke"], 2, &["--principal"]),
        (&["permissions", "revoke", "--all", "--workspace", "x"], 2, &["cannot be used with"]),
        (&["permissions", "revoke", "--all"], 3, &["codeyard permissions list"]),
        (&["token", "add", "no good"], 1, &["printable"]),
        (&["completions", "nonsense"], 2, &["bash"]),
    ];
    for (words, code, texts) in cases {
        let ran = run(sandbox.command(words).env("PATH", "/usr/bin:/bin"));
        assert_eq!(ran.code, *code, "{words:?}: {ran:#?}");
        ran.says(texts);
        assert!(ran.stdout.is_empty(), "{words:?}: {ran:#?}");
    }
}

#[test]
fn completions_and_manual_contain_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = sandbox.run(&["completions", shell]).code(0).stdout;
        for command in COMMANDS {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
    let manual = sandbox.run(&["man"]).code(0).stdout;
    assert!(manual.contains(".TH codeyard 1"));
    assert!(COMMANDS.iter().all(|command| manual.contains(&format!("codeyard\\-{command}(1)"))), "{manual}");
    sandbox.run(&["man", "--dir", "pages"]).code(0);
    for command in COMMANDS {
        let page = fs::read_to_string(sandbox.path("repo/pages").join(format!("codeyard-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn servers_are_listed_with_install_commands() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(&["servers", "list", "--json"]).code(0).json();
    let ty = list.as_array().unwrap().iter().find(|row| row["kind"] == "ty").unwrap();
    assert_eq!(ty["languages"][0], "python");
    assert!(ty["available"] == true || ty["command"] == "codeyard servers install ty", "{ty}");
    let text = sandbox.run(&["servers", "list"]).code(0).stdout;
    assert!(text.starts_with("KIND") && text.contains("\nclangd"), "{text}");
    let config = sandbox.configured();
    let program = sandbox.run(&["servers", "path", "tiny", "--config", &config]).code(0).stdout;
    assert!(program.trim_end().ends_with("/python3"), "{program}");
    let folder = sandbox.run(&["servers", "path"]).code(0).stdout;
    assert_eq!(folder.trim_end(), sandbox.path("state/servers").display().to_string());
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_codeyard");
    #[expect(clippy::disallowed_methods, reason = "a shell makes the pipe")]
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &format!("{program} servers list | true; exit ${{PIPESTATUS[0]}}")]);
    let ran = run(shell.env("CODEYARD_STATE_DIR", sandbox.path("state")));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:#?}");
}
