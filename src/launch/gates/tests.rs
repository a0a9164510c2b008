//! Each gate on a sound page, which it passes, and on pages that are broken in one way each, which it repairs where it says so.

use std::fs;
use std::path::Path;
use std::time::Duration;

use codeyard_runs::stage::StopFlag;
use serde_json::json;

use super::*;
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{Claim, Evidence, EvidenceMap, Fact, InstallCommand, ProductFacts};
use crate::artifacts::page_claims::{ClaimedPage, PageClaims};
use crate::artifacts::page_plan::{PagePlan, PageTemplate};
use crate::artifacts::site::{FrontMatterRules, SiteContext};
use crate::artifacts::snippets::{Snippet, SnippetCatalog};
use crate::cited_markdown;
use crate::fixer::{self, Verdict};
use crate::issue::{GateName, ValidationReport};
use crate::link_checker::LinkChecker;
use crate::link_checker::tests::LinkServer;
use crate::linker;
use crate::run_config::{RunConfig, ValidationProfile};
use crate::testing::TestRepository;
use crate::validator::{self, ValidationTools};

const PATH: &str = "docs/tidy/start.md";
const OTHER: &str = "docs/tidy/more.md";
const README: &str = "# Tidy\n\nTidy sorts 3 kinds of tables.\n\npip install tidy\n\nimport tidy\ntidy.sort()\n\nTODO is a kind of\ntable.\n";

