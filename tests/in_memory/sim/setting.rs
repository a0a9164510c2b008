//! Initial state of a world: the files of its workspaces and its configuration.

use std::path::Path;

use codeyard_config::{Config, SyntacticMode, SyntacticSection};

use crate::sim::dice::Dice;
use crate::sim::profile::{Diagnosing, Profile};
use crate::sim::site::{Site, lines};

/// Initial files of a workspace.
pub(crate) fn site(root: &Path, number: usize, dice: &mut Dice) -> Site {
    let mut site = Site::new(root.to_path_buf());
    if number == 0 {
        site.write("sub/project.mod", "", false);
    }
    for name in ["a.fake", "b.fake", "sub/c.fake", "x.other"] {
        site.write(name, &lines(dice), false);
    }
    std::os::unix::fs::symlink(root.join("../elsewhere/secret.fake"), root.join("leak.fake")).unwrap();
    site
}

/// Configuration with the server kinds and the limits of the profile.
pub(crate) fn configuration(profile: &Profile) -> Config {
    let mut config = Config {
        languages: "fake = { extensions = [\"fake\"] }\nother = { extensions = [\"other\"] }".parse().unwrap(),
        // The fallback isn't simulated, so it is off.
        syntactic: SyntacticSection { mode: SyntacticMode::Off },
        ..Config::default()
    };
    profile.configure(&mut config);
    let quirks = |style: Diagnosing| match style {
        Diagnosing::Pulled => "",
        Diagnosing::Versioned => "quirks.push_versioned = true\n",
        Diagnosing::Settled => "quirks.push_settle_ms = 60\n",
    };
    let hovers = if profile.keeps_hovers { "quirks.no_cancel = [\"textDocument/hover\"]\n" } else { "" };
    let readiness = "readiness.progress = [\"index\"]\nreadiness.expect_within_ms = 500\n";
    // No file has a mark. Looking for one takes another thread, so that calls of one moment would end in any order.
    let marks = "quirks.strips_byte_order_mark = true\n";
    let nested = "root = { markers = [\"project.mod\"], pick = \"nearest\" }\n";
    let kinds = [
        ("first", "fake", "fake", "primary", 0, nested, profile.diagnosing),
        ("spare", "fake", "fake", "primary", 1, nested, profile.diagnosing),
        ("second", "other", "other", "primary", 0, "", profile.diagnosing),
        ("lint", "fake", "lint", "linter", 0, "", profile.linter),
    ];
    for (kind, language, group, role, priority, root, style) in kinds {
        let text = format!(
            "languages = [\"{language}\"]\ngroup = \"{group}\"\nrole = \"{role}\"\npriority = {priority}\n\
             command = [\"{kind}\"]\n{root}{readiness}{marks}{hovers}{}",
            quirks(style)
        );
        let entry: toml::Table = text.parse().unwrap();
        config.servers.insert(kind.to_owned(), entry.into());
    }
    config
}
