//! Repositories of every family and platform, and those that are not clear.

use super::*;

fn facts(name: &str, files: &[&str], readme: &str) -> RepositoryFacts {
    RepositoryFacts {
        name: name.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        readme: readme.to_owned(),
    }
}

/// `family platform`, each `?` where it isn't clear.
fn chosen(facts: &RepositoryFacts) -> String {
    let sites = Sites::builtin();
    let family = family(&sites, facts);
    let platform = platform(&sites, facts);
    format!("{} {}", family.chosen().unwrap_or("?"), platform.chosen().unwrap_or("?"))
}

/// A manifest of each platform.
const MANIFEST_OF: [(&str, &str); 12] = [
    ("python", "pyproject.toml"),
    ("typescript", "tsconfig.json"),
    ("javascript", "package.json"),
    ("java", "pom.xml"),
    ("dotnet", "Product.csproj"),
    ("cpp", "CMakeLists.txt"),
    ("go", "go.mod"),
    ("ruby", "product.gemspec"),
    ("php", "composer.json"),
    ("kotlin", "build.gradle.kts"),
    ("swift", "Package.swift"),
    ("rust", "Cargo.toml"),
];

#[test]
fn every_family_on_every_platform_is_found_in_several_spellings() {
    let sites = Sites::builtin();
    let mut cases = 0;
    for family in &sites.families {
        for (platform, manifest) in MANIFEST_OF {
            let capital = |text: &str| text[..1].to_uppercase() + &text[1..];
            let names = [
                format!("Aspose.{}-for-{}", family.to_uppercase(), capital(platform)),
                format!("aspose-{family}-{platform}"),
                format!("Aspose.{}.{}", capital(family), capital(platform)),
                format!("{platform}_{family}"),
                format!("Aspose.{family}-for-{platform}-via-Java"),
            ];
            for name in names {
                let readme = format!("# Aspose.{} for {}\n\nA library.\n", capital(family), capital(platform));
                let facts = facts(&name, &[manifest, "README.md"], &readme);
                assert_eq!(chosen(&facts), format!("{family} {platform}"), "{name}");
                cases += 1;
            }
        }
    }
    assert!(cases > 1_000, "{cases}");
}

#[test]
fn other_words_for_a_platform_are_understood() {
    let names = [
        ("Aspose.3D-for-Python-via-.NET", "setup.py", "python"),
        ("Aspose.Cells-for-.NET", "Cells.sln", "dotnet"),
        ("Aspose.Cells-for-C++", "CMakeLists.txt", "cpp"),
        ("Aspose.Cells-for-Node.js-via-C++", "package.json", "javascript"),
        ("aspose-cells-nodejs", "package.json", "javascript"),
        ("aspose-cells-golang", "go.mod", "go"),
        ("aspose_cells_rs", "Cargo.toml", "rust"),
        ("Aspose.Cells-CSharp", "Cells.csproj", "dotnet"),
    ];
    for (name, manifest, platform) in names {
        let family = if name.contains("3D") { "3d" } else { "cells" };
        let found = chosen(&facts(name, &[manifest], &format!("# {name}\n")));
        assert_eq!(found, format!("{family} {platform}"), "{name}");
    }
}

#[test]
fn what_is_not_clear_is_not_chosen() {
    let readme = "# Aspose.Cells for Python\n\nText.\n";
    let cases: [(&str, &[&str], &str, &str); 14] = [
        // The name alone, or with a manifest: the family stays below the threshold.
        ("Aspose.Cells-for-Python", &[], "", "? ?"),
        ("Aspose.Cells-for-Python", &["setup.py"], "", "? python"),
        ("Aspose.Cells-for-Python", &["setup.py"], readme, "cells python"),
        ("Aspose.Cells-for-Python", &[], readme, "cells python"),
        // The README and the manifest alone are not enough for a family, and just not more than enough for a platform.
        ("library", &["setup.py"], readme, "? ?"),
        // Two families or platforms in the name.
        ("Aspose.Cells-PDF-for-Python", &["setup.py"], readme, "? python"),
        ("Aspose.Cells-for-Python-Java", &["setup.py"], readme, "cells ?"),
        // Manifests of two platforms count half; the other one must stay well behind.
        ("Aspose.Cells-for-Python", &["setup.py", "pom.xml"], readme, "cells python"),
        ("Aspose.Cells-for-Python", &["pom.xml"], "# Aspose.Cells for Java\n", "cells ?"),
        // Names that contain a family, but not as a whole word.
        ("Aspose.Cellsx-for-Python", &["setup.py"], "# Pythons\n", "? python"),
        // Nothing at all.
        ("", &[], "", "? ?"),
        ("-via-python", &[], "", "? ?"),
        ("Aspose.Cells-via-Python", &["package.json"], "# Aspose.Cells\n", "cells ?"),
        ("Aspose.Cells-for-TypeScript", &["package.json", "tsconfig.json"], "# Aspose.Cells\n", "cells typescript"),
    ];
    for (name, files, readme, expected) in cases {
        assert_eq!(chosen(&facts(name, files, readme)), expected, "{name} {files:?}");
    }
}

