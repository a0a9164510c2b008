//! Each gate on a sound page, which it passes, and on pages that are broken in one way each, which it repairs where it says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use codeyard_runs::stage::StopFlag;
use codeyard_test_support::hugo::test_hugo;
use serde_json::json;

use super::*;
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{Claim, Evidence, EvidenceMap, Fact, InstallCommand, ProductFacts};
use crate::artifacts::issue::{GateName, NextFix, Severity, ValidationReport};
use crate::artifacts::page_claims::{ClaimedPage, PageClaims};
use crate::artifacts::page_plan::{PagePlan, PageTemplate};
use crate::artifacts::site::{FrontMatterRules, SiteContext};
use crate::artifacts::snippets::{Snippet, SnippetCatalog};
use crate::markdown::cited_markdown;
use crate::request::run_config::{RunConfig, ValidationProfile};
use crate::site::linker;
use crate::test_product;
use crate::testing::TestRepository;
use crate::validation::fixer::{self, Verdict};
use crate::validation::link_checker::LinkChecker;
use crate::validation::link_checker::tests::LinkServer;
use crate::validation::validator::{self, ValidationTools};

const PATH: &str = "docs/tidy/start.md";
const OTHER: &str = "docs/tidy/more.md";
const README: &str = "# Tidy\n\nTidy sorts 3 kinds of tables.\n\npip install tidy\n\nimport tidy\ntidy.sort()\n\nTODO is a kind of\ntable.\n";

/// A sound page; `MARK` stands for the claim.
const SOUND: &str = "---\ndate: \"2026-01-19\"\ndescription: \"Start: Tidy\"\nlayout: \"docs\"\ntitle: \"Start\"\nweight: 1\n---\n\n\
Tidy sorts 3 kinds of tables. MARK\n\n## Installation\n\n```sh\npip install tidy\n```\nMARK\n\n```python\nimport tidy\ntidy.sort()\n```\nMARK\n\n\
## More\n\n- [More](more.md) and [its part](more.md#part)\n- `TODO` is a word in code. MARK\n- [Elsewhere](https://example.org/x)\n";

/// What a tiny Hugo site has besides its pages.
const HUGO_FILES: [(&str, &[u8]); 4] = [
    (
        "hugo.toml",
        b"baseURL = 'https://example.org/'\ndisableKinds = ['taxonomy', 'term', 'rss', 'sitemap', '404']\n\
          [[module.mounts]]\nsource = 'docs'\ntarget = 'content/docs'\n",
    ),
    ("layouts/index.html", b"{{ .Content }}"),
    ("layouts/_default/list.html", b"{{ .Content }}"),
    ("layouts/_default/single.html", b"{{ .Content }}"),
];

/// A run's working copy with two planned pages, and all that gates read.
struct Bench {
    _dir: tempfile::TempDir,
    site: TestRepository,
    repo: TestRepository,
    config: RunConfig,
    context: SiteContext,
    plan: PagePlan,
    facts: ProductFacts,
    evidence: EvidenceMap,
    snippets: SnippetCatalog,
    claims: PageClaims,
    tools: ValidationTools,
    /// Artifacts that are stored in another form than the run's own; `None` is a missing one.
    stored: BTreeMap<&'static str, Option<Vec<u8>>>,
}

impl Bench {
    fn new() -> Self {
        Self::with("markdown", SOUND, &[])
    }

    /// The same on a site that Hugo builds; `layout` is its template of pages. `None` without Hugo.
    fn hugo(layout: &str) -> Option<Self> {
        let program = test_hugo()?;
        let sound = SOUND.replace("(more.md", "(/docs/tidy/more/");
        let mut bench = Self::with("hugo", &sound, &[("layouts/_default/single.html", layout.as_bytes())]);
        bench.tools.hugo = Some(program.to_owned());
        Some(bench)
    }

    fn with(kind: &str, sound: &str, more: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let site = TestRepository::new(&top.join("site"));
        let repo = TestRepository::new(&top.join("repo"));
        let mut files: Vec<(&str, &[u8])> = vec![("docs/old.md", b"# Old\n"), ("img/a.png", b"x")];
        if kind == "hugo" {
            files.extend(HUGO_FILES);
        }
        files.extend(more);
        let base = site.commit(&files, "2026-01-20T10:00:00Z");
        let commit = repo.commit(&[("README.md", README.as_bytes())], "2026-01-19T10:00:00Z");
        let lines = Evidence::of("README.md", README.as_bytes(), 1, 11).unwrap();
        let claim = Claim { text: "Tidy".into(), is_inferred: false, evidence: vec![lines] };
        let id = claim.id();
        let version = SCHEMA_VERSION.to_owned();
        let config = test_product::config(|value| {
            value["required_sections"] = json!(["docs"]);
            value["allowed_paths"] = json!(["docs/tidy/**"]);
            value["site"]["kind"] = json!("markdown");
            value["validation_profile"] = json!("ci");
            value["budgets"] = json!({"max_lines_per_file": 60});
        });
        let fact = |text: &str| Fact { text: text.into(), claim: id.clone() };
        let facts = ProductFacts {
            commit: commit.clone(),
            commit_date: "2026-01-19".into(),
            package: Some(fact("tidy")),
            version: Some(fact("1.2.0")),
            install: Some(InstallCommand { text: "pip install tidy".into(), language: "sh".into(), claim: id.clone() }),
            ..test_product::facts()
        };
        let snippet = Snippet {
            id: "snp_1".into(),
            title: String::new(),
            language: "python".into(),
            code: "import tidy\ntidy.sort()".into(),
            path: "README.md".into(),
            line_start: 7,
            line_end: 8,
            claim: id.clone(),
        };
        let page = |path: &str, title: &str, weight: u32| PlannedPage {
            id: format!("docs/en/{weight}"),
            section: "docs".into(),
            locale: "en".into(),
            template: PageTemplate::GettingStarted,
            path: path.into(),
            url: format!("/{}/", path.trim_end_matches(".md")),
            has_own_url: false,
            title: title.into(),
            weight,
            subject: String::new(),
            snippets: vec!["snp_1".into()],
            links: Vec::new(),
        };
        let rules = FrontMatterRules {
            form: "yaml".into(),
            required: [("layout", "string"), ("date", "date")]
                .map(|(key, kind)| (key.to_owned(), kind.to_owned()))
                .into(),
            constants: [("layout".to_owned(), json!("docs"))].into(),
        };
        let context = SiteContext {
            commit: base,
            kind: kind.into(),
            base_url: String::new(),
            content_dirs: [("en".to_owned(), String::new())].into(),
            has_locale_folders: false,
            section_dirs: [("docs".to_owned(), "docs".to_owned())].into(),
            front_matter: [("docs".to_owned(), rules)].into(),
            static_files: vec!["img/a.png".into()],
            ..test_product::site()
        };
        let tools = ValidationTools {
            links: None,
            run: "run".to_owned(),
            hugo: None,
            gate_limit: Duration::from_secs(60),
            build_limit: Duration::from_secs(60),
            scratch: top.join("scratch"),
        };
        let mut bench = Self {
            site,
            repo,
            config,
            context,
            plan: PagePlan {
                schema_version: version.clone(),
                commit: commit.clone(),
                pages: vec![page(PATH, "Start", 1), page(OTHER, "More", 2)],
            },
            facts,
            evidence: EvidenceMap {
                schema_version: version.clone(),
                commit: commit.clone(),
                claims: [(id.clone(), claim)].into(),
            },
            snippets: SnippetCatalog {
                schema_version: version.clone(),
                commit: commit.clone(),
                snippets: vec![snippet],
                rejected: Vec::new(),
            },
            claims: PageClaims { schema_version: version, commit, pages: Vec::new() },
            tools,
            stored: BTreeMap::new(),
            _dir: dir,
        };
        let other = sound.replace("\"Start", "\"More").replace("weight: 1", "weight: 2");
        let other = other.split("\n\nTidy sorts").next().unwrap().to_owned() + "\n\n## Part\n\nMore of it.\n";
        for (path, text) in [(PATH, sound), (OTHER, other.as_str())] {
            let at = text.rfind("---\n\n").unwrap() + 5;
            let (body, blocks) = cited_markdown::read(&text[at..].replace("MARK", &cited_markdown::cite(&[&id])));
            bench.claims.pages.push(ClaimedPage { path: path.into(), blocks });
            bench.write(path, &format!("{}{body}", &text[..at]));
        }
        bench
    }

