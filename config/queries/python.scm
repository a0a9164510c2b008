; Python. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(function_definition name: (_) @name body: (_) @local) @fn
(class_definition name: (_) @name) @class
(lambda body: (_) @local)
(decorated_definition) @whole
(function_definition body: (block . (expression_statement (string) @doc)))
(class_definition body: (block . (expression_statement (string) @doc)))

; Names in capitals are constants by convention.
((expression_statement (assignment left: (identifier) @name)) @const (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(expression_statement (assignment left: (identifier) @name)) @variable
(expression_statement (assignment right: (assignment left: (identifier) @name))) @variable
(expression_statement (assignment right: (assignment right: (assignment left: (identifier) @name)))) @variable
(expression_statement (assignment left: [
  (pattern_list [
    (identifier) @name
    (list_splat_pattern (identifier) @name)
    (tuple_pattern [(identifier) @name (list_splat_pattern (identifier) @name)])
  ])
  (tuple_pattern [
    (identifier) @name
    (list_splat_pattern (identifier) @name)
    (tuple_pattern [(identifier) @name (list_splat_pattern (identifier) @name)])
  ])
  (list_pattern [(identifier) @name (list_splat_pattern (identifier) @name)])
])) @variable
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @alias

(import_statement name: [(dotted_name) @name (aliased_import name: (dotted_name) @name)]) @use.declared
(import_from_statement module_name: (_) @name) @use.declared
(future_import_statement) @use.declared
(import_statement name: [
  (dotted_name (identifier) @import .)
  (aliased_import name: (dotted_name (identifier) @import .))
])
(import_from_statement name: [
  (dotted_name (identifier) @import .)
  (aliased_import name: (dotted_name (identifier) @import .))
])

(comment) @comment

(class_definition superclasses: (argument_list [
  (identifier) @base
  (attribute attribute: (_) @base)
  (subscript value: (identifier) @base)
  (subscript value: (attribute attribute: (_) @base))
]))
(call function: [(identifier) @call (attribute attribute: (_) @call)])
(decorator [(identifier) @call (attribute attribute: (_) @call)])
((type [
  (identifier) @type
  (attribute attribute: (_) @type)
  (generic_type (identifier) @type)
  (subscript value: (identifier) @type)
]) (#not-any-of? @type "None" "bool" "bytes" "dict" "float" "int" "list" "object" "set" "str" "tuple"))
(type (binary_operator left: (identifier) @type))
(type (binary_operator right: (identifier) @type))
