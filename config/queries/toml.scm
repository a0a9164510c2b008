; TOML: tables and keys, not those in lists. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(table [(bare_key) (quoted_key) (dotted_key)] @name) @module
(table_array_element [(bare_key) (quoted_key) (dotted_key)] @name) @module
(pair [(bare_key) (quoted_key) (dotted_key)] @name) @variable
(array) @local
(comment) @comment