    fn top(&self) -> &Path {
        self.site.path()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.top().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.top().join(PATH)).unwrap()
    }

    fn with_input<T>(&self, use_it: impl FnOnce(&GateInput<'_>) -> T) -> T {
        use crate::artifacts::{names, to_bytes};
        let artifacts = |name: &str| {
            if let Some(stored) = self.stored.get(name) {
                return stored.clone();
            }
            match name {
            names::PRODUCT_FACTS => Some(to_bytes(&self.facts)),
            names::EVIDENCE_MAP => Some(to_bytes(&self.evidence)),
            names::SNIPPET_CATALOG => Some(to_bytes(&self.snippets)),
            names::PAGE_PLAN => Some(to_bytes(&self.plan)),
            names::PAGE_CLAIMS => Some(to_bytes(&self.claims)),
            names::SITE_CONTEXT => Some(to_bytes(&self.context)),
            names::REPO_INVENTORY => Some(br#"{"schema_version":"1.0","commit":"c","commit_date":"d","tags":[],"files":[],"files_total":0,"omitted":[],"languages":[],"manifests":[],"license_files":[]}"#.to_vec()),
            names::PATCH_BUNDLE => Some(br#"{"schema_version":"1.0","patch_id":"patch_001","base_commit":"c","files":[]}"#.to_vec()),
            names::DIFF_REPORT => {
                let diff = linker::diff_report(self.top(), &self.context.commit, &StopFlag::default()).unwrap();
                Some(to_bytes(&diff))
            }
            _ => None,
        }
        };
        use_it(&GateInput {
            config: &self.config,
            site: self.top(),
            repo: self.repo.path(),
            site_context: &self.context,
            plan: &self.plan,
            facts: &self.facts,
            evidence: &self.evidence,
            snippets: &self.snippets,
            claims: &self.claims,
            artifacts: &artifacts,
            tools: &self.tools,
        })
    }

    fn report(&self) -> ValidationReport {
        self.with_input(|input| validator::validate(input, &mut |_| {}, &StopFlag::default())).unwrap()
    }

    /// Another sentence on the first page, with a claim of its own. Returns the claim.
    fn say(&mut self, sentence: &str) -> String {
        let lines = Evidence::of("README.md", README.as_bytes(), 3, 3).unwrap();
        let claim = Claim { text: sentence.into(), is_inferred: false, evidence: vec![lines] };
        let id = claim.id();
        let (_, blocks) = cited_markdown::read(&format!("{sentence}{}\n", cited_markdown::cite(&[&id])));
        self.claims.pages[0].blocks.extend(blocks);
        self.evidence.claims.insert(id.clone(), claim);
        self.write(PATH, &self.text().replacen("tables.\n", &format!("tables.\n\n{sentence}\n"), 1));
        id
    }

    /// Fixes one issue after the other, in the order of a run, until none is left. How many fixes that were.
    fn fix_all(&mut self) -> usize {
        let mut report = self.report();
        for fixes in 0..12 {
            let NextFix::Issue(issue) = report.next_fix(&BTreeMap::new(), 1) else {
                assert!(report.issues.is_empty(), "{:#?}\n{}", report.issues, self.text());
                return fixes;
            };
            let (verdict, after) = self.fix_and_report(&issue.clone(), &report);
            assert_eq!(verdict, Verdict::Fixed, "{issue:?}\n{}", self.text());
            report = after;
        }
        panic!("the fixes have no end: {:#?}", report.issues);
    }

    /// Fixes an issue like a run does, and says whether that has helped.
    fn fix(&mut self, issue: &Issue, before: &ValidationReport) -> Verdict {
        self.fix_and_report(issue, before).0
    }

    /// The same with the report after the fix.
    fn fix_and_report(&mut self, issue: &Issue, before: &ValidationReport) -> (Verdict, ValidationReport) {
        let proposal = self.with_input(|input| fixer::fix(issue, input, &StopFlag::default())).unwrap();
        let journal = self.top().join(".git/journal");
        let allowed = crate::request::allowed_paths::AllowedPaths::parse(&self.config.allowed_paths).unwrap();
        fixer::apply(self.top(), &allowed, &proposal, &journal).unwrap();
        let claims = proposal.claims.clone().unwrap_or_else(|| self.claims.clone());
        let kept = std::mem::replace(&mut self.claims, claims);
        let after = self.report();
        let verdict = fixer::judge(before, &after, &issue.issue_id);
        match verdict {
            Verdict::Fixed => fixer::commit(&journal).unwrap(),
            Verdict::Failed { .. } => {
                fixer::roll_back(self.top(), &allowed, &journal).unwrap();
                self.claims = kept;
            }
        }
        (verdict, after)
    }
}

fn codes(report: &ValidationReport) -> Vec<(GateName, &str)> {
    report.issues.iter().map(|issue| (issue.gate, issue.error_code.as_str())).collect()
}

#[test]
fn a_sound_page_passes_every_gate() {
    let report = Bench::new().report();
    assert_eq!(codes(&report), [], "{:#?}", report.issues);
    assert!(report.ok && report.profile == ValidationProfile::Ci);
    let skipped: Vec<GateName> =
        report.gates.iter().filter(|gate| gate.skipped.is_some()).map(|gate| gate.name).collect();
    assert_eq!(skipped, [GateName::SiteBuild], "plain files aren't built");
}

/// A change of the sound page, the gate that finds it, and its code.
const FAULTS: [(&str, &str, GateName, &str); 26] = [
    ("## Installation", "#### Installation", GateName::MarkdownLint, "HEADING_LEVEL"),
    ("- [More]", "* [More]", GateName::MarkdownLint, "LIST_STYLE"),
    ("tables.\n", "tables.  \n", GateName::MarkdownLint, "TRAILING_SPACE"),
    ("tables.\n", "tables.\n\n\n\n", GateName::MarkdownLint, "EMPTY_LINES"),
    ("example.org/x)\n", "example.org/x)", GateName::MarkdownLint, "NO_LAST_LINE_END"),
    ("weight: 1\n", "", GateName::Frontmatter, "KEY_MISSING"),
    ("layout: \"docs\"", "layout: \"blog\"", GateName::Frontmatter, "KEY_VALUE"),
    ("weight: 1", "weight: \"one\"", GateName::Frontmatter, "KEY_TYPE"),
    ("date: \"2026-01-19\"", "date: \"soon\"", GateName::Frontmatter, "KEY_TYPE"),
    ("weight: 1\n---", "weight: [1\n---", GateName::Frontmatter, "FRONT_MATTER_INVALID"),
    ("[More](more.md)", "[More](none.md)", GateName::InternalLinks, "DEAD_LINK"),
    ("more.md#part", "more.md#no-part", GateName::InternalLinks, "DEAD_ANCHOR"),
    ("https://example.org/x", "https:///x", GateName::ExternalLinks, "BAD_ADDRESS"),
    ("https://example.org/x", "javascript:x", GateName::ExternalLinks, "BAD_ADDRESS"),
    ("tidy.sort()", "tidy.sort(", GateName::Snippets, "SNIPPET_SYNTAX"),
    ("tables.\n", "tables.\n\nIt is the best.\n", GateName::TruthLock, "UNPROVEN_CLAIM"),
    ("3 kinds", "9 kinds", GateName::TruthLock, "UNPROVEN_CLAIM"),
    ("pip install tidy", "pip install tidyy", GateName::Consistency, "INSTALL_MISMATCH"),
    ("title: \"Start\"", "title: \"Begin\"", GateName::Consistency, "TITLE_MISMATCH"),
    ("tables.\n", "tables.\n\nTidy 9.9.9 is here.\n", GateName::Consistency, "VERSION_MISMATCH"),
    ("tables.\n", "tables.\n\nSee {{ product_name }}, TODO.\n", GateName::TemplateTokens, "LEFTOVER_TOKEN"),
    ("tidy.sort()\n```\n", "tidy.sort()\n", GateName::MarkdownLint, "UNCLOSED_FENCE"),
    // The same unproven text twice, and a link by its reference.
    ("tables.\n", "tables.\n\nIt is the best.\n\nIt is the best.\n", GateName::TruthLock, "UNPROVEN_CLAIM"),
    ("tables.\n", "tables.\n\n- It is.\n  - It is.\n", GateName::TruthLock, "UNPROVEN_CLAIM"),
    ("tables.\n", "tables.\n\nTODO it.\n\nTODO it.\n", GateName::TemplateTokens, "LEFTOVER_TOKEN"),
    ("[More](more.md)", "[More][m]", GateName::InternalLinks, "DEAD_LINK"),
];

#[test]
fn each_fault_is_found_by_its_gate_and_repaired_with_equal_bytes_each_time() {
    for (from, to, gate, code) in FAULTS {
        let repaired = || {
            let mut bench = Bench::new();
            let sound = bench.text();
            assert!(sound.contains(from), "{from}");
            let mut broken = sound.replacen(from, to, 1);
            if to.contains("[m]") {
                broken.push_str("\n[m]: none.md\n");
            }
            bench.write(PATH, &broken);
            let report = bench.report();
            assert!(codes(&report).contains(&(gate, code)), "{from} -> {to}: {:?}", codes(&report));
            assert!(bench.fix_all() > 0, "{from} -> {to}");
            (bench.text(), bench.claims)
        };
        let both = std::thread::scope(|scope| {
            let other = scope.spawn(repaired);
            (repaired(), other.join().unwrap())
        });
        assert_eq!(both.0, both.1, "{from} -> {to}");
    }
}

#[test]
fn a_repair_leaves_the_rest_of_the_page_as_it_was() {
    let mut bench = Bench::new();
    let sound = bench.text();
    // Without its fence a code block takes all that follows, or all up to the end of the next block.
    for (fence, without) in [
        ("tidy.sort()\n```\n", "tidy.sort()\n"),
        ("pip install tidy\n```\n", "pip install tidy\n"),
        ("pip install tidy\n```\n\n", "pip install tidy\n"),
    ] {
        bench.write(PATH, &sound.replacen(fence, without, 1));
        assert!(bench.fix_all() > 0);
        assert_eq!(bench.text().replace("```\n```", "```\n\n```"), sound, "{without}");
    }
    bench.write(PATH, &sound[sound.find("\n---\n\n").unwrap() + 6..]);
    let report = bench.report();
    assert_eq!(codes(&report), [(GateName::Frontmatter, "FRONT_MATTER_MISSING")], "{:#?}", report.issues);
    assert_eq!(bench.fix_all(), 1);
    assert_eq!(bench.text(), sound);
    bench.write(PATH, &sound.replacen("weight: 1\n---", "weight: [1\n---", 1));
    assert_eq!(bench.fix_all(), 1);
    assert_eq!(bench.text(), sound);
}

#[test]
fn a_text_whose_proof_is_gone_is_removed_with_its_claim() {
    type Change = fn(&mut Bench, &str);
    let cases: [(&str, Change); 4] = [
        ("UNKNOWN_CLAIM", |bench, id| drop(bench.evidence.claims.remove(id))),
        ("INFERRED_CLAIM", |bench, id| bench.evidence.claims.get_mut(id).unwrap().is_inferred = true),
        ("EVIDENCE_CHANGED", |bench, id| bench.evidence.claims.get_mut(id).unwrap().evidence[0].line_end = 4),
        ("UNPROVEN_CLAIM", |bench, id| bench.evidence.claims.get_mut(id).unwrap().evidence.clear()),
    ];
    for (code, change) in cases {
        let repaired = || {
            let mut bench = Bench::new();
            let sound = bench.text();
            let claims = bench.claims.clone();
            let id = bench.say("It sorts 3 kinds.");
            assert_eq!(codes(&bench.report()), [], "{code}");
            change(&mut bench, &id);
            let report = bench.report();
            assert_eq!(codes(&report), [(GateName::TruthLock, code)], "{:#?}", report.issues);
            assert_eq!(bench.fix_all(), 1, "{code}");
            assert_eq!((bench.text(), &bench.claims), (sound, &claims), "{code}");
            (bench.text(), bench.claims)
        };
        assert_eq!(repaired(), repaired(), "{code}");
    }
    // A run that may infer keeps it.
    let mut bench = Bench::new();
    let id = bench.say("It sorts 3 kinds.");
    bench.evidence.claims.get_mut(&id).unwrap().is_inferred = true;
    bench.config.allow_inference = true;
    assert_eq!(codes(&bench.report()), []);
}

#[test]
fn links_that_their_servers_know_no_more_are_repaired_one_by_one() {
    let server = LinkServer::start();
    let mut bench = Bench::new();
    bench.tools.links = Some(LinkChecker::new(&[server.address.to_string()]));
    let sound = bench.text().replace("https://example.org/x", &server.link("page"));
    let address = server.link("gone");
    let dead = format!(
        "- [Gone](<{address}#part>) and <{address}>\n- [Missing]({}) and [busy]({})\n",
        server.link("missing"),
        server.link("busy")
    );
    bench.write(PATH, &format!("{sound}{dead}"));
    let mut report = bench.report();
    let of = |report: &ValidationReport| -> Vec<(String, bool)> {
        let links = report.issues.iter().filter(|issue| issue.gate == GateName::ExternalLinks);
        // Those of one line are in the order of their identifiers.
        let mut links: Vec<_> = links.map(|issue| (issue.error_code.clone(), issue.fixable)).collect();
        links.sort();
        links
    };
    let gone = ("DEAD_LINK".to_owned(), true);
    let busy = ("LINK_UNREACHABLE".to_owned(), false);
    assert_eq!(of(&report), [gone.clone(), gone.clone(), gone, busy.clone()], "{:#?}", report.issues);
    let asked = server.count();
    for _ in 0..3 {
        let issue = report.issues.iter().find(|issue| issue.error_code == "DEAD_LINK").cloned().unwrap();
        assert_eq!(bench.fix(&issue, &report), Verdict::Fixed, "{issue:?}\n{}", bench.text());
        report = bench.report();
    }
    assert_eq!(of(&report), [busy]);
    assert_eq!(server.count(), asked, "a repair asks for nothing that is known");
    assert!(
        bench.text().ends_with(&format!("- Gone and `{address}`\n- Missing and [busy]({})\n", server.link("busy")))
    );
    // Without a server that can be asked, only the form counts.
    bench.tools.links = None;
    bench.write(PATH, &format!("{sound}{dead}"));
    assert_eq!(of(&bench.report()), []);
}

#[test]
fn what_no_gate_can_repair_is_found_and_left() {
    let of = |change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new();
        change(&mut bench);
        let report = bench.report();
        assert!(!report.ok);
        report.issues.into_iter().map(|issue| (issue.gate, issue.error_code, issue.fixable)).collect::<Vec<_>>()
    };
    let has = |found: Vec<(GateName, String, bool)>, gate: GateName, code: &str| {
        assert!(found.contains(&(gate, code.to_owned(), false)), "{code}: {found:?}");
    };
    has(of(&|bench| bench.claims.commit = "other".into()), GateName::Schema, "OTHER_COMMIT");
    has(of(&|bench| bench.write("hugo.toml", "x = 1\n")), GateName::SiteConfig, "ALLOWED_PATHS_VIOLATION");
    has(of(&|bench| bench.plan.pages[0].locale = "xx".into()), GateName::SiteConfig, "UNKNOWN_LANGUAGE");
    has(of(&|bench| fs::remove_file(bench.top().join(OTHER)).unwrap()), GateName::Consistency, "PAGE_MISSING");
    has(of(&|bench| bench.write(PATH, &"x\n\n".repeat(40))), GateName::MarkdownLint, "TOO_MANY_LINES");
    has(
        of(&|bench| fs::write(bench.top().join(PATH), b"\xff\xfe").unwrap()),
        GateName::MarkdownLint,
        "UNREADABLE_PAGE",
    );
    // The source isn't what it was when the evidence was recorded.
    let mut bench = Bench::new();
    fs::write(bench.repo.path().join("README.md"), README.replace('3', "4")).unwrap();
    assert!(codes(&bench.report()).contains(&(GateName::TruthLock, "EVIDENCE_CHANGED")));
    bench = Bench::new();
    bench.evidence.claims.values_mut().for_each(|claim| claim.is_inferred = true);
    assert!(codes(&bench.report()).contains(&(GateName::TruthLock, "INFERRED_CLAIM")));
}

#[test]
fn an_artifact_that_is_missing_or_has_another_form_is_a_blocker() {
    use crate::artifacts::names;
    let mut bench = Bench::new();
    for name in [
        names::REPO_INVENTORY,
        names::SITE_CONTEXT,
        names::PRODUCT_FACTS,
        names::EVIDENCE_MAP,
        names::SNIPPET_CATALOG,
        names::PAGE_PLAN,
        names::PAGE_CLAIMS,
        names::PATCH_BUNDLE,
        names::DIFF_REPORT,
    ] {
        for stored in [None, Some("{}"), Some("{"), Some("[]")] {
            bench.stored = [(name, stored.map(|text| text.as_bytes().to_vec()))].into();
            let report = bench.report();
            assert_eq!(codes(&report), [(GateName::Schema, "SCHEMA_MISMATCH")], "{name} {stored:?}");
            let issue = &report.issues[0];
            assert!(issue.message.contains(name) && !issue.fixable && !report.ok, "{issue:?}");
        }
    }
}

#[test]
fn remarks_and_warnings_keep_no_report_from_being_good() {
    let of = |change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new();
        change(&mut bench);
        let report = bench.report();
        assert!(report.ok, "{:#?}", report.issues);
        let issues = report.issues.iter();
        let shown = issues.map(|issue| {
            let place = issue.location.as_ref().map(|place| format!("{}:{}", place.path, place.line));
            format!("{:?} {} {} {}", issue.severity, issue.error_code, place.unwrap_or_default(), issue.fixable)
        });
        shown.collect::<Vec<String>>()
    };
    let unplanned = of(&|bench| bench.write("docs/tidy/data.csv", "a,b\n"));
    assert_eq!(unplanned, ["Warn UNPLANNED_FILE docs/tidy/data.csv:1 false"]);
    let equal = of(&|bench| {
        bench.plan.pages[1].title = "Start".into();
        let other = fs::read_to_string(bench.top().join(OTHER)).unwrap();
        bench.write(OTHER, &other.replace("title: \"More\"", "title: \"Start\""));
    });
    assert_eq!(equal, [format!("Warn EQUAL_TITLES {PATH}:1 false")]);
    // Nobody has allowed the server's private address.
    let server = LinkServer::start();
    let not_checked = of(&|bench| {
        bench.tools.links = Some(LinkChecker::new(&[]));
        bench.write(PATH, &bench.text().replace("https://example.org/x", &server.link("page")));
    });
    assert_eq!(not_checked, [format!("Info LINK_NOT_CHECKED {PATH}:26 false")]);
    assert_eq!(server.count(), 0);
    let refuses = of(&|bench| {
        bench.tools.links = Some(LinkChecker::new(&[server.address.to_string()]));
        bench.write(PATH, &bench.text().replace("https://example.org/x", &server.link("login")));
    });
    assert_eq!(refuses, not_checked);
}

