; Markdown: headings. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(section . (atx_heading heading_content: (inline) @name)) @module
(setext_heading heading_content: (paragraph) @name) @module
