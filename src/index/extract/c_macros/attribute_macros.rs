//! Blanks macros in declarations that stand for attributes: words that are neither the type nor the name.
//!
//! A declaration is a run of words and stars between punctuation. A run of a type and a name is not changed. Of a longer run, the words
//! that look like macros are blanked.

use super::BlankedText;
use super::tokens::{CToken, TokenKind};
use super::words::{begins_declaration, is_basic, is_qualifier, is_statement, looks_like_macro};

/// The role of a word in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordClass {
    /// `const`, `static` ….
    Qualifier,
    /// `int`, `unsigned` …, and `struct x`.
    Basic,
    /// A name, perhaps of a type.
    Name,
    /// A name that looks like a macro: all capitals, or with two leading underscores.
    Macro,
}

/// Words between two punctuation tokens.
struct WordRun {
    /// Token indices.
    words: Vec<usize>,
    /// The punctuation before it; 0 at the beginning.
    before: u8,
}

struct DeclarationScanner<'p, 'a, 't> {
    buffer: &'p mut BlankedText<'a>,
    tokens: &'t [CToken],
    run: WordRun,
    /// For each open brace: whether it contains declarations, and whether it is the body of a type.
    braces: Vec<(bool, bool)>,
    parens: usize,
    /// The word before the outermost open parenthesis: its token index, and the number of words in its run without qualifiers.
    head: Option<(usize, usize)>,
}

pub(super) fn blank_attribute_macros(buffer: &mut BlankedText<'_>, tokens: &[CToken]) {
    let run = WordRun { words: Vec::new(), before: 0 };
    let mut scanner = DeclarationScanner { buffer, tokens, run, braces: Vec::new(), parens: 0, head: None };
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Word | TokenKind::Punctuation(b'*') => scanner.run.words.push(at),
            TokenKind::Punctuation(c) => scanner.punctuation(at, c),
            // `extern "C" {`
            TokenKind::Value if scanner.run.words.len() == 1 => {}
            TokenKind::Value => scanner.run.words.clear(),
            TokenKind::If | TokenKind::Else | TokenKind::End | TokenKind::Directive => {
                if scanner.parens == 0 {
                    scanner.start_run(b';');
                }
            }
        }
    }
}

