//! The conditional branches of a C or C++ file, as far as the compiler and the system alone decide them.
//!
//! A branch that needs another compiler or another system (`_MSC_VER`, `_WIN32`) is never compiled here, unless the project defines these macros itself
//! ([`is_foreign_macro`]). All other conditions are unknown. Nothing is preprocessed: a macro that the file itself defines counts as any other. Invariants: any bytes
//! give a result; a condition that isn't understood is unknown.

/// Macros that only other compilers and systems have.
const FOREIGN_MACROS: &str = " _WIN32 WIN32 __WIN32__ _WIN64 WIN64 _WINDOWS _WIN32_WCE UNDER_CE WINRT _MSC_VER _MSC_FULL_VER _MSC_BUILD \
    _M_IX86 _M_X64 _M_AMD64 _M_ARM _M_ARM64 _M_IA64 _M_PPC __MINGW32__ __MINGW64__ __CYGWIN__ __CYGWIN32__ __MSYS__ __MSDOS__ MSDOS \
    __DJGPP__ __GO32__ __OS2__ OS2 __EMX__ __WATCOMC__ __BORLANDC__ __TURBOC__ __DMC__ __LCC__ __POCC__ __PELLES__ __SYMBIAN32__ \
    __FreeBSD__ __FreeBSD_kernel__ __NetBSD__ __OpenBSD__ __DragonFly__ __bsdi__ __sun __sun__ sun __SVR4 __svr4__ _AIX __aix__ __hpux \
    hpux __hpux__ __sgi sgi __osf__ __ultrix __QNX__ __QNXNTO__ __HAIKU__ __BEOS__ BEOS __ANDROID__ __EMSCRIPTEN__ EMSCRIPTEN __wasm__ \
    __wasi__ __VMS VMS __OS400__ OS400 __MVS__ __TANDEM __AMIGA__ AMIGA __amigaos__ __VXWORKS__ _VXWORKS __vxworks __riscos__ __NOVELL_LIBC__ \
    NETWARE macintosh __MWERKS__ __SUNPRO_C __SUNPRO_CC __IBMC__ __IBMCPP__ __xlC__ __HP_cc __HP_aCC __DECC __CC_ARM __ARMCC_VERSION \
    __ICCARM__ __TINYC__ __ORBIS__ __PROSPERO__ ";
/// Macros of Apple's systems.
const APPLE_MACROS: &str = " __APPLE__ __MACH__ __APPLE_CC__ ";
/// Macros of Linux.
const LINUX_MACROS: &str = " __linux__ __linux __gnu_linux__ ";
/// Macros that are always defined for clangd.
const OWN_MACROS: &str = " __GNUC__ __clang__ __unix__ __unix ";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Branch {
    /// It stands outside of all conditions, except for the include guard.
    #[default]
    Always,
    /// That depends on the project.
    Conditional,
    /// Never on this system.
    Never,
}

/// The nesting of conditional branches, without the include guard.
#[derive(Debug, Default)]
pub(crate) struct Conditions<'a> {
    open: Vec<OpenCondition>,
    /// Directives so far.
    directives: usize,
    /// The name that the first directive `#ifndef` tests.
    guard: Option<&'a [u8]>,
    /// The outermost open condition is the include guard.
    has_guard: bool,
    /// How many open conditions are in a branch that is never compiled.
    never: usize,
}

/// A condition without its `#endif` yet.
#[derive(Debug, Clone, Copy)]
struct OpenCondition {
    /// Whether its present branch is compiled; `None`: unknown.
    present: Option<bool>,
    /// Whether this branch or an earlier one is compiled.
    taken: Option<bool>,
}

