//! References that language servers don't follow through CommonJS: they are found by the links of the modules and by `definition`.
//!
//! A server finds the uses of `exports.name` in its own file and where it is imported, not where it is taken out of `require(…)`, although
//! it knows the definition of each such use. [`find`] starts with the server's own references. If the symbol is an export of CommonJS, it
//! follows the calls of `require` that lead to the module: the server resolves each specifier and lists the uses of each variable. Other
//! places with the name count if the server's definition of them is the symbol.
//!
//! Modules that export by `export` are linked where a file takes the symbol out of `require`.
//!
//! Invariants: nothing is added by name alone; the order of the answer and what was asked before don't matter; a symbol of another kind
//! costs the server one `definition` at most, unless a file with `require` has its name; what can't be decided is counted ([`UndecidedName`]) and marks the answer.

mod callers;
mod es_modules;
mod linker;
mod module_cache;
mod name_places;
mod place_targets;
mod resolution;
mod sources;
mod specifiers;
mod uses;
mod word_set;

use std::sync::Arc;

use crate::asked_server::AskedServer;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{RawCall, ReplyEntries};
use codeyard_model::coverage::UndecidedName;
use codeyard_model::position::{Position, RawLocation};
use codeyard_model::uri::UriAdmission;

use self::linker::Linker;
pub use self::module_cache::ModuleCache;
pub(crate) use self::sources::stamped_text;
use codeyard_lsp::documents::document_input::DocumentInput;

/// The symbol that is asked about.
#[derive(Clone, Copy)]
pub struct AskedSymbol<'a> {
    /// The document.
    pub document: &'a DocumentInput,
    /// Where in it.
    pub position: Position,
    /// Whether declarations count as references.
    pub include_declaration: bool,
}

/// References with those through CommonJS.
#[derive(Debug, Default)]
pub struct LinkedReferences {
    /// All of them, without an order.
    pub locations: Vec<RawLocation>,
    /// Places that may be further ones.
    pub undecided: Option<UndecidedName>,
}

impl ReplyEntries for LinkedReferences {
    fn entries(&self) -> usize {
        self.locations.len()
    }
}

/// Callers with those through CommonJS.
#[derive(Debug, Default)]
pub struct LinkedCalls {
    /// The calls that the server didn't list.
    pub calls: Vec<RawCall>,
    /// Whether the symbol is an export of CommonJS.
    pub is_export: bool,
    /// Places that may be further ones.
    pub undecided: Option<UndecidedName>,
}

/// `own` are the server's references of the symbol; the result has those through CommonJS too.
///
/// # Errors
/// As of any request to the server.
pub async fn find<S: AskedServer>(
    server: S,
    asked: AskedSymbol<'_>,
    own: Vec<RawLocation>,
) -> Result<LinkedReferences, S::Failure> {
    let (linker, is_export) = linked(server, asked, Some(&own)).await?;
    if !is_export || linker.places.is_empty() {
        return Ok(LinkedReferences { locations: own, undecided: linker.undecided() });
    }
    let places = linker.found(asked.include_declaration);
    let locate = move |gate: &Gate| {
        let mut locations = own;
        // Entries outside the roots are counted later.
        locations.retain(|location| matches!(gate.admit(&location.uri), UriAdmission::Outside));
        let found = places.into_iter().filter_map(|(path, range)| Some((gate.path(&path).ok()?.text(), range)));
        locations.extend(found.map(|(uri, range)| RawLocation { uri, range }));
        locations
    };
    let locations = server.gate().run(locate).await?;
    Ok(LinkedReferences { locations, undecided: linker.undecided() })
}

/// The calls of the symbol that aren't in `own`, the server's callers. Declarations don't matter.
///
/// # Errors
/// As of any request to the server.
pub async fn callers<S: AskedServer>(
    server: S,
    asked: AskedSymbol<'_>,
    own: &[RawCall],
) -> Result<LinkedCalls, S::Failure> {
    let (mut linker, is_export) = linked(server, asked, None).await?;
    let calls = if is_export { callers::of_places(&mut linker, own).await } else { Vec::new() };
    Ok(LinkedCalls { calls, is_export, undecided: linker.undecided() })
}

/// Finds the places of a symbol, and whether it is an export; if not, nothing is known. `uses` are the server's references if it was asked for
/// them.
async fn linked<S: AskedServer>(
    server: S,
    asked: AskedSymbol<'_>,
    uses: Option<&[RawLocation]>,
) -> Result<(Linker<S>, bool), S::Failure> {
    let links = server.spec().quirks.links_commonjs;
    let words = if links { sources::words(&server).await } else { Arc::default() };
    let mut linker = Linker::new(server, words);
    if !links || !linker.may_link(asked.document) {
        return Ok((linker, false));
    }
    if !linker.is_commonjs(asked).await? && !linker.is_required().await? {
        // The server lists the references of such a symbol, but not its callers.
        let is_unknown_import = uses.is_none() && linker.is_unknown_import(asked).await;
        if is_unknown_import {
            let all = server.references(asked.document, asked.position, true).await?;
            linker.add_all(&all).await;
        }
        return Ok((linker, is_unknown_import));
    }
    let all = match uses {
        Some(uses) if asked.include_declaration => uses.to_vec(),
        // A declaration leads to an export too.
        _ => server.references(asked.document, asked.position, true).await?,
    };
    let is_export = linker.link(asked, &all, uses.unwrap_or(&all)).await?;
    Ok((linker, is_export))
}
