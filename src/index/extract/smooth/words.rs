//! Words of a declaration that are neither its type nor its name: macros that stand for attributes.
//!
//! A declaration is a run of words and stars between signs. One that has a type and a name is left alone; what is more, and looks like
//! a macro, goes.

use super::Page;
use super::tokens::{Kind, Token};

/// What a word of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `const`, `static` …: says something about a declaration.
    Qualifier,
    /// `int`, `unsigned` …, and `struct x`.
    Basic,
    /// A name, perhaps of a type.
    Name,
    /// A name that looks like a macro: in capital letters, or with two underscores in front.
    Macro,
}

struct Run {
    /// Places in the tokens.
    words: Vec<usize>,
    /// The sign before it; 0 at the beginning.
    before: u8,
}

struct Walk<'p, 'a, 't> {
    page: &'p mut Page<'a>,
    tokens: &'t [Token],
    run: Run,
    /// For each open brace: whether declarations stand in it, and whether it is the body of a type.
    open: Vec<(bool, bool)>,
    parens: usize,
    /// What opened the outermost parenthesis: its place, and the words before it beside qualifiers.
    head: Option<(usize, usize)>,
}

/// Blanks them.
pub(super) fn thin_out(page: &mut Page<'_>, tokens: &[Token]) {
    let run = Run { words: Vec::new(), before: 0 };
    let mut walk = Walk { page, tokens, run, open: Vec::new(), parens: 0, head: None };
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Word | Kind::Sign(b'*') => walk.run.words.push(at),
            Kind::Sign(sign) => walk.sign(at, sign),
            // `extern "C" {`
            Kind::Value if walk.run.words.len() == 1 => {}
            Kind::Value => walk.run.words.clear(),
            Kind::If | Kind::Else | Kind::End | Kind::Line => {
                if walk.parens == 0 {
                    walk.begin(b';');
                }
            }
        }
    }
}

