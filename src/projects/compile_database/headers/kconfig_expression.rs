//! Conditions of Kconfig: symbols with the values `n`, `m` and `y`, comparisons, and their connection.

use std::rc::Rc;

/// A condition. The default holds always.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum KconfigExpression {
    /// Holds.
    #[default]
    Always,
    /// An option, or a constant such as `y` or a number.
    Symbol(String),
    /// A text in quotation marks.
    Literal(String),
    Not(Box<Self>),
    /// The least of them.
    All(Vec<Self>),
    /// The greatest of them.
    Any(Vec<Self>),
    /// A condition that many options have.
    Shared(Rc<Self>),
    /// Two values that are compared: by `=`, `!=`, `<`, `<=`, `>` or `>=`.
    Compare(Box<Self>, &'static str, Box<Self>),
}

/// The deepest nesting of conditions that is read.
const MAX_DEPTH: usize = 64;
/// Conditions that one option has at most, and operands of one condition. The others are left out.
const MAX_PARTS: usize = 1_024;

impl KconfigExpression {
    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        let mut parts = match (self, other) {
            (Self::Always, other) => return other,
            (own, Self::Always) => return own,
            (Self::All(parts), other) => (parts, other),
            (own, other) => (vec![own], other),
        };
        // However long a list of conditions is, their nesting doesn't grow with it.
        if parts.0.len() < MAX_PARTS {
            parts.0.push(parts.1);
        }
        Self::All(parts.0)
    }

    /// Its value from 0 (`n`) to 2 (`y`), where `value` tells the text of an option; `""` for one that isn't set.
    pub(super) fn level(&self, value: &dyn Fn(&str) -> String) -> u8 {
        match self {
            Self::Always => 2,
            Self::Symbol(name) => level(&symbol_text(name, value)),
            Self::Literal(text) => level(text),
            Self::Not(inner) => 2 - inner.level(value),
            Self::All(parts) => parts.iter().map(|part| part.level(value)).min().unwrap_or(2),
            Self::Any(parts) => parts.iter().map(|part| part.level(value)).max().unwrap_or(0),
            Self::Shared(shared) => shared.level(value),
            Self::Compare(one, operator, other) => {
                if holds(&one.text(value), operator, &other.text(value)) {
                    2
                } else {
                    0
                }
            }
        }
    }

    /// Its text, for a comparison or as the value of an option.
    pub(super) fn text(&self, value: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Symbol(name) => symbol_text(name, value),
            Self::Literal(text) => text.clone(),
            other => letter(other.level(value)).to_owned(),
        }
    }
}

pub(super) fn letter(level: u8) -> &'static str {
    ["n", "m", "y"][usize::from(level.min(2))]
}

/// The level of a value; texts and numbers have none.
pub(super) fn level(text: &str) -> u8 {
    match text {
        "y" => 2,
        "m" => 1,
        _ => 0,
    }
}

fn symbol_text(name: &str, value: &dyn Fn(&str) -> String) -> String {
    match name {
        "y" | "m" | "n" => name.to_owned(),
        _ if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            // An option may begin with a digit, such as 64BIT.
            let known = value(name);
            if known.is_empty() { name.to_owned() } else { known }
        }
        _ => value(name),
    }
}