impl<'a> Conditions<'a> {
    /// How many conditions are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len() - usize::from(self.has_guard)
    }

    /// Whether the present place is compiled.
    pub(crate) fn branch(&self) -> Branch {
        // The guard itself is no condition: the text inside it is treated like text outside.
        let guard = self.open.first().filter(|_| self.has_guard);
        let never = self.never - guard.map_or(0, OpenCondition::never);
        match self.depth() {
            0 => Branch::Always,
            _ if never > 0 => Branch::Never,
            _ => Branch::Conditional,
        }
    }

    /// Takes an include into account.
    pub(super) fn on_include(&mut self) {
        self.directives += 1;
    }

    /// Takes another directive into account.
    pub(super) fn on_directive(&mut self, name: &[u8], rest: &'a [u8]) {
        match name {
            b"if" | b"ifdef" | b"ifndef" => {
                if self.directives == 0 && name == b"ifndef" {
                    self.guard = Some(first_word(rest));
                }
                let present = value(name, rest);
                let condition = OpenCondition { present, taken: present };
                self.never += condition.never();
                self.open.push(condition);
            }
            b"elif" | b"elifdef" | b"elifndef" | b"else" => {
                if let Some(condition) = self.open.last_mut() {
                    self.never -= condition.never();
                    let own = if name == b"else" { Some(true) } else { value(&name[2..], rest) };
                    condition.present = and(condition.taken.map(|taken| !taken), own);
                    condition.taken = or(condition.taken, own);
                    self.never += condition.never();
                }
            }
            // Only the outermost condition, whose first directive this is, can be the guard.
            b"define" if self.directives == 1 && self.guard == Some(first_word(rest)) => {
                self.has_guard = self.open.len() == 1;
            }
            b"endif" => {
                self.never -= self.open.pop().as_ref().map_or(0, OpenCondition::never);
                // What follows the guard's end stands in no guard.
                self.has_guard &= !self.open.is_empty();
            }
            _ => {}
        }
        // A line `# 12 "file"` or `#pragma once` before the guard doesn't count.
        if name != b"pragma" && !name.is_empty() {
            self.directives += 1;
        }
    }
}

impl OpenCondition {
    /// 1 if its present branch is never compiled.
    fn never(&self) -> usize {
        usize::from(self.present == Some(false))
    }
}

/// Whether only other compilers and systems have a macro. A project that defines it all the same builds for such a system.
pub(super) fn is_foreign_macro(name: &str) -> bool {
    holds(FOREIGN_MACROS, name) || holds(other_system(), name)
}

/// The first identifier of a text.
pub(super) fn first_word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len());
    &text[..end]
}

/// The value of a condition; `None`: unknown.
fn value(directive: &[u8], rest: &[u8]) -> Option<bool> {
    let rest = rest.trim_ascii_start();
    match directive {
        b"ifdef" => is_defined(first_word(rest)),
        b"ifndef" => is_defined(first_word(rest)).map(|is_defined| !is_defined),
        _ => Expression { rest }.alternatives().0,
    }
}

fn is_defined(name: &[u8]) -> Option<bool> {
    let name = std::str::from_utf8(name).ok()?;
    if is_foreign_macro(name) {
        return Some(false);
    }
    (holds(OWN_MACROS, name) || holds(this_system(), name)).then_some(true)
}

fn this_system() -> &'static str {
    if cfg!(target_os = "macos") { APPLE_MACROS } else { LINUX_MACROS }
}

fn other_system() -> &'static str {
    if cfg!(target_os = "macos") { LINUX_MACROS } else { APPLE_MACROS }
}

fn holds(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split_ascii_whitespace().any(|known| known == word)
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    or(one.map(|one| !one), other.map(|other| !other)).map(|value| !value)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Deepest nesting of parentheses and negations that is understood.
const MAX_DEPTH: usize = 64;

/// A truth value, `None` if it isn't known, and whether the text was understood up to here. What follows a part that wasn't understood could
/// change the value of the whole.
type Value = (Option<bool>, bool);

/// The rest of a condition that is still to be read.
struct Expression<'a> {
    rest: &'a [u8],
}

