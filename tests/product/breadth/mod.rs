//! Every kind of language server with a small project of its language: all operations cold, warm and after changes on disk, through the product.
//!
//! `cases/KIND/case.toml` says what each operation must answer. Fetching and building the servers takes long, so these tests run by a command of their own
//! (`docs/internals/testing.md`). Without it, only the cases themselves are checked, and one kind is run.

mod beside_bare;
mod case;
mod phases;
mod record;
mod served;
mod side_by_side;

/// The operations of a case.
const OPERATIONS: [&str; 9] = [
    "definition", "references", "hover", "document_symbols", "workspace_symbols", "implementation", "incoming_calls",
    "outgoing_calls", "diagnostics",
];

/// Runs a kind. All its answers must be right, or known to be wrong and marked.
fn prove(kind: &str) {
    let Some(record) = phases::run(kind) else { return };
    record.write(kind);
    assert_eq!(record.wrong, Vec::<String>::new(), "{kind}");
}

/// One test for each kind, and the list of them.
macro_rules! kinds {
    ($($name:ident = $kind:literal),* $(,)?) => {
        const KINDS: &[&str] = &[$($kind),*];
        $(
            #[test]
            #[ignore = "fetches or builds its server"]
            fn $name() {
                prove($kind);
            }
        )*
    };
}

kinds! {
    arity = "arity",
    asm_lsp = "asm-lsp",
    astro = "astro",
    basedpyright = "basedpyright",
    bash = "bash",
    biome = "biome",
    buf = "buf",
    cds = "cds",
    clangd = "clangd",
    compose = "compose",
    css = "css",
    delphi = "delphi",
    deno = "deno",
    django = "django",
    dockerfile = "dockerfile",
    emmylua = "emmylua",
    eslint = "eslint",
    fortitude = "fortitude",
    fortls = "fortls",
    github_actions = "github-actions",
    gopls = "gopls",
    graphql = "graphql",
    herb = "herb",
    html = "html",
    intelephense = "intelephense",
    iwes = "iwes",
    jdtls = "jdtls",
    jedi = "jedi",
    jinja = "jinja",
    json = "json",
    just = "just",
    mdx = "mdx",
    neocmakelsp = "neocmakelsp",
    nickel = "nickel",
    oxlint = "oxlint",
    panache = "panache",
    perl_lsp = "perl-lsp",
    prisma = "prisma",
    protols = "protols",
    pylsp = "pylsp",
    pyrefly = "pyrefly",
    pyright = "pyright",
    qmlls = "qmlls",
    rescript = "rescript",
    ruff = "ruff",
    rust_analyzer = "rust-analyzer",
    somesass = "somesass",
    starlark = "starlark",
    stylelint = "stylelint",
    svelte = "svelte",
    texlab = "texlab",
    tombi = "tombi",
    ty = "ty",
    typescript = "typescript",
    typescript_language_server = "typescript-language-server",
    typespec = "typespec",
    verible = "verible",
    vtsls = "vtsls",
    vue = "vue",
    wat_server = "wat-server",
    yaml = "yaml",
    yls = "yls",
    zizmor = "zizmor",
    zuban = "zuban",
}

#[test]
fn each_case_has_a_test_and_its_texts_are_in_its_project() {
    let folder = case::Case::folder("");
    let mut there: Vec<String> = std::fs::read_dir(folder)
        .expect("the cases")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    there.sort();
    assert_eq!(KINDS, there);
    for kind in KINDS {
        phases::check_texts(kind);
    }
}

#[test]
fn ty_is_right_when_cold_and_after_changes() {
    prove("ty");
}