#[test]
fn very_many_issues_of_a_gate_are_cut_and_the_worst_stay() {
    let mut bench = Bench::new();
    let max = crate::limits::MAX_GATE_ISSUES;
    let lines = "and more  \n".repeat(max + 100);
    bench.write(PATH, &bench.text().replacen("tables.\n", &format!("tables,\n{lines}"), 1));
    let report = bench.report();
    let of = |code: &str| report.issues.iter().filter(|issue| issue.error_code == code).collect::<Vec<_>>();
    // One error and 600 warnings.
    assert_eq!(of("TOO_MANY_LINES").len(), 1);
    assert_eq!(of("TRAILING_SPACE").len(), max - 1);
    let more = of("MORE_ISSUES");
    assert_eq!((more.len(), more[0].gate, more[0].fixable), (1, GateName::MarkdownLint, false));
    assert!(more[0].message.starts_with("the gate has found 101 more issues"), "{}", more[0].message);
    let first = of("TRAILING_SPACE")[0].clone();
    assert_eq!(first.location.as_ref().unwrap().line, 10, "those at the beginning of the page are shown");
    assert_eq!(bench.fix(&first, &report), Verdict::Fixed);
    // Blockers that were left out before aren't new.
    let mut bench = Bench::new();
    bench.config.budgets.max_lines_per_file = 5_000;
    let lines: String = (0..max + 2).map(|number| format!("\nIt is the best of {number}.\n")).collect();
    bench.write(PATH, &bench.text().replacen("tables.\n", &format!("tables.\n{lines}"), 1));
    let report = bench.report();
    assert_eq!((report.open_blockers(), report.issues.len()), (max, max + 1));
    let first = report.issues.iter().find(|issue| issue.severity == Severity::Blocker).unwrap().clone();
    assert_eq!(bench.fix(&first, &report), Verdict::Fixed);
    assert_eq!(bench.report().open_blockers(), max, "the next one is shown");
}