impl DeclarationScanner<'_, '_, '_> {
    /// Whether the current token is at a level that contains declarations.
    fn is_in_declarations(&self) -> bool {
        self.braces.iter().all(|(declares, _)| *declares)
    }

    fn start_run(&mut self, before: u8) {
        self.run.words.clear();
        self.run.before = before;
    }

    fn punctuation(&mut self, at: usize, punctuation: u8) {
        let count = self.blank_extra_words(punctuation);
        match punctuation {
            b'{' => {
                let any = |known: &[&str]| self.run.words.iter().any(|word| known.contains(&self.text(*word)));
                let is_tagged = any(&["struct", "union", "class", "enum"]);
                let declares = any(&["struct", "union", "class", "namespace", "extern", "interface"]);
                // The bound limits the cost of deep nesting.
                let declares = declares && self.parens == 0 && self.braces.len() < 100;
                self.braces.push((declares, is_tagged && self.parens == 0));
                self.parens = 0;
            }
            b'}' => {
                let was_type = self.braces.pop().is_some_and(|(_, is_tagged)| is_tagged);
                self.parens = 0;
                // A new declaration begins after the body of a function.
                self.start_run(if was_type { b'}' } else { b';' });
                return;
            }
            b'(' => {
                if self.parens == 0 {
                    self.head = self.run.words.last().map(|word| (*word, count));
                }
                self.parens += 1;
            }
            b')' => {
                self.parens = self.parens.saturating_sub(1);
                if self.parens == 0 && self.is_in_declarations() {
                    self.after_parameters(at);
                }
            }
            _ => {}
        }
        self.start_run(punctuation);
    }

    fn text(&self, at: usize) -> &str {
        self.buffer.word(self.tokens[at])
    }

    fn blank(&mut self, from: usize, to: usize) {
        let from = self.tokens[from];
        let to = self.tokens[to];
        self.buffer.blank(from.start as usize..to.end as usize);
    }

    /// Handles a macro call before a declaration, at its closing parenthesis: `MACRO(…) int f(void)`.
    fn after_parameters(&mut self, at: usize) {
        let Some((macro_at, 1)) = self.head else { return };
        let words = self.tokens[at + 1..].iter().take_while(|token| is_wordlike(token.kind)).count();
        let next = at + 1 + words;
        let Some(TokenKind::Punctuation(sign)) = self.tokens.get(next).map(|token| token.kind) else { return };
        let is_type = matches!(sign, b'{' | b':') && words > 1 && begins_declaration(self.text(at + 1));
        let is_other = matches!(sign, b'(' | b';' | b'=' | b'[');
        if words == 0 || !(is_type || is_other) || !looks_like_macro(self.text(macro_at)) {
            return;
        }
        if words == 1 && sign == b'(' {
            // The parentheses contain the type.
            self.blank(macro_at, macro_at + 1);
            self.blank(at, at);
        } else if words > 1 {
            self.blank(macro_at, at);
        }
    }

    /// Blanks the extra words of the run that `end` ends. Returns its number of words without qualifiers.
    fn blank_extra_words(&mut self, end: u8) -> usize {
        let words: Vec<usize> =
            self.run.words.iter().copied().filter(|at| self.tokens[*at].kind == TokenKind::Word).collect();
        let words = self.without_leading_macros(words);
        if words.is_empty() || words.len() > 20 || words.iter().any(|at| is_statement(self.text(*at))) {
            return 0;
        }
        let before = self.run.before;
        let declares = self.is_in_declarations();
        if let Some(tag) = words.iter().position(|at| matches!(self.text(*at), "struct" | "union" | "class" | "enum"))
            && matches!(end, b'{' | b':')
        {
            // `struct PACKED name {`: the last word is the name.
            let names: Vec<usize> =
                words[tag + 1..].iter().copied().filter(|at| !matches!(self.text(*at), "final" | "class")).collect();
            for at in names.iter().rev().skip(1) {
                self.blank(*at, *at);
            }
            return names.len();
        }
        if !declares && self.parens > 0 && before == b',' && matches!(end, b',' | b')') && words.len() == 2 {
            // `container_of(pointer, struct name, member)`: a type where the parser expects a value.
            if matches!(self.text(words[0]), "struct" | "union" | "enum") {
                for at in self.run.words.clone() {
                    if at != words[1] {
                        self.blank(at, at);
                    }
                }
            }
            return 0;
        }
        let mut parts = self.parts(&words);
        let count = parts.iter().filter(|(_, part)| *part != WordClass::Qualifier).count();
        if before == b')' || before == b'}' || before == b']' {
            self.blank_suffix_macros(&parts, before, end, declares);
            return count;
        }
        let is_start = matches!(before, 0 | b';' | b'{' | b'}' | b':');
        let is_parameter = self.parens > 0 && matches!(before, b'(' | b',');
        let is_declaration = match end {
            b'(' => declares && self.parens == 0 && is_start,
            b';' | b'=' | b'[' => is_start || is_parameter,
            b',' => is_start || is_parameter,
            b')' => is_parameter,
            _ => false,
        };
        if !is_declaration || count < 3 {
            return count;
        }
        let is_member = self.braces.last().is_some_and(|(_, is_tagged)| *is_tagged);
        if let Some((at, WordClass::Macro)) = parts.last().copied()
            && end == b'('
            && is_member
            && self.text(at).starts_with("__")
        {
            // `int member __aligned(8);`
            let closing = self.closing_parenthesis(at + 1);
            self.blank(at, closing);
            return 0;
        }
        let is_sure = declares && self.parens == 0;
        let has_basic = parts.iter().any(|(_, part)| *part == WordClass::Basic);
        // The name is the last word that isn't a trailing macro.
        while end != b'(' && parts.len() > 2 && parts.last().is_some_and(|(_, part)| *part == WordClass::Macro) {
            let Some((at, _)) = parts.pop() else { break };
            let left = parts.iter().filter(|(_, part)| *part != WordClass::Qualifier).count();
            if left < 2 || !(is_sure || has_basic) {
                return count;
            }
            self.blank(at, at);
        }
        self.keep_type_and_name(&mut parts, has_basic, is_sure);
        2
    }

    /// Blanks macros on lines of their own before a class, a template or a namespace, and returns the words that are left.
    fn without_leading_macros(&mut self, words: Vec<usize>) -> Vec<usize> {
        let is_start = matches!(self.run.before, 0 | b';' | b'{' | b'}' | b':') && self.parens == 0;
        if !is_start || !self.is_in_declarations() {
            return words;
        }
        let macros = words.iter().take_while(|at| looks_like_macro(self.text(**at))).count();
        if macros == 0 || !words.get(macros).is_some_and(|at| begins_declaration(self.text(*at))) {
            return words;
        }
        for at in &words[..macros] {
            self.blank(*at, *at);
        }
        words[macros..].to_vec()
    }

    /// Blanks all words but the type and the name. The name is the last word.
    fn keep_type_and_name(&mut self, parts: &mut Vec<(usize, WordClass)>, has_basic: bool, is_sure: bool) {
        parts.pop();
        parts.retain(|(_, part)| *part != WordClass::Qualifier);
        let kind_of = |wanted: WordClass| parts.iter().rposition(|(_, part)| *part == wanted);
        let chosen =
            kind_of(WordClass::Basic).or_else(|| kind_of(WordClass::Name)).unwrap_or(parts.len().saturating_sub(1));
        let unwanted: Vec<usize> = parts
            .iter()
            .enumerate()
            .filter(|(place, (_, part))| {
                *place != chosen && *part != WordClass::Basic && (is_sure || *part == WordClass::Macro && has_basic)
            })
            .map(|(_, (at, _))| *at)
            .collect();
        for at in unwanted {
            self.blank(at, at);
        }
    }

    /// Blanks macros after a parameter list, a body or an array: `) ACQUIRES {`, `} __packed;`, `] __aligned(8);`.
    fn blank_suffix_macros(&mut self, parts: &[(usize, WordClass)], before: u8, end: u8, declares: bool) {
        if !declares || self.parens > 0 || parts.iter().any(|(_, part)| *part == WordClass::Basic) {
            return;
        }
        let is_list = before == b')' && self.head.is_some_and(|(_, words)| words > 1);
        let names = parts.iter().filter(|(_, part)| matches!(part, WordClass::Name | WordClass::Macro)).count();
        for (at, part) in parts.iter().copied() {
            let is_hidden = self.text(at).starts_with("__") && !self.text(at).starts_with("__attribute");
            let is_blanked = match (before, part) {
                (b')', WordClass::Macro) => is_list,
                (b')', WordClass::Name) => is_list && names == 1 && matches!(end, b'{' | b';' | b'('),
                (b'}' | b']', WordClass::Macro) => is_hidden,
                _ => false,
            };
            if is_blanked {
                let is_last = parts.last().is_some_and(|(last_at, _)| *last_at == at);
                let last = if is_last && end == b'(' { self.closing_parenthesis(at + 1) } else { at };
                self.blank(at, last);
            }
        }
    }

    /// The token index of the parenthesis that closes the one at `open`. Looks at 200 tokens at most.
    fn closing_parenthesis(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open).take(200) {
            match token.kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at;
                    }
                }
                _ => {}
            }
        }
        open.saturating_sub(1)
    }

    /// The words and their roles. A tag with its name is one basic type, and so are several basic types.
    fn parts(&self, words: &[usize]) -> Vec<(usize, WordClass)> {
        let mut parts: Vec<(usize, WordClass)> = Vec::new();
        let mut is_tagged = false;
        for at in words.iter().copied() {
            let text = self.text(at);
            let part = if is_tagged {
                is_tagged = false;
                WordClass::Basic
            } else if matches!(text, "struct" | "union" | "enum" | "class" | "typename") {
                is_tagged = true;
                continue;
            } else if is_qualifier(text) {
                WordClass::Qualifier
            } else if is_basic(text) {
                if parts.iter().any(|(_, part)| *part == WordClass::Basic) {
                    continue;
                }
                WordClass::Basic
            } else if looks_like_macro(text) {
                WordClass::Macro
            } else {
                WordClass::Name
            };
            parts.push((at, part));
        }
        parts
    }
}

fn is_wordlike(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Word | TokenKind::Punctuation(b'*'))
}
