; TOML: tables and keys, not those in lists. What captures mean: src/index/extract/grammar.rs. Of several patterns for one name the first holds.

(table [(bare_key) (quoted_key) (dotted_key)] @name) @module
(table_array_element [(bare_key) (quoted_key) (dotted_key)] @name) @module
(pair [(bare_key) (quoted_key) (dotted_key)] @name) @variable
(array) @local
(comment) @comment
