//! Tests of the configuration as a whole: defaults, errors with their positions, paths, and documents that must equal the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::unknown_keys::resolve;
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

/// The default file, with the settings that have no default uncommented.
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
    let mut wanted = BTreeSet::new();
    let mut found = BTreeSet::new();
    schema_keys(&Config::json_schema(), &Config::json_schema(), "", &mut wanted);
    table_keys(&toml::Value::Table(table), "", &mut found);
    let missing: Vec<_> = wanted.difference(&found).collect();
    // The section `[limits]` explains the first keys; those of a pattern that `[[workspace]]` has too are explained there.
    let explained = |key: &&&String| {
        let own = key.strip_prefix("workspaces_from.").map(|rest| format!("workspace.{rest}"));
        key.starts_with("workspace.limits.") || own.is_some_and(|own| wanted.contains(&own) && own != "workspace.roots")
    };
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
fn errors_name_position_key_problem_and_remedy() {
    let with = |more: &str| format!("{WS}{more}");
    let many_roots = with(&format!("extra_roots = [{}]", "\"x\",".repeat(MAX_ROOTS)));
    let table = [
        ("a = = 1", "yard.toml:1:5: the file is not valid TOML: "),
        ("a = 1\na = 2", "yard.toml:2:1: the file is not valid TOML: duplicate key"),
        ("[server]\nlistne = \"x\"", "yard.toml:2:1: server.listne: unknown key; did you mean `listen`?"),
        ("[server]\nno-auth = true", "yard.toml:2:1: server.no-auth: unknown key; did you mean `no_auth`?"),
        ("workspaces = []", "yard.toml:1:1: workspaces: unknown key; did you mean `workspace`?"),
        (
            "[log]\ncolour = 1",
            "yard.toml:2:1: log.colour: unknown key; remove it, or use a known key: filter, format, level",
        ),
        (
            &with("limits = { page = 1, max_page_sice = 2 }"),
            "yard.toml:4:22: workspace[0].limits.max_page_sice: unknown key; did you mean `max_page_size`?",
        ),
        (
            "[server]\nlisten = 3939",
            "yard.toml:2:10: server.listen: invalid type: integer `3939`, expected a string; correct the value; ",
        ),
        (
            "[server]\nlisten = \"localhost\"",
            "yard.toml:2:1: server.listen: `localhost` is not an IP address with a port; write it as 127.0.0.1:3939",
        ),
        (
            "[server]\nlisten = \"0.0.0.0:1\"\nno_auth = true",
            "yard.toml:3:1: server.no_auth: calls without a token are only allowed on a loopback address, and server.listen 0.0.0.0:1 is not one; set server.no_auth to false",
        ),
        (
            "[server]\nallowed_hosts = [\"ok:80\", \"*.x\"]",
            "yard.toml:2:27: server.allowed_hosts[1]: `*.x` is not a host name; write ",
        ),
        (
            "[server]\nallowed_origins = [\"https://a/b\"]",
            "yard.toml:2:20: server.allowed_origins[0]: `https://a/b` is not a web origin; write ",
        ),
        (
            "[diagnostics]\nsweep = \"some\"",
            "yard.toml:2:9: diagnostics.sweep: unknown variant `some`, expected one of `off`, `open`, `all`; write one of these values",
        ),
        (
            "[permission]\nlsp = \"maybe\"",
            "yard.toml:2:7: permission.lsp: unknown variant `maybe`, expected one of `allow`, `ask`, `deny`; write one of these values",
        ),
        ("[permission]\nedit = \"ask\"", "yard.toml:2:1: permission.edit: unknown key; "),
        (
            "[permission.principals.\"a b\"]\nlsp = \"deny\"",
            "yard.toml:1:24: permission.principals.\"a b\": not a principal's name, which has 1 to 64 printable ASCII characters and no space; ",
        ),
        (
            &with("permission = { principals = { ci = { lps = \"ask\" } } }"),
            "yard.toml:4:38: workspace[0].permission.principals.ci.lps: unknown field `lps`, expected `lsp` or `launch`; remove the key, or correct its name",
        ),
        ("[index]\nthreads = 65", "yard.toml:2:1: index.threads: 65 is above the maximum 64; set it to 64 or less"),
        (
            "[index]\nmax_file_bytes = 0",
            "yard.toml:2:1: index.max_file_bytes: 0 is below the minimum 1; set it to 1 or more",
        ),
        ("[index]\nfolder = 1", "yard.toml:2:1: index.folder: unknown key; "),
        (
            "[query]\nfreshness_policy = \"lax\"",
            "yard.toml:2:20: query.freshness_policy: unknown variant `lax`, expected one of `strict`, `balanced`, `best_effort`",
        ),
        (
            "[query]\npayload_bytes = 10",
            "yard.toml:2:1: query.payload_bytes: 10 is below the minimum 1024; set it to 1024 or more",
        ),
        (
            "[ranking]\nbm25 = -1.0",
            "yard.toml:2:1: ranking.bm25: -1.0 is not a number from 0 to 100; set it to a number from 0 to 100",
        ),
        (
            "[ranking]\nbm25_half = nan",
            "yard.toml:2:1: ranking.bm25_half: nan is not a number from 0.001 to 1000; set it to ",
        ),
        (
            "[ranking]\nexact_match = 0.0\nqualified_name = 0.0\npath_affinity = 0.0\ndefinition = 0.0\nkind_match = 0.0\nbm25 = 0.0",
            "yard.toml:2:1: ranking.exact_match: all weights are 0, so that results would have no order; set it to ",
        ),
        (
            "[warmset]\ncapacity = 65",
            "yard.toml:2:1: warmset.capacity: 65 is above the maximum 64; set it to 64 or less",
        ),
        (
            "[debug]\nranking_reason = true",
            "yard.toml:2:1: debug.ranking_reason: unknown key; did you mean `ranking_reasons`?",
        ),
        (
            "[supervision]\nhang_s = 0",
            "yard.toml:2:1: supervision.hang_s: 0 is not allowed, because a slow server would count as hung; set it to 1 or more",
        ),
        (
            "[supervision]\nbackoff_max_ms = 7",
            "yard.toml:2:1: supervision.backoff_max_ms: 7 is less than supervision.backoff_initial_ms, which is 500; set it to 500 or more",
        ),
        ("[limits]\nmax_page_size = -1", "yard.toml:2:17: limits.max_page_size: invalid value: integer `-1`"),
        (
            "default_workspace = \"b\"",
            "yard.toml:1:1: default_workspace: no workspace has the name `b`; add a [[workspace]] with this name",
        ),
        (
            &format!("default_workspace = \"b\"\n{WS}"),
            "yard.toml:1:1: default_workspace: no workspace has the name `b`; set it to the name of a workspace: a",
        ),
        (
            "[[workspace]]\nname = \"A b\"\nroots = []",
            "yard.toml:2:8: workspace[0].name: `A b` is not a workspace name, which has 1 to 64 of ",
        ),
        ("[[workspace]]\nname = \"a\"", "yard.toml:1:1: workspace[0]: missing field `roots`; add the key"),
        (
            "[[workspace]]\nname = \"a\"\nroots = []",
            "yard.toml:3:1: workspace[0].roots: the list is empty, but a workspace needs at least one root; add the path of a folder",
        ),
        (
            "[[workspace]]\nname = \"a\"\nroots = [\"é\", \"\"]",
            "yard.toml:3:15: workspace[0].roots[1]: the path is empty; write a path",
        ),
        (
            &format!("{WS}\n{WS}"),
            "yard.toml:6:1: workspace[1].name: another workspace has the name `a` too; give each workspace its own name",
        ),
        (
            &many_roots,
            "yard.toml:3:1: workspace[0].roots: 65 roots and extra roots, but at most 64 are allowed together; remove some",
        ),
        (
            "[[workspace]]\nname = \"a/b/c\"\nroots = [\"/a\"]\n",
            "yard.toml:2:8: workspace[0].name: `a/b/c` is not a workspace name",
        ),
        (
            &with("prewarm = 3"),
            "yard.toml:4:11: workspace[0].prewarm: expected true, false or a list of server kinds; correct the value; ",
        ),
        (
            &with("env = { \"A=B\" = \"\" }"),
            "yard.toml:4:9: workspace[0].env.\"A=B\": the name of an environment variable must not be empty or contain `=` or NUL; rename the variable",
        ),
        (
            &with("settings = { ty = 1 }"),
            "yard.toml:4:14: workspace[0].settings.ty: the value is not a table; write the settings as a table [workspace.settings.ty]",
        ),
        (
            &with("servers = { prefer = [\"ty\"], disable = [\"ty\"] }"),
            "yard.toml:4:13: workspace[0].servers.prefer: `ty` is preferred, but servers.disable lists it too; remove it from ",
        ),
        (
            &with("prewarm = [\"ty\"]\nservers = { disable = [\"ty\"] }"),
            "yard.toml:4:1: workspace[0].prewarm: `ty` is prewarmed, but servers.disable lists it; remove it from ",
        ),
        (
            "[servers]\nty = 1",
            "yard.toml:2:1: servers.ty: the value is not a table; write the entry as a table [servers.ty]",
        ),
    ];
    for (text, wanted) in table {
        let error = bad(text).to_string();
        assert!(error.starts_with(wanted), "\n got {error}\nwant {wanted}\n{text}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn relative_paths_start_at_the_file_and_the_home_folder() {
    let text = "[[workspace]]\nname = \"a\"\nroots = [\".\", \"./x/../y\", \"~/s\", \"~\", \"/abs/\", \"$HOME\", \"~bob\"]\nextra_roots = [\"e\"]";
    let config = good(text);
    let wanted =
        ["/etc/yard", "/etc/yard/x/../y", "/home/ada/s", "/home/ada", "/abs", "/etc/yard/$HOME", "/etc/yard/~bob"];
    assert_eq!(config.workspaces[0].roots, wanted.map(PathBuf::from));
    assert_eq!(config.workspaces[0].extra_roots, [PathBuf::from("/etc/yard/e")]);
    let without_home = parse(text, Path::new("/etc/yard")).expect_err("the home folder is unknown");
    assert_eq!(without_home.key, "workspace[0].roots[2]");
}

#[test]
fn limits_only_tighten() {
    let text = format!(
        "[limits]\nmax_page_size = 50\nrequest_timeout_ms = 99999\n{WS}limits = {{ max_page_size = 80, max_items_nonpaged = 10 }}\n{}",
        WS.replace("\"a\"", "\"b\"")
    );
    let config = good(&text);
    assert_eq!(config.limits.request_timeout_ms, 2_000);
    let own = config.limits_of(&config.workspaces[0]);
    let common = config.limits_of(&config.workspaces[1]);
    assert_eq!((own.max_page_size, own.max_items_nonpaged), (50, 10));
    assert_eq!((common.max_page_size, common.max_items_nonpaged), (50, 200));
    let wide = good("[limits]\nmax_page_size = 100000");
    assert_eq!(wide.limits.max_page_size, MAX_PAGE_SIZE);
}

#[test]
fn the_most_specific_permission_rule_applies() {
    let text = format!(
        "[permission]\nlsp = \"ask\"\n[permission.principals.ci]\nlsp = \"deny\"\n{WS}permission = {{ principals = {{ bob = {{ lsp = \"allow\" }} }} }}\n{}permission = {{ lsp = \"deny\" }}",
        WS.replace("\"a\"", "\"b\"")
    );
    let config = good(&text);
    let rule = |at: usize, principal: &str| {
        let section = config.permission_of(&config.workspaces[at]);
        section.rule(LSP, &codeyard_base::ids::PrincipalId::new(principal))
    };
    use PermissionRule::{Allow, Ask, Deny};
    assert_eq!([rule(0, "ci"), rule(0, "bob"), rule(0, "ann")], [Deny, Allow, Ask]);
    assert_eq!([rule(1, "ci"), rule(1, "bob"), rule(1, "ann")], [Deny; 3]);
    let shown = config.show();
    assert!(
        shown.contains("[workspace.permission.principals.bob]") || shown.contains("permission.principals.bob"),
        "{shown}"
    );
    let renamed = good(&text.replace("bob", "api-key").replace(".ci]", ".ci-token]"));
    for shown in [renamed.show(), renamed.workspaces[0].shown().to_string()] {
        assert!(!shown.contains("hidden") && shown.contains("api-key"), "a principal's name is not a secret: {shown}");
    }
    let again = parse_source(&shown, source()).expect("the shown text is a valid configuration");
    assert_eq!(again.permission_of(&again.workspaces[0]), config.permission_of(&config.workspaces[0]));
    let mut retuned = config.clone();
    retuned.permission.lsp = Some(Allow);
    let change = |at: usize| {
        WorkspaceChange::Changed(
            config.workspaces[at].name.clone(),
            ChangedParts { policy: true, ..ChangedParts::default() },
        )
    };
    assert_eq!(diff(&config, &retuned), [change(0)], "the other workspace has a rule of its own");
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
    let twice =
        Config::from_roots(&[long.clone(), Path::new("/b").join(long.file_name().expect("the path has a file name"))]);
    assert_eq!(twice.workspaces[1].name.as_str(), format!("{}-2", "n".repeat(62)));
    assert_eq!(Config::from_roots(&[]), Config::default());
}

#[test]
fn names_of_sections_are_no_secrets() {
    let text = format!(
        "[groups.env]\nworkspaces = [\"a\"]\n[groups.turnkey]\nworkspaces = [\"a\"]\n[servers.env]\nenv = {{ X = \"s3cret\" }}\ncommand = [\"ty\"]\n[servers.monkey]\ncommand = [\"ty\"]\napi_key = \"s3cret\"\n{WS}settings = {{ monkey = {{ on = true, password = \"s3cret\", servers = {{ env = {{ X = \"s3cret\" }}, apikey = {{ on = \"s3cret\" }} }} }} }}"
    );
    let config = good(&text);
    let shown = config.show();
    assert!(!shown.contains("s3cret"), "{shown}");
    let again = parse_source(&shown, source()).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(again.groups, config.groups);
    assert_eq!(again.servers["monkey"]["command"], config.servers["monkey"]["command"]);
    assert_eq!(again.workspaces[0].settings["monkey"]["on"], true);
    assert_eq!(again.show(), shown);
}

#[test]
fn the_shown_configuration_is_complete_except_for_secrets() {
    let text = format!(
        "[servers.ty]\nenv = {{ X = \"s3cret\" }}\ncommand = [\"ty\"]\n{WS}env = {{ DB_URL = \"s3cret\" }}\nsettings = {{ x = {{ licenceKey = \"s3cret\", list = [{{ api_token = \"s3cret\", on = true }}] }} }}"
    );
    let config = good(&text);
    let shown = config.show();
    assert!(!shown.contains("s3cret"), "{shown}");
    let again = parse_source(&shown, source()).expect("the shown text is a valid configuration");
    assert_eq!(again.workspaces[0].roots, config.workspaces[0].roots);
    assert_eq!(again.workspaces[0].limits, Some(config.limits.clone()));
    assert_eq!(again.workspaces[0].settings["x"]["list"][0]["on"], Value::Bool(true));
    assert_eq!(again.servers["ty"]["command"], config.servers["ty"]["command"]);
    assert_eq!(again.server, config.server);
}

#[test]
fn diff_lists_changed_workspaces_and_keys_that_need_a_restart() {
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
        |text, roots, servers, policy| WorkspaceChange::Changed(name(text), ChangedParts { roots, servers, policy });
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

/// Checks that a file of the project equals `wanted`. With `UPDATE_DOCS=1`, writes it first.
fn check_file(path: &str, wanted: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("the file can be written");
    }
    let found = fs::read_to_string(&path).expect("the file can be read");
    assert!(found == wanted, "{} is out of date; run with UPDATE_DOCS=1", path.display());
}

#[test]
fn the_schema_file_matches_the_code() {
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
fn the_documented_keys_match_the_code() {
    let path = "docs/internals/reference/configuration.md";
    let text =
        fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)).expect("the document");
    let (head, rest) = text.split_once("<!-- keys: begin -->").expect("the text has a begin mark");
    let (_, tail) = rest.split_once("<!-- keys: end -->").expect("the text has an end mark");
    check_file(path, &format!("{head}<!-- keys: begin -->\n{}<!-- keys: end -->{tail}", Config::reference()));
    let example =
        head.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).expect("the text has an example").0;
    assert_eq!(good(example).workspaces.len(), 2);
}