#[test]
fn a_gate_that_panics_is_a_blocker_and_the_others_run() {
    let bench = Bench::new();
    bench.write(PATH, &bench.text().replace("- [More]", "* [More]"));
    let panics = |name: &str| -> Option<Vec<u8>> { panic!("{name} has a defect") };
    let report = bench.with_input(|input| {
        let broken = GateInput { artifacts: &panics, ..*input };
        validator::validate(&broken, &mut |_| {}, &StopFlag::default()).unwrap()
    });
    let expected = [(GateName::Schema, "GATE_FAILED"), (GateName::MarkdownLint, "LIST_STYLE")];
    assert_eq!(codes(&report), expected, "{:#?}", report.issues);
    assert!(!report.ok && !report.issues[0].fixable && !report.issues[0].message.contains("defect"));
}

#[test]
fn hugo_builds_the_site_and_knows_what_was_built() {
    let Some(bench) = Bench::hugo("{{ .Content }}") else { return };
    let report = bench.report();
    assert_eq!(codes(&report), [], "{:#?}", report.issues);
    assert!(report.gates.iter().all(|gate| gate.ok && gate.skipped.is_none()), "{report:?}");
    // A page that nobody has planned or listed is known from the build.
    bench.write(PATH, &bench.text().replace("[its part](/docs/tidy/more/#part)", "[its part](/docs/old/)"));
    assert_eq!(codes(&bench.report()), []);
    bench.write(PATH, &bench.text().replace("(/docs/old/)", "(/docs/older/)"));
    assert_eq!(codes(&bench.report()), [(GateName::InternalLinks, "DEAD_LINK")]);
    assert!(!bench.tools.scratch.join("build").exists(), "a build leaves nothing");
}

