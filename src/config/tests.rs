//! Tests of the configuration as a whole: defaults, errors with their places, paths, documents that must not drift.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::strict::resolve;
use super::*;
use codeyard_model::limits::{MAX_PAGE_SIZE, MAX_ROOTS};

fn source() -> Source<'static> {
    Source { file: "yard.toml", base_dir: Path::new("/etc/yard"), home: Some(Path::new("/home/ada")) }
}

fn good(text: &str) -> Config {
    parse_source(text, source()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn bad(text: &str) -> ConfigError {
    parse_source(text, source()).expect_err(text)
}

/// The default file with the settings that have no default switched on.
fn default_toml_uncommented() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest.to_owned(),
        _ => line.to_owned(),
    };
    Config::default_toml().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_default_file_equals_the_defaults() {
    assert_eq!(good(Config::default_toml()), Config::default());
    assert_eq!(good(""), Config::default());
    assert!(Config::default().validate().is_ok());
}

#[test]
fn the_default_file_has_every_key_with_a_comment() {
    let text = default_toml_uncommented();
    let config = good(&text);
    assert_eq!(config.workspaces.len(), 1);
    assert_eq!(config.default_name().map(|name| name.as_str()), Some("shop"));
    let table: toml::Table = text.parse().expect("parsed above");
    let (mut wanted, mut found) = (BTreeSet::new(), BTreeSet::new());
    schema_keys(&Config::json_schema(), &Config::json_schema(), "", &mut wanted);
    table_keys(&toml::Value::Table(table), "", &mut found);
    let missing: Vec<_> = wanted.difference(&found).collect();
    // Inside a workspace these stand for the whole table, which is explained further up.
    let explained = |key: &&&String| key.starts_with("workspace.limits.");
    assert_eq!(missing.iter().filter(|key| !explained(key)).collect::<Vec<_>>(), Vec::<&&String>::new());
    let lines: Vec<&str> = Config::default_toml().lines().collect();
    for (before, line) in lines.iter().zip(&lines[1..]) {
        let setting = line.contains(" = ") && !line.starts_with("# ") || line.starts_with('[');
        let below_header = before.starts_with("#[");
        assert!(!setting || below_header || before.starts_with("# "), "no comment above `{line}`");
    }
}

fn schema_keys(root: &Value, schema: &Value, path: &str, keys: &mut BTreeSet<String>) {
    let schema = resolve(root, schema);
    if let Some(items) = schema.get("items") {
        return schema_keys(root, items, path, keys);
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let here = locate::join(path, key);
        schema_keys(root, inner, &here, keys);
        keys.insert(here);
    }
}

fn table_keys(value: &toml::Value, path: &str, keys: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, inner) in table {
                let here = locate::join(path, key);
                table_keys(inner, &here, keys);
                keys.insert(here);
            }
        }
        toml::Value::Array(items) => items.iter().for_each(|item| table_keys(item, path, keys)),
        _ => {}
    }
}

const WS: &str = "[[workspace]]\nname = \"a\"\nroots = [\"r\"]\n";

