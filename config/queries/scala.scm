; Scala. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((package_clause name: (_) @name !body) @module (#set! rest))
(package_clause name: (_) @name body: (_)) @module
(package_object name: (_) @name) @module
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @class
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(simple_enum_case name: (_) @name) @const
(full_enum_case name: (_) @name) @const
(function_definition name: (_) @name body: (_) @local) @fn
(function_definition name: (_) @name) @fn
(function_declaration name: (_) @name) @fn.declared
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(template_body (val_definition pattern: [(identifiers (identifier) @name) (tuple_pattern (identifier) @name)]) @field)
(template_body (var_definition pattern: [(identifiers (identifier) @name) (tuple_pattern (identifier) @name)]) @field)
(val_definition pattern: (identifier) @name) @const
(val_definition pattern: [
  (identifiers (identifier) @name)
  (tuple_pattern [(identifier) @name (typed_pattern pattern: (identifier) @name) (tuple_pattern (identifier) @name)])
  (case_class_pattern pattern: (identifier) @name)
]) @const
(var_definition pattern: (identifier) @name) @variable
(var_definition pattern: [
  (identifiers (identifier) @name)
  (tuple_pattern [(identifier) @name (typed_pattern pattern: (identifier) @name)])
]) @variable
(val_declaration name: (_) @name) @field
(var_declaration name: (_) @name) @field
(given_definition name: (_) @name) @const
(type_definition name: (_) @name) @alias
(class_parameter name: (_) @name) @field
(import_declaration path: (_) @name) @use.declared
(import_declaration path: (identifier) @import .)
(namespace_selectors [
  (identifier) @import
  (arrow_renamed_identifier name: (_) @import)
  (as_renamed_identifier name: (_) @import)
])
(block) @local
(indented_block) @local
(lambda_expression) @local

(comment) @comment
(block_comment) @comment
(annotation) @attribute

(extends_clause type: [
  (type_identifier) @base
  (generic_type type: (type_identifier) @base)
  (stable_type_identifier (type_identifier) @base)
])
(call_expression function: [
  (identifier) @call
  (field_expression field: (identifier) @call)
  (generic_function function: (identifier) @call)
  (generic_function function: (field_expression field: (identifier) @call))
])
(instance_expression [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(type_identifier) @type
