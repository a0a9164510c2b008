//! What re-exports can cost.

use super::super::tests::parsed;
use super::*;

fn names(sources: &[(&str, &str)]) -> Vec<String> {
    let entry = PackageEntry { module: "shapes".into(), files: vec!["hub.ts".into()] };
    let selected = select(&parsed(sources), &[entry], &[], &StopFlag::default()).unwrap();
    selected.into_iter().map(|selection| selection.qualified).collect()
}

fn constants(count: usize) -> String {
    (0..count).map(|number| format!("export const name_{number} = 1;\n")).collect()
}

#[test]
fn a_file_that_is_exported_again_costs_nothing() {
    let hub = "export * from './big'\n".repeat(2_000) + "export { last } from './small'\n";
    let names = names(&[("hub.ts", &hub), ("big.ts", &constants(1_000)), ("small.ts", "export const last = 1;\n")]);
    assert_eq!(names.len(), 1_001);
    assert!(names.contains(&"last".to_owned()), "steps were left for it");
}

#[test]
fn copies_of_names_take_steps() {
    let spaces: String = (0..1_500).map(|number| format!("export * as space_{number} from './big'\n")).collect();
    let sources = [("big.ts", constants(1_000)), ("hub.ts", spaces), ("small.ts", "export const last = 1;\n".into())];
    let sources: Vec<(&str, &str)> = sources.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let files = parsed(&sources);
    let stop = StopFlag::default();
    let entry = PackageEntry { module: "shapes".into(), files: vec!["hub.ts".into()] };
    let scripts = ScriptFiles::read(&files, [&entry].into_iter(), &stop).unwrap();
    let hub = files.iter().position(|file| file.path() == "hub.ts").unwrap();
    let exports = scripts.exports(hub, 0);
    assert!((100_000..=MAX_STEPS as usize).contains(&exports.len()), "{}", exports.len());
    assert!(Rc::ptr_eq(&exports, &scripts.exports(hub, 0)), "what is known is shared");
}
