//! Manifests of all platforms, with the lines of their values.

use super::*;

/// The values as `name@line`, in the order of the fields; `-` for a missing one.
fn shown(path: &str, content: &str) -> [String; 5] {
    let manifest = read(path, content.as_bytes(), false).unwrap();
    let show = |value: Option<ManifestValue>| {
        value.map_or_else(|| "-".into(), |value| format!("{}@{}", value.text, value.line))
    };
    [manifest.name, manifest.version, manifest.description, manifest.license, manifest.requires].map(show)
}

fn platforms_of(path: &str, content: &str, has_typescript: bool) -> Vec<String> {
    read(path, content.as_bytes(), has_typescript).unwrap().platforms
}

#[test]
fn toml() {
    let cargo = "[package]\nname = \"cells\" # \"no\"\nversion = '1.0'\ndescription = \"\"\"\nReads\n  cells.\"\"\"\nlicense = \"MIT\"\nrust-version = \"1.80\"\n";
    assert_eq!(shown("Cargo.toml", cargo), ["cells@2", "1.0@3", "Reads cells.@4", "MIT@7", "1.80@8"]);
    assert_eq!(shown("Cargo.toml", "[workspace]\nmembers = []\n"), ["-"; 5]);
    let project = "[build-system]\nrequires = []\n[project]\nname = \"cells\"\ndynamic = [\"version\"]\nrequires-python = \">=3.9\"\n\
                   classifiers = [\n  \"Topic :: x\",\n  \"License :: OSI Approved :: MIT License\",\n]\n";
    assert_eq!(shown("pyproject.toml", project), ["cells@4", "-", "-", "MIT License@9", ">=3.9@6"]);
    let poetry = "[tool.poetry]\nname = \"cells\"\nversion = \"2\"\ndescription = \"d\"\nlicense = \"BSD\"\n[tool.poetry.dependencies]\npython = \"^3.10\"\n";
    assert_eq!(shown("pyproject.toml", poetry), ["cells@2", "2@3", "d@4", "BSD@5", "^3.10@7"]);
    let text = "[project]\nname = \"c\"\nlicense = { text = \"Apache-2.0\" }\n";
    assert_eq!(shown("pyproject.toml", text)[3], "Apache-2.0@3");
    for broken in ["[project", "name = ", "\u{0}", "[project]\nname = 1\n"] {
        assert_eq!(shown("pyproject.toml", broken), ["-"; 5], "{broken:?}");
    }
}

#[test]
fn python_programs() {
    let setup = "from setuptools import setup\nname = 'not this'\nversion = read()\nsetup(\n    # name='neither',\n    name='cells',\n    \
                 version=version,\n    description=\"Reads \\\"cells\\\"\",\n    license = 'MIT',\n    python_requires='>=3.8',\n)\n";
    assert_eq!(shown("setup.py", setup), ["cells@6", "-", "Reads \"cells\"@8", "MIT@9", ">=3.8@10"]);
    let inline = "setup(name=\"a\", version=\"1\" + x, description='a' 'b', author_name='x')";
    assert_eq!(shown("setup.py", inline), ["a@1", "-", "-", "-", "-"]);
    assert_eq!(shown("setup.py", "print('setup')"), ["-"; 5]);
    let cfg = "[metadata]\nname = cells\nversion = attr: cells.__version__\nDescription: Reads cells\nclassifiers =\n    License :: OSI Approved :: MIT License\n\
               [options]\npython-requires = >=3.7\n";
    assert_eq!(shown("setup.cfg", cfg), ["cells@2", "-", "Reads cells@4", "MIT License@6", ">=3.7@8"]);
    let conan = "class CellsConan(ConanFile):\n    name = \"cells\"\n    version = \"1.0\"\n    license = \"MIT\"\n    description = \"d\"\n";
    assert_eq!(shown("conanfile.py", conan), ["cells@2", "1.0@3", "d@5", "MIT@4", "-"]);
}

#[test]
fn json_texts() {
    let npm = "\u{feff}{\n  \"scripts\": {\"name\": \"no\"},\n  \"name\": \"@a/cells\",\n  \"version\": \"1\",\n  \"description\": \"d: \\\"q\\\"\",\n  \"license\": {\"type\": \"MIT\"},\n  \"engines\": {\n    \"npm\": \"9\",\n    \"node\": \">=18\"\n  }\n}\n";
    assert_eq!(shown("package.json", npm), ["@a/cells@3", "1@4", "d: \"q\"@5", "MIT@6", ">=18@9"]);
    assert_eq!(platforms_of("package.json", npm, false), ["javascript"]);
    assert_eq!(platforms_of("package.json", npm, true), ["javascript", "typescript"]);
    assert_eq!(platforms_of("package.json", "{\"types\": \"a.d.ts\"}", false), ["javascript", "typescript"]);
    let composer = "{\"name\": \"a/cells\",\n\"license\": [\"MIT\", \"GPL\"],\n\"require\": {\"php\": \"^8.1\"}}";
    assert_eq!(shown("composer.json", composer), ["a/cells@1", "-", "-", "MIT@2", "^8.1@3"]);
    let vcpkg = "{\"name\": \"cells\",\n\"version-semver\": \"1.0.0\",\n\"description\": [\"first\", \"second\"]}";
    assert_eq!(shown("vcpkg.json", vcpkg), ["cells@1", "1.0.0@2", "first@3", "-", "-"]);
    let deep = "[".repeat(100_000);
    for broken in ["", "[]", "{", "null", "{\"name\": 1}", "{\"name\": \"a\" // c\n}", deep.as_str()] {
        assert_eq!(shown("package.json", broken), ["-"; 5]);
    }
}

