//! What is asked of the index. Every value here has passed its schema; unknown words of an enumeration never come this far.

use super::kind::SymbolKind;

/// The canonical names of the tools.
pub mod tools {
    /// Ranked search, text search, regular expressions.
    pub const SEARCH: &str = "search_code";
    /// Where is a name defined?
    pub const LOCATE: &str = "locate_symbol";
    /// What does a file declare?
    pub const OUTLINE: &str = "get_file_outline";
    /// How are the index and its projects?
    pub const HEALTH: &str = "health_check";
    /// Build the index.
    pub const INDEX: &str = "index_repo";
    /// Bring the index up to date.
    pub const SYNC: &str = "sync_repo";
    /// What does the index hold?
    pub const STATUS: &str = "index_status";
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeQuery {
    /// `search_code`.
    Search(SearchQuery),
    /// `locate_symbol`.
    Locate(LocateQuery),
    /// `get_file_outline`.
    Outline(OutlineQuery),
    /// `health_check`, of the workspace with this absolute path.
    Health {
        /// As it was given.
        workspace: Option<String>,
    },
    /// `index_repo`.
    Index {
        /// Read everything anew.
        force: bool,
        /// What to index; `None` is the working tree.
        reference: Option<String>,
    },
    /// `sync_repo`.
    Sync {
        /// Compare contents even where stamps say that nothing changed.
        force: bool,
        /// What to bring up to date; `None` is the working tree.
        reference: Option<String>,
    },
    /// `index_status`.
    Status {
        /// Of what; `None` is the working tree.
        reference: Option<String>,
    },
}

/// What `search_code` and `locate_symbol` both take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowOptions {
    /// `None`: the working tree.
    pub reference: Option<String>,
    /// The language that results must be of, as it was given.
    pub language: Option<String>,
    /// 1 to 200.
    pub limit: usize,
    /// How much each row tells.
    pub detail: DetailLevel,
    /// Leave the large fields out.
    pub compact: bool,
    /// `None`: as configured.
    pub freshness: Option<FreshnessPolicy>,
    /// `None`: as configured.
    pub explain: Option<ExplainLevel>,
    /// Have the language server confirm the first rows.
    pub confirm: bool,
}

/// `search_code`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// What is looked for; not empty.
    pub text: String,
    /// How it is read.
    pub mode: SearchMode,
    /// Of text and regular expressions.
    pub case: CaseRule,
    /// Only whole words; of text and regular expressions.
    pub word: bool,
    /// Globs that a path must match one of; those that begin with `!` leave out.
    pub globs: Vec<String>,
    /// Lines shown before and after each line that was found, at most 10.
    pub context_lines: usize,
    /// Rows to leave out at the beginning; of text and regular expressions.
    pub offset: usize,
    /// See there.
    pub shape: RowOptions,
}

/// `locate_symbol`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocateQuery {
    /// What it goes by.
    pub by: LocateBy,
    /// Only this kind.
    pub kind: Option<SymbolKind>,
    /// See there.
    pub shape: RowOptions,
}

/// What a symbol is located by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocateBy {
    /// A name, perhaps qualified; not empty.
    Name(String),
    /// A row's `symbol_id`.
    SymbolId(String),
    /// A row's `symbol_stable_id`.
    StableId(String),
    /// A row's `result_id`.
    ResultId(String),
}

/// `get_file_outline`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineQuery {
    /// Relative to a root, or absolute inside one.
    pub path: String,
    /// `None`: the working tree.
    pub reference: Option<String>,
    /// How deep.
    pub depth: OutlineDepth,
    /// `None`: as configured.
    pub freshness: Option<FreshnessPolicy>,
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant),+
        }

        impl $name {
            /// Every word there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As the contract spells it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The one that `text` spells.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }
    };
}
pub(super) use words;

words! {
    /// How much a row tells (contract, "Detail Level Response Shapes").
    DetailLevel {
        /// Where it is.
        Location = "location",
        /// And what it looks like.
        #[default]
        Signature = "signature",
        /// And what stands around it.
        Context = "context",
    }
}
words! {
    /// What happens when the index is behind (contract, "Freshness Policy Behavior").
    FreshnessPolicy {
        /// The question is refused.
        Strict = "strict",
        /// It is answered, and the index catches up in the background.
        #[default]
        Balanced = "balanced",
        /// It is answered.
        BestEffort = "best_effort",
    }
}
words! {
    /// How much is told of why rows stand where they stand.
    ExplainLevel {
        /// Nothing.
        #[default]
        Off = "off",
        /// The factors that an agent may act on.
        Basic = "basic",
        /// All of them.
        Full = "full",
    }
}
words! {
    /// How `search_code` reads its query.
    SearchMode {
        /// By what it looks like: a ranked search, and lines where nothing else is found.
        #[default]
        Auto = "auto",
        /// Lines that hold it, letter by letter.
        Text = "text",
        /// Lines that match the regular expression.
        Regex = "regex",
        /// Symbols, ranked.
        Symbol = "symbol",
    }
}
words! {
    /// Whether upper and lower case are the same.
    CaseRule {
        /// The same, unless the query has an upper-case letter.
        #[default]
        Smart = "smart",
        /// Different.
        Sensitive = "sensitive",
        /// The same.
        Insensitive = "insensitive",
    }
}
words! {
    /// What a query looks like.
    QueryIntent {
        /// A name.
        #[default]
        Symbol = "symbol",
        /// A path.
        Path = "path",
        /// A message.
        Error = "error",
        /// Words.
        NaturalLanguage = "natural_language",
    }
}
words! {
    /// How deep an outline goes.
    OutlineDepth {
        /// Only what stands at the top.
        Top = "top",
        /// Everything.
        #[default]
        All = "all",
    }
}

impl CodeQuery {
    /// The name of the tool.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Search(_) => tools::SEARCH,
            Self::Locate(_) => tools::LOCATE,
            Self::Outline(_) => tools::OUTLINE,
            Self::Health { .. } => tools::HEALTH,
            Self::Index { .. } => tools::INDEX,
            Self::Sync { .. } => tools::SYNC,
            Self::Status { .. } => tools::STATUS,
        }
    }

    /// What rows are asked for; only of `search_code` and `locate_symbol`.
    pub fn shape(&self) -> Option<&RowOptions> {
        match self {
            Self::Search(query) => Some(&query.shape),
            Self::Locate(query) => Some(&query.shape),
            _ => None,
        }
    }

    /// What the question is about: a branch, a tag, a commit, or `None` for the working tree, however it was asked for. `health_check`
    /// asks about none.
    pub fn reference(&self) -> Option<&str> {
        let named = match self {
            Self::Search(query) => query.shape.reference.as_deref(),
            Self::Locate(query) => query.shape.reference.as_deref(),
            Self::Outline(query) => query.reference.as_deref(),
            Self::Index { reference, .. } | Self::Sync { reference, .. } | Self::Status { reference } => {
                reference.as_deref()
            }
            Self::Health { .. } => None,
        };
        named.filter(|reference| *reference != "live")
    }
}
