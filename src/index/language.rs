//! The languages that are parsed: their names, their numbers, and which files are theirs.
//!
//! It knows no grammar; that is `extract`'s. Invariant: a language's number is its place in the table, and rows are only ever added
//! at the end, because the index stores numbers.

pub(crate) use super::extract::grammars;

/// One language; cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// What is known of a language.
struct Row {
    name: &'static str,
    /// What filters may call it besides, in small letters.
    synonyms: &'static [&'static str],
    /// Endings of file names, in small letters, without the point.
    endings: &'static [&'static str],
    /// Whole file names.
    files: &'static [&'static str],
    /// Programs that a first line may name, without their versions.
    programs: &'static [&'static str],
}

macro_rules! languages {
    ($($constant:ident = $name:literal, $synonyms:expr, $endings:expr, $files:expr, $programs:expr;)+) => {
        const ROWS: &[Row] = &[$(Row {
            name: $name, synonyms: &$synonyms, endings: &$endings, files: &$files, programs: &$programs,
        }),+];
        languages!(@numbers 0_u8; $($constant)+);

        impl Language {
            /// Every language, by its number.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
    (@numbers $number:expr; $constant:ident $($rest:ident)*) => {
        impl Language {
            #[allow(missing_docs)]
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
        ["python", "pypy"];
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
}

impl Language {
    fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The language's name, as rows show it and filters take it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its number, which the index stores. Numbers don't change from one build to the next.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The language with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        (usize::from(number) < ROWS.len()).then_some(Self(number))
    }

    /// The language that a filter names: its name, or a usual synonym (`c++`, `ts`), in capital or small letters.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|language| language.name() == name || language.row().synonyms.contains(&name.as_str()))
    }

    /// The language of a file, by its path and, where that doesn't say, its first line: one that begins with `#!` names a program,
    /// and one of the kind `-*- c++ -*-` the language of a header. A header that doesn't say is C.
    pub fn of_file(path: &str, first_line: &[u8]) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(found) = Self::ALL.iter().copied().find(|language| language.row().files.contains(&name)) {
            return Some(found);
        }
        let Some((stem, ending)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) else {
            return Self::of_first_line(first_line);
        };
        if ending == "C" || ending == "H" {
            return Some(Self::CPP);
        }
        let ending = ending.to_ascii_lowercase();
        if ending == "in" {
            // A template is in the language of what it makes.
            return stem.contains('.').then(|| Self::of_file(stem, first_line)).flatten();
        }
        let found = Self::ALL.iter().copied().find(|language| language.row().endings.contains(&ending.as_str()));
        if found == Some(Self::C) && ending == "h" && Self::says_cpp(first_line) {
            return Some(Self::CPP);
        }
        found.or_else(|| Self::of_first_line(first_line))
    }

    fn says_cpp(first_line: &[u8]) -> bool {
        let head = &first_line[..first_line.len().min(200)];
        let line = String::from_utf8_lossy(head).to_ascii_lowercase();
        line.split_once("-*-").is_some_and(|(_, mode)| mode.contains("c++"))
    }

    fn of_first_line(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(&line[..line.len().min(200)]).ok()?.strip_prefix("#!")?;
        // `#!/usr/bin/env -S node --flag`: what is named first and is neither `env` nor a flag nor a variable.
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let program = words.find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
        let program = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        Self::ALL.iter().copied().find(|language| language.row().programs.contains(&program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are() {
        let names: Vec<&str> = Language::ALL.iter().copied().map(Language::name).collect();
        let expected = "rust typescript tsx javascript python go c cpp java csharp ruby php kotlin swift scala bash json yaml \
                        toml markdown";
        assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
        for (number, language) in (0_u8..).zip(Language::ALL.iter().copied()) {
            assert_eq!(language.number(), number);
            assert_eq!(Language::from_number(number), Some(language));
            assert_eq!(Language::by_name(language.name()), Some(language));
        }
        assert_eq!(Language::from_number(20), None);
        assert_eq!((Language::MARKDOWN.number(), Language::PYTHON.name()), (19, "python"));
    }

    #[test]
    fn a_name_or_a_synonym_or_an_ending_belongs_to_one_language() {
        let mut seen = std::collections::BTreeSet::new();
        for language in Language::ALL.iter().copied() {
            let row = language.row();
            for word in row.synonyms.iter().chain([&row.name]) {
                assert!(seen.insert(format!("name {word}")), "{word}");
            }
            for word in row.endings {
                assert!(seen.insert(format!("ending {word}")), "{word}");
            }
            for word in row.files.iter().chain(row.programs) {
                assert!(seen.insert(format!("file {word}")), "{word}");
            }
        }
    }

    #[test]
    fn filters_take_synonyms() {
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
    fn files_are_known_by_name_ending_and_first_line() {
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
