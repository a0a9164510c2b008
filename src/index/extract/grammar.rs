//! Grammars with their compiled queries, each compiled once a process.
//!
//! A query's source comes from `codeyard_grammars`; its captures say what a node is. [`CaptureKind`] lists the captures. Any other
//! capture name is an error: a test fails on it, and a running process reports the language as one without a grammar.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use tree_sitter::{Node, Query, QueryProperty};

use super::name_context::NameContext;
use crate::facts::ReferenceRole;
use crate::language::Language;
use codeyard_model::code::SymbolKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureKind {
    /// `@fn`, `@struct` …: a symbol; the flag is `false` for `@fn.declared`, a declaration without a definition.
    Symbol(SymbolKind, bool),
    /// `@name`: the symbol's name.
    Name,
    /// `@declarator`: the C declarator that contains the symbol's name.
    Declarator,
    /// `@body`: the symbol's signature ends where this node begins. Without it the field `body` is used.
    Body,
    /// `@parameters`: its children are the parameters of the symbol.
    Parameters,
    /// `@scope`: the name of the symbol's container, where no enclosing node is its container.
    Scope,
    /// `@local`: variables, constants and imports inside this node are local and are not kept.
    Local,
    /// `@whole`: a wrapper such as `export` or decorators. The first symbol inside it begins where it begins.
    Whole,
    /// `@comment`: documents the symbol that follows.
    Comment,
    /// `@attribute`: may lie between a comment and its symbol.
    Attribute,
    /// `@doc`: documents the symbol around it.
    Doc,
    /// `@access`: the visibility of the members that follow it in the same type.
    Access,
    /// `@exported`: the name of a top-level symbol that a separate statement exports.
    Exported,
    /// `@call`, `@type`, `@import`, `@base`, `@other`: a reference.
    Reference(ReferenceRole),
    /// `@bare`: a call, unless the name is bound in the same function.
    BareCall,
    /// `@bound`: a local name.
    Bound,
    /// `@_…`: used by the query's own predicates only.
    Ignored,
}

/// A grammar and its compiled query.
pub(super) struct CompiledGrammar {
    pub(super) grammar: tree_sitter::Language,
    pub(super) query: Query,
    /// Indexed by the capture's number.
    pub(super) capture_kinds: Vec<CaptureKind>,
    /// Indexed by the pattern's number: its symbols have no children (`#set! flat`).
    pub(super) flat: Vec<bool>,
    /// Indexed by the pattern's number: its symbols contain the rest of the file (`#set! rest`).
    pub(super) rest: Vec<bool>,
    /// Indexed by the number of a node's kind: its role in a C declarator. A table, because comparing names is too slow here.
    pub(super) declarator_nodes: Vec<DeclaratorNode>,
    /// What the kinds of nodes and the fields say of the names in them.
    pub(super) name_context: NameContext,
    /// The numbers of the kinds of nodes between the declaration of a constructor and its body.
    pub(super) initializers: Vec<u16>,
    /// The number of the field `body`.
    pub(super) body: Option<NonZeroU16>,
    /// The number of the field `declarator`.
    pub(super) declarator: Option<NonZeroU16>,
}

/// The role of a node in a C declarator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaratorNode {
    Name,
    /// The name of a conversion operator.
    Cast,
    /// Encloses the declarator of a function.
    Function,
    /// Encloses the declarator of a pointer, a reference or an array.
    Pointer,
    /// A modifier without a name in it.
    Modifier,
    Other,
}

impl DeclaratorNode {
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

/// The kinds of nodes that initialise fields or call another constructor, in front of the body.
const INITIALIZERS: [&str; 2] = ["field_initializer_list", "constructor_initializer"];

impl CompiledGrammar {
    /// Where the initializers of a constructor begin.
    pub(super) fn initializer_start(&self, node: Node<'_>) -> Option<u32> {
        if self.initializers.is_empty() {
            return None;
        }
        let mut cursor = node.walk();
        let start = node.children(&mut cursor).find(|child| self.initializers.contains(&child.kind_id()))?.start_byte();
        u32::try_from(start).ok()
    }