#[test]
fn errors_name_place_key_problem_and_remedy() {
    let with = |more: &str| format!("{WS}{more}");
    let many_roots = with(&format!("extra_roots = [{}]", "\"x\",".repeat(MAX_ROOTS)));
    let table = [
        ("a = = 1", "yard.toml:1:5: not TOML: "),
        ("a = 1\na = 2", "yard.toml:2:1: not TOML: duplicate key"),
        ("[server]\nlistne = \"x\"", "yard.toml:2:1: server.listne: unknown key; did you mean `listen`?"),
        ("[server]\nno-auth = true", "yard.toml:2:1: server.no-auth: unknown key; did you mean `no_auth`?"),
        ("workspaces = []", "yard.toml:1:1: workspaces: unknown key; did you mean `workspace`?"),
        ("[log]\ncolour = 1", "yard.toml:2:1: log.colour: unknown key; known keys here are filter, format, level"),
        (
            &with("limits = { page = 1, max_page_sice = 2 }"),
            "yard.toml:4:22: workspace[0].limits.max_page_sice: unknown key; did you mean `max_page_size`?",
        ),
        ("[server]\nlisten = 3939", "yard.toml:2:10: server.listen: invalid type: integer `3939`, expected a string"),
        (
            "[server]\nlisten = \"localhost\"",
            "yard.toml:2:1: server.listen: `localhost` is no address with a port; write it like 127.0.0.1:3939",
        ),
        (
            "[server]\nlisten = \"0.0.0.0:1\"\nno_auth = true",
            "yard.toml:3:1: server.no_auth: no token is asked for, but 0.0.0.0:1 is not a loopback address; ",
        ),
        (
            "[server]\nallowed_hosts = [\"ok:80\", \"*.x\"]",
            "yard.toml:2:27: server.allowed_hosts[1]: `*.x` is no host name; ",
        ),
        (
            "[server]\nallowed_origins = [\"https://a/b\"]",
            "yard.toml:2:20: server.allowed_origins[0]: `https://a/b` is no web origin; ",
        ),
        (
            "[diagnostics]\nsweep = \"some\"",
            "yard.toml:2:9: diagnostics.sweep: unknown variant `some`, expected one of `off`, `open`, `all`",
        ),
        (
            "[permission]\nlsp = \"maybe\"",
            "yard.toml:2:7: permission.lsp: unknown variant `maybe`, expected one of `allow`, `ask`, `deny`",
        ),
        ("[permission]\nlaunch = \"ask\"", "yard.toml:2:1: permission.launch: unknown key; "),
        (
            "[permission.principals.\"a b\"]\nlsp = \"deny\"",
            "yard.toml:1:24: permission.principals.\"a b\": is no principal's name; ",
        ),
        (
            &with("permission = { principals = { ci = { lps = \"ask\" } } }"),
            "yard.toml:4:38: workspace[0].permission.principals.ci.lps: unknown field `lps`, expected `lsp`",
        ),
        ("[index]\nthreads = 65", "yard.toml:2:1: index.threads: is 65; give at most 64"),
        ("[index]\nmax_file_bytes = 0", "yard.toml:2:1: index.max_file_bytes: is 0; give at least 1"),
        ("[index]\nfolder = 1", "yard.toml:2:1: index.folder: unknown key; "),
        (
            "[query]\nfreshness_policy = \"lax\"",
            "yard.toml:2:20: query.freshness_policy: unknown variant `lax`, expected one of `strict`, `balanced`, `best_effort`",
        ),
        ("[query]\npayload_bytes = 10", "yard.toml:2:1: query.payload_bytes: is 10; give at least 1024"),
        ("[ranking]\nbm25 = -1.0", "yard.toml:2:1: ranking.bm25: is no weight; give a number between 0 and 100"),
        ("[warmset]\ncapacity = 65", "yard.toml:2:1: warmset.capacity: is 65; give at most 64"),
        (
            "[debug]\nranking_reason = true",
            "yard.toml:2:1: debug.ranking_reason: unknown key; did you mean `ranking_reasons`?",
        ),
        ("[supervision]\nhang_s = 0", "yard.toml:2:1: supervision.hang_s: is 0; give at least 1"),
        (
            "[supervision]\nbackoff_max_ms = 7",
            "yard.toml:2:1: supervision.backoff_max_ms: 7 is less than backoff_initial_ms, which is 500; ",
        ),
        ("[limits]\nmax_page_size = -1", "yard.toml:2:17: limits.max_page_size: invalid value: integer `-1`"),
        (
            "default_workspace = \"b\"",
            "yard.toml:1:1: default_workspace: there is no workspace `b`; add a [[workspace]] of this name",
        ),
        (
            &format!("default_workspace = \"b\"\n{WS}"),
            "yard.toml:1:1: default_workspace: there is no workspace `b`; name one of a",
        ),
        (
            "[[workspace]]\nname = \"A b\"\nroots = []",
            "yard.toml:2:8: workspace[0].name: `A b` is no workspace name: 1 to 64 of ",
        ),
        ("[[workspace]]\nname = \"a\"", "yard.toml:1:1: workspace[0]: missing field `roots`; add it"),
        (
            "[[workspace]]\nname = \"a\"\nroots = []",
            "yard.toml:3:1: workspace[0].roots: no roots; name at least one folder",
        ),
        (
            "[[workspace]]\nname = \"a\"\nroots = [\"é\", \"\"]",
            "yard.toml:3:15: workspace[0].roots[1]: an empty path; ",
        ),
        (
            &format!("{WS}\n{WS}"),
            "yard.toml:6:1: workspace[1].name: a second workspace named `a`; give each its own name",
        ),
        (&many_roots, "yard.toml:3:1: workspace[0].roots: 65 roots and extra roots; have at most 64"),
        (&with("tenant = \"x\""), "yard.toml:4:10: workspace[0].tenant: there is no tenant `x`, only `default`"),
        (&with("prewarm = 3"), "yard.toml:4:11: workspace[0].prewarm: expected true, false or a list of server kinds"),
        (
            &with("env = { \"A=B\" = \"\" }"),
            "yard.toml:4:9: workspace[0].env.\"A=B\": no name of an environment variable; ",
        ),
        (
            &with("settings = { ty = 1 }"),
            "yard.toml:4:14: workspace[0].settings.ty: settings of a server are a table; ",
        ),
        (
            &with("servers = { prefer = [\"ty\"], disable = [\"ty\"] }"),
            "yard.toml:4:13: workspace[0].servers.prefer: `ty` is preferred and disabled; ",
        ),
        (
            &with("prewarm = [\"ty\"]\nservers = { disable = [\"ty\"] }"),
            "yard.toml:4:1: workspace[0].prewarm: `ty` is prewarmed and disabled; ",
        ),
        ("[servers]\nty = 1", "yard.toml:2:1: servers.ty: is no table; write a table [servers.NAME]"),
    ];
    for (text, wanted) in table {
        let error = bad(text).to_string();
        assert!(error.starts_with(wanted), "\n got {error}\nwant {wanted}\n{text}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn paths_count_from_the_file_and_the_home() {
    let text = "[[workspace]]\nname = \"a\"\nroots = [\".\", \"./x/../y\", \"~/s\", \"~\", \"/abs/\", \"$HOME\", \"~bob\"]\nextra_roots = [\"e\"]";
    let config = good(text);
    let wanted =
        ["/etc/yard", "/etc/yard/x/../y", "/home/ada/s", "/home/ada", "/abs", "/etc/yard/$HOME", "/etc/yard/~bob"];
    assert_eq!(config.workspaces[0].roots, wanted.map(PathBuf::from));
    assert_eq!(config.workspaces[0].extra_roots, [PathBuf::from("/etc/yard/e")]);
    let homeless = parse(text, Path::new("/etc/yard")).expect_err("no home is known");
    assert_eq!(homeless.key, "workspace[0].roots[2]");
}

#[test]
fn limits_only_tighten() {
    let text = format!(
        "[limits]\nmax_page_size = 50\nrequest_timeout_ms = 99999\n{WS}limits = {{ max_page_size = 80, max_items_nonpaged = 10 }}\n{}",
        WS.replace("\"a\"", "\"b\"")
    );
    let config = good(&text);
    assert_eq!(config.limits.request_timeout_ms, 2_000);
    let (own, common) = (config.limits_of(&config.workspaces[0]), config.limits_of(&config.workspaces[1]));
    assert_eq!((own.max_page_size, own.max_items_nonpaged), (50, 10));
    assert_eq!((common.max_page_size, common.max_items_nonpaged), (50, 200));
    let wide = good("[limits]\nmax_page_size = 100000");
    assert_eq!(wide.limits.max_page_size, MAX_PAGE_SIZE);
}

#[test]
fn permissions_come_from_the_nearest_that_says_something() {
    let text = format!(
        "[permission]\nlsp = \"ask\"\n[permission.principals.ci]\nlsp = \"deny\"\n{WS}permission = {{ principals = {{ bob = {{ lsp = \"allow\" }} }} }}\n{}permission = {{ lsp = \"deny\" }}",
        WS.replace("\"a\"", "\"b\"")
    );
    let config = good(&text);
    let rule = |at: usize, who: &str| {
        let section = config.permission_of(&config.workspaces[at]);
        section.rule(LSP, &codeyard_base::ids::PrincipalId::new(who))
    };
    use PermissionRule::{Allow, Ask, Deny};
    assert_eq!([rule(0, "ci"), rule(0, "bob"), rule(0, "ann")], [Deny, Allow, Ask]);
    assert_eq!([rule(1, "ci"), rule(1, "bob"), rule(1, "ann")], [Deny; 3]);
    let shown = config.show();
    assert!(
        shown.contains("[workspace.permission.principals.bob]") || shown.contains("permission.principals.bob"),
        "{shown}"
    );
    let odd = good(&text.replace("bob", "api-key").replace(".ci]", ".ci-token]"));
    for shown in [odd.show(), odd.workspaces[0].shown().to_string()] {
        assert!(!shown.contains("hidden") && shown.contains("api-key"), "a name is no secret: {shown}");
    }
    let again = parse_source(&shown, source()).expect("what is shown is a configuration");
    assert_eq!(again.permission_of(&again.workspaces[0]), config.permission_of(&config.workspaces[0]));
    let mut retuned = config.clone();
    retuned.permission.lsp = Some(Allow);
    let change = |at: usize| {
        WorkspaceChange::Changed(config.workspaces[at].name.clone(), Changed { policy: true, ..Changed::default() })
    };
    assert_eq!(diff(&config, &retuned), [change(0)], "the other one says it itself");
}

#[test]
fn folders_become_workspaces() {
    let roots = ["/src/My Shop", "/old/my-shop", "/src/My Shop/", "/", "/x/my-shop-2", "/y/my-shop"];
    let config = Config::from_roots(&roots.map(PathBuf::from));
    let names: Vec<&str> = config.workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(names, ["my-shop", "my-shop-2", "root", "my-shop-2-2", "my-shop-3"]);
    assert_eq!(config.default_name().map(|name| name.as_str()), Some("my-shop"));
    assert!(config.validate().is_ok());
    let long = PathBuf::from(format!("/a/{}", "n".repeat(70)));
    let twice = Config::from_roots(&[long.clone(), Path::new("/b").join(long.file_name().expect("it has one"))]);
    assert_eq!(twice.workspaces[1].name.as_str(), format!("{}-2", "n".repeat(62)));
    assert_eq!(Config::from_roots(&[]), Config::default());
}

#[test]
fn what_is_shown_is_whole_but_for_secrets() {
    let text = format!(
        "[servers.ty]\nenv = {{ X = \"s3cret\" }}\ncommand = [\"ty\"]\n{WS}env = {{ DB_URL = \"s3cret\" }}\nsettings = {{ x = {{ licenceKey = \"s3cret\", list = [{{ api_token = \"s3cret\", on = true }}] }} }}"
    );
    let config = good(&text);
    let shown = config.show();
    assert!(!shown.contains("s3cret"), "{shown}");
    let again = parse_source(&shown, source()).expect("what is shown is a configuration");
    assert_eq!(again.workspaces[0].roots, config.workspaces[0].roots);
    assert_eq!(again.workspaces[0].limits, Some(config.limits.clone()));
    assert_eq!(again.workspaces[0].settings["x"]["list"][0]["on"], Value::Bool(true));
    assert_eq!(again.servers["ty"]["command"], config.servers["ty"]["command"]);
    assert_eq!(again.server, config.server);
}

#[test]
fn a_reload_reports_what_changed() {
    let ws = |name: &str| WS.replace("\"a\"", &format!("\"{name}\""));
    let old = good(&format!("{}{}{}{}{}", ws("a"), ws("b"), ws("c"), ws("d"), ws("e")));
    let new = good(&format!(
        "[server]\nlisten = \"127.0.0.1:1\"\n{}{}extra_roots = [\"x\"]\n{}env = {{ A = \"1\" }}\n{}limits = {{ max_page_size = 1 }}\n{}",
        ws("f"),
        ws("b"),
        ws("c"),
        ws("d"),
        ws("e")
    ));
    let name = |text: &str| WorkspaceName::new(text).expect("a name");
    let changed =
        |text, roots, servers, policy| WorkspaceChange::Changed(name(text), Changed { roots, servers, policy });
    let wanted = [
        WorkspaceChange::Removed(name("a")),
        WorkspaceChange::Added(name("f")),
        changed("b", true, false, false),
        changed("c", false, true, false),
        changed("d", false, false, true),
    ];
    assert_eq!(diff(&old, &new), wanted);
    assert_eq!(diff(&new, &new), []);
    assert_eq!(needs_restart(&old, &new), ["server.listen"]);
    let registry = good(&format!("[servers.ty]\ndisabled = true\n{}", ws("a")));
    assert_eq!(diff(&good(&ws("a")), &registry), [changed("a", false, true, false)]);
    for code in [
        "[index]\nauto = false",
        "[query]\npayload_bytes = 2000",
        "[ranking]\nbm25 = 1.0",
        "[debug]\nranking_reasons = true",
    ] {
        let after = good(&format!("{code}\n{}", ws("a")));
        assert_eq!(diff(&good(&ws("a")), &after), [changed("a", false, false, true)], "{code}");
    }
}

/// A file of the project must equal `wanted`; with `UPDATE_DOCS=1` it is written.
fn check_file(path: &str, wanted: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("the file can be written");
    }
    let found = fs::read_to_string(&path).expect("the file can be read");
    assert!(found == wanted, "{} is out of date; run with UPDATE_DOCS=1", path.display());
}

#[test]
fn the_schema_file_is_that_of_the_code() {
    let text = serde_json::to_string_pretty(&Config::json_schema()).expect("a schema is JSON");
    check_file("schemas/config.json", &format!("{text}\n"));
}

#[test]
fn the_schema_agrees_with_the_parser() {
    let validator = jsonschema::validator_for(&Config::json_schema()).expect("a valid schema");
    for text in [default_toml_uncommented(), Config::default_toml().to_owned(), WS.to_owned()] {
        let table: Value = toml::from_str(&text).expect("TOML");
        assert!(
            validator.is_valid(&table),
            "{:?}",
            validator.iter_errors(&table).map(|e| e.to_string()).collect::<Vec<_>>()
        );
    }
    for text in ["a = 1", "[server]\nlisten = 1", "[[workspace]]\nname = \"A\"\nroots = []", "[servers]\nx = 1"] {
        assert!(!validator.is_valid(&toml::from_str::<Value>(text).expect("TOML")), "{text}");
        bad(text);
    }
}

#[test]
fn the_documented_keys_are_those_of_the_code() {
    let path = "docs/configuration.md";
    let text =
        fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)).expect("the document");
    let (head, rest) = text.split_once("<!-- keys: begin -->").expect("a begin mark");
    let (_, tail) = rest.split_once("<!-- keys: end -->").expect("an end mark");
    check_file(path, &format!("{head}<!-- keys: begin -->\n{}<!-- keys: end -->{tail}", Config::reference()));
    let example = head.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).expect("an example").0;
    assert_eq!(good(example).workspaces.len(), 2);
}
