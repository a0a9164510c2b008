; Nix: the names that attribute sets and let bind. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(binding attrpath: (_) @name expression: (function_expression body: (_) @body)) @fn
(binding attrpath: (_) @name expression: [(attrset_expression (binding_set)) (rec_attrset_expression (binding_set))] @body) @module
(binding attrpath: (_) @name) @variable
((apply_expression
  function: (variable_expression name: (identifier) @_import)
  argument: [(path_expression) (spath_expression)] @name) @use.declared
  (#eq? @_import "import"))
((apply_expression
  function: [
    (variable_expression name: (identifier) @_call)
    (select_expression attrpath: (attrpath attr: (identifier) @_call .))
  ]
  argument: (path_expression) @name) @use.declared
  (#eq? @_call "callPackage"))

(comment) @comment

(apply_expression function: [
  (variable_expression name: (identifier) @call)
  (select_expression attrpath: (attrpath attr: (identifier) @call .))
])
(select_expression attrpath: (attrpath attr: (identifier) @other .))
(variable_expression name: (identifier) @other)
(inherited_attrs attr: (identifier) @other)
