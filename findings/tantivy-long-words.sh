#!/usr/bin/env bash
# tantivy 0.27.0 (PyPI; the Rust engine's query parser and tokenizers) with the tokenizer `default`
#
# One would expect: a term that the tokenizer throws away (the documentation of the module `tokenizer` says: one that is
#   longer than 40) can't be found, so a query that demands it has no results or is refused.
# What happens: the demand is dropped and the rest of the query is answered. `class AND LongName` and `+class +LongName`
#   return everything that has `class`, a phrase with the long name too. A name of exactly 40 bytes, which isn't longer
#   than 40, is thrown away as well. Longer names are common in code.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib tantivy==0.27.0

cat > t.py <<'PY'
import tantivy

builder = tantivy.SchemaBuilder()
builder.add_text_field("body", stored=True)
index = tantivy.Index(builder.build())
writer = index.writer(15_000_000, 1)
long = "AbstractPaymentAuthorisationRequestFactory"  # 42 bytes
for body in (f"class {long}", "class Cart", "a" * 39, "a" * 40):
    writer.add_document(tantivy.Document(body=body))
writer.commit()
writer.wait_merging_threads()
index.reload()
searcher = index.searcher()
for query in (long, f"class AND {long}", f"+class +{long}", f'"class {long}"', "a" * 39, "a" * 40):
    hits = searcher.search(index.parse_query(query, ["body"]), 10).hits
    print(f"{query}: {sorted(searcher.doc(address)['body'][0] for _, address in hits)}")
PY
got=$(python3 t.py)
l=AbstractPaymentAuthorisationRequestFactory
a39=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
want="$l: []
class AND $l: ['class $l', 'class Cart']
+class +$l: ['class $l', 'class Cart']
\"class $l\": ['class $l', 'class Cart']
$a39: ['$a39']
a$a39: []"
printf 'One would expect no "class Cart" in any result, and a result for each of the last two:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
