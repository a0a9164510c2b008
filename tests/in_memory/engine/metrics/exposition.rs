//! A strict parser of Prometheus's text format: a scraper accepts all that it accepts.

use std::collections::{BTreeMap, BTreeSet};

/// All metrics of one scrape.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    pub families: BTreeMap<String, Family>,
}

/// One metric.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub kind: String,
    pub help: String,
    pub samples: Vec<Sample>,
}

/// One line.
#[derive(Debug)]
pub(super) struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Family {
    /// Keys of its labels, without the bucket bound.
    pub(super) fn labels(&self) -> BTreeSet<&str> {
        self.samples
            .iter()
            .flat_map(|sample| sample.labels.keys())
            .map(String::as_str)
            .filter(|key| *key != "le")
            .collect()
    }

    /// Its series; a histogram counts as one.
    pub(super) fn series(&self) -> usize {
        let bare = |sample: &Sample| {
            let mut labels = sample.labels.clone();
            labels.remove("le");
            labels
        };
        self.samples.iter().map(bare).collect::<BTreeSet<_>>().len()
    }
}

impl Exposition {
    /// Parses a whole scrape; panics if it violates the format.
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has an end");
        let mut all = Self::default();
        let mut current = String::new();
        let mut helped = None::<(String, String)>;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help text");
                helped = Some((name.to_owned(), help.to_owned()));
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                let (of, help) = helped.take().expect("help comes before the type");
                assert_eq!(of, name);
                assert!(is_name(name, true) && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
                current = name.to_owned();
                let fresh = Family { kind: kind.to_owned(), help, samples: vec![] };
                assert!(all.families.insert(current.clone(), fresh).is_none(), "{name} comes twice");
            } else {
                let sample = parse_sample(line);
                let family = all.families.get_mut(&current).expect("a type comes first");
                let suffix = sample.name.strip_prefix(&current).unwrap_or_else(|| panic!("{line} below {current}"));
                let allowed: &[&str] = if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(allowed.contains(&suffix), "{line}");
                family.samples.push(sample);
            }
        }
        all.families.iter().for_each(|(name, family)| check(name, family));
        all
    }

    /// Sum of all samples with this name whose labels include these.
    pub(super) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let matches = |sample: &&Sample| {
            sample.name == name
                && labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|found| found == value))
        };
        self.families.values().flat_map(|family| &family.samples).filter(matches).map(|sample| sample.value).sum()
    }

    pub(super) fn series(&self) -> usize {
        self.families.values().map(Family::series).sum()
    }
}

fn parse_sample(line: &str) -> Sample {
    let (name, mut rest) = line.split_at(line.find(['{', ' ']).expect("a value"));
    assert!(is_name(name, true), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"").expect("a label's value");
            assert!(is_name(key, false), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(key.to_owned(), value).is_none(), "{line}: {key} comes twice");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').expect("one blank before the value");
    let value = if number == "+Inf" { f64::INFINITY } else { number.parse().unwrap_or_else(|_| panic!("{line}")) };
    Sample { name: name.to_owned(), labels, value }
}

/// Text up to the closing quote, and the rest after it.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                other => panic!("escaped {other:?} in {text}"),
            },
            c => value.push(c),
        }
    }
    panic!("no closing quote in {text}")
}

fn is_name(text: &str, colons: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(fits)
}

fn check(name: &str, family: &Family) {
    let mut seen = BTreeSet::new();
    for sample in &family.samples {
        assert!(seen.insert((&sample.name, &sample.labels)), "{name} has a series twice: {sample:?}");
        assert!(family.kind != "counter" || (sample.value >= 0.0 && name.ends_with("_total")), "{sample:?}");
    }
    if family.kind == "histogram" {
        let mut last = BTreeMap::new();
        for sample in &family.samples {
            let mut labels = sample.labels.clone();
            if let Some(bound) = labels.remove("le") {
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse::<f64>().expect("a bound") };
                let (before, count) = last.insert(labels, (bound, sample.value)).unwrap_or((f64::NEG_INFINITY, 0.0));
                assert!(bound > before && sample.value >= count, "{sample:?}");
            } else if sample.name.ends_with("_count") {
                assert_eq!(last[&labels], (f64::INFINITY, sample.value), "{sample:?}");
            }
        }
    }
}

#[test]
fn the_exposition_parser_is_strict() {
    let good = "# HELP a_total b c\n# TYPE a_total counter\na_total{k=\"a\\\"\\n\"} 1\na_total 2\n";
    let read = Exposition::parse(good);
    assert_eq!((read.sum("a_total", &[]), read.sum("a_total", &[("k", "a\"\n")]), read.series()), (3.0, 1.0, 2));
    for bad in [
        "a 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a b\n# TYPE a gauge\na 1\na 1\n",
        "# HELP a b\n# TYPE a gauge\nb 1\n",
        "# HELP a b\n# TYPE a counter\na 1\n",
        "# HELP a b\n# TYPE a gauge\na{k=1} 1\n",
        "# HELP a b\n# TYPE a gauge\na one\n",
        "# HELP a b\n# TYPE a gauge\na 1",
        "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| Exposition::parse(bad)).is_err(), "{bad}");
    }
}