    /// The role of this node in a C declarator.
    pub(super) fn declarator_node(&self, node: Node<'_>) -> DeclaratorNode {
        // The kind of an error node isn't in the table.
        self.declarator_nodes.get(usize::from(node.kind_id())).copied().unwrap_or(DeclaratorNode::Other)
    }
}

fn capture_kind(capture: &str) -> Result<CaptureKind, String> {
    let reference = |role| Ok(CaptureKind::Reference(role));
    match capture {
        "name" => Ok(CaptureKind::Name),
        "declarator" => Ok(CaptureKind::Declarator),
        "body" => Ok(CaptureKind::Body),
        "parameters" => Ok(CaptureKind::Parameters),
        "scope" => Ok(CaptureKind::Scope),
        "local" => Ok(CaptureKind::Local),
        "whole" => Ok(CaptureKind::Whole),
        "comment" => Ok(CaptureKind::Comment),
        "attribute" => Ok(CaptureKind::Attribute),
        "doc" => Ok(CaptureKind::Doc),
        "access" => Ok(CaptureKind::Access),
        "exported" => Ok(CaptureKind::Exported),
        "call" => reference(ReferenceRole::Call),
        // `@type` is a reference, so the symbol of kind `type` is `@alias`.
        "type" => reference(ReferenceRole::Type),
        "import" => reference(ReferenceRole::Import),
        "base" => reference(ReferenceRole::Base),
        "other" => reference(ReferenceRole::Other),
        "bare" => Ok(CaptureKind::BareCall),
        "bound" => Ok(CaptureKind::Bound),
        "alias" => Ok(CaptureKind::Symbol(SymbolKind::Type, true)),
        "alias.declared" => Ok(CaptureKind::Symbol(SymbolKind::Type, false)),
        hidden if hidden.starts_with('_') => Ok(CaptureKind::Ignored),
        symbol => {
            let (word, is_definition) = symbol.strip_suffix(".declared").map_or((symbol, true), |word| (word, false));
            let kind = SymbolKind::ALL.into_iter().find(|kind| kind.as_str() == word && *kind != SymbolKind::Type);
            kind.map(|kind| CaptureKind::Symbol(kind, is_definition))
                .ok_or_else(|| format!("the capture @{symbol} is unknown"))
        }
    }
}

/// Compiles a language's query.
///
/// # Errors
/// A text: the language has no grammar, the query doesn't compile, or a capture is unknown.
pub(super) fn compile(language: Language) -> Result<CompiledGrammar, String> {
    let (grammar, source) =
        codeyard_grammars::grammar(language.name()).ok_or("this build has no grammar for the language")?;
    let query = Query::new(&grammar, source).map_err(|error| error.to_string())?;
    let capture_kinds = query.capture_names().iter().map(|name| capture_kind(name)).collect::<Result<Vec<_>, _>>()?;
    let patterns_with = |key: &str| {
        let has_key = |property: &QueryProperty| &*property.key == key;
        (0..query.pattern_count()).map(|at| query.property_settings(at).iter().any(has_key)).collect()
    };
    let flat = patterns_with("flat");
    let rest = patterns_with("rest");
    let kinds = (0..grammar.node_kind_count()).map(|kind| u16::try_from(kind).ok());
    let declarator_nodes =
        kinds.map(|kind| DeclaratorNode::of(kind.and_then(|kind| grammar.node_kind_for_id(kind)).unwrap_or_default()));
    let declarator_nodes = declarator_nodes.collect();
    let name_context = NameContext::of(&grammar);
    let body = grammar.field_id_for_name("body");
    let declarator = grammar.field_id_for_name("declarator");
    let initializers = INITIALIZERS.map(|kind| grammar.id_for_node_kind(kind, true)).into_iter().filter(|id| *id != 0);
    let initializers = initializers.collect();
    Ok(CompiledGrammar {
        grammar,
        query,
        capture_kinds,
        flat,
        rest,
        declarator_nodes,
        name_context,
        initializers,
        body,
        declarator,
    })
}

static ALL: [OnceLock<Option<CompiledGrammar>>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];

/// Whether the language has a grammar and its query compiles. A query that was not used yet is not compiled for this, because that may
/// take a tenth of a second: it counts as one that compiles.
pub(super) fn is_available(language: Language) -> bool {
    let known = ALL.get(usize::from(language.number())).and_then(OnceLock::get);
    known.map_or_else(|| codeyard_grammars::grammar(language.name()).is_some(), Option::is_some)
}

/// The compiled grammar of a language; `None` if it has no grammar or its query doesn't compile.
pub(super) fn compiled(language: Language) -> Option<&'static CompiledGrammar> {
    ALL.get(usize::from(language.number()))?.get_or_init(|| compile(language).ok()).as_ref()
}
