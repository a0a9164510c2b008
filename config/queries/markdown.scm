; Markdown: headings. What captures mean: src/index/extract/grammar.rs. Of several patterns for one name the first holds.

(section . (atx_heading heading_content: (inline) @name)) @module
(setext_heading heading_content: (paragraph) @name) @module
