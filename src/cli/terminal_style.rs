//! Whether output is coloured and has links, and the escape sequences for both.
//!
//! Colours follow NO_COLOR (no-color.org), CLICOLOR_FORCE and TERM; links are OSC 8 sequences, which only known terminals get.
//! Invariants: without colours no escape sequence is written; text from files can't write one (control characters are shown as `\x1b`, also in a pipe, which
//! often ends in a pager).

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use clap::ValueEnum;

use codeyard_base::visible::visible_line;
use codeyard_model::uri::encode_path;

/// When output is coloured, or has links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If standard output is a terminal that can show it.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// The parts of a result that have a colour of their own, as in ripgrep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Path,
    Line,
    Match,
    /// The kind of a symbol.
    Kind,
    /// What is less important.
    Dim,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TerminalStyle {
    /// Whether parts are coloured.
    pub(crate) has_colors: bool,
    /// Whether paths are links.
    pub(crate) has_links: bool,
    /// Whether a terminal shows the output, with or without colours.
    pub(crate) is_terminal: bool,
}

impl TerminalStyle {
    /// The style for standard output. `environment` reads an environment variable.
    pub(crate) fn choose(
        color: When,
        links: When,
        is_terminal: bool,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let text = |name: &str| environment(name).map(|value| value.to_string_lossy().into_owned());
        let is_set = |name: &str| text(name).is_some_and(|value| !value.is_empty());
        let is_dumb = text("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let is_forced = text("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let has_colors = match color {
            When::Always => true,
            When::Never => false,
            When::Auto => !is_set("NO_COLOR") && (is_forced || is_terminal && !is_dumb),
        };
        let has_links = match links {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal && has_colors && shows_links(&text),
        };
        Self { has_colors, has_links, is_terminal }
    }

    /// Appends `text` in the colour of `part`.
    pub(crate) fn paint(self, part: Part, text: &str, into: &mut String) {
        if !self.has_colors {
            return into.push_str(text);
        }
        let code = match part {
            Part::Path => "35",
            Part::Line => "32",
            Part::Match => "1;31",
            Part::Kind => "36",
            Part::Dim => "2",
        };
        // Writing to a string can't fail.
        let _ = write!(into, "\x1b[{code}m{text}\x1b[0m");
    }

    /// Appends what `label` appends, as a link to a line of a file.
    pub(crate) fn link(
        self,
        file: Option<&Path>,
        line: Option<u32>,
        into: &mut String,
        label: impl FnOnce(&mut String),
    ) {
        let Some(file) = file.filter(|_| self.has_links) else { return label(into) };
        into.push_str("\x1b]8;;");
        into.push_str(&encode_path(file));
        if let Some(line) = line {
            let _ = write!(into, "#L{line}");
        }
        into.push_str("\x1b\\");
        label(into);
        into.push_str("\x1b]8;;\x1b\\");
    }

    /// `text` from elsewhere, as a part of one line: control characters but tabs, and bidirectional controls, are shown as escapes.
    pub(crate) fn safe(self, text: &str) -> Cow<'_, str> {
        visible_line(text)
    }
}

/// Whether the terminal is known to show links.
fn shows_links(text: &impl Fn(&str) -> Option<String>) -> bool {
    let number = |name: &str| text(name).and_then(|value| value.parse::<u32>().ok());
    if let Some(forced) = text("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let program = text("TERM_PROGRAM").unwrap_or_default();
    let term = text("TERM").unwrap_or_default();
    number("VTE_VERSION").is_some_and(|version| version >= 5_000)
        || text("WT_SESSION").is_some()
        || number("KONSOLE_VERSION").is_some_and(|version| version >= 201_200)
        || ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"].contains(&program.as_str())
        || ["xterm-kitty", "alacritty", "foot", "xterm-ghostty"].iter().any(|known| term.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(color: When, is_terminal: bool, environment: &[(&str, &str)]) -> (bool, bool) {
        let lookup =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let style = TerminalStyle::choose(color, When::Auto, is_terminal, lookup);
        (style.has_colors, style.has_links)
    }

    #[test]
    fn colors_and_links_follow_flag_terminal_and_environment() {
        let xterm = ("TERM", "xterm-256color");
        assert_eq!(style(When::Auto, true, &[xterm]), (true, false));
        assert_eq!(style(When::Auto, false, &[xterm]), (false, false));
        assert_eq!(style(When::Auto, true, &[xterm, ("NO_COLOR", "1")]), (false, false));
        assert_eq!(style(When::Auto, true, &[xterm, ("NO_COLOR", "")]), (true, false), "an empty value isn't set");
        assert_eq!(style(When::Auto, true, &[("TERM", "dumb")]), (false, false));
        assert_eq!(style(When::Auto, false, &[("CLICOLOR_FORCE", "1")]), (true, false));
        assert_eq!(style(When::Always, false, &[("NO_COLOR", "1")]), (true, false), "the flag wins");
        assert_eq!(style(When::Never, true, &[xterm]), (false, false));
        assert_eq!(style(When::Auto, true, &[xterm, ("VTE_VERSION", "7200")]), (true, true));
        assert_eq!(style(When::Auto, true, &[xterm, ("VTE_VERSION", "7200"), ("FORCE_HYPERLINK", "0")]), (true, false));
        assert_eq!(style(When::Auto, true, &[("TERM", "xterm-kitty")]), (true, true));
    }

    #[test]
    fn parts_links_and_control_characters() {
        let on = TerminalStyle { has_colors: true, has_links: true, is_terminal: false };
        let mut text = String::new();
        on.link(Some(Path::new("/a b/c.rs")), Some(7), &mut text, |text| on.paint(Part::Path, "c.rs", text));
        assert_eq!(text, "\x1b]8;;file:///a%20b/c.rs#L7\x1b\\\x1b[35mc.rs\x1b[0m\x1b]8;;\x1b\\");
        let mut text = String::new();
        let off = TerminalStyle::default();
        off.link(Some(Path::new("/a")), None, &mut text, |text| off.paint(Part::Path, "a", text));
        assert_eq!(text, "a");
        for style in [on, off] {
            assert_eq!(style.safe("a\tb\x1b[31m"), "a\tb\\x1b[31m");
        }
    }
}
