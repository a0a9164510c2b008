; Java. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((package_declaration [(scoped_identifier) (identifier)] @name) @module (#set! rest))
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @struct
(enum_declaration name: (_) @name) @enum
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_constant name: (_) @name) @const
(method_declaration name: (_) @name body: (_) @local) @method
(method_declaration name: (_) @name !body) @method.declared
(constructor_declaration name: (_) @name body: (_) @local) @method
(compact_constructor_declaration name: (_) @name body: (_) @local) @method
(annotation_type_element_declaration name: (_) @name) @method.declared
(constant_declaration declarator: (variable_declarator name: (_) @name)) @const
((field_declaration (modifiers) @_modifiers declarator: (variable_declarator name: (_) @name)) @const
  (#match? @_modifiers "static\\s+final|final\\s+static"))
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @field))
(import_declaration [(scoped_identifier) (identifier)] @name) @use.declared
(import_declaration (scoped_identifier name: (_) @import))
(lambda_expression body: (_) @local)
(static_initializer (block) @local)
(block) @local

(line_comment) @comment
(block_comment) @comment

(superclass [
  (type_identifier) @base
  (generic_type (type_identifier) @base)
  (scoped_type_identifier (type_identifier) @base .)
  (generic_type (scoped_type_identifier (type_identifier) @base .))
])
(type_list [
  (type_identifier) @base
  (generic_type (type_identifier) @base)
  (scoped_type_identifier (type_identifier) @base .)
  (generic_type (scoped_type_identifier (type_identifier) @base .))
])
(method_invocation name: (_) @call)
(method_reference (identifier) @call .)
(object_creation_expression type: [
  (type_identifier) @call
  (generic_type (type_identifier) @call)
  (scoped_type_identifier (type_identifier) @call .)
])
(marker_annotation name: (identifier) @type)
(annotation name: (identifier) @type)
(type_identifier) @type
