//! Tree-sitter grammars and the query files that go with them.
//!
//! Each language is a cargo feature with the language's name, and each feature pulls in one grammar crate. All features are on by
//! default but those of very large parsers, which `all-languages` turns on. Vue and Svelte use TypeScript's grammar for their scripts, and
//! interfaces of OCaml belong to the feature `ocaml`. A build with `--no-default-features --features rust` compiles one grammar: [`grammar`] then returns `None` for every
//! other language, and the code index reports such a language as one without a grammar. Its files stay searchable by text.
//!
//! The queries are files in `config/queries`. Languages that share a base share query files: a language's query is its files, in
//! the order given here, one after another.
//!
//! The tables of the largest grammars are packed in the program (`packed`), since most of their bytes repeat.
//!
//! This crate neither compiles queries nor knows what their captures mean: `codeyard-index` does.

mod packed;

use tree_sitter::Language;

macro_rules! languages {
    ($($name:literal if $feature:literal: $grammar:expr, $($file:literal),+;)+) => {
        /// The languages that this crate has a grammar for if their features are on, sorted.
        pub const LANGUAGES: &[&str] = &[$($name),+];

        /// The grammar of the language with this name, and the source of its query. `None` if the name is not in [`LANGUAGES`] or the
        /// language's feature is off.
        pub fn grammar(name: &str) -> Option<(Language, &'static str)> {
            Some(match name {
                $(
                    #[cfg(feature = $feature)]
                    $name => ($grammar.into(), concat!($(include_str!(concat!("../../config/queries/", $file, ".scm"))),+)),
                )+
                _ => return None,
            })
        }

        /// Whether the feature of each language is on.
        #[cfg(test)]
        const FEATURES: &[bool] = &[$(cfg!(feature = $feature)),+];
    };
}

// Each language with its feature, its grammar and the files of its query.
languages! {
    "bash" if "bash": tree_sitter_bash::LANGUAGE, "bash";
    "c" if "c": tree_sitter_c::LANGUAGE, "c";
    "cmake" if "cmake": tree_sitter_cmake::LANGUAGE, "cmake";
    "cpp" if "cpp": packed::cpp(), "cpp", "c";
    "csharp" if "csharp": packed::c_sharp(), "csharp";
    "dart" if "dart": packed::dart(), "dart";
    "dockerfile" if "dockerfile": tree_sitter_containerfile::LANGUAGE, "dockerfile";
    "elixir" if "elixir": tree_sitter_elixir::LANGUAGE, "elixir";
    "elm" if "elm": tree_sitter_elm::LANGUAGE, "elm";
    "erlang" if "erlang": tree_sitter_erlang::LANGUAGE, "erlang";
    "go" if "go": tree_sitter_go::LANGUAGE, "go";
    "graphql" if "graphql": tree_sitter_graphql::LANGUAGE, "graphql";
    "haskell" if "haskell": packed::haskell(), "haskell";
    "hcl" if "hcl": tree_sitter_hcl::LANGUAGE, "hcl";
    "java" if "java": tree_sitter_java::LANGUAGE, "java";
    "javascript" if "javascript": tree_sitter_javascript::LANGUAGE, "javascript", "ecmascript", "jsx";
    "json" if "json": tree_sitter_json::LANGUAGE, "json";
    "julia" if "julia": tree_sitter_julia::LANGUAGE, "julia";
    "kotlin" if "kotlin": packed::kotlin(), "kotlin";
    "lua" if "lua": tree_sitter_lua::LANGUAGE, "lua";
    "make" if "make": tree_sitter_make::LANGUAGE, "make";
    "markdown" if "markdown": tree_sitter_md::LANGUAGE, "markdown";
    "nix" if "nix": tree_sitter_nix::LANGUAGE, "nix";
    "ocaml" if "ocaml": tree_sitter_ocaml::LANGUAGE_OCAML, "ocaml";
    "ocaml-interface" if "ocaml": tree_sitter_ocaml::LANGUAGE_OCAML_INTERFACE, "ocaml";
    "php" if "php": tree_sitter_php::LANGUAGE_PHP, "php";
    "proto" if "proto": tree_sitter_proto::LANGUAGE, "proto";
    "python" if "python": tree_sitter_python::LANGUAGE, "python";
    "r" if "r": tree_sitter_r::LANGUAGE, "r";
    "ruby" if "ruby": packed::ruby(), "ruby";
    "rust" if "rust": tree_sitter_rust::LANGUAGE, "rust";
    "scala" if "scala": packed::scala(), "scala";
    "solidity" if "solidity": tree_sitter_solidity::LANGUAGE, "solidity";
    "svelte" if "svelte": packed::typescript(), "typescript", "ecmascript";
    "swift" if "swift": packed::swift(), "swift";
    "toml" if "toml": tree_sitter_toml_ng::LANGUAGE, "toml";
    "tsx" if "tsx": packed::tsx(), "typescript", "ecmascript", "jsx";
    "typescript" if "typescript": packed::typescript(), "typescript", "ecmascript";
    "vue" if "vue": packed::typescript(), "typescript", "ecmascript";
    "yaml" if "yaml": tree_sitter_yaml::LANGUAGE, "yaml";
    "zig" if "zig": tree_sitter_zig::LANGUAGE, "zig";
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
        let available: Vec<bool> = LANGUAGES.iter().map(|name| grammar(name).is_some()).collect();
        assert_eq!(available, FEATURES);
        assert!(grammar("cobol").is_none());
        assert!(LANGUAGES.is_sorted());
    }
}