fn holds(one: &str, operator: &str, other: &str) -> bool {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse::<i64>().ok(),
    };
    // An option that isn't set equals `n`.
    let plain = |text: &'_ str| if text.is_empty() { "n" } else { text }.to_owned();
    let order = match (number(one), number(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => plain(one).cmp(&plain(other)),
    };
    match operator {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// Reads a condition. What can't be understood ends it.
pub(super) fn parse_expression(text: &str) -> KconfigExpression {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return KconfigExpression::Symbol("n".into());
    }
    Parser { tokens: &tokens, at: 0, depth: 0 }.any()
}

/// The operators, each before those that it begins with.
const OPERATORS: [&str; 11] = ["||", "&&", "!=", "<=", ">=", "=", "<", ">", "!", "(", ")"];

fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && found.len() < 2 * MAX_PARTS - 1 {
        let length = if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            operator.len()
        } else if let Some(quote) = rest.chars().next().filter(|c| *c == '"' || *c == '\'') {
            rest[1..].find(quote).map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('#') {
            break;
        } else {
            let is_end = |c: char| c.is_whitespace() || "|&!=<>()\"'#".contains(c);
            let first = rest.chars().next().map_or(1, char::len_utf8);
            rest[first..].find(is_end).map_or(rest.len(), |end| end + first)
        };
        found.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    found
}

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn any(&mut self) -> KconfigExpression {
        let mut parts = vec![self.all()];
        while self.peek() == "||" {
            self.at += 1;
            parts.push(self.all());
        }
        alone_or(parts, KconfigExpression::Any)
    }

    fn all(&mut self) -> KconfigExpression {
        let mut parts = vec![self.comparison()];
        while self.peek() == "&&" {
            self.at += 1;
            parts.push(self.comparison());
        }
        alone_or(parts, KconfigExpression::All)
    }

    fn comparison(&mut self) -> KconfigExpression {
        let left = self.one();
        let operator = ["=", "!=", "<=", ">=", "<", ">"].into_iter().find(|operator| *operator == self.peek());
        let Some(operator) = operator else { return left };
        self.at += 1;
        KconfigExpression::Compare(Box::new(left), operator, Box::new(self.one()))
    }

    fn one(&mut self) -> KconfigExpression {
        let token = self.peek().to_owned();
        self.at += 1;
        if self.depth >= MAX_DEPTH {
            return KconfigExpression::Symbol("n".into());
        }
        self.depth += 1;
        let found = match token.as_str() {
            "!" => KconfigExpression::Not(Box::new(self.one())),
            "(" => {
                let inner = self.any();
                self.at += usize::from(self.peek() == ")");
                inner
            }
            "" => KconfigExpression::Symbol("n".into()),
            text => match text.strip_prefix(['"', '\'']) {
                Some(inner) => KconfigExpression::Literal(inner.trim_end_matches(['"', '\'']).to_owned()),
                None => KconfigExpression::Symbol(text.to_owned()),
            },
        };
        self.depth -= 1;
        found
    }
}

/// The only part, or all of them together.
fn alone_or(
    mut parts: Vec<KconfigExpression>,
    all: fn(Vec<KconfigExpression>) -> KconfigExpression,
) -> KconfigExpression {
    match parts.len() {
        1 => parts.remove(0),
        _ => all(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> String {
        match name {
            "A" | "64BIT" => "y",
            "M" => "m",
            "N" => "12",
            "T" => "x y",
            _ => "",
        }
        .into()
    }

    #[test]
    fn conditions_have_the_values_of_kconfig() {
        let level = |text: &str| letter(parse_expression(text).level(&value)).to_owned();
        for (text, wanted) in [
            ("A", "y"),
            ("M && A", "m"),
            ("!M", "m"),
            ("GONE || M", "m"),
            ("!(A && GONE) && A", "y"),
            ("N >= 9 && N<100", "y"),
            ("\"x86\" = \"x86\"", "y"),
            ("T=\"x y\"", "y"),
            ("GONE = n", "y"),
            ("GONE!=n", "n"),
            ("64BIT", "y"),
            ("A # comment", "y"),
            ("", "n"),
            ("(((", "n"),
            ("A &&", "n"),
            ("ü", "n"),
        ] {
            assert_eq!(level(text), wanted, "{text}");
        }
        level(&"(".repeat(5_000));
        level(&"!".repeat(5_000));
    }

    #[test]
    fn long_lists_of_conditions_do_not_nest() {
        for connection in [" && ", " || ", " "] {
            let text = ["A"; 500_000].join(connection);
            assert_eq!(letter(parse_expression(&text).level(&value)), "y");
        }
        let list = (0..500_000).fold(KconfigExpression::default(), |all, _| all.and(parse_expression("A")));
        assert_eq!(
            letter(list.and(parse_expression("GONE")).level(&value)),
            "y",
            "what is beyond the limit is left out"
        );
    }
}
