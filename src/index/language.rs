//! The indexed languages: their names, their numbers, and the detection of a file's language.
//!
//! Grammars are in `codeyard-grammars`. Invariant: a language's number is its position in the table. New rows are added at the end
//! only, because the index stores numbers.

use codeyard_files::first_line::interpreter;

/// One language; cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// The names and files of one language.
struct LanguageRow {
    name: &'static str,
    /// Other names that filters accept, in lower case.
    synonyms: &'static [&'static str],
    /// Extensions of file names, in lower case, without the dot.
    extensions: &'static [&'static str],
    /// Whole file names.
    files: &'static [&'static str],
    /// Interpreters that a `#!` line may name, without versions.
    interpreters: &'static [&'static str],
}

macro_rules! languages {
    ($($constant:ident = $name:literal, $synonyms:expr, $extensions:expr, $files:expr, $interpreters:expr;)+) => {
        const ROWS: &[LanguageRow] = &[$(LanguageRow {
            name: $name, synonyms: &$synonyms, extensions: &$extensions, files: &$files, interpreters: &$interpreters,
        }),+];
        languages!(@numbers 0_u8; $($constant)+);

        impl Language {
            /// Every language, by its number.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
    (@numbers $number:expr; $constant:ident $($rest:ident)*) => {
        impl Language {
            /// The language of this name.
            pub const $constant: Self = Self($number);
        }
        languages!(@numbers $number + 1; $($rest)*);
    };
    (@numbers $number:expr;) => {};
}

languages! {
    RUST = "rust", ["rs"], ["rs"], [], [];
    TYPESCRIPT = "typescript", ["ts"], ["ts", "mts", "cts"], [], ["ts-node", "deno", "tsx"];
    TSX = "tsx", ["typescriptreact"], ["tsx"], [], [];
    JAVASCRIPT = "javascript", ["js", "jsx", "javascriptreact", "node"], ["js", "mjs", "cjs", "jsx", "es6"],
        ["Jakefile"], ["node", "nodejs", "bun"];
    PYTHON = "python", ["py", "python3"], ["py", "pyi", "pyw", "wsgi"], ["SConstruct", "SConscript", "wscript"],
        ["python", "pypy", "uv"];
    GO = "go", ["golang"], ["go"], [], [];
    C = "c", [], ["c", "h"], [], ["tcc"];
    CPP = "cpp", ["c++", "cxx", "cc"],
        ["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "tpp", "cppm", "ixx", "cu", "cuh"], [], [];
    JAVA = "java", [], ["java"], [], [];
    CSHARP = "csharp", ["c#", "cs"], ["cs", "csx"], [], [];
    RUBY = "ruby", ["rb"], ["rb", "rake", "gemspec", "ru", "podspec", "rbi"],
        ["Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Capfile", "Podfile", "Brewfile", "Fastfile"],
        ["ruby", "jruby", "rake"];
    PHP = "php", [], ["php", "phtml", "php5", "php7", "php8"], [], ["php"];
    KOTLIN = "kotlin", ["kt"], ["kt", "kts"], [], ["kotlin"];
    SWIFT = "swift", [], ["swift"], [], ["swift"];
    SCALA = "scala", ["sc"], ["scala", "sc", "sbt"], [], ["scala"];
    BASH = "bash", ["sh", "shell", "zsh", "ksh", "shellscript"], ["sh", "bash", "zsh", "ksh", "bats", "ebuild", "eclass"],
        [".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", "PKGBUILD", "APKBUILD"],
        ["bash", "sh", "dash", "zsh", "ksh", "ash", "bats"];
    JSON = "json", ["jsonc"],
        ["json", "jsonc", "json5", "geojson", "webmanifest", "avsc", "ipynb", "code-workspace", "sarif"],
        [".babelrc", ".eslintrc", ".prettierrc", ".swcrc", "composer.lock", "Pipfile.lock", "flake.lock"], [];
    YAML = "yaml", ["yml"], ["yaml", "yml"], [".clang-format", ".clang-tidy", ".clangd"], [];
    TOML = "toml", [], ["toml"], ["Cargo.lock", "Pipfile", "poetry.lock", "uv.lock"], [];
    MARKDOWN = "markdown", ["md"], ["md", "markdown", "mdx", "mkd"], [], [];
    LUA = "lua", [], ["lua", "rockspec"], [".luacheckrc"], ["lua", "luajit"];
    ZIG = "zig", [], ["zig", "zon"], [], [];
    DART = "dart", [], ["dart"], [], ["dart"];
    HASKELL = "haskell", ["hs"], ["hs", "hs-boot"], [], ["runhaskell", "runghc"];
    ELIXIR = "elixir", ["ex"], ["ex", "exs"], ["mix.lock"], ["elixir"];
    OCAML = "ocaml", ["ml"], ["ml"], [], ["ocaml"];
    OCAML_INTERFACE = "ocaml-interface", ["mli", "ocaml.interface"], ["mli"], [], [];
    HCL = "hcl", ["terraform", "tf", "terraform-vars"], ["hcl", "tf", "tfvars", "tofu"], [".terraform.lock.hcl"], [];
    NIX = "nix", [], ["nix"], [], [];
    JULIA = "julia", ["jl"], ["jl"], [], ["julia"];
    R = "r", [], ["r"], [".Rprofile"], ["Rscript"];
    ERLANG = "erlang", ["erl"], ["erl", "hrl", "escript"], ["rebar.config"], ["escript"];
    ELM = "elm", [], ["elm"], [], [];
    GRAPHQL = "graphql", ["gql"], ["graphql", "graphqls", "gql"], [], [];
    SOLIDITY = "solidity", ["sol"], ["sol"], [], [];
    PROTO = "proto", ["protobuf"], ["proto"], [], [];
    CMAKE = "cmake", [], ["cmake"], ["CMakeLists.txt"], [];
    MAKE = "make", ["makefile"], ["mk", "mak"], ["Makefile", "makefile", "GNUmakefile", "BSDmakefile", "Kbuild"], ["make"];
    DOCKERFILE = "dockerfile", ["docker", "containerfile"], ["dockerfile", "containerfile"], ["Dockerfile", "Containerfile"],
        [];
    VUE = "vue", [], ["vue"], [], [];
    SVELTE = "svelte", [], ["svelte"], [], [];
}

/// Languages whose sources use each other's names.
const LANGUAGE_FAMILIES: [&[Language]; 5] = [
    &[Language::TYPESCRIPT, Language::TSX, Language::JAVASCRIPT, Language::VUE, Language::SVELTE],
    &[Language::C, Language::CPP],
    &[Language::JAVA, Language::KOTLIN, Language::SCALA],
    &[Language::ELIXIR, Language::ERLANG],
    &[Language::OCAML, Language::OCAML_INTERFACE],
];

impl Language {
    fn row(self) -> &'static LanguageRow {
        &ROWS[usize::from(self.0)]
    }

    /// The language's name, as results show it and filters accept it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The extensions of its files, in lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        self.row().extensions
    }

    /// Whole names of its files.
    pub fn file_names(self) -> &'static [&'static str] {
        self.row().files
    }

    /// The interpreters of its scripts, without versions.
    pub fn interpreters(self) -> &'static [&'static str] {
        self.row().interpreters
    }

    /// Whether a `$` in front of a name says that it is a variable, and is no part of the name.
    pub fn marks_variables(self) -> bool {
        matches!(self, Self::BASH | Self::PHP | Self::MAKE | Self::DOCKERFILE)
    }

    /// Whether it is a programming language. Others describe data or are prose.
    pub fn is_code(self) -> bool {
        !matches!(self, Self::JSON | Self::YAML | Self::TOML | Self::MARKDOWN)
    }

    /// Whether a name in a source of one language may refer to a definition in a source of the other.
    pub fn shares_names_with(self, other: Self) -> bool {
        self == other || LANGUAGE_FAMILIES.iter().any(|family| family.contains(&self) && family.contains(&other))
    }

    /// Its number, which the index stores. It never changes.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The language with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        (usize::from(number) < ROWS.len()).then_some(Self(number))
    }

    /// The language with this name or synonym (`c++`, `ts`), ignoring case.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|language| language.name() == name || language.row().synonyms.contains(&name.as_str()))
    }

    /// The language of a file by its name, or else by its first line: a `#!` line names an interpreter, and `-*- c++ -*-` marks a C++
    /// header. Other `.h` files are C.
    pub fn of_file(path: &str, first_line: &[u8]) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(found) = Self::ALL.iter().copied().find(|language| language.row().files.contains(&name)) {
            return Some(found);
        }
        let Some((stem, extension)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) else {
            return Self::of_first_line(first_line);
        };
        if extension == "C" || extension == "H" {
            return Some(Self::CPP);
        }
        let extension = extension.to_ascii_lowercase();
        if extension == "in" {
            // A template such as `config.h.in` has the language of its output.
            return stem.contains('.').then(|| Self::of_file(stem, first_line)).flatten();
        }
        let found = Self::of_extension(name);
        if found == Some(Self::C) && extension == "h" && Self::has_cpp_mode_line(first_line) {
            return Some(Self::CPP);
        }
        // A template of CMake such as `config.h.cmake` has the language of its output.
        if found == Some(Self::CMAKE)
            && let Some(output) = Self::of_extension(stem)
        {
            return Some(output);
        }
        // Such as `Dockerfile.dev` and `Makefile.am`. `Makefile.PL` is a script in Perl.
        let of_stem = || {
            let mut named = [Self::DOCKERFILE, Self::MAKE].into_iter().filter(|_| extension != "pl");
            named.find(|language| language.row().files.contains(&stem))
        };
        found.or_else(of_stem).or_else(|| Self::of_first_line(first_line))
    }

    /// The language of a file name's extension.
    fn of_extension(name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
        Self::ALL.iter().copied().find(|language| language.row().extensions.contains(&extension.as_str()))
    }

    /// Whether [`Self::of_file`] may tell this first line from an empty one.
    pub(crate) fn may_depend_on(first_line: &[u8]) -> bool {
        first_line.starts_with(b"#!") || Self::has_cpp_mode_line(first_line)
    }

    fn has_cpp_mode_line(first_line: &[u8]) -> bool {
        let head = &first_line[..first_line.len().min(200)];
        let line = String::from_utf8_lossy(head).to_ascii_lowercase();
        line.split_once("-*-").is_some_and(|(_, mode)| mode.contains("c++"))
    }

    fn of_first_line(line: &[u8]) -> Option<Self> {
        let program = interpreter(line)?;
        Self::ALL.iter().copied().find(|language| language.row().interpreters.contains(&program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_change() {
        let names: Vec<&str> = Language::ALL.iter().copied().map(Language::name).collect();
        let expected = "rust typescript tsx javascript python go c cpp java csharp ruby php kotlin swift scala bash json yaml \
                        toml markdown lua zig dart haskell elixir ocaml ocaml-interface hcl nix julia r erlang elm graphql \
                        solidity proto cmake make dockerfile vue svelte";
        assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
        for (number, language) in (0_u8..).zip(Language::ALL.iter().copied()) {
            assert_eq!(language.number(), number);
            assert_eq!(Language::from_number(number), Some(language));
            assert_eq!(Language::by_name(language.name()), Some(language));
        }
        assert_eq!(Language::from_number(41), None);
        assert_eq!((Language::MARKDOWN.number(), Language::PYTHON.name()), (19, "python"));
    }

    #[test]
    fn names_and_extensions_belong_to_one_language() {
        let mut seen = std::collections::BTreeSet::new();
        for language in Language::ALL.iter().copied() {
            let row = language.row();
            for word in row.synonyms.iter().chain([&row.name]) {
                assert!(seen.insert(format!("name {word}")), "{word}");
            }
            for word in row.extensions {
                assert!(seen.insert(format!("extension {word}")), "{word}");
            }
            for word in row.files.iter().chain(row.interpreters) {
                assert!(seen.insert(format!("file {word}")), "{word}");
            }
        }
    }

    #[test]
    fn synonyms_name_languages() {
        for (name, expected) in [
            ("c++", Some(Language::CPP)),
            ("C#", Some(Language::CSHARP)),
            ("ts", Some(Language::TYPESCRIPT)),
            ("sh", Some(Language::BASH)),
            ("Golang", Some(Language::GO)),
            ("cobol", None),
            ("", None),
        ] {
            assert_eq!(Language::by_name(name), expected, "{name}");
        }
    }

    #[test]
    fn languages_are_detected_by_file_name_and_first_line() {
        let of = |path: &str, line: &str| Language::of_file(path, line.as_bytes()).map(Language::name);
        for (path, line, expected) in [
            ("src/main.rs", "", Some("rust")),
            ("a/b.d.ts", "", Some("typescript")),
            ("a/B.TSX", "", Some("tsx")),
            ("x.h", "", Some("c")),
            ("x.h", "// -*- C++ -*-", Some("cpp")),
            ("x.H", "", Some("cpp")),
            ("x.hpp", "", Some("cpp")),
            ("config.h.in", "", Some("c")),
            ("Makefile.in", "", None),
            ("Gemfile", "", Some("ruby")),
            ("Cargo.lock", "", Some("toml")),
            ("a/CMakeLists.txt", "", Some("cmake")),
            ("a/Config.cmake.in", "", Some("cmake")),
            ("Makefile", "", Some("make")),
            ("Makefile.am", "", Some("make")),
            ("Makefile.PL", "", None),
            ("src/config.h.cmake", "", Some("c")),
            ("cmake/Boost.1.cmake", "", Some("cmake")),
            ("a.luau", "", None),
            ("Dockerfile.dev", "", Some("dockerfile")),
            ("app.Dockerfile", "", Some("dockerfile")),
            ("a/shape.mli", "", Some("ocaml-interface")),
            ("R/shape.R", "", Some("r")),
            ("bin/run", "#!/usr/bin/env Rscript", Some("r")),
            ("bin/run", "#!/usr/bin/env python3\n", Some("python")),
            ("bin/run", "#!/usr/bin/python3.11 -u", Some("python")),
            ("bin/run", "#!/usr/bin/env -S LANG=C node --x", Some("javascript")),
            ("bin/run", "#!/bin/sh", Some("bash")),
            ("bin/run", "#!", None),
            ("bin/run", "int main", None),
            ("script.unknown", "#!/bin/bash", Some("bash")),
            (".bashrc", "", Some("bash")),
            (".gitignore", "", None),
            ("README.md", "", Some("markdown")),
            ("", "", None),
        ] {
            assert_eq!(of(path, line), expected, "{path} {line}");
        }
    }
}