#[test]
fn candidates_come_best_first_with_their_scores() {
    let sites = Sites::builtin();
    let facts = facts(
        "Aspose.Cells-for-Java",
        &["pom.xml", "setup.py"],
        "# Cells and PDF\n\nFor Java, Python and Ruby.\n\nAlso slides.\n",
    );
    let list = |field: &InferredField| {
        field.candidates.iter().map(|(name, score)| format!("{name} {score}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(list(&family(&sites, &facts)), "cells 90, pdf 30");
    assert_eq!(list(&platform(&sites, &facts)), "java 100, python 55, ruby 30");
}

#[test]
fn the_opening_is_the_title_and_the_first_paragraph() {
    let cases = [
        ("# Title\n\nFirst\nparagraph.\n\nSecond.\n", " Title\nFirst\nparagraph."),
        ("[![badge](x)](y)\n\n# Title\n\n![logo](x)\n<p>\n\nText\n## Usage\nmore", " Title\nText"),
        ("# Title\n## Usage\nText", " Title"),
        // A link is text; images and badges alone are not.
        ("# Title\n\n[Cells](x) for Python\n\nSecond", " Title\n[Cells](x) for Python"),
        ("![logo](x) Cells\n\nSecond", "![logo](x) Cells"),
        ("[![a](b)](c) ![d][e] [![f][g]][h]\n[![i](j)][k]\n![l]\n\nText\n\nSecond", "Text"),
        ("[![a](b)](c) and [d](e)\n\nSecond", "[![a](b)](c) and [d](e)"),
        ("[cells]: https://example.org\n\nText", "Text"),
        // Titles with lines below and above them.
        ("Title\n=====\n\nFirst\n\nSecond\n", "Title\nFirst"),
        ("Title\n---\nFirst\n\nSecond\n", "Title\nFirst"),
        ("~~~~~\nTitle\n~~~~~\n\n.. image:: x\n   :target: y\n\nFirst\n\nSecond\n", "Title\nFirst"),
        ("# Title\n\nUsage\n-----\n\nText", " Title"),
        ("First\n\n---\n\nSecond\n", "First"),
        ("", ""),
        ("\r\n# Title\r\n\r\nText\r\n\r\nMore", " Title\nText"),
    ];
    for (readme, expected) in cases {
        assert_eq!(opening(readme), expected, "{readme:?}");
    }
}

#[test]
fn urls_of_repositories() {
    let good =
        ["https://github.com/a/b", "https://github.com/a/b/", "https://github.com/a/b.git", "HTTPS://GitHub.com/a/b"];
    for url in good {
        assert_eq!(GithubRepository::parse(url).unwrap().url(), "https://github.com/a/b", "{url}");
    }
    let name = "https://github.com/aspose-3d/Aspose.3D-for-Python-via-.NET";
    assert_eq!(GithubRepository::parse(name).unwrap().url(), name);
    let long = format!("https://github.com/a/{}", "x".repeat(101));
    for url in [
        "",
        "https://",
        "https://github.com",
        "https://github.com/",
        "https://github.com/a",
        "https://github.com/a/",
        "https://github.com//b",
        "https://github.com/a//",
        "https://github.com/a/b/c",
        "https://github.com/a/b/tree/main",
        "https://github.com/a/b?x",
        "https://github.com/a/b#x",
        "https://github.com/a/..",
        "https://github.com/a/.git",
        "https://github.com/../b",
        "https://github.com/-a/b",
        "https://github.com/a/b%2fc",
        "https://github.com/a/b c",
        "https://github.com/ä/b",
        "https://github.com:443/a/b",
        "https://user@github.com/a/b",
        "https://github.com.evil.example/a/b",
        "https://gitlab.com/a/b",
        "http://github.com/a/b",
        "git@github.com:a/b.git",
        "ssh://git@github.com/a/b",
        "github.com/a/b",
        "file:///a/b",
        "ext::sh -c x",
        &long,
    ] {
        assert_eq!(GithubRepository::parse(url), None, "{url:?}");
    }
}
