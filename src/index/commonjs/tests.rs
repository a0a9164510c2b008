//! The links of small files, written by hand.

use super::{ExportedValue, ModuleLinks, RequireBinding};
use codeyard_model::position::Position;

fn links(text: &str) -> ModuleLinks {
    ModuleLinks::read("a.js", text).unwrap()
}

fn links_of_module() -> ModuleLinks {
    links("import x from './x';\nfunction f({ a, b: c }) { a; return x.d; }\n")
}

/// The exports as `name=value` with the column of the key.
fn exports(text: &str) -> Vec<String> {
    let shown = |links: ModuleLinks| -> Vec<String> {
        let all = links.exports.into_iter().map(|export| {
            let value = match export.value {
                ExportedValue::Own(name) => format!("own {}", name.map(|name| name.name).unwrap_or_default()),
                ExportedValue::Object => "object".to_owned(),
                ExportedValue::Name(name) => format!("name {}", name.name),
                ExportedValue::Required(_, member) => {
                    format!("required {}", member.map(|member| member.name).unwrap_or_default())
                }
                ExportedValue::Member(property) => format!("member {}", property.name),
            };
            format!("{}@{}={value}", export.name.as_deref().unwrap_or("*"), export.key.start.character)
        });
        all.map(|line| line.trim_end().to_owned()).collect()
    };
    shown(links(text))
}

#[test]
fn exports_are_found_in_every_form() {
    assert_eq!(exports("exports.a = function () {}"), ["a@8=own"]);
    assert_eq!(exports("module.exports.a = function b() {}"), ["a@15=own b"]);
    assert_eq!(exports("exports['a'] = c"), ["a@9=name c"]);
    assert_eq!(exports("exports.a = exports.b = c"), ["a@8=name c", "b@20=name c"]);
    assert_eq!(exports("module.exports = class A {}"), ["*@7=own A"]);
    assert_eq!(
        exports("module.exports = {a, b: c, d() {}, 'e': 1, ...f, [g]: 1}"),
        ["*@7=object", "*@7=name f", "a@18=name a", "b@21=name c", "d@27=own d", "e@36=own"]
    );
    assert_eq!(exports("exports = module.exports = a; exports.b = c"), ["*@0=name a", "*@17=name a", "b@38=name c"]);
    assert_eq!(
        exports("var app = exports = module.exports = {}; app.a = 1; function f() { app.b = 2 }").last().unwrap(),
        "a@45=own"
    );
    assert_eq!(exports("var req = {}; module.exports = req; req.a = 1; other.b = 1"), ["*@21=name req", "a@40=own"]);
    assert_eq!(
        exports("exports.a = require('./b'); exports.c = require('./b').d; exports.e = f.g"),
        ["a@8=required", "c@36=required d", "e@66=member g"]
    );
    assert_eq!(exports("Object.defineProperty(exports, 'a', {})"), ["a@32=own"]);
    assert_eq!(
        exports("Object.assign(module.exports, require('./a'), b, {c})"),
        ["*@14=required", "*@14=name b", "c@50=name c"]
    );
    assert_eq!(exports("module.exports = {...require('./a')}").last().unwrap(), "*@7=required");
    assert_eq!(exports("tslib_1.__exportStar(require('./a'), exports)"), ["*@37=required"]);
    assert_eq!(exports("exports[a] = 1; other.exports.b = 1; var exportsOf = 1"), Vec::<String>::new());
}

#[test]
fn requires_have_the_names_that_they_bind() {
    let bindings = |text: &str| -> Vec<String> {
        let shown = |call: super::RequireCall| {
            let binding = match call.binding {
                RequireBinding::Unnamed => "-".to_owned(),
                RequireBinding::Whole(name) => name.name,
                RequireBinding::Names(names) => names
                    .iter()
                    .map(|(key, alias)| format!("{}:{}", key.name, alias.name))
                    .collect::<Vec<_>>()
                    .join(","),
                RequireBinding::Member(name, alias) => {
                    format!(".{} {}", name.name, alias.map(|alias| alias.name).unwrap_or_default())
                }
            };
            format!("{}@{} {binding}", call.specifier.name, call.specifier.range.start.character)
        };
        links(text).requires.into_iter().map(shown).collect()
    };
    assert_eq!(bindings("const a = require('./x')"), ["./x@19 a"]);
    assert_eq!(bindings("let a; a = (require(\"./x\"))"), ["./x@21 a"]);
    assert_eq!(bindings("const {a, b: c, d = 1, e: {f}, ...g} = require('./x')"), ["./x@48 a:a,b:c,d:d,e:e"]);
    assert_eq!(bindings("var a = require('./x').b; require('./y').c()"), ["./x@17 .b a", "./y@35 .c "]);
    assert_eq!(bindings("require('./x'); f(require('./y')); require(z); required('./w')"), ["./x@9 -", "./y@27 -"]);
}

#[test]
fn columns_are_utf16_and_callers_are_the_innermost_functions() {
    let links = links(
        "/* 𝒳 */ const a = require('./x');\nfunction f() {\n  const g = () => a.b();\n  new a.C();\n  require('./y')();\n}\na();\n",
    );
    assert_eq!(links.requires[0].specifier.range.start, Position { line: 0, character: 28 });
    let callees: Vec<(u32, u32)> = links.callees.iter().map(|at| (at.line, at.character)).collect();
    assert_eq!(callees, [(0, 19), (2, 20), (3, 8), (4, 2), (4, 11), (6, 0)]);
    let caller = |line, character| links.function_at(Position { line, character }).map(|of| of.name.name.clone());
    assert_eq!(caller(2, 20).as_deref(), Some("g"));
    assert_eq!(caller(3, 8).as_deref(), Some("f"));
    assert_eq!(caller(6, 0), None);
    assert_eq!((links.properties.len(), links.has_imports), (2, false));
    let module = links_of_module();
    assert_eq!((module.properties.len(), module.has_imports), (3, true));
    let members: Vec<&str> = links.members.iter().map(|member| member.property.name.as_str()).collect();
    assert_eq!(members, ["b", "C"]);
}

#[test]
fn requires_without_a_literal_are_read() {
    let links = links("const { a } = require(x); require(x + 'y').b(); const m = require(x); require('./z').c();");
    assert_eq!((links.requires.len(), links.computed_requires.len(), links.has_requires()), (1, 3, true));
    let is_taken = |character| links.is_taken_from_computed(Position { line: 0, character });
    assert_eq!([8, 43, 54, 83].map(is_taken), [true, true, false, false]);
}

#[test]
fn broken_and_foreign_files_are_read_without_failing() {
    assert_eq!(ModuleLinks::read("a.py", "exports.a = 1"), None);
    assert!(ModuleLinks::read("a.mjs", "exports.a = ((((").is_some());
    assert_eq!(ModuleLinks::read("a.ts", "exports.a = b as any;\n").unwrap().exports.len(), 1);
    assert_eq!(ModuleLinks::read("a.cjs", "").unwrap(), ModuleLinks::default());
}