impl Expression<'_> {
    /// A whole condition. Unknown if something remains.
    fn alternatives(mut self) -> Value {
        let (value, is_whole) = self.any_of(0);
        self.skip_space();
        if is_whole && self.rest.is_empty() { (value, true) } else { (None, false) }
    }

    fn any_of(&mut self, depth: usize) -> Value {
        let (mut value, mut is_whole) = self.all_of(depth);
        while is_whole && self.takes(b"||") {
            let (next, whole) = self.all_of(depth);
            (value, is_whole) = (or(value, next), whole);
        }
        (value, is_whole)
    }

    fn all_of(&mut self, depth: usize) -> Value {
        let (mut value, mut is_whole) = self.compared(depth);
        while is_whole && self.takes(b"&&") {
            let (next, whole) = self.compared(depth);
            (value, is_whole) = (and(value, next), whole);
        }
        (value, is_whole)
    }

    /// An operand, or a comparison or calculation: those have no known value, except for macros that are 0 because nobody defines them.
    fn compared(&mut self, depth: usize) -> Value {
        let start = self.rest;
        let (value, is_whole) = self.operand(depth);
        self.skip_space();
        let is_end =
            |rest: &[u8]| rest.is_empty() || rest[0] == b')' || rest.starts_with(b"||") || rest.starts_with(b"&&");
        if !is_whole || is_end(self.rest) {
            return (value, is_whole);
        }
        let operator: usize = self.rest.iter().take_while(|byte| b"<>=!".contains(byte)).count();
        let is_above = matches!(&self.rest[..operator], b">" | b">=" | b"==");
        while !is_end(self.rest) {
            if matches!(self.rest[0], b'<' | b'>' | b'=' | b'!' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^')
            {
                self.rest = &self.rest[1..];
            } else if !self.operand(depth).1 {
                return (None, false);
            }
            self.skip_space();
        }
        // `_MSC_VER >= 1400` compares 0 with a number above it.
        let length = start.len() - self.rest.len();
        let text = std::str::from_utf8(&start[..length]).unwrap_or_default();
        let is_plain = || {
            let mut words = text.split(['<', '>', '=']).map(str::trim).filter(|word| !word.is_empty());
            let foreign = words.next().is_some_and(is_foreign_macro);
            let number = words.next().is_some_and(is_positive);
            foreign && number && words.next().is_none()
        };
        ((is_above && is_plain()).then_some(false), true)
    }

    fn operand(&mut self, depth: usize) -> Value {
        self.skip_space();
        if depth > MAX_DEPTH {
            return (None, false);
        }
        match self.rest.first() {
            Some(b'!') if !self.rest.starts_with(b"!=") => {
                self.rest = &self.rest[1..];
                let (value, is_whole) = self.operand(depth + 1);
                (value.map(|value| !value), is_whole)
            }
            Some(b'(') => {
                self.rest = &self.rest[1..];
                let (value, is_whole) = self.any_of(depth + 1);
                let is_closed = is_whole && self.takes(b")");
                (value.filter(|_| is_closed), is_closed)
            }
            Some(b'-' | b'+' | b'~') => {
                self.rest = &self.rest[1..];
                (None, self.operand(depth + 1).1)
            }
            Some(b'\'') => self.character(),
            Some(byte) if is_word(*byte) => self.word(depth),
            _ => (None, false),
        }
    }

    fn word(&mut self, depth: usize) -> Value {
        let word = first_word(self.rest);
        self.rest = &self.rest[word.len()..];
        if word == b"defined" {
            let is_enclosed = self.takes(b"(");
            self.skip_space();
            let name = first_word(self.rest);
            self.rest = &self.rest[name.len()..];
            let is_whole = !name.is_empty() && (!is_enclosed || self.takes(b")"));
            return (is_defined(name).filter(|_| is_whole), is_whole);
        }
        if self.takes(b"(") {
            return (None, self.skip_arguments(depth));
        }
        let text = std::str::from_utf8(word).unwrap_or_default();
        let value = match word.first() {
            Some(b'0'..=b'9') => number(text).map(|number| number != 0),
            // A macro that nobody defines is 0; one that is there may have any value.
            _ => is_foreign_macro(text).then_some(false),
        };
        (value, true)
    }

    /// The arguments of a macro such as `__has_include(<x.h>)`, after the opening parenthesis.
    fn skip_arguments(&mut self, depth: usize) -> bool {
        let mut open = depth + 1;
        while let Some((first, rest)) = self.rest.split_first() {
            self.rest = rest;
            match first {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == depth {
                return true;
            }
        }
        false
    }

    fn character(&mut self) -> Value {
        let end = self.rest[1..].iter().position(|byte| *byte == b'\'');
        self.rest = end.map_or(&[][..], |end| &self.rest[end + 2..]);
        (None, end.is_some())
    }

    /// Whether the token is next; then it is skipped.
    fn takes(&mut self, token: &[u8]) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips space, comments and continued lines. A comment without an end takes the rest.
    fn skip_space(&mut self) {
        loop {
            self.rest = match self.rest {
                [b' ' | b'\t' | b'\r' | b'\n' | b'\\', rest @ ..] => rest,
                [b'/', b'/', ..] => &[],
                [b'/', b'*', rest @ ..] => memchr::memmem::find(rest, b"*/").map_or(&[][..], |end| &rest[end + 2..]),
                _ => return,
            };
        }
    }
}

/// The value of a whole number of C.
fn number(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(&text[1..], 8).ok(),
        None => text.parse().ok(),
    }
}