#[test]
fn xml_texts() {
    let pom = "<?xml version=\"1.0\"?>\n<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<parent><groupId>org.a</groupId>\n<version>1</version></parent>\n\
               <artifactId>cells</artifactId>\n<version>${rev}</version>\n<description>\n  Reads\n  cells\n</description>\n<properties><rev>2.1</rev>\n<java.version>17</java.version></properties>\n\
               <licenses><license>\n<name>MIT</name></license></licenses>\n<dependencies><dependency><artifactId>other</artifactId></dependency></dependencies></project>";
    assert_eq!(shown("pom.xml", pom), ["org.a:cells@5", "2.1@11", "Reads cells@8", "MIT@14", "Java 17@12"]);
    assert_eq!(shown("pom.xml", "<project><artifactId>a</artifactId><version>${other}</version></project>"), ["-"; 5]);
    let csproj = "<Project Sdk=\"Microsoft.NET.Sdk\">\n<PropertyGroup>\n<PackageId>Cells</PackageId>\n<Version>1.0</Version>\n<PackageVersion>$(V)</PackageVersion>\n\
                  <PackageLicenseExpression>MIT</PackageLicenseExpression>\n<TargetFrameworks>net8.0;net6.0</TargetFrameworks>\n</PropertyGroup></Project>";
    assert_eq!(shown("src/Cells.csproj", csproj), ["Cells@3", "1.0@4", "-", "MIT@6", "net8.0;net6.0@7"]);
    let nuspec = "<package>\n<metadata>\n<id>Cells</id>\n<version>2</version>\n<description>d</description></metadata></package>";
    assert_eq!(shown("Cells.nuspec", nuspec), ["Cells@3", "2@4", "d@5", "-", "-"]);
    let bomb =
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><project><artifactId>&b;</artifactId></project>";
    let deep = "<a>".repeat(50_000);
    for broken in [bomb, "<project>", "", deep.as_str()] {
        assert_eq!(shown("pom.xml", broken), ["-"; 5]);
    }
}

#[test]
fn other_programs() {
    let gem = "Gem::Specification.new do |spec|\n  spec.name = \"cells\"\n  spec.version = Cells::VERSION\n  spec.summary = 'Reads #1'\n  spec.licenses = ['MIT', 'X']\n  \
               spec.required_ruby_version = \">= 3.0\"\n  spec.authors = [\"a\"]\nend\n";
    assert_eq!(shown("cells.gemspec", gem), ["cells@2", "-", "Reads #1@4", "MIT@5", ">= 3.0@6"]);
    let swift = "// swift-tools-version:5.9\nimport PackageDescription\nlet package = Package(\n    // name: \"no\"\n    name: \"Cells\",\n    targets: [.target(name: \"X\")]\n)\n";
    assert_eq!(shown("Package.swift", swift), ["Cells@5", "-", "-", "-", "Swift 5.9@1"]);
    let gradle = "plugins { id 'java' version '1' }\ngroup = 'org.a'\nversion '2.0'\ndescription = \"d $x\"\njar { archivesBaseName = 'cells' }\n";
    assert_eq!(shown("build.gradle", gradle)[0], "org.a:cells@5");
    assert_eq!(platforms_of("build.gradle", gradle, false), ["java"]);
    assert_eq!(platforms_of("build.gradle.kts", "plugins { kotlin(\"jvm\") }", false), ["java", "kotlin"]);
    let go = "// comment\nmodule example.org/cells/v2 // here\n\ngo 1.22\nrequire x v1\n";
    assert_eq!(shown("go.mod", go), ["example.org/cells/v2@2", "-", "-", "-", "Go 1.22@4"]);
    let cmake = "cmake_minimum_required(VERSION 3.1)\n# project(no)\nproject (\n  cells # the name\n  VERSION 1.2.3\n  DESCRIPTION \"Reads (cells)\"\n  LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 17)\n";
    assert_eq!(shown("CMakeLists.txt", cmake), ["cells@4", "1.2.3@5", "Reads (cells)@6", "-", "C++17@8"]);
    assert_eq!(shown("CMakeLists.txt", "project(${NAME} VERSION ${V})"), ["-"; 5]);
    assert_eq!(shown("conanfile.txt", "[requires]\n"), ["-"; 5]);
}

