; JSON: keys of objects, not those in lists. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(pair key: (string) @name) @variable
(array) @local
(comment) @comment