fn is_positive(text: &str) -> bool {
    number(text).is_some_and(|number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(condition: &str) -> Option<bool> {
        value(b"if", condition.as_bytes())
    }

    #[test]
    fn conditions_on_other_systems_are_never_true_here() {
        for condition in [
            "0",
            "defined(_MSC_VER)",
            "defined _WIN32",
            " ( defined ( _WIN32 ) ) ",
            "_MSC_VER >= 1400",
            "_MSC_VER",
            "defined(_MSC_VER) && _MSC_VER >= 1400",
            "defined(_WIN32) || defined(__CYGWIN__) // and more",
            "defined(_WIN32) || /* a */ \\\n   defined(__FreeBSD__)",
            "defined(_WIN32) && (defined(ANY) || OTHER > 3)",
            "ANY(a, (b)) && defined(_AIX)",
            "!defined(__GNUC__)",
            "!(defined(__clang__) || X)",
            "(_MSC_VER == 1400L) && 'a' == X",
        ] {
            assert_eq!(of(condition), Some(false), "{condition}");
        }
        for condition in ["1", "0x10", "!defined(_WIN32)", "defined(__GNUC__) || X", "!_MSC_VER", "! 0"] {
            assert_eq!(of(condition), Some(true), "{condition}");
        }
    }

    #[test]
    fn what_the_project_decides_or_is_not_understood_is_unknown() {
        for condition in [
            "",
            "X",
            "defined(HAVE_X)",
            "defined(_WIN32) || defined(HAVE_X)",
            "_MSC_VER < 1400",
            "_MSC_VER <= X",
            "_MSC_VER > 0",
            "_MSC_VER == 0",
            "_MSC_VER >= X",
            "__GNUC__ >= 4",
            "__has_include(<intrin.h>)",
            "!defined(_MSC_VER) && X",
            "defined(_WIN32",
            "0 ? 1 : 2",
            "defined(_WIN32) $ X",
            "_WIN32 + 1",
            "_WIN32 == 1 == 0",
            "09",
            "defined()",
            "'",
            "&&",
        ] {
            assert_eq!(of(condition), None, "{condition}");
        }
        assert_eq!(of(&"(".repeat(9_999)), None);
        assert_eq!(of(&"!".repeat(9_999)), None);
    }

    /// The branches of the lines `x` in a text.
    fn branches(text: &str) -> Vec<Branch> {
        let mut conditions = Conditions::default();
        let mut found = Vec::new();
        for line in text.lines() {
            match line.strip_prefix('#') {
                Some(directive) => {
                    let end = directive.find(' ').unwrap_or(directive.len());
                    conditions.on_directive(&directive.as_bytes()[..end], directive.as_bytes()[end..].trim_ascii());
                }
                None => found.push(conditions.branch()),
            }
        }
        found
    }

    #[test]
    fn exactly_one_branch_of_a_condition_is_compiled() {
        use Branch::{Always, Conditional, Never};
        let text = "x\n#ifdef _WIN32\nx\n#elif defined(A)\nx\n#else\nx\n#endif\nx";
        assert_eq!(branches(text), [Always, Never, Conditional, Conditional, Always]);
        let text = "#ifndef _WIN32\nx\n#elif A\nx\n#else\nx\n#endif\n#ifdef A\nx\n#elif 1\nx\n#else\nx\n#endif";
        assert_eq!(branches(text), [Conditional, Never, Never, Conditional, Conditional, Never]);
        let text = "#if 0\n#if A\nx\n#endif\n#elifdef A\nx\n#elifndef __GNUC__\nx\n#endif\n#endif\n#else\nx";
        assert_eq!(branches(text), [Never, Conditional, Never, Always]);
    }

    #[test]
    fn an_include_guard_ends_with_its_endif() {
        use Branch::{Always, Conditional, Never};
        assert_eq!(branches("#ifndef A_H\n#define A_H\nx\n#ifdef B\nx\n#endif\n#endif"), [Always, Conditional]);
        let text =
            "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#ifdef B\nx\n#endif\n#ifdef _MSC_VER\nx\n#endif\nx";
        assert_eq!(branches(text), [Conditional, Never, Always]);
        assert_eq!(branches("#ifdef A\n#ifndef B\n#define B\nx"), [Conditional]);
    }
}
