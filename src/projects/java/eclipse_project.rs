//! A project of Eclipse that links source folders and jars which are elsewhere: the texts of its two files.
//!
//! It writes nothing. Invariant: the texts depend only on the folders and the jars.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The name of the project at the server.
const NAME: &str = "codeyard";

/// `.project`: links each source folder under a name of its own.
pub(super) fn description(folders: &BTreeSet<&Path>) -> String {
    let mut links = String::new();
    for (number, folder) in folders.iter().enumerate() {
        let name = link_name(number);
        let location = escaped(folder);
        // Writing to a string doesn't fail.
        let _ = write!(links, "<link><name>{name}</name><type>2</type><location>{location}</location></link>");
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<projectDescription><name>{NAME}</name><buildSpec><buildCommand>\
         <name>org.eclipse.jdt.core.javabuilder</name></buildCommand></buildSpec><natures><nature>org.eclipse.jdt.core.javanature\
         </nature></natures><linkedResources>{links}</linkedResources></projectDescription>\n"
    )
}

/// `.classpath`: the links as source folders, each without those inside it, the Java runtime, and the jars.
pub(super) fn class_path(folders: &BTreeSet<&Path>, jars: &BTreeSet<PathBuf>) -> String {
    let mut entries = String::new();
    for (number, folder) in folders.iter().enumerate() {
        // One project can't hold several modules of Java.
        let inner = folders.iter().filter_map(|inner| inner.strip_prefix(folder).ok());
        let inner = inner.filter(|below| !below.as_os_str().is_empty()).map(|below| format!("{}/", escaped(below)));
        let excluded: Vec<String> = ["module-info.java".to_owned()].into_iter().chain(inner).collect();
        let name = link_name(number);
        let excluded = excluded.join("|");
        let _ = write!(
            entries,
            "<classpathentry kind=\"src\" path=\"{name}\" including=\"**/*.java\" excluding=\"{excluded}\"/>"
        );
    }
    for jar in jars {
        let _ = write!(entries, "<classpathentry kind=\"lib\" path=\"{}\"/>", escaped(jar));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<classpath>{entries}<classpathentry kind=\"con\" \
         path=\"org.eclipse.jdt.launching.JRE_CONTAINER\"/><classpathentry kind=\"output\" path=\"bin\"/></classpath>\n"
    )
}

fn link_name(number: usize) -> String {
    format!("sources{number}")
}

/// A path as the value of an attribute or the text of an element.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for letter in path.to_string_lossy().chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_linked_without_those_inside_it() {
        let folders: BTreeSet<&Path> = ["/w/a&b", "/w/a&b/in<n>", "/w/ab"].map(Path::new).into();
        let description = description(&folders);
        assert!(description.contains("<name>sources1</name><type>2</type><location>/w/a&amp;b/in&lt;n&gt;</location>"));
        let class_path = class_path(&folders, &BTreeSet::from(["/w/lib/x.jar".into()]));
        for entry in [
            "kind=\"src\" path=\"sources0\" including=\"**/*.java\" excluding=\"module-info.java|in&lt;n&gt;/\"",
            "kind=\"src\" path=\"sources1\" including=\"**/*.java\" excluding=\"module-info.java\"",
            "kind=\"src\" path=\"sources2\" including=\"**/*.java\" excluding=\"module-info.java\"",
            "kind=\"lib\" path=\"/w/lib/x.jar\"",
        ] {
            assert!(class_path.contains(entry), "{entry}: {class_path}");
        }
    }
}
