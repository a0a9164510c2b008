//! From a language server's reply to the bytes of an answer: decoding, canonicalization, snapshots, paging, encoding.

use std::fmt::Write as _;
use std::hint::black_box;

use codeyard_catalog::CatalogSet;
use codeyard_lsp::convert;
use codeyard_model::answer::AnswerNotes;
use codeyard_model::limits;
use codeyard_model::operation::PageStyle;
use codeyard_paging::{CanonicalResult, Snapshot};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use serde_json::value::RawValue;

use crate::place::Place;

/// Result sizes up to the largest answer.
const HITS: [u32; 4] = [10, 80, 1_200, 20_000];

pub(crate) fn all(criterion: &mut Criterion) {
    let place = Place::new(500);
    references(criterion, &place);
    symbols(criterion, &place);
    pages(criterion, &place);
}

/// Hits in one file.
const IN_A_FILE: u32 = 40;

/// `hits` locations in unsorted order.
fn reply(place: &Place, hits: u32) -> Box<RawValue> {
    let mut text = String::from("[");
    for index in 0..hits {
        let at = index.wrapping_mul(7_919) % hits;
        let uri = place.uri(usize::try_from(at / IN_A_FILE).unwrap()).as_str();
        let line = at % IN_A_FILE * 3;
        let separator = if index == 0 { "" } else { "," };
        write!(
            text,
            r#"{separator}{{"uri":"{uri}","range":{{"start":{{"line":{line},"character":8}},"end":{{"line":{line},"character":24}}}}}}"#
        )
        .unwrap();
    }
    text.push(']');
    RawValue::from_string(text).unwrap()
}

fn canonical(place: &Place, reply: &RawValue) -> CanonicalResult {
    let raw = convert::references(reply).unwrap();
    let cap = limits::MAX_REFERENCES_ITEMS_TOTAL;
    let found = codeyard_canon::locations(raw, &mut place.gate(), limits::MAX_RAW_ITEMS_PAGED, cap).unwrap();
    CanonicalResult::references(found, AnswerNotes::default())
}

fn references(criterion: &mut Criterion, place: &Place) {
    let mut group = criterion.benchmark_group("references");
    for hits in HITS {
        let reply = reply(place, hits);
        group.throughput(Throughput::Elements(hits.into()));
        group.bench_with_input(BenchmarkId::new("decode", hits), &reply, |bencher, reply| {
            bencher.iter(|| convert::references(black_box(reply)).unwrap());
        });
        let raw = convert::references(&reply).unwrap();
        group.bench_with_input(BenchmarkId::new("canonicalise", hits), &raw, |bencher, raw| {
            let cap = limits::MAX_REFERENCES_ITEMS_TOTAL;
            bencher.iter_batched(
                || raw.clone(),
                |raw| codeyard_canon::locations(raw, &mut place.gate(), limits::MAX_RAW_ITEMS_PAGED, cap).unwrap(),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// A class of methods, `count` symbols in all.
fn outline(count: u32) -> Box<RawValue> {
    let range = |line: u32| {
        format!(r#"{{"start":{{"line":{line},"character":0}},"end":{{"line":{},"character":4}}}}"#, line + 2)
    };
    let methods: Vec<String> = (1..count)
        .map(|index| {
            let at = range(index * 3);
            format!(r#"{{"name":"method_{index}","kind":6,"range":{at},"selectionRange":{at},"children":[]}}"#)
        })
        .collect();
    let whole = range(0);
    RawValue::from_string(format!(
        r#"[{{"name":"Service","kind":5,"range":{whole},"selectionRange":{whole},"children":[{}]}}]"#,
        methods.join(",")
    ))
    .unwrap()
}

fn symbols(criterion: &mut Criterion, place: &Place) {
    let uri = place.uri(0);
    let mut group = criterion.benchmark_group("document symbols");
    for count in [20, 150] {
        let reply = outline(count);
        group.throughput(Throughput::Elements(count.into()));
        group.bench_with_input(BenchmarkId::new("decode and canonicalise", count), &reply, |bencher, reply| {
            bencher.iter(|| {
                let raw = convert::document_symbols(black_box(reply), uri.as_str()).unwrap();
                codeyard_canon::document_symbols(uri, raw, limits::MAX_RAW_ITEMS).unwrap()
            });
        });
    }
    group.finish();
}

fn pages(criterion: &mut Criterion, place: &Place) {
    let catalog = CatalogSet::parse("lsp-v1").unwrap();
    let catalog = catalog.find("vscode.lsp.references").unwrap();
    let cap = limits::MAX_RESPONSE_BYTES - codeyard_gateway::limits::RESPONSE_ENVELOPE_BYTES;
    let mut group = criterion.benchmark_group("pages");
    for hits in [1_200, 20_000] {
        let result = canonical(place, &reply(place, hits));
        group.bench_with_input(BenchmarkId::new("retain", hits), &result, |bencher, result| {
            bencher.iter_batched(|| result.clone(), Snapshot::new, BatchSize::LargeInput);
        });
        let snapshot = Snapshot::new(result);
        // A page in the middle of the result.
        let at = Some((u64::from(hits / 2), limits::MAX_PAGE_SIZE));
        group.bench_with_input(
            BenchmarkId::new("one of 200 entries, as bytes", hits),
            &snapshot,
            |bencher, snapshot| {
                bencher.iter(|| {
                    let answer = codeyard_paging::page(black_box(snapshot), at, PageStyle::default(), "k", "s");
                    catalog.encode(Ok(&answer), cap)
                });
            },
        );
    }
    group.finish();
}