#[test]
fn values_of_other_files_are_inherited_with_their_place() {
    let files = [
        (
            "pom.xml",
            "<project><groupId>org.a</groupId><artifactId>top</artifactId><version>1</version>\n<properties>\n<java.version>17</java.version></properties></project>",
        ),
        (
            "lib/pom.xml",
            "<project><parent><groupId>org.a</groupId><artifactId>top</artifactId><version>1</version></parent><artifactId>lib</artifactId></project>",
        ),
        (
            "other/pom.xml",
            "<project><parent><groupId>org.b</groupId><artifactId>else</artifactId><version>1</version></parent><artifactId>x</artifactId></project>",
        ),
        (
            "src/Cells/Cells.csproj",
            "<Project><PropertyGroup><PackageId>Cells</PackageId><Version>2.0</Version></PropertyGroup></Project>",
        ),
        ("jvm/build.gradle.kts", "group = \"org.a\"\n"),
    ];
    let others = [
        (
            "Directory.Build.props",
            "<Project>\n<Version>1.0</Version>\n<PackageLicenseExpression>MIT</PackageLicenseExpression></Project>",
        ),
        ("src/Directory.Build.props", "<Project>\n<Description>Reads cells</Description></Project>"),
        ("jvm/settings.gradle.kts", "\nrootProject.name = \"cells\"\n"),
        ("gradle.properties", "# x\nversion=3.1\n"),
    ];
    let read_one = |(path, text): &(&str, &str)| read(path, text.as_bytes(), false).unwrap();
    let mut manifests: Vec<PackageManifest> = files.iter().map(read_one).collect();
    let texts: Vec<String> = files.iter().map(|(_, text)| (*text).to_owned()).collect();
    let read_text = |path: &str| others.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    inherit(&mut manifests, &texts, &read_text);
    let show = |value: &Option<ManifestValue>| {
        let value = value.as_ref()?;
        Some(format!("{} {}:{}", value.text, value.path.as_deref().unwrap_or("own"), value.line))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(show(&manifests[1].requires), some("Java 17 pom.xml:3"));
    assert_eq!(show(&manifests[2].requires), None, "another parent");
    let cells = &manifests[3];
    assert_eq!(show(&cells.version), some("2.0 own:1"));
    assert_eq!(show(&cells.license), some("MIT Directory.Build.props:3"));
    assert_eq!(show(&cells.description), some("Reads cells src/Directory.Build.props:2"));
    assert_eq!(show(&manifests[4].name), some("org.a:cells jvm/settings.gradle.kts:2"));
    assert_eq!(show(&manifests[4].version), some("3.1 gradle.properties:2"));
}

#[test]
fn large_manifests_cost_no_more_than_their_size() {
    let size = 64 * 1024;
    let repeated = |piece: &str| piece.repeat(size / piece.len());
    let start = codeyard_base::clock::Instant::now();
    for piece in [
        "name", "name=", "name=\"", "name = 'a' + ", "License ::", "set", "project(\n", "project ", "set(", "\"\"\"",
        "[", "[a.", "a.", ".name", "{\"a\":",
    ] {
        for path in [
            "setup.py", "a.gemspec", "build.gradle", "CMakeLists.txt", "Package.swift", "Cargo.toml", "package.json",
            "go.mod", "setup.cfg",
        ] {
            read(path, format!("setup({}", repeated(piece)).as_bytes(), false).unwrap();
            read(path, repeated(piece).as_bytes(), false).unwrap();
        }
    }
    let nodes = format!("<p>{}</p>", "<Version>\u{80}</Version>".repeat(10_000));
    assert_eq!(shown("a.csproj", &nodes), ["-"; 5]);
    // A quadratic reader takes hours; the bound only tells that from a slow machine.
    assert!(start.elapsed().as_secs() < 300);
}

#[test]
fn no_bytes_make_a_reader_fail() {
    let names = [
        "Cargo.toml", "pyproject.toml", "setup.py", "setup.cfg", "package.json", "pom.xml", "build.gradle", "a.csproj",
        "a.nuspec", "go.mod", "a.gemspec", "composer.json", "Package.swift", "CMakeLists.txt", "conanfile.py",
        "vcpkg.json",
    ];
    let pieces = [
        "name", "=", ":", "\"", "'", "\"\"\"", "\\", "\n", "setup(", "project(", ")", "{", "}", "[", "]", "<", ">",
        "</", "é", "\u{fffd}", ".licenses", "VERSION", "set(", "License ::", "#", "//", "module ", "go ", "${", "\0",
    ];
    let mut state = 7_u64;
    for round in 0..400 {
        let mut text = String::new();
        for _ in 0..round % 40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        for name in names {
            let found = read(name, text.as_bytes(), false).unwrap();
            let values = [&found.name, &found.version, &found.description, &found.license, &found.requires];
            let lines = u32::try_from(text.lines().count()).unwrap() + 1;
            assert!(values.into_iter().flatten().all(|value| (1..=lines).contains(&value.line)), "{name}: {text:?}");
        }
    }
}
