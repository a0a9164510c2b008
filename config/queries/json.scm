; JSON: keys of objects, not those in lists. What captures mean: src/index/extract/grammar.rs. Of several patterns for one name the first holds.

(pair key: (string) @name) @variable
(array) @local
(comment) @comment
