//! Doc comments of each language, as pages show them.

use codeyard_index::Language;

use super::*;

#[test]
fn markdown_is_made_fit_for_a_page() {
    let text = "Parses `x`.\n\n# Errors\n\nSee [`Error`](crate::Error), [the book](https://x.org/b) and [here](../y.md).\n\n\
                ```no_run\n# use a::b;\nlet x = 1;\n#[derive(Debug)]\nstruct A;\n```\n\n[r]: crate::x\n<div align=\"x\">T</div> Vec<T> {{< x >}}";
    assert_eq!(
        to_markdown(Language::RUST, text),
        "Parses `x`.\n\n**Errors**\n\nSee `Error`, [the book](https://x.org/b) and here.\n\n\
         ```rust\nlet x = 1;\n#[derive(Debug)]\nstruct A;\n```\n\nT Vec\\<T> { {\\< x >}}"
    );
    assert_eq!(to_markdown(Language::RUST, &"a\n".repeat(9_000)).len() / 100, 61);
    let cut = to_markdown(Language::RUST, &format!("```\n{}", "x\n".repeat(9_000)));
    assert!(cut.ends_with("\n```"));
}

#[test]
fn docstrings_of_all_styles_are_read() {
    let sphinx = "Sends :class:`~a.b.Request`.\n\n:param url: the ``URL``,\n    with more.\n:type url: str\n:return: a :class:`Response <x.Response>`.\n\nUsage::\n\n  >>> import a\n  >>> a.get()\n  <Response>\n";
    assert_eq!(
        to_markdown(Language::PYTHON, sphinx),
        "Sends `Request`.\n\nUsage:\n\n```\n>>> import a\n>>> a.get()\n<Response>\n```\n\n\
         **Parameters**\n\n- `url`: the `URL`, with more.\n\n**Returns**\n\n- a `Response`."
    );
    let google = "Does it.\n\nArgs:\n    one (int): The first.\n        More.\n    two: The second.\n\nReturns:\n    Nothing at all.\n";
    assert_eq!(
        to_markdown(Language::PYTHON, google),
        "Does it.\n\n**Parameters**\n\n- `one`: The first.\n  More.\n- `two`: The second.\n\n**Returns**\n\n  Nothing at all."
    );
    let numpy = "Does it.\n\nParameters\n----------\nx : int\n    The x.\n\nExamples\n--------\n>>> f(1)\n2\n";
    assert_eq!(
        to_markdown(Language::PYTHON, numpy),
        "Does it.\n\n**Parameters**\n\n- `x`:\n  The x.\n\n**Examples**\n\n```python\n>>> f(1)\n2\n```"
    );
    let directive =
        "A.\n\n.. versionadded:: 2.0\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\nB `link <https://x.org>`_.";
    assert_eq!(
        to_markdown(Language::PYTHON, directive),
        "A.\n\nNew in version 2.0\n\n```python\nx = 1\n```\n\nB [link](https://x.org)."
    );
}

