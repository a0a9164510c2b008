//! The code in templates: files of no parsed language that use names of one, such as `.erb`, Jinja and Blade.
//!
//! No grammar reads them. A name counts if it stands as a whole word where the kind of template has code. Pure; columns are in UTF-16.

use std::ops::Range;

use super::cursor_context::utf16_length;
use codeyard_index::Language;

/// A kind of template.
#[derive(Debug, Clone, Copy)]
struct TemplateKind {
    /// How the names of such files end.
    endings: &'static [&'static str],
    /// The languages whose names it uses.
    languages: &'static [Language],
    /// What begins and ends code in it. An empty end is the end of the line.
    code: &'static [(&'static str, &'static str)],
    /// What begins and ends comments in it.
    comments: &'static [(&'static str, &'static str)],
    /// Whether lines that begin with `-` or `=`, or have `=` or `#{`, are code.
    has_code_lines: bool,
}

const RUBY: &[Language] = &[Language::RUBY];
const PYTHON: &[Language] = &[Language::PYTHON];
const PHP: &[Language] = &[Language::PHP];
const ELIXIR: &[Language] = &[Language::ELIXIR];
const CSHARP: &[Language] = &[Language::CSHARP];
const GO: &[Language] = &[Language::GO];
const JVM: &[Language] = &[Language::JAVA, Language::KOTLIN, Language::SCALA];
const SCRIPTS: &[Language] =
    &[Language::JAVASCRIPT, Language::TYPESCRIPT, Language::TSX, Language::VUE, Language::SVELTE];
/// The languages of servers that render pages.
const PAGES: &[Language] =
    &[Language::PYTHON, Language::GO, Language::PHP, Language::RUBY, Language::JAVASCRIPT, Language::TYPESCRIPT];

const TAGS: &[(&str, &str)] = &[("<%", "%>")];
const BRACES: &[(&str, &str)] = &[("{{", "}}"), ("{%", "%}")];

const ERB_COMMENTS: &[(&str, &str)] = &[("<%#", "%>")];
const JINJA_COMMENTS: &[(&str, &str)] = &[("{#", "#}")];

const fn kind(
    endings: &'static [&'static str],
    languages: &'static [Language],
    code: &'static [(&'static str, &'static str)],
    comments: &'static [(&'static str, &'static str)],
) -> TemplateKind {
    TemplateKind { endings, languages, code, comments, has_code_lines: false }
}

const fn with_code_lines(endings: &'static [&'static str], languages: &'static [Language]) -> TemplateKind {
    TemplateKind { endings, languages, code: &[], comments: &[], has_code_lines: true }
}

/// The first that fits a name counts.
const KINDS: [TemplateKind; 16] = [
    kind(&[".blade.php"], PHP, &[("{{", "}}"), ("{!!", "!!}"), ("<?php", "?>"), ("@", "")], &[("{{--", "--}}")]),
    kind(&[".erb", ".rhtml"], RUBY, TAGS, ERB_COMMENTS),
    with_code_lines(&[".haml", ".slim"], RUBY),
    kind(&[".liquid"], RUBY, BRACES, &[("{%#", "%}"), ("{% #", "%}")]),
    kind(&[".jinja", ".jinja2", ".j2", ".djhtml"], PYTHON, BRACES, JINJA_COMMENTS),
    kind(&[".twig", ".tpl"], PHP, BRACES, JINJA_COMMENTS),
    kind(&[".ejs"], SCRIPTS, TAGS, ERB_COMMENTS),
    kind(&[".hbs", ".handlebars", ".mustache"], SCRIPTS, BRACES, &[("{{!--", "--}}"), ("{{!", "}}")]),
    kind(&[".njk"], SCRIPTS, BRACES, JINJA_COMMENTS),
    with_code_lines(&[".pug", ".jade"], SCRIPTS),
    kind(
        &[".eex", ".leex", ".heex"],
        ELIXIR,
        &[("<%", "%>"), ("{", "}"), ("<.", ">")],
        &[("<%#", "%>"), ("<%!--", "--%>")],
    ),
    kind(&[".cshtml", ".razor"], CSHARP, &[("@", "")], &[("@*", "*@")]),
    kind(
        &[".jsp", ".jspx", ".gsp", ".ftl", ".vm"],
        JVM,
        &[("<%", "%>"), ("${", "}"), ("#{", "}")],
        &[("<%--", "--%>"), ("<#--", "-->")],
    ),
    kind(&[".tmpl", ".gotmpl", ".gohtml"], GO, BRACES, &[("{{/*", "*/"), ("{{- /*", "*/")]),
    kind(&[".vue", ".svelte"], SCRIPTS, &[("{", "}"), ("=\"", "\"")], &[]),
    kind(&[".html", ".htm"], PAGES, BRACES, JINJA_COMMENTS),
];

fn kind_of(path: &str) -> Option<&'static TemplateKind> {
    KINDS.iter().find(|kind| kind.endings.iter().any(|ending| path.ends_with(ending)))
}

/// Whether the file at this path is a template that may use names of this language.
pub(crate) fn is_template(path: &str, language: Option<Language>) -> bool {
    kind_of(path).is_some_and(|kind| language.is_some_and(|language| kind.languages.contains(&language)))
}