#[test]
fn html_is_a_weakness_where_hugo_leaves_it_out() {
    let Some(bench) = Bench::hugo("{{ .Content }}") else { return };
    bench.write(PATH, &bench.text().replacen("tables.\n", "tables.\n\n<div>x</div>\n\n<!-- a note -->\n", 1));
    let report = bench.report();
    let html: Vec<_> = report.issues.iter().filter(|issue| issue.error_code == "RAW_HTML").collect();
    assert_eq!(html.len(), 1, "{:#?}", report.issues);
    let place = html[0].location.as_ref().unwrap();
    assert_eq!((html[0].severity, place.path.as_str(), place.line), (Severity::Warn, PATH, 11));
}

#[test]
fn what_hugo_reports_is_an_issue_of_the_page_or_of_the_site() {
    let build = |layout: &str, change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::hugo(layout)?;
        change(&mut bench);
        let report = bench.report();
        let gate = report.gates.iter().find(|gate| gate.name == GateName::SiteBuild).unwrap().clone();
        let issues = report.issues.into_iter().filter(|issue| issue.gate == GateName::SiteBuild);
        let issues: Vec<Issue> = issues.collect();
        assert!(issues.iter().all(|issue| !issue.fixable), "{issues:?}");
        Some((issues, gate))
    };
    let place = |issue: &Issue| issue.location.as_ref().map(|place| (place.path.clone(), place.line));
    // A fault of a page.
    let no_such = |bench: &mut Bench| {
        bench.write(PATH, &bench.text().replacen("tables.\n", "tables.\n\n{{< no-such >}}\n", 1));
    };
    let Some((issues, gate)) = build("{{ .Content }}", &no_such) else { return };
    let [issue] = &issues[..] else { panic!("{issues:#?}") };
    assert_eq!((issue.error_code.as_str(), issue.severity), ("BUILD_FAILED", Severity::Blocker));
    assert_eq!(place(issue), Some((PATH.to_owned(), 11)));
    assert!(!gate.ok && gate.log.unwrap().contains("no-such"));
    // A fault of the site.
    let (issues, gate) = build("{{ no_such_function }}", &|_| ()).unwrap();
    assert_eq!((issues[0].error_code.as_str(), place(&issues[0])), ("BUILD_FAILED", None), "{issues:#?}");
    assert!(!gate.ok);
    // A warning about a page of the run, and the same about a page that the site had before.
    let layout = "{{ warnf \"%s is odd\" .File.Path }}{{ .Content }}";
    let (issues, gate) = build(layout, &|_| ()).unwrap();
    let found: Vec<_> = issues.iter().map(|issue| (issue.severity, issue.error_code.as_str(), place(issue))).collect();
    let warning = |path: &str| (Severity::Warn, "BUILD_WARNING", Some((path.to_owned(), 1)));
    assert_eq!(found, [warning(OTHER), warning(PATH)], "{issues:#?}");
    assert!(gate.ok && gate.log.is_none());
    // A build without an end, of time and of output.
    let loops = "{{ range seq 2000 }}{{ range seq 2000 }}{{ range seq 2000 }}{{ $x := . }}{{ end }}{{ end }}{{ end }}";
    let (issues, _) = build(loops, &|bench| bench.tools.build_limit = Duration::from_millis(500)).unwrap();
    let found: Vec<_> = issues.iter().map(|issue| (issue.severity, issue.error_code.as_str(), place(issue))).collect();
    assert_eq!(found, [(Severity::Blocker, "GATE_TIMEOUT", None)]);
    let prints = "{{ range seq 2000 }}{{ $n := . }}{{ range seq 2000 }}{{ warnf \"%d %d %s\" $n . (strings.Repeat 2000 \"x\") }}{{ end }}{{ end }}";
    let (issues, _) = build(prints, &|_| ()).unwrap();
    let found: Vec<_> = issues.iter().map(|issue| (issue.severity, issue.error_code.as_str(), place(issue))).collect();
    assert_eq!(found, [(Severity::Blocker, "BUILD_TOO_LARGE", None)]);
}

