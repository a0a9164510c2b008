//! Encodes facts as bytes and decodes them.

use crate::codec::{ByteReader, DamagedBytes, put_text, put_varint};
use crate::facts::{Facts, NameSet, Reference, ReferenceRole, Symbol};
use codeyard_model::code::{SymbolKind, Visibility};

pub(crate) fn encode(facts: &Facts) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 * facts.symbols.len());
    put_varint(&mut out, u64::from(facts.has_errors) | u64::from(facts.is_too_complex) << 1);
    put_varint(&mut out, facts.symbols.len() as u64);
    for symbol in &facts.symbols {
        out.push(symbol.kind as u8);
        out.push(symbol.visibility as u8 | u8::from(symbol.is_definition) << 4);
        put_varint(&mut out, symbol.parent.map_or(0, |parent| u64::from(parent) + 1));
        for text in
            [&symbol.name, symbol.scope.as_deref().unwrap_or(""), &symbol.marker, &symbol.signature, &symbol.doc]
        {
            put_text(&mut out, text);
        }
        for number in [symbol.line_start, symbol.line_end, symbol.name_line, symbol.name_column] {
            put_varint(&mut out, u64::from(number));
        }
    }
    put_varint(&mut out, facts.references.len() as u64);
    let mut line = 0;
    for reference in &facts.references {
        put_text(&mut out, &reference.name);
        out.push(reference.role as u8);
        // References are mostly ordered by line. One out of order takes a few bytes more.
        put_varint(&mut out, u64::from(reference.line.wrapping_sub(line)));
        line = reference.line;
        put_varint(&mut out, u64::from(reference.column));
        put_varint(&mut out, reference.within.map_or(0, |within| u64::from(within) + 1));
    }
    let names = facts.plain_uses.numbers();
    put_varint(&mut out, names.len() as u64);
    let mut last = 0;
    for name in names {
        put_varint(&mut out, u64::from(name - last));
        last = *name;
    }
    out
}

/// The inverse of [`encode`].
pub(crate) fn decode(bytes: &[u8]) -> Result<Facts, DamagedBytes> {
    let mut from = ByteReader(bytes);
    let flags = from.number()?;
    let has_errors = flags & 1 != 0;
    let is_too_complex = flags & 2 != 0;
    let symbols = (0..from.count()?).map(|_| symbol(&mut from)).collect::<Result<_, _>>()?;
    let mut line = 0;
    let references = (0..from.count()?).map(|_| reference(&mut from, &mut line)).collect::<Result<_, _>>()?;
    let mut last = 0_u32;
    let mut name = |from: &mut ByteReader<'_>| {
        last = last.checked_add(from.number_u32()?).ok_or(DamagedBytes)?;
        Ok(last)
    };
    let names = (0..from.count()?).map(|_| name(&mut from)).collect::<Result<_, _>>()?;
    let plain_uses = NameSet::from_numbers(names);
    let facts = Facts { symbols, references, plain_uses, has_errors, is_too_complex };
    if from.0.is_empty() { Ok(facts) } else { Err(DamagedBytes) }
}

/// Encoded facts that are decoded symbol by symbol. A query about one symbol of a file doesn't decode the others.
pub(crate) struct LazyFacts {
    bytes: Vec<u8>,
    /// The offset of each symbol.
    places: Vec<usize>,
}

impl LazyFacts {
    /// From the bytes of [`encode`]. Finds the symbols without decoding them.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, DamagedBytes> {
        let mut from = ByteReader(&bytes);
        from.number()?;
        let count = from.count()?;
        let mut places = Vec::with_capacity(count);
        for _ in 0..count {
            places.push(bytes.len() - from.0.len());
            skip_symbol(&mut from)?;
        }
        Ok(Self { bytes, places })
    }

    /// The symbol and its ancestors as facts of their own: outermost first, the symbol last. `None`: there is no such
    /// symbol.
    pub(crate) fn with_ancestors(&self, ordinal: u32) -> Result<Option<Facts>, DamagedBytes> {
        let mut symbols = Vec::new();
        let mut at = Some(ordinal as usize);
        while let Some(place) = at.and_then(|at| self.places.get(at)) {
            let found = symbol(&mut ByteReader(self.bytes.get(*place..).ok_or(DamagedBytes)?))?;
            // Ends, because a parent precedes its children.
            let parent = found.parent.map(|parent| parent as usize).filter(|parent| at.is_some_and(|at| *parent < at));
            symbols.push(found);
            at = parent;
        }
        symbols.reverse();
        for (at, symbol) in (0_u32..).zip(&mut symbols) {
            symbol.parent = at.checked_sub(1);
        }
        Ok((!symbols.is_empty()).then(|| Facts { symbols, ..Facts::default() }))
    }
}

