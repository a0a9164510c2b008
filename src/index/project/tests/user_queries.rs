//! Queries as people ask them: tests that hide code, misspelt names, messages, quotations.

use super::*;
use codeyard_model::code::{ExplainLevel, SymbolKind};

const TEMPLATES: &str = "class Template:\n    result_of_render = None\n\ndef render_to_string(template, context):\n    \"\"\"Renders a template.\"\"\"\n    raise ValueError('cannot render %s twice' % template)\n";

fn place() -> TestRoot {
    let tests: String = (0..11)
        .map(|at| format!("def test_render_to_string_{at}():\n    assert 'cannot render 5 twice' != {at}\n\n"))
        .collect();
    TestRoot::new(&[
        ("a/README.md", "# Notes\n\nIt says: cannot render x twice.\n"),
        ("src/loader.py", TEMPLATES),
        ("a/tests/test_loader.py", &tests),
        (
            "src/lib.rs",
            "pub fn admit_ship() {}\n\n#[cfg(test)]\nmod tests {\n    fn ship_admit_one() {}\n    fn ship_admit_two() {}\n}\n",
        ),
    ])
}

fn asked(project: &Project, text: &str) -> ResultRows {
    project.search(&query(text, SearchMode::Auto), &|| false).unwrap()
}

fn shown(found: &ResultRows) -> Vec<String> {
    let row = |row: &codeyard_model::code::ResultRow| {
        let name = if row.name.is_empty() { row.line_start.to_string() } else { row.name.clone() };
        format!("{}:{name}", row.path)
    };
    found.rows.iter().map(row).collect()
}

#[test]
fn tests_are_folded_under_one_row_unless_they_are_asked_for() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    let found = asked(&project, "render to string");
    assert_eq!(shown(&found)[0], "src/loader.py:render_to_string");
    let tests: Vec<_> = found.rows.iter().filter(|row| row.path.contains("/tests/")).collect();
    let [test] = tests.as_slice() else { panic!("{:?}", shown(&found)) };
    let folded = test.folded_tests.as_ref().unwrap();
    assert_eq!((folded.count, folded.paths.as_slice()), (10, &["a/tests/test_loader.py".to_owned()][..]));
    let action = found.next.iter().find(|next| next.reason.contains("11 folded tests")).unwrap();
    let globs = action.arguments["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned());
    let all = SearchQuery { globs: globs.collect(), ..query("render to string", SearchMode::Auto) };
    assert_eq!(project.search(&all, &|| false).unwrap().rows.len(), 11);
    for text in ["test_render_to_string", "tests for render_to_string"] {
        let found = asked(&project, text);
        assert!(found.rows.iter().all(|row| row.folded_tests.is_none()), "{text}");
        assert!(found.rows.iter().filter(|row| row.name.starts_with("test_")).count() == 11, "{text}");
    }
    assert_eq!(shown(&asked(&project, "test_render_to_string_7"))[0], "a/tests/test_loader.py:test_render_to_string_7");
    let found = asked(&project, "admit ship");
    assert_eq!(shown(&found), ["src/lib.rs:admit_ship", "src/lib.rs:ship_admit_one"]);
    assert_eq!(found.rows[1].folded_tests.as_ref().map(|tests| tests.count), Some(1));
}

#[test]
fn a_misspelt_name_is_found_and_said_not_to_exist() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    let warning = "No symbol is named 'render_to_strnig'. The nearest name is render_to_string.";
    let found = asked(&project, "render_to_strnig");
    assert_eq!(shown(&found)[0], "src/loader.py:render_to_string");
    assert_eq!(found.metadata.warnings, [warning]);
    assert!(asked(&project, "render_to_string").metadata.warnings.is_empty());
    assert!(asked(&project, "zebra_quux").metadata.warnings.contains(&"No symbol is named 'zebra_quux'.".to_owned()));
    let locate = |name: &str, kind| {
        let shape = RowOptions { limit: 10, ..RowOptions::default() };
        project.locate(&LocateQuery { by: LocateBy::Name(name.into()), kind, shape }, &|| false).unwrap()
    };
    let found = locate("render_to_strnig", None);
    assert_eq!((shown(&found).len(), found.metadata.warnings.as_slice()), (0, &[warning.to_owned()][..]));
    let found = locate("render_to_string", Some(SymbolKind::Class));
    let warning = "No class is named 'render_to_string', but another symbol is: fn in src/loader.py. Repeat the call without kind and language.";
    assert_eq!((shown(&found).len(), found.metadata.warnings.as_slice()), (0, &[warning.to_owned()][..]));
}