#[test]
fn a_setting_that_leads_out_of_the_site_is_an_issue_and_nothing_is_built() {
    let mut bench = Bench::with("hugo", &SOUND.replace("(more.md", "(/docs/tidy/more/"), &[]);
    // No program: it must not be looked for.
    bench.tools.hugo = Some(bench.top().join("no-such-program"));
    let missing = bench.with_input(|input| validator::validate(input, &mut |_| {}, &StopFlag::default()));
    assert_eq!(missing.unwrap_err().code, "TOOLCHAIN_MISSING");
    for (file, text, key) in [
        ("hugo.toml", "contentDir = '/etc'\n", "contentdir"),
        ("config/_default/module.yaml", "mounts:\n- source: ../x\n  target: content\n", "module.mounts.source"),
    ] {
        bench.write(file, text);
        let report = bench.report();
        let unsafe_one = report.issues.iter().find(|issue| issue.gate == GateName::SiteBuild).unwrap();
        assert_eq!((unsafe_one.error_code.as_str(), unsafe_one.severity), ("UNSAFE_SETTING", Severity::Blocker));
        assert_eq!(unsafe_one.location.as_ref().unwrap().path, file);
        assert!(unsafe_one.message.contains(key) && !unsafe_one.fixable, "{unsafe_one:?}");
        fs::remove_file(bench.top().join(file)).unwrap();
    }
}