/// Where the code of the template at `path` has this name: lines from 0 and columns.
pub(crate) fn uses(path: &str, text: &str, name: &str) -> Vec<(u32, u32)> {
    let Some(kind) = kind_of(path).filter(|_| !name.is_empty()) else { return Vec::new() };
    let code = code_ranges(kind, text);
    let mut found = Vec::new();
    let mut counted = 0;
    let mut line = 0;
    let mut column = 0;
    for (at, _) in text.match_indices(name).filter(|(at, _)| is_whole_word(text, *at, name)) {
        let ended = code.partition_point(|range| range.end <= at);
        if code.get(ended).is_none_or(|range| at < range.start) {
            continue;
        }
        for part in text[counted..at].split_inclusive('\n') {
            if part.ends_with('\n') {
                line += 1;
                column = 0;
            } else {
                column += utf16_length(part);
            }
        }
        counted = at;
        found.push((line, column));
    }
    found
}

/// The ranges of code, in order.
fn code_ranges(kind: &TemplateKind, text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    if kind.has_code_lines {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let is_code = line.trim_start().starts_with('-') || line.contains('=') || line.contains("#{");
            if is_code {
                ranges.push(at..at + line.len());
            }
            at += line.len();
        }
        return ranges;
    }
    let mut at = 0;
    while at < text.len() {
        let left = &text.as_bytes()[at..];
        let begins = |(open, _): &&(&str, &str)| left.starts_with(open.as_bytes());
        let comment = kind.comments.iter().find(begins);
        let Some((open, close)) = comment.or_else(|| kind.code.iter().find(begins)) else {
            at += 1;
            continue;
        };
        let start = at + open.len();
        let rest = text.get(start..).unwrap_or_default();
        let close = if close.is_empty() { "\n" } else { close };
        let end = start + rest.find(close).unwrap_or(rest.len());
        if comment.is_none() {
            ranges.push(start..end);
        }
        at = (end + close.len()).max(at + 1);
    }
    ranges
}

/// Whether no letter, digit or underscore stands before or after the name.
fn is_whole_word(text: &str, at: usize, name: &str) -> bool {
    let is_part = |character: char| unicode_ident::is_xid_continue(character);
    let ends_as_word = name.ends_with(is_part);
    !(text[..at].ends_with(is_part) || ends_as_word && text[at + name.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_the_code_of_each_kind_of_template() {
        for (path, language, text, expected) in [
            (
                "a.html.erb",
                Language::RUBY,
                "<p>go</p> <% if go? %><%# go %>\n<%= \"ä\" + go %>",
                &[(0, 16), (1, 10)][..],
            ),
            ("a.haml", Language::RUBY, "go\n%p= go\n- go\n= go(1)\n", &[(1, 4), (2, 2), (3, 2)]),
            ("a.slim", Language::RUBY, "p go\np = go\n", &[(1, 4)]),
            ("a.jinja2", Language::PYTHON, "go {{ go }} {% if x.go %}{# go #}", &[(0, 6), (0, 20)]),
            ("a.html", Language::PYTHON, "<p id=go>{{ go }}</p>", &[(0, 12)]),
            (
                "a.blade.php",
                Language::PHP,
                "go {{ go() }} {!! go !!}\n@if(go)\n{{-- go --}}",
                &[(0, 6), (0, 18), (1, 4)],
            ),
            ("a.twig", Language::PHP, "{{ gone|go }}", &[(0, 8)]),
            ("a.ejs", Language::TYPESCRIPT, "<%- go %> go", &[(0, 4)]),
            (
                "a.hbs",
                Language::JAVASCRIPT,
                "{{#if go}}{{go}}{{! go }}{{!-- {{go}} --}}\n{{#if user}}{{go}}",
                &[(0, 6), (0, 12), (1, 14)],
            ),
            ("a.njk", Language::JAVASCRIPT, "{# {{ go }} #}{{ go }}", &[(0, 17)]),
            ("a.pug", Language::JAVASCRIPT, "p go\np= go", &[(1, 3)]),
            ("a.html.heex", Language::ELIXIR, "<.go a={go} /> <%= go %> go", &[(0, 2), (0, 8), (0, 19)]),
            ("a.cshtml", Language::CSHARP, "go\n@go", &[(1, 1)]),
            ("a.jsp", Language::JAVA, "go ${go} <%= go() %>", &[(0, 5), (0, 13)]),
            ("b.jsp", Language::JAVA, "<%-- ${go} --%>${!go}", &[(0, 18)]),
            ("a.gohtml", Language::GO, "{{ go . }} go", &[(0, 3)]),
            ("b.gohtml", Language::GO, "{{/* go */}}{{- /* go */ -}}{{ go }}", &[(0, 31)]),
            ("a.vue", Language::TYPESCRIPT, "<p @click=\"go\">{{ go }} go</p>", &[(0, 11), (0, 18)]),
            ("a.svelte", Language::TYPESCRIPT, "<p on:click={go}>go</p>", &[(0, 13)]),
            (
                "b.svelte",
                Language::TYPESCRIPT,
                "{#if go}{#each go as x}{!go}{/if}\n{#if user}{go}",
                &[(0, 5), (0, 15), (0, 25), (1, 11)],
            ),
        ] {
            assert!(is_template(path, Some(language)), "{path}");
            assert_eq!(uses(path, text, "go"), expected, "{path}");
        }
        assert!(!is_template("a.erb", Some(Language::PYTHON)) && !is_template("a.rb", Some(Language::RUBY)));
        assert!(uses("a.erb", "<% go", "").is_empty() && uses("a.erb", "<% ", "go").is_empty());
        assert_eq!(uses("a.erb", "<% go", "go"), [(0, 3)]);
        assert_eq!(uses("a.hbs", "{{#if user}}{{!user}}𝄞{{user}}", "user"), [(0, 6), (0, 25)]);
        assert_eq!(uses("a.svelte", "{#if user}{user}", "user"), [(0, 5), (0, 11)]);
        assert_eq!(uses("a.erb", "<% go?(a) %>", "go?"), [(0, 3)]);
    }
}