#[test]
fn block_tags_become_lists_and_code() {
    let jsdoc = "Adds {@link Sum numbers}.\n\n@param {number} a - The first.\n@param {Object<string, {b: 1}>} [b=2] The second,\n  with more.\n@returns {number} The sum.\n@throws {RangeError} If large.\n@internal\n@example\nadd(1, 2);\n//=> 3\n@see x";
    assert_eq!(
        to_markdown(Language::TYPESCRIPT, jsdoc),
        "Adds `numbers`.\n\n**Parameters**\n\n- `a`: The first.\n- `b`: The second, with more.\n\n**Returns**\n\n- The sum.\n\n\
         **Errors**\n\n- `RangeError`: If large.\n\n**Example**\n\n```\nadd(1, 2);\n//=> 3\n```"
    );
    let fenced = "Old.\n\n@deprecated Use `b`:\n```ts\nif (x)\n\n  b();\n```\nor nothing.\n@param a the\n  first";
    assert_eq!(
        to_markdown(Language::TYPESCRIPT, fenced),
        "Old.\n\n**Parameters**\n\n- `a`: the first\n\n**Notes**\n\n- Deprecated. Use `b`:\n  ```ts\n  if (x)\n\n    b();\n  ```\n  \n  or nothing."
    );
    let javadoc = "Makes a <b>list</b> of {@code T}.\n<p>\nMore &lt;text&gt;.\n<pre>{@code\n  List<String> x = f();\n}</pre>\n@param x the <i>x</i>\n@return it\n@since 1.0";
    let text = to_markdown(Language::JAVA, javadoc);
    assert!(
        text.starts_with("Makes a **list** of `T`.\n\nMore \\<text>.\n\n```\nList<String> x = f();\n```"),
        "{text}"
    );
    assert!(text.ends_with("**Parameters**\n\n- `x`: the x\n\n**Returns**\n\n- it"), "{text}");
    let xml = "<summary>Opens <see cref=\"T:A.B\"/>.</summary>\n<param name=\"path\">The path.</param>\n<returns>A <c>File</c>.</returns>\n<exception cref=\"System.IO.IOException\">If not.</exception>";
    assert_eq!(
        to_markdown(Language::CSHARP, xml),
        "Opens `B`.\n\n**Parameters**\n\n- `path`: The path.\n\n**Returns**\n\n- A `File`.\n\n**Errors**\n\n- `IOException`: If not."
    );
    let doxygen = "\\brief Opens \\c file.\n\n\\param[in] name the name\n\\return it";
    assert_eq!(
        to_markdown(Language::CPP, doxygen),
        "Opens `file`.\n\n**Parameters**\n\n- `name`: the name\n\n**Returns**\n\n- it"
    );
    let yard = "Finds.\n@param name [String] the name\n@return [Array<X>] them\n@raise [Error] if not";
    assert_eq!(
        to_markdown(Language::RUBY, yard),
        "Finds.\n\n**Parameters**\n\n- `name`: the name\n\n**Returns**\n\n- them\n\n**Errors**\n\n- `Error`: if not"
    );
}

#[test]
fn lists_links_and_fences_have_one_style() {
    assert_eq!(
        to_markdown(Language::RUST, "*   One\n+ Two\n\n```\nx();\n# Ok(())\n\n```"),
        "- One\n- Two\n\n```rust\nx();\n```"
    );
    let java = "Uses {@link #toJson(Object,\n Type)} or {@link A#b the b}.\n <ul>\n   <li>One\n       more\n   <li>Two\n </ul>";
    assert_eq!(to_markdown(Language::JAVA, java), "Uses `toJson(Object, Type)` or `the b`.\n\n- One\nmore\n\n- Two");
    let python = "Takes :class:`Option`\\s.\n\n.. versionchanged:: 8.0\n    It is\n    new.\n.. note:: Careful.\n";
    assert_eq!(
        to_markdown(Language::PYTHON, python),
        "Takes `Option`s.\n\nChanged in version 8.0: It is new.\n\n**Note:** Careful."
    );
}

#[test]
fn names_in_kdoc_and_rdoc_are_code() {
    let kotlin = "Checks if [this] has [Set.of], not a[1] or [a link](https://x.org).\n@return a [T]";
    assert_eq!(
        to_markdown(Language::KOTLIN, kotlin),
        "Checks if `this` has `Set.of`, not a[1] or [a link](https://x.org).\n\n**Returns**\n\n- a `T`"
    );
    let ruby = "Evaluates +script+, 1 + 2 + 3.\n\n  run a\n\nEnd.";
    assert_eq!(to_markdown(Language::RUBY, ruby), "Evaluates `script`, 1 + 2 + 3.\n\n```ruby\nrun a\n```\n\nEnd.");
}

#[test]
fn signs_that_hide_are_left_out() {
    assert_eq!(
        to_markdown(Language::RUST, "A\u{1b}[31m \u{202e}b\u{e000}.\n\n```\nx\u{e001}\n```"),
        "A[31m b.\n\n```rust\nx\n```"
    );
}

#[test]
fn sentences_end_at_full_stops() {
    for (text, expected) in [
        ("Reads a file. And more.", "Reads a file."),
        ("Reads e.g. one of\nthem. More", "Reads e.g. one of them."),
        ("Has `a. b` in it. X", "Has `a. b` in it."),
        ("No end\n\nNext.", "No end"),
        ("v1.2 is it. X", "v1.2 is it."),
        ("", ""),
    ] {
        assert_eq!(one_sentence(text), expected);
    }
}