#[test]
fn what_a_claimed_block_says_is_in_the_lines_that_prove_it() {
    let cases = [
        ("It has 3 kinds.", true),
        ("It has 9 kinds.", false),
        // It is a line of the evidence, but none that the sentence names.
        ("It has 7 kinds.", false),
        ("See README.md, line 7.", true),
        ("See README.md, line 12.", false),
        ("Call `tidy.sort()`.", true),
        ("`TODO is a kind of table`.", true),
        ("Call `tidy.sort(1)`.", false),
        ("Call `--force`.", false),
        ("`Tidy` is in `README.md`.", true),
        ("It is in `src/main.py`.", false),
    ];
    for (sentence, is_proven) in cases {
        let mut bench = Bench::new();
        let sound = bench.text();
        let id = bench.evidence.claims.keys().next().unwrap().clone();
        let (_, blocks) = cited_markdown::read(&format!("{sentence}{}\n", cited_markdown::cite(&[&id])));
        bench.claims.pages[0].blocks.extend(blocks);
        bench.write(PATH, &sound.replace("tables.\n", &format!("tables.\n\n{sentence}\n")));
        let report = bench.report();
        let expected = if is_proven { vec![] } else { vec![(GateName::TruthLock, "UNPROVEN_CLAIM")] };
        assert_eq!(codes(&report), expected, "{sentence}: {:#?}", report.issues);
    }
}

#[test]
fn a_fix_that_was_not_recorded_is_undone() {
    let bench = Bench::new();
    let sound = bench.text();
    bench.write(PATH, &sound.replace("- [More]", "* [More]"));
    let broken = bench.text();
    let issue = bench.report().issues[0].clone();
    let proposal = bench.with_input(|input| fixer::fix(&issue, input, &StopFlag::default())).unwrap();
    let allowed = crate::request::allowed_paths::AllowedPaths::parse(&bench.config.allowed_paths).unwrap();
    let journal = bench.top().join(".git/journal");
    fixer::apply(bench.top(), &allowed, &proposal, &journal).unwrap();
    assert_eq!(bench.text(), sound);
    // The process was killed here; the next one finds the journal.
    fixer::roll_back(bench.top(), &allowed, &journal).unwrap();
    assert_eq!((bench.text(), journal.exists()), (broken, false));
    fixer::roll_back(bench.top(), &allowed, &journal).unwrap();
}

#[test]
fn a_gate_whose_time_is_over_ends_and_is_a_blocker() {
    let mut bench = Bench::new();
    bench.write(PATH, &bench.text().replace("- [More]", "* [More]"));
    assert_eq!(codes(&bench.report()), [(GateName::MarkdownLint, "LIST_STYLE")]);
    bench.tools.gate_limit = Duration::ZERO;
    let report = bench.report();
    let late: Vec<_> = validator::GATES
        .into_iter()
        .filter(|gate| *gate != GateName::SiteBuild)
        .map(|gate| (gate, "GATE_TIMEOUT"))
        .collect();
    let mut found = codes(&report);
    found.sort_unstable();
    assert_eq!(found, late, "no gate has looked at a page: {:#?}", report.issues);
    assert!(!report.ok && report.issues.iter().all(|issue| !issue.fixable));
}

#[test]
fn a_stop_ends_a_gate_and_makes_no_report() {
    let bench = Bench::new();
    for gate in validator::GATES {
        let stop = StopFlag::default();
        let mut on_gate = |event: validator::GateEvent<'_>| {
            if matches!(event, validator::GateEvent::Started(name) if name == gate) {
                stop.set();
            }
        };
        let stopped = bench.with_input(|input| validator::validate(input, &mut on_gate, &stop)).unwrap_err();
        assert_eq!(stopped.code, "CANCELLED", "{gate:?}");
    }
}

fn report_of(issues: &[&Issue]) -> ValidationReport {
    ValidationReport::new(ValidationProfile::Local, Vec::new(), issues.iter().map(|issue| (*issue).clone()).collect())
}

#[test]
fn a_fix_has_helped_if_its_issue_is_gone_and_no_blocker_is_new() {
    let of = |severity: Severity, subject: &str| {
        Issue::new(GateName::MarkdownLint, severity, "CODE", Some("a.md"), subject).with_fix("do it")
    };
    let fixed = of(Severity::Error, "fixed");
    let other = of(Severity::Error, "other");
    let blocker = of(Severity::Blocker, "old blocker");
    let new = of(Severity::Blocker, "new blocker");
    let resolved = |issue: &Issue| Issue { status: crate::artifacts::issue::IssueStatus::Resolved, ..issue.clone() };
    let before = report_of(&[&fixed, &blocker]);
    let cases: [(&[&Issue], Option<&str>); 10] = [
        (&[], None),
        (&[&blocker], None),
        (&[&other, &blocker], None),
        (&[&resolved(&fixed)], None),
        (&[&resolved(&new)], None),
        (&[&fixed], Some("ISSUE_REMAINS")),
        (&[&of(Severity::Warn, "fixed")], Some("ISSUE_REMAINS")),
        (&[&fixed, &new], Some("ISSUE_REMAINS")),
        (&[&new], Some("NEW_BLOCKER")),
        (&[&blocker, &new, &other], Some("NEW_BLOCKER")),
    ];
    for (after, expected) in cases {
        let found = match fixer::judge(&before, &report_of(after), &fixed.issue_id) {
            Verdict::Fixed => None,
            Verdict::Failed { reason, message } => {
                let is_named = reason != "NEW_BLOCKER" || message.contains(&new.issue_id);
                assert!(is_named, "{message}");
                Some(reason)
            }
        };
        assert_eq!(found, expected, "{after:?}");
    }
    // A blocker that a gate has had no place for before isn't new.
    let cut = |gate: GateName| Issue::new(gate, Severity::Info, "MORE_ISSUES", None, "");
    let helped = |gate: GateName| {
        fixer::judge(&report_of(&[&fixed, &cut(gate)]), &report_of(&[&new]), &fixed.issue_id) == Verdict::Fixed
    };
    assert!(helped(GateName::MarkdownLint) && !helped(GateName::TruthLock));
}

#[test]
fn a_fix_that_would_change_nothing_proposes_nothing() {
    let mut bench = Bench::new();
    // The value that the repair would write is the one that is there.
    bench.facts.commit_date = "soon".into();
    bench.write(PATH, &bench.text().replace("date: \"2026-01-19\"", "date: \"soon\""));
    let report = bench.report();
    let issue = report.issues.iter().find(|issue| issue.error_code == "KEY_TYPE").unwrap();
    let proposal = bench.with_input(|input| fixer::fix(issue, input, &StopFlag::default())).unwrap();
    assert_eq!((proposal.files, proposal.claims), (Vec::new(), None));
    // An issue that is gone, and one that nobody can repair.
    let refused = |bench: &Bench, issue: &Issue| {
        bench.with_input(|input| fixer::fix(issue, input, &StopFlag::default())).unwrap_err().code
    };
    let gone = Issue::new(GateName::MarkdownLint, Severity::Error, "LIST_STYLE", Some(PATH), "7");
    assert_eq!(refused(&bench, &gone), "NOT_FOUND");
    bench.write("docs/tidy/data.csv", "a,b\n");
    let unplanned = bench.report().issues.into_iter().find(|issue| issue.error_code == "UNPLANNED_FILE").unwrap();
    assert_eq!(refused(&bench, &unplanned), "NO_FIX");
}

