; Julia. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(module_definition name: (_) @name) @module
(abstract_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])
])) @interface
(primitive_definition (type_head [
  (identifier) @name
  (binary_expression . (identifier) @name)
])) @struct
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])
]) . (_) @body) @struct
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])
])) @struct
(struct_definition (typed_expression . (identifier) @name) @field)
(struct_definition (identifier) @name @field)
(struct_definition (assignment . [(identifier) @name (typed_expression . (identifier) @name)]) @field)
(struct_definition (const_statement
  (assignment . [(identifier) @name (typed_expression . (identifier) @name)])) @field)
(function_definition (signature [
  (identifier) @name
  (call_expression . [(identifier) @name (field_expression (identifier) @name .)])
  (typed_expression . (call_expression . [(identifier) @name (field_expression (identifier) @name .)]))
  (where_expression . (call_expression . [(identifier) @name (field_expression (identifier) @name .)]))
  (where_expression . (typed_expression . (call_expression . [(identifier) @name (field_expression (identifier) @name .)])))
]) . (_)? @body) @fn
(assignment . [
  (call_expression . [(identifier) @name (field_expression (identifier) @name .)])
  (call_expression . (field_expression (quote_expression (operator) @name) .))
  (typed_expression . (call_expression . [(identifier) @name (field_expression (identifier) @name .)]))
  (where_expression . (call_expression . [(identifier) @name (field_expression (identifier) @name .)]))
] . (operator) @body) @fn
(macro_definition (signature (call_expression . (identifier) @name)) . (_)? @body) @macro
((macrocall_expression (macro_identifier (identifier) @_enum) (macro_argument_list . (identifier) @name)) @enum
  (#eq? @_enum "enum"))
((macrocall_expression (macro_identifier (identifier) @_enum)
  (macro_argument_list [(identifier) @name @const (assignment . (identifier) @name) @const]))
  (#eq? @_enum "enum"))
(const_statement (assignment . [(identifier) @name (typed_expression . (identifier) @name)])) @const
(global_statement (assignment . [(identifier) @name (typed_expression . (identifier) @name)])) @variable
(source_file (assignment . (identifier) @name) @variable)
(module_definition (assignment . (identifier) @name) @variable)
(using_statement [(identifier) (scoped_identifier) (selected_import) (import_path)] @name) @use.declared
(import_statement [(identifier) (scoped_identifier) (selected_import) (import_path)] @name) @use.declared
((call_expression . (identifier) @_include (argument_list . (string_literal (content) @name))) @use.declared
  (#eq? @_include "include"))
(selected_import (identifier) @import)
(function_definition) @local
(macro_definition) @local
(let_statement) @local
(for_statement) @local
(do_clause) @local

(line_comment) @comment
(block_comment) @comment
(_ (string_literal) @comment . [
  (abstract_definition)
  (assignment)
  (const_statement)
  (function_definition)
  (identifier)
  (macro_definition)
  (macrocall_expression)
  (module_definition)
  (struct_definition)
])

(type_head (binary_expression (_) (operator) [(identifier) @base (parametrized_type_expression . (identifier) @base)] .))
(call_expression . [
  (identifier) @call
  (field_expression (identifier) @call .)
  (parametrized_type_expression . (identifier) @call)
])
(broadcast_call_expression . [(identifier) @call (field_expression (identifier) @call .)])
(macrocall_expression (macro_identifier (identifier) @call))
(typed_expression (_) [(identifier) @type (parametrized_type_expression . (identifier) @type)] .)
(parametrized_type_expression . (identifier) @type)
(argument_list (identifier) @other)
