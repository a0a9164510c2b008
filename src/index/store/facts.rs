//! Facts as bytes.

use crate::index::codec::{Damaged, Reader, put, put_text};
use crate::index::facts::{Facts, Reference, Role, Symbol};
use crate::model::code::{SymbolKind, Visibility};

/// The bytes of `facts`.
pub(in crate::index) fn encode(facts: &Facts) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 * facts.symbols.len());
    put(&mut out, u64::from(facts.has_errors));
    put(&mut out, facts.symbols.len() as u64);
    for symbol in &facts.symbols {
        out.push(symbol.kind as u8);
        out.push(symbol.visibility as u8 | u8::from(symbol.is_definition) << 4);
        put(&mut out, symbol.parent.map_or(0, |parent| u64::from(parent) + 1));
        for text in
            [&symbol.name, symbol.scope.as_deref().unwrap_or(""), &symbol.marker, &symbol.signature, &symbol.doc]
        {
            put_text(&mut out, text);
        }
        for number in [symbol.line_start, symbol.line_end, symbol.name_line, symbol.name_column] {
            put(&mut out, u64::from(number));
        }
    }
    put(&mut out, facts.references.len() as u64);
    let mut line = 0;
    for reference in &facts.references {
        put_text(&mut out, &reference.name);
        out.push(reference.role as u8);
        // Mostly they stand in order; what doesn't costs a few bytes more.
        put(&mut out, u64::from(reference.line.wrapping_sub(line)));
        line = reference.line;
        put(&mut out, u64::from(reference.column));
        put(&mut out, reference.within.map_or(0, |within| u64::from(within) + 1));
    }
    out
}

/// Undoes [`encode`].
pub(in crate::index) fn decode(bytes: &[u8]) -> Result<Facts, Damaged> {
    let mut from = Reader(bytes);
    let has_errors = from.number()? != 0;
    let symbols = (0..from.count()?).map(|_| symbol(&mut from)).collect::<Result<_, _>>()?;
    let mut line = 0;
    let references = (0..from.count()?).map(|_| reference(&mut from, &mut line)).collect::<Result<_, _>>()?;
    if from.0.is_empty() { Ok(Facts { symbols, references, has_errors }) } else { Err(Damaged) }
}

fn symbol(from: &mut Reader<'_>) -> Result<Symbol, Damaged> {
    let kind = SymbolKind::from_number(from.byte()?).ok_or(Damaged)?;
    let flags = from.byte()?;
    let parent = from.small()?.checked_sub(1);
    let mut text = || from.text().map(str::to_owned);
    let (name, scope, marker, signature, doc) = (text()?, text()?, text()?, text()?, text()?);
    Ok(Symbol {
        kind,
        visibility: Visibility::from_number(flags & 0xf).ok_or(Damaged)?,
        is_definition: flags & 0x10 != 0,
        parent,
        name,
        scope: Some(scope).filter(|scope| !scope.is_empty()),
        marker,
        signature,
        doc,
        line_start: from.small()?,
        line_end: from.small()?,
        name_line: from.small()?,
        name_column: from.small()?,
    })
}

fn reference(from: &mut Reader<'_>, line: &mut u32) -> Result<Reference, Damaged> {
    let name = from.text()?.to_owned();
    let role = Role::from_number(from.byte()?).ok_or(Damaged)?;
    *line = line.wrapping_add(from.small()?);
    Ok(Reference { name, role, line: *line, column: from.small()?, within: from.small()?.checked_sub(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_half_of_them_is_damage() {
        let symbol = Symbol {
            kind: SymbolKind::Method,
            name: "größe".into(),
            parent: Some(0),
            scope: Some("Box".into()),
            marker: "pub(crate)".into(),
            visibility: Visibility::Restricted,
            signature: "fn größe(&self) -> usize".into(),
            doc: "How large.".into(),
            line_start: 3,
            line_end: 300,
            name_line: 3,
            name_column: 7,
            is_definition: true,
        };
        let other = Symbol { kind: SymbolKind::Use, parent: None, scope: None, is_definition: false, ..symbol.clone() };
        let named = |line| Reference { name: "x".into(), role: Role::Base, line, column: 1, within: Some(1) };
        let facts = Facts {
            symbols: vec![other, symbol],
            references: vec![named(9), named(4), Reference { within: None, ..named(70_000) }],
            has_errors: true,
        };
        let bytes = encode(&facts);
        assert_eq!(decode(&bytes), Ok(facts));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(Damaged), "{end}");
        }
    }
}
