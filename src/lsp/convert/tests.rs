//! Answers of servers, well-formed and malformed.

use serde_json::value::RawValue;

use super::*;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::hover::{Hover, HoverFragment, MarkupKind};
use codeyard_model::position::{Range, RawLocation};
use codeyard_model::symbol::RawDocumentSymbol;

const RANGE: &str = r#"{"start":{"line":1,"character":2},"end":{"line":3,"character":4}}"#;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("the test's JSON")
}

/// `template` with `R` in angle brackets replaced by a range.
fn with_range(template: &str) -> Box<RawValue> {
    raw(&template.replace("<R>", RANGE))
}

fn range() -> Range {
    Range::new(1, 2, 3, 4)
}

fn location(uri: &str) -> RawLocation {
    RawLocation { uri: uri.into(), range: range() }
}

#[test]
fn definitions_of_every_shape() {
    let link = r#"{"originSelectionRange":<R>,"targetUri":"file:///b","targetRange":{"start":{"line":0,"character":0},"end":{"line":9,"character":0}},"targetSelectionRange":<R>}"#;
    for (json, uris) in [
        ("null".to_owned(), vec![]),
        ("[]".to_owned(), vec![]),
        (r#"{"uri":"file:///a","range":<R>}"#.to_owned(), vec!["file:///a"]),
        (r#"[{"uri":"file:///a","range":<R>},{"range":<R>,"uri":"file:\/\/\/a"}]"#.to_owned(), vec!["file:///a"; 2]),
        (format!("[{link}]"), vec!["file:///b"]),
        (link.to_owned(), vec!["file:///b"]),
        (format!(r#"[{link},{{"uri":"file:///a","range":<R>,"extra":[[{{}}]]}}]"#), vec!["file:///b", "file:///a"]),
    ] {
        let wanted: Vec<_> = uris.into_iter().map(location).collect();
        assert_eq!(definition(&with_range(&json)).as_ref(), Ok(&wanted), "{json}");
    }
}

#[test]
fn references_are_a_list_and_share_their_uris() {
    let list = r#"[{"uri":"file:///a","range":<R>},{"uri":"file:///b","range":<R>},{"uri":"file:///a","range":<R>}]"#;
    let found = references(&with_range(list)).unwrap();
    assert_eq!(found, ["file:///a", "file:///b", "file:///a"].map(location));
    assert!(std::sync::Arc::ptr_eq(&found[0].uri, &found[2].uri));
    assert_eq!(references(&raw("null")), Ok(vec![]));
    assert!(references(&with_range(r#"{"uri":"file:///a","range":<R>}"#)).is_err());
}

#[test]
fn a_malformed_entry_makes_the_whole_answer_an_error() {
    let good = r#"{"uri":"file:///a","range":<R>}"#;
    for bad in [
        "null",
        "1",
        "[]",
        "\"file:///a\"",
        "{}",
        r#"{"uri":"file:///a"}"#,
        r#"{"range":<R>}"#,
        r#"{"uri":null,"range":<R>}"#,
        r#"{"uri":7,"range":<R>}"#,
        r#"{"uri":"file:///a","range":null}"#,
        r#"{"uri":"file:///a","range":[{"line":1,"character":2},{"line":1,"character":2}]}"#,
        r#"{"uri":"file:///a","range":{"start":[1,2],"end":[3,4]}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":-1,"character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":1.0,"character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":1e0,"character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":"1","character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":4294967296,"character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":99999999999999999999999,"character":2},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","range":{"start":{"line":1},"end":{"line":1,"character":2}}}"#,
        r#"{"uri":"file:///a","uri":"file:///b","range":<R>}"#,
        r#"{"uri":"file:///a","range":<R>,"range":<R>}"#,
        r#"{"targetUri":"file:///a","targetRange":<R>}"#,
        r#"{"targetUri":"file:///a","range":<R>}"#,
        r#"{"uri":"\ud800","range":<R>}"#,
    ] {
        let both = with_range(&format!("[{good},{bad}]"));
        assert!(matches!(definition(&both), Err(ConvertError::Malformed { .. })), "{bad}");
        assert!(references(&both).is_err(), "{bad}");
    }
    for bad in ["true", "1", "\"\"", "{}"] {
        assert!(definition(&raw(bad)).is_err(), "{bad}");
        assert!(document_symbols(&raw(bad), "file:///a").is_err(), "{bad}");
        assert!(workspace_symbols(&raw(bad)).is_err(), "{bad}");
    }
}

#[test]
fn errors_quote_nothing_of_the_answer() {
    for bad in [r#"[{"uri":"file:///a","range":"/secret/path"}]"#, r#"["/secret/path"]"#] {
        let text = definition(&raw(bad)).unwrap_err().to_string();
        assert!(text.starts_with("malformed definition at line 1 column "), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn ranges_are_ordered_up_to_the_largest_number() {
    let swapped =
        r#"[{"uri":"u","range":{"start":{"line":4294967295,"character":0},"end":{"line":3,"character":4294967295}}}]"#;
    let found = references(&raw(swapped)).unwrap();
    assert_eq!(found[0].range, Range::new(3, u32::MAX, u32::MAX, 0));
    let same_line = r#"[{"uri":"u","range":{"end":{"line":3,"character":1},"start":{"line":3,"character":9}}}]"#;
    assert_eq!(references(&raw(same_line)).unwrap()[0].range, Range::new(3, 1, 3, 9));
}

#[test]
fn excessive_depth_is_ignored_or_refused() {
    let lists = format!("{}{}", "[".repeat(60_000), "]".repeat(60_000));
    let unknown = format!(r#"[{{"uri":"file:///a","range":<R>,"data":{lists}}}]"#);
    assert_eq!(definition(&with_range(&unknown)), Ok(vec![location("file:///a")]));
    let codes = format!("{}1{}", r#"{"value":"#.repeat(60_000), "}".repeat(60_000));
    assert!(diagnostics(&format!(r#""message":"m","code":{codes}"#)).is_err());
    assert!(hover(&raw(&format!(r#"{{"contents":{lists}}}"#))).is_err());
    assert!(definition(&raw(&lists)).is_err());
}

fn nested(levels: usize) -> String {
    let open = format!(r#"{{"name":"n","kind":5,"range":{RANGE},"selectionRange":{RANGE},"children":["#);
    format!("[{}{}]", open.repeat(levels), "]}".repeat(levels))
}

#[test]
fn symbols_nest_up_to_the_bound_even_on_a_small_stack() {
    let depth = |symbols: &[RawDocumentSymbol]| {
        let mut levels = 0;
        let mut list = symbols;
        while let Some(symbol) = list.first() {
            levels += 1;
            list = &symbol.children;
        }
        levels
    };
    let run = move || {
        let deepest = document_symbols(&raw(&nested(62)), "u").unwrap();
        assert_eq!(depth(&deepest), 62);
        for levels in [64, 65, 128, 10_000] {
            let deeper = raw(&nested(levels));
            assert!(matches!(document_symbols(&deeper, "u"), Err(ConvertError::Malformed { .. })), "{levels}");
        }
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn nested_and_flat_symbols() {
    let json = r#"[
        {"name":"Class","kind":5,"detail":"d","tags":[1],"deprecated":true,"range":<R>,"selectionRange":<R>,
         "children":[{"name":"","kind":6,"range":<R>,"selectionRange":{"start":{"line":9,"character":0},"end":{"line":8,"character":0}},"children":null}]},
        {"name":"flat","kind":12,"containerName":"Box","location":{"uri":"file:///dir/%40a%20b","range":<R>}},
        {"name":"elsewhere","kind":12,"location":{"uri":"file:///dir/other","range":<R>}},
        {"name":"bare","kind":4294967295,"containerName":"","location":{"uri":"file:///dir/@a%20b","range":<R>}}
    ]"#;
    let symbols = document_symbols(&with_range(json), "file:///dir/@a%20b").unwrap();
    let names: Vec<_> = symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.kind)).collect();
    assert_eq!(names, [("Class", 5), ("flat", 12), ("bare", u32::MAX)]);
    assert_eq!(symbols[0].children[0].selection_range, Range::new(8, 0, 9, 0));
    assert_eq!((symbols[0].children[0].name.as_str(), symbols[0].children.len()), ("", 1));
    assert_eq!(symbols[1].container_name.as_deref(), Some("Box"));
    assert_eq!((symbols[1].range, symbols[1].selection_range), (range(), range()));
    assert_eq!(symbols[2].container_name, None);
    for bad in [
        r#"[{"name":"n","kind":5,"range":<R>}]"#,
        r#"[{"name":"n","range":<R>,"selectionRange":<R>}]"#,
        r#"[{"kind":5,"range":<R>,"selectionRange":<R>}]"#,
        r#"[{"name":"n","kind":-5,"range":<R>,"selectionRange":<R>}]"#,
        r#"[{"name":"n","kind":"5","range":<R>,"selectionRange":<R>}]"#,
        r#"[{"name":"n","kind":5,"range":<R>,"selectionRange":<R>,"children":{}}]"#,
        r#"[{"name":"n","kind":5,"range":<R>,"selectionRange":<R>,"children":[null]}]"#,
        r#"[{"name":"n","kind":5,"range":<R>,"selectionRange":<R>,"children":[{"name":"m"}]}]"#,
        r#"[{"name":"n","kind":5,"location":{"uri":"u"}}]"#,
        r#"[{"name":null,"kind":5,"range":<R>,"selectionRange":<R>}]"#,
        r#"[{"name":"n","kind":5,"location":{"uri":"file:///dir/other","range":<R>}}]"#,
    ] {
        assert!(document_symbols(&with_range(bad), "u").is_err(), "{bad}");
    }
}

#[test]
fn workspace_symbols_with_and_without_ranges() {
    let json = r#"[
        {"name":"a","kind":12,"location":{"uri":"file:///a","range":<R>},"containerName":"c","data":{"x":1}},
        {"name":"b","kind":5,"location":{"uri":"file:///a"},"containerName":null}
    ]"#;
    let symbols = workspace_symbols(&with_range(json)).unwrap();
    assert_eq!((symbols[0].range, symbols[0].container_name.as_deref()), (range(), Some("c")));
    assert_eq!((symbols[1].range, symbols[1].container_name.as_deref()), (Range::new(0, 0, 0, 0), None));
    assert!(std::sync::Arc::ptr_eq(&symbols[0].uri, &symbols[1].uri));
    assert_eq!(workspace_symbols(&raw("null")), Ok(vec![]));
    for bad in [r#"[{"name":"a","kind":1}]"#, r#"[{"name":"a","kind":1,"location":{}}]"#, "[[]]", "[1]"] {
        assert!(workspace_symbols(&raw(bad)).is_err(), "{bad}");
    }
}

fn fragments(contents: &str) -> Vec<(MarkupKind, String)> {
    let json = format!(r#"{{"contents":{contents}}}"#);
    let hover = hover(&raw(&json)).unwrap_or_else(|error| panic!("{contents}: {error}"));
    hover.map_or(Vec::new(), |hover| hover.contents).into_iter().map(|part| (part.kind, part.value)).collect()
}

#[test]
fn hovers_of_every_shape() {
    use MarkupKind::{Markdown, Plaintext};
    let cases: &[(&str, &[(MarkupKind, &str)])] = &[
        (r#"{"kind":"markdown","value":"**a**"}"#, &[(Markdown, "**a**")]),
        (r#"{"value":"a*b","kind":"plaintext"}"#, &[(Plaintext, "a*b")]),
        (r#""text""#, &[(Markdown, "text")]),
        (r#"{"language":"rust","value":"fn a()"}"#, &[(Markdown, "```rust\nfn a()\n```")]),
        (r#"{"language":"rust","value":"fn a()\n"}"#, &[(Markdown, "```rust\nfn a()\n```")]),
        (r#"{"language":"","value":"x"}"#, &[(Markdown, "```\nx\n```")]),
        (r#"{"language":"c++`\n# h","value":"x"}"#, &[(Markdown, "```c++#h\nx\n```")]),
        (r#"{"language":"md","value":"```rust\n```"}"#, &[(Markdown, "````md\n```rust\n```\n````")]),
        (r#"{"language":"md","value":"a ````` b"}"#, &[(Markdown, "``````md\na ````` b\n``````")]),
        (
            r#"["one",{"language":"c","value":"int a"},{"kind":"plaintext","value":"p"},""]"#,
            &[(Markdown, "one"), (Markdown, "```c\nint a\n```"), (Plaintext, "p")],
        ),
        (r#"[]"#, &[]),
        (r#""""#, &[]),
        (r#""  \n""#, &[]),
        (r#"{"kind":"markdown","value":""}"#, &[]),
        (r#"{"language":"rust","value":" "}"#, &[]),
    ];
    for (contents, wanted) in cases {
        let wanted: Vec<_> = wanted.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
        assert_eq!(fragments(contents), wanted, "{contents}");
    }
}

#[test]
fn hovers_with_ranges_without_and_malformed() {
    let some = hover(&with_range(r#"{"contents":"a","range":<R>}"#)).unwrap().unwrap();
    let fragment = HoverFragment { kind: MarkupKind::Markdown, value: "a".into() };
    assert_eq!(some, Hover { contents: vec![fragment], range: Some(range()) });
    assert_eq!(hover(&raw("null")), Ok(None));
    assert_eq!(hover(&raw(r#"{"contents":"a","range":null}"#)).unwrap().unwrap().range, None);
    for bad in [
        "1",
        "[]",
        "\"a\"",
        "{}",
        r#"{"contents":null}"#,
        r#"{"contents":1}"#,
        r#"{"contents":[null]}"#,
        r#"{"contents":[["a"]]}"#,
        r#"{"contents":{"value":"a"}}"#,
        r#"{"contents":{"kind":"html","value":"a"}}"#,
        r#"{"contents":{"kind":"markdown"}}"#,
        r#"{"contents":{"language":"rust"}}"#,
        r#"{"contents":"a","contents":"b"}"#,
        r#"{"contents":"a","range":[]}"#,
    ] {
        assert!(hover(&raw(bad)).is_err(), "{bad}");
    }
}

#[test]
fn the_first_fragments_of_too_many_are_kept() {
    let of = |count: usize| raw(&format!(r#"{{"contents":[{}"a"]}}"#, r#""a","#.repeat(count - 1)));
    let most = codeyard_model::limits::MAX_RAW_ITEMS;
    assert_eq!(hover(&of(most)).unwrap().unwrap().contents.len(), most);
    assert_eq!(hover(&of(most * 10)).unwrap().unwrap().contents.len(), most);
}

fn diagnostics(fields: &str) -> Result<Vec<RawDiagnostic>, ConvertError> {
    let json = format!(r#"{{"uri":"file:///a","diagnostics":[{{"range":<R>,{fields}}}]}}"#);
    publish_diagnostics(&with_range(&json)).map(|(file, _)| file.diagnostics)
}

#[test]
fn codes_become_text() {
    for (code, wanted) in [
        (r#""TS1""#, Some("TS1")),
        ("2304", Some("2304")),
        ("-7", Some("-7")),
        ("18446744073709551615", Some("18446744073709551615")),
        ("2.0", Some("2")),
        ("1.5", Some("1.5")),
        ("null", None),
        (r#"{"value":"E1","target":"https://x"}"#, Some("E1")),
        (r#"{"target":"https://x","value":12}"#, Some("12")),
        (r#"{"value":null}"#, None),
        (r#"{"target":"https://x"}"#, None),
        (r#""""#, Some("")),
    ] {
        let found = diagnostics(&format!(r#""message":"m","code":{code}"#)).unwrap();
        assert_eq!(found[0].code.as_deref(), wanted, "{code}");
    }
    for bad in ["true", "[1]", r#"{"value":{"value":1}}"#, r#"{"value":true}"#] {
        assert!(diagnostics(&format!(r#""message":"m","code":{bad}"#)).is_err(), "{bad}");
    }
}

#[test]
fn severities_sources_and_messages() {
    for (severity, wanted) in [
        ("1", Some(1)),
        ("4", Some(4)),
        ("0", None),
        ("5", None),
        ("-1", None),
        ("1e99", None),
        ("4294967297", None),
        ("null", None),
    ] {
        let found = diagnostics(&format!(r#""message":"m","severity":{severity}"#)).unwrap();
        assert_eq!(found[0].severity, wanted, "{severity}");
    }
    let found =
        diagnostics(r#""message":{"kind":"markdown","value":"**m**"},"source":"s","tags":[1],"data":{}"#).unwrap();
    let source = Some("s".to_owned());
    assert_eq!(found, [RawDiagnostic { range: range(), severity: None, code: None, source, message: "**m**".into() }]);
    assert_eq!(diagnostics(r#""message":"","source":"""#).unwrap()[0].source, None);
    for bad in [
        r#""severity":1"#,
        r#""message":null"#,
        r#""message":1"#,
        r#""message":{"kind":"markdown"}"#,
        r#""message":{"value":1}"#,
        r#""message":"m","severity":"1""#,
        r#""message":"m","severity":{"value":1}"#,
        r#""message":"m","source":1"#,
        r#""message":"m","message":"n""#,
    ] {
        assert!(diagnostics(bad).is_err(), "{bad}");
    }
}

#[test]
fn pushes_with_and_without_version() {
    for (version, wanted) in [("", None), (r#","version":7"#, Some(7)), (r#","version":null"#, None)] {
        let json = format!(r#"{{"uri":"file:///a","diagnostics":[]{version}}}"#);
        let empty = RawFileDiagnostics { uri: "file:///a".into(), diagnostics: vec![] };
        assert_eq!(publish_diagnostics(&raw(&json)), Ok((empty, wanted)), "{json}");
    }
    for bad in [
        "null",
        "[]",
        r#"{"uri":"u"}"#,
        r#"{"diagnostics":[]}"#,
        r#"{"uri":"u","diagnostics":null}"#,
        r#"{"uri":"u","diagnostics":{}}"#,
        r#"{"uri":"u","diagnostics":[[]]}"#,
        r#"{"uri":"u","diagnostics":[],"version":2147483648}"#,
        r#"{"uri":"u","diagnostics":[],"version":"1"}"#,
    ] {
        assert!(publish_diagnostics(&raw(bad)).is_err(), "{bad}");
    }
}

#[test]
fn document_reports() {
    let full = r#"{"kind":"full","resultId":"r1","items":[{"range":<R>,"message":"m"}],"relatedDocuments":{
        "file:///z":{"kind":"unchanged","resultId":"r2"},"file:///b":{"kind":"full","items":[]}}}"#;
    let DocumentDiagnosticReport::Full { result_id, items, related } =
        document_diagnostic_report(&with_range(full)).unwrap()
    else {
        panic!("a full report")
    };
    assert_eq!((result_id.as_deref(), items.len()), (Some("r1"), 1));
    let unchanged = FileDiagnosticReport::Unchanged { result_id: "r2".into() };
    let empty = FileDiagnosticReport::Full { result_id: None, items: vec![] };
    assert_eq!(related, [("file:///b".into(), empty), ("file:///z".into(), unchanged)]);
    let same = document_diagnostic_report(&raw(r#"{"resultId":"r","kind":"unchanged"}"#)).unwrap();
    assert_eq!(same, DocumentDiagnosticReport::Unchanged { result_id: "r".into(), related: vec![] });
    for bad in [
        "null",
        "[]",
        "{}",
        r#"{"items":[]}"#,
        r#"{"kind":"full"}"#,
        r#"{"kind":"full","items":null}"#,
        r#"{"kind":"partial","items":[]}"#,
        r#"{"kind":"unchanged"}"#,
        r#"{"kind":"full","items":[],"relatedDocuments":[]}"#,
        r#"{"kind":"full","items":[],"relatedDocuments":{"u":null}}"#,
        r#"{"kind":"full","items":[],"relatedDocuments":{"u":{"kind":"full"}}}"#,
        r#"{"kind":"full","items":[],"relatedDocuments":{"u":{"kind":"full","items":[]},"u":{"kind":"full","items":[]}}}"#,
        r#"{"kind":"full","items":[{"message":"m"}]}"#,
    ] {
        assert!(document_diagnostic_report(&raw(bad)).is_err(), "{bad}");
    }
}

#[test]
fn workspace_reports() {
    let json = r#"{"items":[
        {"kind":"full","uri":"file:///a","version":3,"resultId":"r","items":[{"range":<R>,"message":"m"}]},
        {"uri":"file:///a","version":null,"kind":"unchanged","resultId":"r"}]}"#;
    let reports = workspace_diagnostic_report(&with_range(json)).unwrap();
    assert_eq!((&*reports[0].uri, reports[0].version), ("file:///a", Some(3)));
    assert!(matches!(&reports[0].report, FileDiagnosticReport::Full { items, .. } if items.len() == 1));
    assert_eq!(reports[1].report, FileDiagnosticReport::Unchanged { result_id: "r".into() });
    assert_eq!(workspace_diagnostic_report(&raw(r#"{"items":[]}"#)), Ok(vec![]));
    for bad in [
        "null",
        "[]",
        "{}",
        r#"{"items":[null]}"#,
        r#"{"items":[{"kind":"full","items":[]}]}"#,
        r#"{"items":[{"uri":"u","kind":"full"}]}"#,
    ] {
        assert!(workspace_diagnostic_report(&raw(bad)).is_err(), "{bad}");
    }
}

proptest::proptest! {
    /// Any cut or changed answer is an answer or an error, never a panic.
    #[test]
    fn damaged_answers_never_panic(at in 0usize..400, byte in 0u8..128) {
        for template in [nested(3), format!(r#"{{"contents":["a",{{"language":"c","value":"b"}}],"range":{RANGE}}}"#),
            format!(r#"{{"uri":"u","version":1,"diagnostics":[{{"range":{RANGE},"message":"m","code":{{"value":1}}}}]}}"#)] {
            let mut bytes = template.into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let Ok(raw) = RawValue::from_string(String::from_utf8(bytes).unwrap()) else { continue };
            let _ = (definition(&raw), hover(&raw), document_symbols(&raw, "u"), workspace_symbols(&raw));
            let _ = (publish_diagnostics(&raw), document_diagnostic_report(&raw), workspace_diagnostic_report(&raw));
        }
    }
}
