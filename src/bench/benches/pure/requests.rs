//! From the bytes of a request to the query: message, arguments, keys.

use std::hint::black_box;

use codeyard_catalog::{CatalogSet, PageSizes};
use codeyard_model::epoch::Epochs;
use codeyard_model::limits;
use codeyard_model::query::GatedQuery;
use codeyard_protocol::message::{self, Message};
use codeyard_protocol::{tools, write};
use criterion::Criterion;

use crate::place::Place;

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"vscode.lsp.references","arguments":{"uri":"file:///w/src/part_3/module.py","position":{"line":120,"character":14},"pageSize":200}}}"#;

pub(crate) fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request");
    group.bench_function("parse and decode", |bencher| {
        let catalogs = CatalogSet::parse("lsp-v1").unwrap();
        bencher.iter(|| {
            let Ok(Message::Request(request)) = message::parse(black_box(REQUEST)) else { panic!("no request") };
            let call = tools::call(request.params).unwrap();
            let catalog = catalogs.find(&call.name).unwrap();
            catalog.decode(&call.name, call.arguments, PageSizes::of_entries(limits::MAX_PAGE_SIZE)).unwrap()
        });
    });
    let query = gated();
    group.bench_function("request key", |bencher| bencher.iter(|| codeyard_paging::request_key(black_box(&query))));
    let key = codeyard_paging::request_key(&query);
    let epochs = Epochs::default();
    group.bench_function("snapshot key", |bencher| {
        bencher.iter(|| codeyard_paging::snapshot_key(black_box(&key), "roots", &epochs, query.epoch_mask()));
    });
    let cursor = codeyard_paging::mint(400, &key, "snapshot");
    group.bench_function("cursor there and back", |bencher| {
        bencher
            .iter(|| codeyard_paging::decode(&codeyard_paging::mint(black_box(400), &key, "snapshot"), &key).unwrap());
    });
    assert!(cursor.len() <= codeyard_paging::limits::MAX_CURSOR_BYTES);
    group.bench_function("envelope around 16 KiB", |bencher| {
        let Ok(Message::Request(request)) = message::parse(REQUEST) else { panic!("no request") };
        let result = vec![b'x'; 16 * 1024];
        bencher.iter(|| write::result(&request.id, black_box(&result)));
    });
    group.finish();
}

fn gated() -> GatedQuery {
    let Ok(Message::Request(request)) = message::parse(REQUEST) else { panic!("no request") };
    let call = tools::call(request.params).unwrap();
    let catalogs = CatalogSet::parse("lsp-v1").unwrap();
    let query = catalogs
        .find(&call.name)
        .unwrap()
        .decode(&call.name, call.arguments, PageSizes::of_entries(limits::MAX_PAGE_SIZE))
        .unwrap();
    let gated: Result<GatedQuery, ()> = query.try_map_uri(|_| Ok(Place::new(1).uri(0).clone()));
    gated.unwrap()
}
