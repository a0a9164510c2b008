; Swift. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration declaration_kind: "extension" name: (_) @name) @impl
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(function_declaration name: (simple_identifier) @name) @fn
(protocol_function_declaration name: (_) @name) @method.declared
(init_declaration "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(enum_entry name: (_) @name) @const
(class_body (property_declaration name: (pattern bound_identifier: (_) @name) computed_value: (_) @body) @field)
(class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @field)
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @field
(property_declaration (value_binding_pattern "let") name: (pattern bound_identifier: (_) @name)) @const
(property_declaration name: (pattern bound_identifier: (_) @name)) @variable
(typealias_declaration name: (type_identifier) @name) @alias
(associatedtype_declaration name: (_) @name) @alias.declared
(macro_declaration (simple_identifier) @name) @macro
(import_declaration (identifier) @name) @use.declared
(import_declaration (identifier (simple_identifier) @import .))
(function_body) @local
(computed_property) @local
(lambda_literal) @local

(comment) @comment
(multiline_comment) @comment

(inheritance_specifier inherits_from: (user_type (type_identifier) @base))
(call_expression . [
  (simple_identifier) @call
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))
])
(constructor_expression constructed_type: (user_type (type_identifier) @call))
(type_identifier) @type