fn skip_symbol(from: &mut ByteReader<'_>) -> Result<(), DamagedBytes> {
    from.bytes(2)?;
    from.number_u32()?;
    for _ in 0..TEXT_COUNT {
        let length = usize::try_from(from.number()?).map_err(|_| DamagedBytes)?;
        from.bytes(length)?;
    }
    for _ in 0..NUMBER_COUNT {
        from.number_u32()?;
    }
    Ok(())
}

/// The number of texts and of numbers in an encoded symbol.
const TEXT_COUNT: usize = 5;
const NUMBER_COUNT: usize = 4;

fn symbol(from: &mut ByteReader<'_>) -> Result<Symbol, DamagedBytes> {
    let kind = SymbolKind::from_number(from.byte()?).ok_or(DamagedBytes)?;
    let flags = from.byte()?;
    let parent = from.number_u32()?.checked_sub(1);
    let mut text = || from.text().map(str::to_owned);
    let name = text()?;
    let scope = text()?;
    let marker = text()?;
    let signature = text()?;
    let doc = text()?;
    Ok(Symbol {
        kind,
        visibility: Visibility::from_number(flags & 0xf).ok_or(DamagedBytes)?,
        is_definition: flags & 0x10 != 0,
        parent,
        name,
        scope: Some(scope).filter(|scope| !scope.is_empty()),
        marker,
        signature,
        doc,
        line_start: from.number_u32()?,
        line_end: from.number_u32()?,
        name_line: from.number_u32()?,
        name_column: from.number_u32()?,
    })
}

fn reference(from: &mut ByteReader<'_>, line: &mut u32) -> Result<Reference, DamagedBytes> {
    let name = from.text()?.to_owned();
    let role = ReferenceRole::from_number(from.byte()?).ok_or(DamagedBytes)?;
    *line = line.wrapping_add(from.number_u32()?);
    Ok(Reference { name, role, line: *line, column: from.number_u32()?, within: from.number_u32()?.checked_sub(1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::NameDigest;

    #[test]
    fn facts_round_trip_and_truncated_bytes_are_damaged() {
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
        let named = |line| Reference { name: "x".into(), role: ReferenceRole::Base, line, column: 1, within: Some(1) };
        let facts = Facts {
            symbols: vec![other, symbol],
            references: vec![named(9), named(4), Reference { within: None, ..named(70_000) }],
            plain_uses: ["a", "größe", "FILE"].map(NameDigest::of).into_iter().collect(),
            has_errors: true,
            is_too_complex: false,
        };
        assert_eq!(decode(&encode(&Facts::too_complex())), Ok(Facts::too_complex()));
        let bytes = encode(&facts);
        let lazy = LazyFacts::new(bytes.clone()).unwrap();
        assert_eq!(decode(&bytes), Ok(facts.clone()));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(DamagedBytes), "{end}");
        }
        let ancestry = lazy.with_ancestors(1).unwrap().unwrap();
        assert_eq!(ancestry.symbols, facts.symbols);
        assert_eq!(ancestry.qualified_name(1), facts.qualified_name(1));
        assert_eq!(lazy.with_ancestors(0).unwrap().unwrap().symbols, facts.symbols[..1]);
        assert_eq!(lazy.with_ancestors(2), Ok(None));
        for end in 0..20 {
            assert!(LazyFacts::new(bytes[..end].to_vec()).is_err(), "{end}");
        }
    }

    #[test]
    fn one_symbol_is_decoded_with_its_ancestors() {
        let symbol = |name: &str, parent| Symbol {
            kind: SymbolKind::Class,
            name: name.into(),
            parent,
            scope: None,
            marker: String::new(),
            visibility: Visibility::Public,
            signature: "x".repeat(300),
            doc: String::new(),
            line_start: 1,
            line_end: 2,
            name_line: 1,
            name_column: 0,
            is_definition: true,
        };
        let symbols = vec![symbol("a", None), symbol("b", None), symbol("c", Some(0)), symbol("d", Some(2))];
        let facts = Facts { symbols, ..Facts::default() };
        let lazy = LazyFacts::new(encode(&facts)).unwrap();
        for (at, name) in [(0, "a"), (1, "b"), (2, "a::c"), (3, "a::c::d")] {
            let ancestry = lazy.with_ancestors(at).unwrap().unwrap();
            assert_eq!(ancestry.qualified_name(ancestry.symbols.len() - 1), name);
            assert_eq!(facts.qualified_name(at as usize), name);
        }
    }
}
