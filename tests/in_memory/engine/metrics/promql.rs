//! A parser for the subset of PromQL that determines which series and labels a query uses.

use std::collections::BTreeSet;

/// Series and labels that a query uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub series: BTreeSet<String>,
    /// Label keys in matchers and in `by`, `without`, `on` and similar clauses.
    pub labels: BTreeSet<String>,
}

#[derive(Debug, PartialEq, Eq, Clone)]
enum Token {
    Word(String),
    Text,
    Number,
    Range,
    Sign(char),
}

const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const WORDS: [&str; 8] = ["and", "or", "unless", "offset", "bool", "inf", "nan", "atan2"];

/// Parses `query`; an error if that isn't possible.
pub(super) fn asked(query: &str) -> Result<Asked, String> {
    let tokens = tokens(query)?;
    let mut asked = Asked::default();
    let mut at = 0;
    let mut depth = 0_i32;
    while at < tokens.len() {
        let next = tokens.get(at + 1);
        match &tokens[at] {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            Token::Sign('{') => {
                let end = closing(&tokens, at, '}')?;
                asked.labels.extend(matchers(&tokens[at + 1..end])?);
                at = end;
            }
            Token::Word(word) if GROUPING.contains(&&**word) && next == Some(&Token::Sign('(')) => {
                let end = closing(&tokens, at + 1, ')')?;
                asked.labels.extend(tokens[at + 2..end].iter().filter_map(word_of));
                at = end;
            }
            Token::Word(word) => {
                let is_function = next == Some(&Token::Sign('('));
                let aggregates = matches!(next, Some(Token::Word(next)) if GROUPING.contains(&&**next));
                if !is_function && !aggregates && !WORDS.contains(&&*word.to_lowercase()) {
                    asked.series.insert(word.clone());
                }
            }
            _ => {}
        }
        if depth < 0 {
            return Err(format!("a bracket too many in {query}"));
        }
        at += 1;
    }
    if depth == 0 { Ok(asked) } else { Err(format!("brackets don't match in {query}")) }
}

fn word_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(word.clone()),
        _ => None,
    }
}

fn closing(tokens: &[Token], from: usize, sign: char) -> Result<usize, String> {
    let found = tokens[from..].iter().position(|token| *token == Token::Sign(sign));
    found.map(|at| from + at).ok_or_else(|| format!("no `{sign}` in {tokens:?}"))
}

/// `key="text"`, with commas between.
fn matchers(tokens: &[Token]) -> Result<Vec<String>, String> {
    tokens
        .split(|token| *token == Token::Sign(','))
        .filter(|part| !part.is_empty())
        .map(|part| match part {
            [Token::Word(key), Token::Sign('='), Token::Text]
            | [Token::Word(key), Token::Sign('='), Token::Sign('~'), Token::Text]
            | [Token::Word(key), Token::Sign('!'), Token::Sign('=' | '~'), Token::Text] => Ok(key.clone()),
            other => Err(format!("no matcher: {other:?}")),
        })
        .collect()
}

fn tokens(query: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = query.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    let until = |from: usize, fits: &dyn Fn(char) -> bool| {
        chars[from..].iter().position(|c| !fits(*c)).map_or(chars.len(), |more| from + more)
    };
    while at < chars.len() {
        let c = chars[at];
        let end = match c {
            c if c.is_whitespace() => at + 1,
            '"' => {
                let close = chars[at + 1..].iter().position(|c| *c == '"').ok_or("a text without an end")?;
                found.push(Token::Text);
                at + close + 2
            }
            '[' => {
                let close = chars[at..].iter().position(|c| *c == ']').ok_or("a range without an end")?;
                let range: String = chars[at + 1..at + close].iter().collect();
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | ':');
                if range.is_empty() || !range.chars().all(fits) {
                    return Err(format!("no range: [{range}]"));
                }
                found.push(Token::Range);
                at + close + 1
            }
            c if c.is_ascii_digit() || c == '.' => {
                found.push(Token::Number);
                until(at, &|c| c.is_ascii_alphanumeric() || c == '.')
            }
            c if c.is_ascii_alphabetic() || c == '_' || c == ':' => {
                let end = until(at, &|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
                found.push(Token::Word(chars[at..end].iter().collect()));
                end
            }
            '(' | ')' | '{' | '}' | ',' | '=' | '~' | '!' | '<' | '>' | '+' | '-' | '*' | '/' | '%' | '^' => {
                found.push(Token::Sign(c));
                at + 1
            }
            other => return Err(format!("`{other}` in {query}")),
        };
        at = end;
    }
    Ok(found)
}

#[test]
fn the_promql_parser_finds_series_and_labels() {
    let set = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let query = "histogram_quantile(0.99, sum by (le, tool) (rate(a_bucket{k=\"x{y\", j!~\"z\"}[$__rate_interval]))) > 2 * \
                 on(instance) group_left max(b) or vector(0) and c:d offset 5m";
    let wanted = Asked {
        series: set(&["a_bucket", "b", "c:d", "group_left"]
            .into_iter()
            .filter(|n| *n != "group_left")
            .collect::<Vec<_>>()),
        labels: set(&["le", "tool", "k", "j", "instance"]),
    };
    let found = asked(&query.replace("group_left ", "group_left() ")).unwrap();
    assert_eq!(found, wanted);
    for bad in ["sum(a", "a)", "a{k}", "a{k=v}", "a[", "a[5 m]", "a # b", "\"a"] {
        assert!(asked(bad).is_err(), "{bad}");
    }
}
