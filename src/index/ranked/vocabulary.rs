//! English words of programmers: verbs, and groups of words that mean the same in names and comments. Pure data and lookups.
//!
//! The groups aren't a thesaurus: they have common abbreviations, and verbs that names use for one another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::tokenizer::stem;

/// Verbs that begin a request for something that acts: a function or a method.
const VERBS: &str = "abort accept acquire activate add advance aggregate align allocate allow append apply assert assign attach \
    authenticate authorize await bind block broadcast build cache calculate call cancel cast catch change check choose clean clear \
    clone close collect color combine commit compare compile complete compress compute concatenate configure connect consume convert \
    copy count crawl create dump decide declare decode decompress decrement decrypt define delete deliver deny deserialize destroy \
    detach detect determine disable discard discover dispatch display distribute divide download draw drop emit enable encode \
    encrypt enqueue ensure escape estimate evaluate execute expand expire export expose extend extract fetch fill filter find \
    finalize finish flatten flush fold follow force fork format forward free freeze generate get group guess handle hash hide ignore \
    implement import increment indent infer inherit initialize inject insert inspect install instantiate interpolate intersect \
    invalidate invert invoke iterate join keep kill launch limit link list listen load locate lock log look lookup lower maintain \
    make map mark match measure merge migrate minimize mock modify monitor move multiply mutate negotiate normalize notify obtain \
    open optimize order override pack pad parse partition patch pause peek perform persist pick place poll pop populate prepare \
    prefetch print process produce propagate protect prune publish pull push put query queue quote raise read rebuild receive \
    recompute record recover redirect reduce refresh register reject relabel release reload remove rename render reorder replace \
    reply report request require reset resize resolve respond restart restore resume retrieve retry return reuse reverse rewrite \
    roll rotate round route run sample save scan schedule score search select send serialize serve set share shift show shuffle shut \
    sign simplify skip sleep slice sort spawn split start steal step stop store stream strip submit subscribe substitute subtract sum \
    suspend swap switch synchronize terminate test throttle throw tokenize toggle trace track transfer transform translate traverse \
    trigger trim truncate try unescape unlock unpack unquote unregister unsubscribe unwrap update upgrade upload upsert use validate \
    verify visit wait wake walk warn watch wrap write yield";

/// Words that stand for one another. The first ones are the most usual.
const GROUPS: &[&str] = &[
    "address addr",
    "argument arg parameter param",
    "array list sequence",
    "asynchronous async",
    "attribute attr",
    "authentication auth authenticate authorize",
    "buffer buf",
    "build create make construct",
    "calculate calc compute",
    "callback handler hook listener",
    "cancel abort",
    "certificate cert",
    "change modify update",
    "check validate verify ensure",
    "child subprocess",
    "choose select pick",
    "class type",
    "clean cleanup clear purge",
    "command cmd",
    "compress gzip deflate",
    "configuration config conf cfg settings options",
    "connection conn",
    "context ctx",
    "convert transform translate to",
    "count number num size length len",
    "database db",
    "decode deserialize parse unmarshal",
    "default fallback",
    "delete remove erase discard drop unlink",
    "destination dest dst",
    "directory dir folder",
    "document doc",
    "duplicate clone copy",
    "encode serialize marshal",
    "end finish stop terminate shutdown",
    "environment env",
    "error err exception",
    "execute exec run invoke",
    "expression expr",
    "extension ext",
    "fetch get retrieve load read",
    "find search lookup locate",
    "format fmt",
    "function fn func callable",
    "generate gen",
    "identifier id",
    "image img",
    "implementation impl",
    "increment inc",
    "decrement dec",
    "index idx",
    "information info",
    "initialize init setup",
    "integer int",
    "iterate iter iterator",
    "language lang",
    "launch spawn start",
    "library lib",
    "limit bound cap",
    "location loc position pos",
    "maximum max maximize",
    "merge combine join union",
    "memory mem",
    "message msg",
    "minimum min minimize",
    "object obj",
    "operation op",
    "package pkg",
    "parallel concurrent",
    "password passwd pwd",
    "path route",
    "pointer ptr",
    "previous prev",
    "print show display render draw",
    "process proc",
    "property prop",
    "random rand rng",
    "reference ref",
    "regex regexp pattern",
    "rename relabel",
    "request req",
    "response resp reply",
    "restart reload",
    "result ret return",
    "send write emit transmit",
    "sentence phrase",
    "sequence seq",
    "signature sig",
    "source src",
    "statement stmt",
    "string str text",
    "symbol sym",
    "synchronize sync",
    "system sys",
    "temporary temp tmp",
    "token tok",
    "unsigned uint",
    "utility util helper",
    "value val",
    "variable var",
    "vector vec",
    "wait await block",
    "websocket ws",
    "window win",
    "allocate alloc malloc",
    "average avg mean",
    "channel chan",
    "character char",
    "column col",
    "declaration decl",
    "definition def",
    "dependency dep",
    "description desc",
    "device dev",
    "dictionary dict",
    "difference diff delta",
    "distance dist",
    "element elem",
    "evaluate eval",
    "frequency freq",
    "hexadecimal hex",
    "interface iface",
    "manager mgr",
    "matrix mat",
    "negotiate agree",
    "network net",
    "offset off",
    "permission perm",
    "protocol proto",
    "receive recv",
    "repository repo",
    "schedule sched",
    "statistics stats",
    "structure struct",
    "terminal tty pty console",
    "timestamp ts",
    "transaction tx txn",
    "version ver",
];

/// Whether the stem is that of a verb.
pub(super) fn is_verb(stemmed: &str) -> bool {
    static ALL: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| VERBS.split_whitespace().map(|verb| stem(verb.into())).collect());
    ALL.contains(stemmed)
}

/// The stems of the words that mean the same as this one, sorted, without itself.
pub(super) fn synonyms(stemmed: &str) -> &'static [String] {
    static ALL: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for group in GROUPS {
            let stems: Vec<String> = group.split(' ').map(|word| stem(word.into())).collect();
            for one in &stems {
                all.entry(one.clone()).or_default().extend(stems.iter().filter(|other| *other != one).cloned());
            }
        }
        all.into_iter().map(|(word, others)| (word, others.into_iter().collect())).collect()
    });
    ALL.get(stemmed).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_verbs_are_verbs() {
        for (word, expected) in [("checked", true), ("merging", true), ("parse", true), ("cookie", false), ("", false)]
        {
            assert_eq!(is_verb(&stem(word.into())), expected, "{word}");
        }
    }

    #[test]
    fn synonyms_are_mutual_and_exclude_the_word() {
        for group in GROUPS {
            for word in group.split(' ').map(|word| stem(word.into())) {
                for other in synonyms(&word) {
                    assert!(*other != word && synonyms(other).contains(&word), "{word} {other}");
                }
            }
        }
        assert!(synonyms("cookie").is_empty());
    }
}
