//! Tree-sitter grammars and the query files that go with them.
//!
//! Each language is a cargo feature with the language's name, and each feature pulls in one grammar crate. All features are on by
//! default. A build with `--no-default-features --features rust` compiles one grammar: [`grammar`] then returns `None` for every
//! other language, and the code index reports such a language as one without a grammar. Its files stay searchable by text.
//!
//! The queries are files in `config/queries`. Languages that share a base share query files: a language's query is its files, in
//! the order given here, one after another.
//!
//! This crate neither compiles queries nor knows what their captures mean: `codeyard-index` does.

use tree_sitter::Language;

/// The languages that this crate has a grammar for if their features are on, sorted.
pub const LANGUAGES: [&str; 20] = [
    "bash",
    "c",
    "cpp",
    "csharp",
    "go",
    "java",
    "javascript",
    "json",
    "kotlin",
    "markdown",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "swift",
    "toml",
    "tsx",
    "typescript",
    "yaml",
];

/// The grammar of the language with this name, and the source of its query. `None` if the name is not in [`LANGUAGES`] or the
/// language's feature is off.
pub fn grammar(name: &str) -> Option<(Language, &'static str)> {
    macro_rules! row {
        ($grammar:expr, $($file:literal),+) => {
            ($grammar.into(), concat!($(include_str!(concat!("../../config/queries/", $file, ".scm"))),+))
        };
    }
    Some(match name {
        #[cfg(feature = "bash")]
        "bash" => row!(tree_sitter_bash::LANGUAGE, "bash"),
        #[cfg(feature = "c")]
        "c" => row!(tree_sitter_c::LANGUAGE, "c"),
        #[cfg(feature = "cpp")]
        "cpp" => row!(tree_sitter_cpp::LANGUAGE, "cpp", "c"),
        #[cfg(feature = "csharp")]
        "csharp" => row!(tree_sitter_c_sharp::LANGUAGE, "csharp"),
        #[cfg(feature = "go")]
        "go" => row!(tree_sitter_go::LANGUAGE, "go"),
        #[cfg(feature = "java")]
        "java" => row!(tree_sitter_java::LANGUAGE, "java"),
        #[cfg(feature = "javascript")]
        "javascript" => row!(tree_sitter_javascript::LANGUAGE, "javascript", "ecmascript", "jsx"),
        #[cfg(feature = "json")]
        "json" => row!(tree_sitter_json::LANGUAGE, "json"),
        #[cfg(feature = "kotlin")]
        "kotlin" => row!(tree_sitter_kotlin_ng::LANGUAGE, "kotlin"),
        #[cfg(feature = "markdown")]
        "markdown" => row!(tree_sitter_md::LANGUAGE, "markdown"),
        #[cfg(feature = "php")]
        "php" => row!(tree_sitter_php::LANGUAGE_PHP, "php"),
        #[cfg(feature = "python")]
        "python" => row!(tree_sitter_python::LANGUAGE, "python"),
        #[cfg(feature = "ruby")]
        "ruby" => row!(tree_sitter_ruby::LANGUAGE, "ruby"),
        #[cfg(feature = "rust")]
        "rust" => row!(tree_sitter_rust::LANGUAGE, "rust"),
        #[cfg(feature = "scala")]
        "scala" => row!(tree_sitter_scala::LANGUAGE, "scala"),
        #[cfg(feature = "swift")]
        "swift" => row!(tree_sitter_swift::LANGUAGE, "swift"),
        #[cfg(feature = "toml")]
        "toml" => row!(tree_sitter_toml_ng::LANGUAGE, "toml"),
        #[cfg(feature = "tsx")]
        "tsx" => row!(tree_sitter_typescript::LANGUAGE_TSX, "typescript", "ecmascript", "jsx"),
        #[cfg(feature = "typescript")]
        "typescript" => row!(tree_sitter_typescript::LANGUAGE_TYPESCRIPT, "typescript", "ecmascript"),
        #[cfg(feature = "yaml")]
        "yaml" => row!(tree_sitter_yaml::LANGUAGE, "yaml"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_compile_for_their_grammars() {
        for name in LANGUAGES {
            if let Some((language, source)) = grammar(name) {
                let error = tree_sitter::Query::new(&language, source).err();
                assert_eq!(error, None, "{name}");
            }
        }
    }

    #[test]
    fn a_language_has_a_grammar_exactly_if_its_feature_is_on() {
        let available = LANGUAGES.iter().filter(|name| grammar(name).is_some()).count();
        let features = [
            cfg!(feature = "bash"),
            cfg!(feature = "c"),
            cfg!(feature = "cpp"),
            cfg!(feature = "csharp"),
            cfg!(feature = "go"),
            cfg!(feature = "java"),
            cfg!(feature = "javascript"),
            cfg!(feature = "json"),
            cfg!(feature = "kotlin"),
            cfg!(feature = "markdown"),
            cfg!(feature = "php"),
            cfg!(feature = "python"),
            cfg!(feature = "ruby"),
            cfg!(feature = "rust"),
            cfg!(feature = "scala"),
            cfg!(feature = "swift"),
            cfg!(feature = "toml"),
            cfg!(feature = "tsx"),
            cfg!(feature = "typescript"),
            cfg!(feature = "yaml"),
        ];
        assert_eq!(available, features.iter().filter(|is_on| **is_on).count());
        assert!(grammar("cobol").is_none());
        assert!(LANGUAGES.is_sorted());
    }
}