#[test]
fn a_file_that_could_not_be_parsed_whole_never_denies_a_name() {
    let broken = "class A:\n    def ok(self):\n        pass\n\nasync with def lost_name(x y z:\n  ) ] (\n";
    let place = TestRoot::new(&[("a.py", broken), ("b.py", "def other():\n    return other_thing\n")]);
    let project = place.project();
    sync(&project, None);
    let unread = "it is in a.py, which could not be parsed whole";
    let shape = RowOptions { limit: 10, ..RowOptions::default() };
    let locate = |name: &str| {
        let by = LocateBy::Name(name.into());
        project.locate(&LocateQuery { by, kind: None, shape: shape.clone() }, &|| false).unwrap().metadata.warnings
    };
    for warnings in [locate("z"), locate("A.z"), asked(&project, "z").metadata.warnings] {
        assert!(warnings.iter().any(|warning| warning.contains(unread)), "{warnings:?}");
        assert!(!warnings.iter().any(|warning| warning.starts_with("No symbol is named")), "{warnings:?}");
    }
    // A file that was parsed whole is no reason.
    assert!(locate("other_thing").iter().any(|warning| warning.starts_with("No symbol is named 'other_thing'")));
}

#[test]
fn messages_and_quotations_are_found_in_lines_code_first() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    for text in [
        "\"cannot render\"",
        "why \"cannot render\" is raised",
        "ValueError: cannot render index.html twice",
        "cannot render 'a b' twice.",
    ] {
        let found = asked(&project, text);
        assert_eq!(shown(&found)[..2], ["src/loader.py:6", "a/README.md:3"], "{text}");
        assert!(found.rows.iter().all(|row| row.result_type == ResultType::Line), "{text}");
    }
    let found = asked(&project, "\"no such phrase\"");
    assert!(found.metadata.warnings.contains(&"No line contains \"no such phrase\".".to_owned()));
    let written = asked(&project, r#""= \"x\" \\""#);
    assert!(written.metadata.warnings.contains(&r#"No line contains "= "x" \"."#.to_owned()), "escapes are resolved");
    // A name that is no symbol, but a word in lines.
    let found = asked(&project, "ValueError");
    assert_eq!(shown(&found), ["src/loader.py:6"]);
}

#[test]
fn a_sentence_that_lines_contain_has_them_before_ranked_rows_with_their_own_reasons() {
    let place = TestRoot::new(&[("a.py", "# how the parser reads a header\ndef read_header(parser):\n    pass\n")]);
    let project = place.project();
    sync(&project, None);
    let mut asked = query("how the parser reads a header", SearchMode::Auto);
    asked.shape.explain = Some(ExplainLevel::Full);
    let found = project.search(&asked, &|| false).unwrap();
    assert_eq!(shown(&found), ["a.py:1", "a.py:read_header"]);
    assert_eq!(found.total, 2);
    let (_, reasons) = found.metadata.reasons.unwrap();
    assert_eq!(reasons.len(), 2);
    assert!(reasons[0].final_score == 0.0 && Some(reasons[1].final_score) == found.rows[1].score);
}

#[test]
fn rows_beside_lines_that_were_not_all_searched_are_partial() {
    let place = place();
    let project = place.project();
    sync(&project, None);
    for text in ["\"cannot render\"", "render to a string in the templates", "ValueError"] {
        let found = project.search(&query(text, SearchMode::Auto), &|| true).unwrap();
        assert_eq!(found.metadata.completeness, Completeness::Partial, "{text}: {:?}", shown(&found));
        assert_eq!(found.metadata.safety_limit, Some("time"), "{text}");
        let warnings = &found.metadata.warnings;
        assert!(!warnings.iter().any(|warning| warning.starts_with("No line")), "{text}: {warnings:?}");
    }
}

#[test]
fn rows_behind_many_that_the_query_leaves_out_are_found() {
    let many: String = (0..400).map(|at| format!("fn make_{at:03}() {{}}\n")).collect();
    let place = TestRoot::new(&[("src/a.rs", &many), ("src/z.rs", "fn make_last() {}\nfn zoom() {}\n")]);
    let project = place.project();
    sync(&project, None);
    let with_language = |text: &str| {
        let mut query = query(text, SearchMode::Auto).with_language().unwrap();
        query.shape.limit = 2;
        project.search(&query, &|| false).unwrap()
    };
    for (text, rows) in [
        ("kind:fn -sym:make_0 -sym:make_1 -sym:make_2 -sym:make_3", ["src/z.rs:make_last", "src/z.rs:zoom"].as_slice()),
        ("sym:/^./ -sym:/_[0-9]+$/", &["src/z.rs:make_last", "src/z.rs:zoom"]),
        ("make -/_[0-9]+/", &["src/z.rs:make_last"]),
    ] {
        let found = with_language(text);
        assert_eq!(
            (shown(&found), found.total),
            (rows.iter().map(|row| (*row).to_owned()).collect(), rows.len()),
            "{text}"
        );
        assert_eq!(found.metadata.completeness, Completeness::Complete, "{text}");
    }
    let cut = with_language("kind:fn -sym:zoom");
    assert_eq!((cut.rows.len(), cut.metadata.completeness), (2, Completeness::Truncated));
}
