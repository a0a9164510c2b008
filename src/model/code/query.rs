//! Queries to the code index. Every value has passed its schema, so enumerations have no unknown words.

use super::kind::SymbolKind;
use super::query_language::ParsedSearch;

/// The canonical names of the tools.
pub mod tools {
    /// Ranked search, text search, regular expressions.
    pub const SEARCH: &str = "search_code";
    /// Definitions of a name.
    pub const LOCATE: &str = "locate_symbol";
    /// Symbols of a file.
    pub const OUTLINE: &str = "get_file_outline";
    /// Health of the index and its projects.
    pub const HEALTH: &str = "health_check";
    /// Build the index.
    pub const INDEX: &str = "index_repo";
    /// Bring the index up to date.
    pub const SYNC: &str = "sync_repo";
    /// State of the index.
    pub const STATUS: &str = "index_status";
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeQuery {
    Search(SearchQuery),
    /// `locate_symbol`.
    Locate(LocateQuery),
    /// `get_file_outline`.
    Outline(OutlineQuery),
    /// `health_check`, of the workspace with this absolute path.
    Health {
        /// The path as the caller wrote it.
        workspace: Option<String>,
    },
    /// `index_repo`.
    Index {
        /// Read all files again.
        force: bool,
        /// The branch, tag or commit to index. `None` for the working tree.
        reference: Option<String>,
    },
    /// `sync_repo`.
    Sync {
        /// Compare contents even if stamps are equal.
        force: bool,
        /// The branch, tag or commit to update. `None` for the working tree.
        reference: Option<String>,
    },
    /// `index_status`.
    Status {
        /// The branch, tag or commit. `None` for the working tree.
        reference: Option<String>,
    },
}

/// Arguments that `search_code` and `locate_symbol` share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowOptions {
    /// The branch, tag or commit. `None` for the working tree.
    pub reference: Option<String>,
    /// The language of the results, as the caller wrote it.
    pub language: Option<String>,
    /// Maximum number of rows, 1 to 200.
    pub limit: usize,
    pub detail: DetailLevel,
    /// Whether large fields are left out.
    pub compact: bool,
    /// What to do if the index is behind. `None`: as configured.
    pub freshness: Option<FreshnessPolicy>,
    /// How much of the ranking to explain. `None`: as configured.
    pub explain: Option<ExplainLevel>,
    /// Whether the language server confirms the first rows.
    pub confirm: bool,
}

/// `search_code`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text to search, not empty.
    pub text: String,
    /// How the text is interpreted.
    pub mode: SearchMode,
    /// For text and regular expressions: case sensitivity.
    pub case: CaseRule,
    /// For text and regular expressions: only whole words.
    pub word: bool,
    /// Globs. A path must match one of them; a glob with `!` in front excludes paths.
    pub globs: Vec<String>,
    /// Lines shown before and after each matching line, at most 10.
    pub context_lines: usize,
    /// For text and regular expressions: rows to skip at the beginning.
    pub offset: usize,
    /// The terms of a query of the query language; empty if the text is only a text.
    pub parsed: ParsedSearch,
    pub shape: RowOptions,
}

/// `locate_symbol`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocateQuery {
    /// How the symbol is located.
    pub by: LocateBy,
    /// Only this kind.
    pub kind: Option<SymbolKind>,
    pub shape: RowOptions,
}

/// How a symbol is located.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocateBy {
    /// A name, possibly qualified, not empty.
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
    /// The branch, tag or commit. `None` for the working tree.
    pub reference: Option<String>,
    pub depth: OutlineDepth,
    /// What to do if the index is behind. `None`: as configured.
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
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The contract's word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value with this word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }
    };
}
pub(super) use words;

words! {
    /// Level of detail of a row.
    DetailLevel {
        /// Its location.
        Location = "location",
        /// Its location and signature.
        #[default]
        Signature = "signature",
        /// Its location, signature and surroundings.
        Context = "context",
    }
}
words! {
    /// What happens if the index is behind.
    FreshnessPolicy {
        /// The query is refused.
        Strict = "strict",
        /// The query is answered, and a background job updates the index.
        #[default]
        Balanced = "balanced",
        /// The query is answered.
        BestEffort = "best_effort",
    }
}
words! {
    /// How much of the ranking is explained.
    ExplainLevel {
        /// Nothing.
        #[default]
        Off = "off",
        /// The factors that an agent can act on.
        Basic = "basic",
        /// All factors.
        Full = "full",
    }
}
words! {
    /// How `search_code` interprets its query.
    SearchMode {
        /// By its form: a ranked search, and lines if that finds nothing.
        #[default]
        Auto = "auto",
        /// Lines that contain it literally.
        Text = "text",
        /// Lines that match the regular expression.
        Regex = "regex",
        /// Symbols, ranked.
        Symbol = "symbol",
    }
}
words! {
    /// Whether case matters.
    CaseRule {
        /// Case matters if the query has an upper-case letter.
        #[default]
        Smart = "smart",
        /// Case matters.
        Sensitive = "sensitive",
        /// Case doesn't matter.
        Insensitive = "insensitive",
    }
}
words! {
    /// The recognised form of a query.
    QueryIntent {
        /// A name.
        #[default]
        Symbol = "symbol",
        /// A path.
        Path = "path",
        /// An error message.
        Error = "error",
        /// Words.
        NaturalLanguage = "natural_language",
    }
}
words! {
    /// The depth of an outline.
    OutlineDepth {
        /// Top-level symbols only.
        Top = "top",
        /// All symbols.
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

    /// The arguments for rows. Only for `search_code` and `locate_symbol`.
    pub fn shape(&self) -> Option<&RowOptions> {
        match self {
            Self::Search(query) => Some(&query.shape),
            Self::Locate(query) => Some(&query.shape),
            _ => None,
        }
    }

    /// The branch, tag or commit of the query. `None` for the working tree, also if the caller wrote `live`, and for
    /// `health_check`.
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