impl Walk<'_, '_, '_> {
    fn is_declaring(&self) -> bool {
        self.open.iter().all(|(declares, _)| *declares)
    }

    fn begin(&mut self, before: u8) {
        self.run.words.clear();
        self.run.before = before;
    }

    fn sign(&mut self, at: usize, sign: u8) {
        let count = self.thin(sign);
        match sign {
            b'{' => {
                let any = |known: &[&str]| self.run.words.iter().any(|word| known.contains(&self.text(*word)));
                let is_tagged = any(&["struct", "union", "class", "enum"]);
                let declares = any(&["struct", "union", "class", "namespace", "extern", "interface"]);
                // Deeper than this nothing is declared that matters.
                let declares = declares && self.parens == 0 && self.open.len() < 100;
                self.open.push((declares, is_tagged && self.parens == 0));
                self.parens = 0;
            }
            b'}' => {
                let was_type = self.open.pop().is_some_and(|(_, is_tagged)| is_tagged);
                self.parens = 0;
                // Behind the body of a function something new begins.
                self.begin(if was_type { b'}' } else { b';' });
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
                if self.parens == 0 && self.is_declaring() {
                    self.closed(at);
                }
            }
            _ => {}
        }
        self.begin(sign);
    }

    fn text(&self, at: usize) -> &str {
        self.page.word(self.tokens[at])
    }

    fn blank(&mut self, from: usize, to: usize) {
        let (from, to) = (self.tokens[from], self.tokens[to]);
        self.page.blank(from.start as usize, to.end as usize);
    }

    /// Behind the outermost parenthesis of a declaration: `MACRO(…) int f(void)`.
    fn closed(&mut self, at: usize) {
        let Some((macro_at, 1)) = self.head else { return };
        let words = self.tokens[at + 1..].iter().take_while(|token| is_wordlike(token.kind)).count();
        let next = at + 1 + words;
        let Some(Kind::Sign(sign)) = self.tokens.get(next).map(|token| token.kind) else { return };
        if words == 0 || !matches!(sign, b'(' | b';' | b'=' | b'[') || !looks_like_macro(self.text(macro_at)) {
            return;
        }
        if words == 1 && sign == b'(' {
            // What is in the parentheses is the type.
            self.blank(macro_at, macro_at + 1);
            self.blank(at, at);
        } else if words > 1 {
            self.blank(macro_at, at);
        }
    }

    /// Thins the run out that `sign` ends; says how many words beside qualifiers it had.
    fn thin(&mut self, sign: u8) -> usize {
        let words: Vec<usize> =
            self.run.words.iter().copied().filter(|at| self.tokens[*at].kind == Kind::Word).collect();
        if words.is_empty() || words.len() > 20 || words.iter().any(|at| is_statement(self.text(*at))) {
            return 0;
        }
        let (before, declares) = (self.run.before, self.is_declaring());
        if let Some(tag) = words.iter().position(|at| matches!(self.text(*at), "struct" | "union" | "class" | "enum"))
            && matches!(sign, b'{' | b':')
        {
            // `struct PACKED name {`: the last word is its name.
            let names: Vec<usize> =
                words[tag + 1..].iter().copied().filter(|at| !matches!(self.text(*at), "final" | "class")).collect();
            for at in names.iter().rev().skip(1) {
                self.blank(*at, *at);
            }
            return names.len();
        }
        if !declares && self.parens > 0 && before == b',' && matches!(sign, b',' | b')') && words.len() == 2 {
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
        let count = parts.iter().filter(|(_, part)| *part != Part::Qualifier).count();
        if before == b')' || before == b'}' || before == b']' {
            self.behind(&parts, before, sign, declares);
            return count;
        }
        let is_start = matches!(before, 0 | b';' | b'{' | b'}' | b':');
        let is_parameter = self.parens > 0 && matches!(before, b'(' | b',');
        let fits = match sign {
            b'(' => declares && self.parens == 0 && is_start,
            b';' | b'=' | b'[' => is_start || is_parameter,
            b',' => is_start || is_parameter,
            b')' => is_parameter,
            _ => false,
        };
        if !fits || count < 3 {
            return count;
        }
        let is_member = self.open.last().is_some_and(|(_, is_tagged)| *is_tagged);
        if let Some((at, Part::Macro)) = parts.last().copied()
            && sign == b'('
            && is_member
            && self.text(at).starts_with("__")
        {
            // `int member __aligned(8);`
            let end = self.closing(at + 1);
            self.blank(at, end);
            return 0;
        }
        let is_sure = declares && self.parens == 0;
        let has_basic = parts.iter().any(|(_, part)| *part == Part::Basic);
        // The name is the last word, but for what stands behind it.
        while sign != b'(' && parts.len() > 2 && parts.last().is_some_and(|(_, part)| *part == Part::Macro) {
            let Some((at, _)) = parts.pop() else { break };
            let left = parts.iter().filter(|(_, part)| *part != Part::Qualifier).count();
            if left < 2 || !(is_sure || has_basic) {
                return count;
            }
            self.blank(at, at);
        }
        self.choose(&mut parts, has_basic, is_sure);
        2
    }

    /// Blanks all but the type and the name, which is last.
    fn choose(&mut self, parts: &mut Vec<(usize, Part)>, has_basic: bool, is_sure: bool) {
        parts.pop();
        parts.retain(|(_, part)| *part != Part::Qualifier);
        let kind_of = |wanted: Part| parts.iter().rposition(|(_, part)| *part == wanted);
        let chosen = kind_of(Part::Basic).or_else(|| kind_of(Part::Name)).unwrap_or(parts.len().saturating_sub(1));
        let unwanted: Vec<usize> = parts
            .iter()
            .enumerate()
            .filter(|(place, (_, part))| {
                *place != chosen && *part != Part::Basic && (is_sure || *part == Part::Macro && has_basic)
            })
            .map(|(_, (at, _))| *at)
            .collect();
        for at in unwanted {
            self.blank(at, at);
        }
    }

    /// What stands behind a parameter list, a body or an array: `) ACQUIRES {`, `} __packed;`, `] __aligned(8);`
    fn behind(&mut self, parts: &[(usize, Part)], before: u8, sign: u8, declares: bool) {
        if !declares || self.parens > 0 || parts.iter().any(|(_, part)| *part == Part::Basic) {
            return;
        }
        let is_list = before == b')' && self.head.is_some_and(|(_, words)| words > 1);
        let names = parts.iter().filter(|(_, part)| matches!(part, Part::Name | Part::Macro)).count();
        for (at, part) in parts.iter().copied() {
            let is_hidden = self.text(at).starts_with("__") && !self.text(at).starts_with("__attribute");
            let goes = match (before, part) {
                (b')', Part::Macro) => is_list,
                (b')', Part::Name) => is_list && names == 1 && matches!(sign, b'{' | b';' | b'('),
                (b'}' | b']', Part::Macro) => is_hidden,
                _ => false,
            };
            if goes {
                let is_last = parts.last().is_some_and(|(last, _)| *last == at);
                let end = if is_last && sign == b'(' { self.closing(at + 1) } else { at };
                self.blank(at, end);
            }
        }
    }

    /// The parenthesis that closes the one at `open`; near it.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open).take(200) {
            match token.kind {
                Kind::Sign(b'(') => depth += 1,
                Kind::Sign(b')') => {
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

    /// The words with what they are: a tag and its name are one basic type, several basic types are one.
    fn parts(&self, words: &[usize]) -> Vec<(usize, Part)> {
        let mut parts: Vec<(usize, Part)> = Vec::new();
        let mut is_tagged = false;
        for at in words.iter().copied() {
            let text = self.text(at);
            let part = if is_tagged {
                is_tagged = false;
                Part::Basic
            } else if matches!(text, "struct" | "union" | "enum" | "class" | "typename") {
                is_tagged = true;
                continue;
            } else if is_qualifier(text) {
                Part::Qualifier
            } else if is_basic(text) {
                if parts.iter().any(|(_, part)| *part == Part::Basic) {
                    continue;
                }
                Part::Basic
            } else if looks_like_macro(text) {
                Part::Macro
            } else {
                Part::Name
            };
            parts.push((at, part));
        }
        parts
    }
}

fn is_wordlike(kind: Kind) -> bool {
    matches!(kind, Kind::Word | Kind::Sign(b'*'))
}

fn looks_like_macro(word: &str) -> bool {
    let mut letters = word.bytes();
    let is_capital =
        word.len() > 1 && letters.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_capital || word.starts_with("__") && word.len() > 4
}

fn is_basic(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"void"
            | b"char"
            | b"short"
            | b"int"
            | b"long"
            | b"float"
            | b"double"
            | b"signed"
            | b"unsigned"
            | b"_Bool"
            | b"bool"
            | b"auto"
    )
}

/// Words are told apart byte by byte: this is asked of every word of a source.
fn is_qualifier(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"const"
            | b"volatile"
            | b"static"
            | b"extern"
            | b"inline"
            | b"register"
            | b"typedef"
            | b"restrict"
            | b"virtual"
            | b"explicit"
            | b"friend"
            | b"constexpr"
            | b"mutable"
            | b"override"
            | b"final"
            | b"noexcept"
            | b"thread_local"
            | b"_Noreturn"
            | b"__inline"
            | b"__inline__"
            | b"__extension__"
            | b"__restrict"
            | b"__volatile__"
            | b"__const"
            | b"_Thread_local"
    )
}

/// Words that no declaration has.
fn is_statement(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"return"
            | b"case"
            | b"goto"
            | b"else"
            | b"sizeof"
            | b"if"
            | b"while"
            | b"for"
            | b"do"
            | b"switch"
            | b"new"
            | b"delete"
            | b"throw"
            | b"default"
            | b"using"
            | b"namespace"
            | b"template"
            | b"operator"
            | b"co_return"
            | b"requires"
            | b"concept"
            | b"public"
            | b"private"
            | b"protected"
            | b"asm"
            | b"__asm__"
            | b"__attribute__"
            | b"__declspec"
            | b"_Static_assert"
    )
}
