//! A document's text: its lines, positions in it, and columns in another encoding.

use std::hint::black_box;

use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{self, PositionEncoding};
use codeyard_model::position::Position;
use criterion::{BenchmarkId, Criterion, Throughput};

pub(crate) fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("document");
    for lines in [200, 10_000] {
        let text = source(lines);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("index lines", lines), &text, |bencher, text| {
            bencher.iter(|| Document::new(black_box(text.as_str())));
        });
    }
    group.finish();
    let document = Document::new(source(10_000));
    let position = Position { line: 9_001, character: 20 };
    let mut group = criterion.benchmark_group("position");
    group.bench_function("check", |bencher| bencher.iter(|| document.check(black_box(position)).unwrap()));
    group.bench_function("to UTF-8 and back", |bencher| {
        bencher.iter(|| {
            let there = encoding::to_server(&document, black_box(position), PositionEncoding::Utf8).unwrap();
            encoding::from_server(&document, there, PositionEncoding::Utf8)
        });
    });
    group.finish();
}

/// Every third line has characters outside ASCII, some with two UTF-16 code units.
fn source(lines: u32) -> String {
    let line = |index: u32| match index % 3 {
        0 => format!("    naïve_{index} = \"𝒳 {index}\"  # größer\n"),
        _ => format!("    value_{index} = compute(value, {index})\n"),
    };
    (0..lines).map(line).collect()
}
