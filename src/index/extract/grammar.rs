//! The grammars and their queries, compiled once a process.
//!
//! A query is a file below `config/queries`; its captures say what a node is. [`Action`] lists the captures there are; any other name
//! is an error, which the tests see, and which a running process reports as a missing grammar.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use tree_sitter::{Node, Query, QueryProperty};

use crate::facts::Role;
use crate::language::Language;
use codeyard_model::code::SymbolKind;

/// What a capture says of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// `@fn`, `@struct` …: it is a symbol; `@fn.declared`: it only announces one.
    Symbol(SymbolKind, bool),
    /// `@name`: the symbol's name.
    Name,
    /// `@declarator`: the symbol's name lies at the heart of this declarator of C.
    Declarator,
    /// `@body`: the symbol's signature ends where this begins. Without it that is the field `body`.
    Body,
    /// `@scope`: what the symbol belongs to, where nothing around it says so.
    Scope,
    /// `@local`: variables, constants and imports in it are of no interest outside of it.
    Local,
    /// `@whole`: what begins in it first, begins with it: `export` or decorators stand there.
    Whole,
    /// `@comment`: documents what follows it.
    Comment,
    /// `@attribute`: may stand between a symbol and its comment.
    Attribute,
    /// `@doc`: documents what it stands in.
    Doc,
    /// `@access`: the visibility of what follows it in the same type.
    Access,
    /// `@exported`: the name of a symbol at the top that is exported elsewhere.
    Exported,
    /// `@call`, `@type`, `@import`, `@base`, `@other`: it names something.
    Reference(Role),
    /// `@_…`: for the query's own predicates.
    Nothing,
}

/// A language ready for use.
pub(super) struct Compiled {
    pub(super) grammar: tree_sitter::Language,
    pub(super) query: Query,
    /// By the capture's number.
    pub(super) actions: Vec<Action>,
    /// By the pattern's number: nothing stands in what it finds (`#set! flat`).
    pub(super) flat: Vec<bool>,
    /// By the pattern's number: what follows it in the file belongs to it (`#set! rest`).
    pub(super) rest: Vec<bool>,
    /// By the number of a node's kind: what it is in a declarator of C. Kinds are asked about far too often to compare their names.
    pub(super) hearts: Vec<Heart>,
    /// The field `body`.
    pub(super) body: Option<NonZeroU16>,
    /// The field `declarator`.
    pub(super) declarator: Option<NonZeroU16>,
}

/// What a node is in a declarator of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heart {
    /// The name.
    Name,
    /// The name of a function that converts.
    Cast,
    /// Around what is a function.
    Function,
    /// Around what is pointed to, referred to or counted.
    Pointer,
    /// Not for us.
    Modifier,
    /// Something else.
    Other,
}

impl Heart {
    fn of(kind: &str) -> Self {
        match kind {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "template_method"
            | "primitive_type" => Self::Name,
            "operator_cast" => Self::Cast,
            "function_declarator" | "abstract_function_declarator" => Self::Function,
            "pointer_declarator" | "reference_declarator" | "array_declarator" => Self::Pointer,
            "ms_call_modifier" | "attribute_specifier" => Self::Modifier,
            _ => Self::Other,
        }
    }
}

impl Compiled {
    /// What this node is in a declarator of C.
    pub(super) fn heart(&self, node: Node<'_>) -> Heart {
        // A node of an error has a number of its own, beyond all kinds.
        self.hearts.get(usize::from(node.kind_id())).copied().unwrap_or(Heart::Other)
    }
}

fn action(capture: &str) -> Result<Action, String> {
    let reference = |role| Ok(Action::Reference(role));
    match capture {
        "name" => Ok(Action::Name),
        "declarator" => Ok(Action::Declarator),
        "body" => Ok(Action::Body),
        "scope" => Ok(Action::Scope),
        "local" => Ok(Action::Local),
        "whole" => Ok(Action::Whole),
        "comment" => Ok(Action::Comment),
        "attribute" => Ok(Action::Attribute),
        "doc" => Ok(Action::Doc),
        "access" => Ok(Action::Access),
        "exported" => Ok(Action::Exported),
        "call" => reference(Role::Call),
        // `@type` is a reference, `@alias` is the symbol of kind `type`.
        "type" => reference(Role::Type),
        "import" => reference(Role::Import),
        "base" => reference(Role::Base),
        "other" => reference(Role::Other),
        "alias" => Ok(Action::Symbol(SymbolKind::Type, true)),
        "alias.declared" => Ok(Action::Symbol(SymbolKind::Type, false)),
        hidden if hidden.starts_with('_') => Ok(Action::Nothing),
        symbol => {
            let (word, is_definition) = symbol.strip_suffix(".declared").map_or((symbol, true), |word| (word, false));
            let kind = SymbolKind::ALL.into_iter().find(|kind| kind.as_str() == word && *kind != SymbolKind::Type);
            kind.map(|kind| Action::Symbol(kind, is_definition)).ok_or_else(|| format!("@{symbol} means nothing"))
        }
    }
}

/// Compiles a language's query; the error says what is wrong with it.
pub(super) fn compile(language: Language) -> Result<Compiled, String> {
    let (grammar, source) = codeyard_grammars::grammar(language.name()).ok_or("there is no grammar")?;
    let query = Query::new(&grammar, source).map_err(|error| error.to_string())?;
    let actions = query.capture_names().iter().map(|name| action(name)).collect::<Result<Vec<_>, _>>()?;
    let that_say = |key: &str| {
        let says = |property: &QueryProperty| &*property.key == key;
        (0..query.pattern_count()).map(|at| query.property_settings(at).iter().any(says)).collect()
    };
    let (flat, rest) = (that_say("flat"), that_say("rest"));
    let kinds = (0..grammar.node_kind_count()).map(|kind| u16::try_from(kind).ok());
    let hearts = kinds.map(|kind| Heart::of(kind.and_then(|kind| grammar.node_kind_for_id(kind)).unwrap_or_default()));
    let (hearts, body) = (hearts.collect(), grammar.field_id_for_name("body"));
    let declarator = grammar.field_id_for_name("declarator");
    Ok(Compiled { grammar, query, actions, flat, rest, hearts, body, declarator })
}

static ALL: [OnceLock<Option<Compiled>>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];

/// Whether the language can be used, as far as that is known without compiling its query, which may take a tenth of a second.
pub(super) fn is_available(language: Language) -> bool {
    let known = ALL.get(usize::from(language.number())).and_then(OnceLock::get);
    known.map_or_else(|| codeyard_grammars::grammar(language.name()).is_some(), Option::is_some)
}

/// The language ready for use; `None` if its grammar or its query doesn't load.
pub(super) fn compiled(language: Language) -> Option<&'static Compiled> {
    ALL.get(usize::from(language.number()))?.get_or_init(|| compile(language).ok()).as_ref()
}
