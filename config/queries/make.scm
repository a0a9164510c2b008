; Makefiles: variables, rules and definitions. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(variable_assignment name: (word) @name) @variable
(shell_assignment name: (word) @name) @variable
(define_directive name: (word) @name) @macro
((rule (targets (word) @name) (recipe) @body) @fn (#not-match? @name "^\\.[A-Z_]+$"))
((rule (targets (word) @name)) @fn (#not-match? @name "^\\.[A-Z_]+$"))
(include_directive filenames: (list (word) @name)) @use.declared

(comment) @comment

(prerequisites (word) @other)
(variable_reference (word) @other)
(substitution_reference text: (word) @other)
