; Elm. A type annotation and the value that follows it are one symbol. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((module_declaration name: (_) @name) @module (#set! rest))
(import_clause moduleName: (_) @name) @use.declared
(import_clause exposing: (exposing_list [
  (exposed_type (upper_case_identifier) @import)
  (exposed_value (lower_case_identifier) @import)
]))
(type_declaration name: (_) @name unionVariant: (_) @body) @enum
(union_variant name: (_) @name) @const
(type_alias_declaration name: (_) @name typeExpression: (type_expression . (record_type)) @body) @struct
(type_alias_declaration name: (_) @name) @alias
(type_alias_declaration typeExpression: (type_expression . (record_type (field_type name: (_) @name) @field)))
(port_annotation name: (_) @name) @fn.declared
(file (type_annotation name: (_) @name) @fn.declared)
(file (value_declaration
  functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name)
  body: (_) @body) @fn)
(let_in_expr (value_declaration
  functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name (_))
  body: (_) @body) @fn)

(line_comment) @comment
(block_comment) @comment

(function_call_expr target: (value_expr name: [
  (value_qid (lower_case_identifier) @call .)
  (upper_case_qid (upper_case_identifier) @call .)
]))
(value_expr name: [
  (value_qid (lower_case_identifier) @other .)
  (upper_case_qid (upper_case_identifier) @other .)
])
(union_pattern constructor: (upper_case_qid (upper_case_identifier) @other .))
((type_ref (upper_case_qid (upper_case_identifier) @type .)) (#not-any-of? @type "Bool" "Float" "Int" "List" "Maybe" "String"))