/// A sound page; `MARK` stands for the claim.
const SOUND: &str = "---\ndate: \"2026-01-19\"\ndescription: \"Start: Tidy\"\nlayout: \"docs\"\ntitle: \"Start\"\nweight: 1\n---\n\n\
Tidy sorts 3 kinds of tables. MARK\n\n## Installation\n\n```sh\npip install tidy\n```\nMARK\n\n```python\nimport tidy\ntidy.sort()\n```\nMARK\n\n\
## More\n\n- [More](more.md) and [its part](more.md#part)\n- `TODO` is a word in code. MARK\n- [Elsewhere](https://example.org/x)\n";

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
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (site, repo) = (TestRepository::new(&top.join("site")), TestRepository::new(&top.join("repo")));
        let base = site.commit(&[("docs/old.md", b"# Old\n"), ("img/a.png", b"x")], "2026-01-20T10:00:00Z");
        let commit = repo.commit(&[("README.md", README.as_bytes())], "2026-01-19T10:00:00Z");
        let lines = Evidence::of("README.md", README.as_bytes(), 1, 11).unwrap();
        let claim = Claim { text: "Tidy".into(), is_inferred: false, evidence: vec![lines] };
        let id = claim.id();
        let version = SCHEMA_VERSION.to_owned();
        let config = RunConfig::parse(&json!({
            "schema_version": "1.0", "product_slug": "tidy", "product_name": "Tidy", "family": "words", "target_platform": "python",
            "github_repo_url": "https://github.com/example/tidy", "github_ref": "main", "required_sections": ["docs"],
            "allowed_paths": ["docs/tidy/**"], "site": {"repo_url": "file:///srv/site.git", "kind": "markdown"},
            "validation_profile": "ci", "budgets": {"max_lines_per_file": 60},
        }))
        .unwrap();
        let fact = |text: &str| Fact { text: text.into(), claim: id.clone() };
        let facts = ProductFacts {
            schema_version: version.clone(),
            commit: commit.clone(),
            commit_date: "2026-01-19".into(),
            product_name: "Tidy".into(),
            product_slug: "tidy".into(),
            family: "words".into(),
            target_platform: "python".into(),
            package: Some(fact("tidy")),
            version: Some(fact("1.2.0")),
            license: None,
            description: None,
            requires: None,
            repository: "https://github.com/example/tidy".into(),
            install: Some(InstallCommand { text: "pip install tidy".into(), language: "sh".into(), claim: id.clone() }),
            features: Vec::new(),
            api: Vec::new(),
            api_omitted: 0,
            examples: Vec::new(),
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
            schema_version: version.clone(),
            commit: base,
            commit_date: "2026-01-20T10:00:00Z".into(),
            branch: Some("main".into()),
            kind: "markdown".into(),
            config_files: Vec::new(),
            title: String::new(),
            base_url: String::new(),
            default_language: "en".into(),
            content_dirs: [("en".to_owned(), String::new())].into(),
            layout: "v2".into(),
            has_locale_folders: false,
            default_language_in_subdir: false,
            section_dirs: [("docs".to_owned(), "docs".to_owned())].into(),
            front_matter: [("docs".to_owned(), rules)].into(),
            pages: Vec::new(),
            static_files: vec!["img/a.png".into()],
            bullet: '-',
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
            _dir: dir,
        };
        let other = SOUND.replace("\"Start", "\"More").replace("weight: 1", "weight: 2");
        let other = other.split("\n\nTidy sorts").next().unwrap().to_owned() + "\n\n## Part\n\nMore of it.\n";
        for (path, text) in [(PATH, SOUND), (OTHER, other.as_str())] {
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

    /// Fixes an issue like a run does, and says whether that has helped.
    fn fix(&mut self, issue: &Issue, before: &ValidationReport) -> Verdict {
        let proposal = self.with_input(|input| fixer::fix(issue, input, &StopFlag::default())).unwrap();
        let journal = self.top().join(".git/journal");
        let allowed = crate::allowed_paths::AllowedPaths::parse(&self.config.allowed_paths).unwrap();
        fixer::apply(self.top(), &allowed, &proposal, &journal).unwrap();
        let claims = proposal.claims.clone().unwrap_or_else(|| self.claims.clone());
        let kept = std::mem::replace(&mut self.claims, claims);
        let verdict = fixer::judge(before, &self.report(), &issue.issue_id);
        match verdict {
            Verdict::Fixed => fixer::commit(&journal).unwrap(),
            Verdict::Failed { .. } => {
                fixer::roll_back(self.top(), &journal).unwrap();
                self.claims = kept;
            }
        }
        verdict
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

#[test]
fn each_fault_is_found_by_its_gate_and_repaired() {
    use GateName::{
        Consistency, ExternalLinks, Frontmatter, InternalLinks, MarkdownLint, Snippets, TemplateTokens, TruthLock,
    };
    let faults: [(&str, &str, GateName, &str); 21] = [
        ("## Installation", "#### Installation", MarkdownLint, "HEADING_LEVEL"),
        ("- [More]", "* [More]", MarkdownLint, "LIST_STYLE"),
        ("tables.\n", "tables.  \n", MarkdownLint, "TRAILING_SPACE"),
        ("tables.\n", "tables.\n\n\n\n", MarkdownLint, "EMPTY_LINES"),
        ("example.org/x)\n", "example.org/x)", MarkdownLint, "NO_LAST_LINE_END"),
        ("weight: 1\n", "", Frontmatter, "KEY_MISSING"),
        ("layout: \"docs\"", "layout: \"blog\"", Frontmatter, "KEY_VALUE"),
        ("weight: 1", "weight: \"one\"", Frontmatter, "KEY_TYPE"),
        ("date: \"2026-01-19\"", "date: \"soon\"", Frontmatter, "KEY_TYPE"),
        ("weight: 1\n---", "weight: [1\n---", Frontmatter, "FRONT_MATTER_INVALID"),
        ("[More](more.md)", "[More](none.md)", InternalLinks, "DEAD_LINK"),
        ("more.md#part", "more.md#no-part", InternalLinks, "DEAD_ANCHOR"),
        ("https://example.org/x", "https:///x", ExternalLinks, "BAD_ADDRESS"),
        ("https://example.org/x", "javascript:x", ExternalLinks, "BAD_ADDRESS"),
        ("tidy.sort()", "tidy.sort(", Snippets, "SNIPPET_SYNTAX"),
        ("tables.\n", "tables.\n\nIt is the best.\n", TruthLock, "UNPROVEN_CLAIM"),
        ("3 kinds", "9 kinds", TruthLock, "UNPROVEN_CLAIM"),
        ("pip install tidy", "pip install tidyy", Consistency, "INSTALL_MISMATCH"),
        ("title: \"Start\"", "title: \"Begin\"", Consistency, "TITLE_MISMATCH"),
        ("tables.\n", "tables.\n\nTidy 9.9.9 is here.\n", Consistency, "VERSION_MISMATCH"),
        ("tables.\n", "tables.\n\nSee {{ product_name }}, TODO.\n", TemplateTokens, "LEFTOVER_TOKEN"),
    ];
    for (from, to, gate, code) in faults {
        let mut bench = Bench::new();
        let sound = bench.text();
        assert!(sound.contains(from), "{from}");
        bench.write(PATH, &sound.replacen(from, to, 1));
        let mut report = bench.report();
        assert!(codes(&report).contains(&(gate, code)), "{from} -> {to}: {:?}", codes(&report));
        for _ in 0..6 {
            let Some(issue) =
                report.issues.iter().filter(|issue| issue.fixable).max_by_key(|issue| issue.severity).cloned()
            else {
                break;
            };
            assert_eq!(bench.fix(&issue, &report), Verdict::Fixed, "{from} -> {to}: {issue:?}\n{}", bench.text());
            report = bench.report();
        }
        assert!(report.issues.is_empty(), "{from} -> {to}: {:#?}\n{}", report.issues, bench.text());
    }
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
    let allowed = crate::allowed_paths::AllowedPaths::parse(&bench.config.allowed_paths).unwrap();
    let journal = bench.top().join(".git/journal");
    fixer::apply(bench.top(), &allowed, &proposal, &journal).unwrap();
    assert_eq!(bench.text(), sound);
    // The process was killed here; the next one finds the journal.
    fixer::roll_back(bench.top(), &journal).unwrap();
    assert_eq!((bench.text(), journal.exists()), (broken, false));
    fixer::roll_back(bench.top(), &journal).unwrap();
}
