//! The query language of code search. The text of a parsed query parses to the same query; errors are one line and name what is valid.

#![no_main]

use codeyard_fuzz::Values;
use codeyard_model::code::{ParsedSearch, TermSubject, name_expression};
use codeyard_model::limits::MAX_QUERY_TERMS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = Values(data).text();
    let parsed = match ParsedSearch::parse(&text) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(parsed.terms.len() <= MAX_QUERY_TERMS.max(text.split_whitespace().count()));
    assert_eq!(parsed.terms.is_empty(), text.trim().is_empty());
    for term in &parsed.terms {
        match &term.subject {
            TermSubject::Word(word) => assert!(!word.is_empty() && !word.contains(char::is_whitespace)),
            TermSubject::Phrase(text) | TermSubject::Regex(text) => assert!(!text.is_empty()),
            TermSubject::Filter(_, value) => {
                assert!(!value.is_empty());
                name_expression(value);
            }
        }
    }
    let printed = parsed.to_string();
    assert_eq!(ParsedSearch::parse(&printed).as_ref(), Ok(&parsed), "{text:?} is printed as {printed:?}");
});