/// The blocks of TOML in the pages of `docs/use` and `docs/operate`, and the files of `examples/deploy`. The configurations of launch
/// runs have a test of their own.
#[test]
fn the_examples_of_the_pages_are_valid() {
    let project = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut checked = 0;
    for folder in ["docs/use", "docs/operate"] {
        for page in fs::read_dir(project.join(folder)).expect("the folder").flatten() {
            let text = fs::read_to_string(page.path()).expect("a page");
            for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```")) {
                // Blocks of a list are indented; TOML allows that.
                if !block.0.contains("schema_version") {
                    good(block.0);
                    checked += 1;
                }
            }
        }
    }
    good(&fs::read_to_string(project.join("examples/deploy/codeyard.toml")).expect("the example"));
    assert!(checked > 10, "the examples weren't found");
}

#[test]
fn a_network_of_mapped_addresses_is_the_ipv4_one() {
    let text = "[probes]\nnetworks = [\"::ffff:10.1.0.0/112\", \"::ffff:192.0.2.7\", \"fd00::/8\"]\n";
    let config = good(text);
    let networks: Vec<String> = config.probes.networks().iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.1.0.0/16", "192.0.2.7/32", "fd00::/8"]);
}

#[test]
fn all_errors_of_a_file_are_named_at_once() {
    let text = "default_workspace = \"b\"\ncolour = 1\n[server]\nlisten = 3939\nno-auth = true\n[index]\nthreads = 65\nmax_file_bytes = 0\n\
                [[workspace]]\nname = \"A B\"\nroots = [\"/\"]\n[[workspace]]\nroots = [\"\"]\nname = \"b\"\nextra = 1\n\
                [[workspace]]\nname = \"c\"\nroots = 7\nlimits = { max_page_size = -1 }\n";
    let source = Source { file: "yard.toml", base_dir: Path::new("/srv"), home: None };
    let errors: Vec<String> = parse_all(text, source).errors.iter().map(ToString::to_string).collect();
    let mut starts: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    starts.sort_unstable();
    let named: Vec<String> = errors.iter().filter_map(|error| Some(error.split(": ").nth(1)?.to_owned())).collect();
    for key in [
        "colour",
        "server.listen",
        "server.no-auth",
        "index.threads",
        "index.max_file_bytes",
        "workspace[0].name",
        "workspace[1].roots[0]",
        "workspace[1].extra",
        "workspace[2].roots",
        "workspace[2].limits.max_page_size",
    ] {
        assert!(named.iter().any(|named| named == key), "{key} in {errors:#?}");
    }
    assert_eq!(errors.len(), 10, "none follows from another: {errors:#?}");
    assert!(starts.contains(&"yard.toml:15:1") && starts.contains(&"yard.toml:4:10"), "{errors:#?}");
    for text in ["a = = 1", "", WS, "[server]\nlisten = 1\n", "default_workspace = \"b\"", "[index]\nthreads = 65\n"] {
        let first = parse_source(text, source);
        let all = parse_all(text, source);
        assert_eq!(first.is_ok(), all.errors.is_empty(), "{text}");
        assert!(first.as_ref().is_err() || first.as_ref().ok() == all.config.as_ref(), "{text}");
        assert_eq!(first.err().into_iter().collect::<Vec<_>>(), all.errors, "{text}");
    }
}
