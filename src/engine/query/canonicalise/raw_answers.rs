//! Takes the raw entries of one kind out of the answers of all providers.

use codeyard_lsp::convert::RawAnswer;
use codeyard_model::hover::Hover;
use codeyard_model::position::RawLocation;
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};

pub(super) fn locations(answers: Vec<RawAnswer>) -> Vec<RawLocation> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::Locations(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn document_symbols(answers: Vec<RawAnswer>) -> Vec<RawDocumentSymbol> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::DocumentSymbols(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn workspace_symbols(answers: Vec<RawAnswer>) -> Vec<RawWorkspaceSymbol> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::WorkspaceSymbols(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn hovers(answers: Vec<RawAnswer>) -> Vec<Hover> {
    let hovers = answers.into_iter().filter_map(|answer| match answer {
        RawAnswer::Hover(hover) => hover,
        _ => None,
    });
    hovers.collect()
}