/// What [`fixer::apply`] gets for a file.
fn proposal(path: &str, content: Option<&str>) -> fixer::FixProposal {
    let content = content.map(str::to_owned);
    let file = crate::artifacts::patch::PatchedFile { path: path.into(), sha256_before: None, content };
    fixer::FixProposal { files: vec![file], claims: None, summary: String::new() }
}

#[test]
fn a_fix_writes_and_undoes_nothing_outside_of_the_allowed_paths() {
    let bench = Bench::new();
    let allowed = crate::request::allowed_paths::AllowedPaths::parse(&bench.config.allowed_paths).unwrap();
    let outside = bench.top().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.md"), "theirs").unwrap();
    std::os::unix::fs::symlink(&outside, bench.top().join("docs/tidy/out")).unwrap();
    std::os::unix::fs::symlink("../old.md", bench.top().join("docs/tidy/link.md")).unwrap();
    let journal = bench.top().join(".git/journal");
    let unchanged = |what: &str| {
        assert_eq!(fs::read_to_string(outside.join("x.md")).unwrap(), "theirs", "{what}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{what}");
        assert_eq!(fs::read_to_string(bench.top().join("docs/old.md")).unwrap(), "# Old\n", "{what}");
    };
    for path in [
        "../outside/x.md", "../outside/new.md", "docs/old.md", "docs/tidy/../old.md", "docs/tidy/out/x.md",
        "docs/tidy/out/new.md", "docs/tidy/link.md", ".git/config", "Docs/tidy/start.md",
    ] {
        for content in [Some("mine"), None] {
            let refused = fixer::apply(bench.top(), &allowed, &proposal(path, content), &journal).unwrap_err();
            assert_eq!(refused.code, "ALLOWED_PATHS_VIOLATION", "{path}");
            assert!(!journal.exists(), "{path}: what may not be written isn't even read");
            fixer::roll_back(bench.top(), &allowed, &journal).unwrap();
            unchanged(path);
        }
    }
    // A record that somebody else has written.
    for record in [r#"[{"path":"../outside/x.md","content":"mine"}]"#, r#"[{"path":"docs/old.md","content":null}]"#] {
        fs::write(&journal, record).unwrap();
        let refused = fixer::roll_back(bench.top(), &allowed, &journal).unwrap_err();
        assert_eq!(refused.code, "ALLOWED_PATHS_VIOLATION", "{record}");
        unchanged(record);
        fs::remove_file(&journal).unwrap();
    }
}

#[test]
fn a_link_that_appears_after_a_fix_leads_its_undoing_nowhere() {
    let bench = Bench::new();
    let sound = bench.text();
    let allowed = crate::request::allowed_paths::AllowedPaths::parse(&bench.config.allowed_paths).unwrap();
    let journal = bench.top().join(".git/journal");
    let folder = bench.top().join("docs/tidy");
    let moved = bench.top().join("docs/moved");
    let outside = bench.top().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    for (path, file) in [(PATH, "start.md"), ("docs/tidy/new.md", "new.md")] {
        fs::write(outside.join(file), "theirs").unwrap();
        fixer::apply(bench.top(), &allowed, &proposal(path, Some("fixed")), &journal).unwrap();
        // The folder of the page becomes a link out of the site.
        fs::rename(&folder, &moved).unwrap();
        std::os::unix::fs::symlink(&outside, &folder).unwrap();
        let refused = fixer::roll_back(bench.top(), &allowed, &journal).unwrap_err();
        assert_eq!((refused.code, &refused.details["paths"]), ("ALLOWED_PATHS_VIOLATION", &json!([path])));
        assert_eq!(fs::read_to_string(outside.join(file)).unwrap(), "theirs", "{path}");
        assert!(journal.exists(), "the fix can still be undone");
        // A person takes the link back.
        fs::remove_file(&folder).unwrap();
        fs::rename(&moved, &folder).unwrap();
        fixer::roll_back(bench.top(), &allowed, &journal).unwrap();
        assert!(!journal.exists());
    }
    assert_eq!(bench.text(), sound);
    assert!(!folder.join("new.md").exists());
    // A link to an allowed file is followed, and stays.
    bench.write("docs/tidy/target.md", "target\n");
    std::os::unix::fs::symlink("target.md", folder.join("link.md")).unwrap();
    fixer::apply(bench.top(), &allowed, &proposal("docs/tidy/link.md", Some("fixed")), &journal).unwrap();
    assert_eq!(fs::read_to_string(folder.join("target.md")).unwrap(), "fixed");
    fixer::roll_back(bench.top(), &allowed, &journal).unwrap();
    assert_eq!(fs::read_to_string(folder.join("target.md")).unwrap(), "target\n");
    assert!(fs::symlink_metadata(folder.join("link.md")).unwrap().is_symlink());
}

#[test]
fn every_code_of_a_gate_is_produced_by_a_test() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let gates = fs::read_dir(top.join("validation/gates")).unwrap().map(|entry| entry.unwrap().path());
    let sources = gates
        .chain([top.join("validation/validator.rs")])
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs"));
    let is_code = |text: &str| {
        let is_capital = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
        text.contains('_') && text.split('_').all(is_capital)
    };
    let mut codes = BTreeSet::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        codes.extend(program.split('"').filter(|text| is_code(text)).map(str::to_owned));
    }
    assert!(codes.len() >= 38, "{codes:?}");
    let words = include_str!("tests.rs").split(|c: char| c != '_' && !c.is_ascii_uppercase());
    let tested: BTreeSet<&str> = words.collect();
    let missing: Vec<&String> = codes.iter().filter(|code| !tested.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "no test produces {missing:?}");
}
