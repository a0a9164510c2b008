//! The links of small files, written by hand.

use super::{ExportedValue, ModuleExport, ModuleLinks, RequireBinding};
use codeyard_model::position::Position;

fn links(text: &str) -> ModuleLinks {
    ModuleLinks::read("a.js", text).unwrap()
}

fn links_of_module() -> ModuleLinks {
    links("import x from './x';\nfunction f({ a, b: c }) { a; return x.d; }\n")
}

/// The exports as `name=value` with the column of the key.
fn exports(text: &str) -> Vec<String> {
    shown(links(text).exports)
}

fn shown(exports: Vec<ModuleExport>) -> Vec<String> {
    let all = exports.into_iter().map(|export| {
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
}

/// The exports by `export`, as [`exports`].
fn es_exports(text: &str) -> Vec<String> {
    shown(ModuleLinks::read("a.ts", text).unwrap().es_exports)
}

#[test]
fn exports_of_es_modules_are_found_in_every_form() {
    assert_eq!(es_exports("export function a() {}\nexport class B {}"), ["a@16=own a", "B@13=own B"]);
    assert_eq!(es_exports("export default function a() {}"), ["default@24=own a"]);
    assert_eq!(es_exports("export default () => 1; export default a"), ["default@15=own", "default@39=name a"]);
    assert_eq!(
        es_exports("export const a = 1, { b, c: [d = 2], ...e } = x;"),
        ["a@13=own a", "e@40=own e", "d@29=own d", "b@22=own b"]
    );
    assert_eq!(es_exports("export { a, b as c, d as default };"), ["a@9=name a", "c@17=name b", "default@25=name d"]);
    assert_eq!(
        es_exports("export { a as b, default } from './x'; export * from './y'; export * as ns from './z';"),
        ["b@14=required a", "default@17=required default", "*@54=required"]
    );
    assert_eq!(
        es_exports("import m, { a as x, y } from './x'; export { m as n, x, z }; export default y; export enum E {}"),
        ["n@50=required default", "x@53=required a", "z@56=name z", "default@76=required y", "E@91=own E"]
    );
    assert_eq!(es_exports("export = a;"), ["*@9=name a"]);
    assert_eq!(es_exports("export type { T } from './t'; export interface I {}"), ["T@14=required T", "I@47=own I"]);
    let imports =
        ModuleLinks::read("a.ts", "import m, { a as x, y } from './x'; import * as n from 'n'; import 'e';").unwrap();
    let names: Vec<_> =
        imports.imports.iter().map(|one| (&*one.key.name, &*one.local.name, one.local.range.start.character)).collect();
    assert_eq!(names, [("default", "m", 7), ("a", "x", 17), ("y", "y", 20)]);
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

#[test]
fn variables_are_listed_if_syntax_decides_them() {
    let columns = |text: &str, name: &str| -> Option<Vec<u32>> {
        let links = ModuleLinks::read("a.ts", text).unwrap();
        links.variables.get(name).map(|places| places.iter().map(|range| range.start.character).collect())
    };
    assert_eq!(columns("const a = require('a'); f(a.b, { a }); o.a; ({ a: 1 })", "a"), Some(vec![6, 26, 33]));
    assert_eq!(columns("const { b: a, c = 1 } = require('a'); new a(c)", "a"), Some(vec![11, 42]));
    assert_eq!(columns("const { b: a, c = 1 } = require('a'); new a(c)", "c"), Some(vec![14, 44]));
    assert_eq!(columns("var a = require('a').b; export { a };", "a"), Some(vec![4, 33]));
    for text in [
        "const a = require('a'); function f(a) { a; }",
        "const a = require('a'); (a) => a;",
        "const a = require('a'); a => a;",
        "const a = require('a'); { let [a] = x; }",
        "const a = require('a'); for (const a of x) {}",
        "const a = require('a'); try {} catch (a) {}",
        "const a = require('a'); class B { m({ x: { a } }) {} }",
        "const a = require('a'); let f = function a() {};",
        "import a from 'x'; var a = require('a');",
        "function f() { const a = require('a'); } a;",
        "if (x) { var a = require('a'); }",
        "a = require('a');",
        "/** @type {a.b} */ const a = require('a');",
        "const a = require('a'); let x: a;",
    ] {
        assert_eq!(columns(text, "a"), None, "{text}");
    }
}

#[test]
fn nesting_takes_linear_time() {
    let nested = |open: &str, close: &str| {
        let text = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        ModuleLinks::read("a.js", &text).unwrap()
    };
    let chain = nested("exports.a=(b.c=(", "))");
    assert_eq!((chain.exports.len(), chain.members.len()), (20_000, 40_000));
    assert_eq!(nested("a=>", "").functions.len(), 0);
    assert_eq!(nested("function f(){a.b=", "}").functions.len(), 20_000);
    assert_eq!(nested("require((", "))").computed_requires.len(), 20_000);
    assert_eq!(nested("({a:", "})").properties.len(), 0);
    let list: String = (0..20_000).map(|at| format!("import a{at} from 'a'; export {{ a{at} }};\n")).collect();
    assert_eq!(ModuleLinks::read("a.mjs", &list).unwrap().es_exports.len(), 20_000);
    let comments: String = (0..20_000).map(|at| format!("const a{at} = require('a'); // a{at} b\n")).collect();
    assert!(links(&comments).variables.is_empty());
}
