; TypeScript and TSX, in addition to ecmascript.scm.
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_body name: (_) @name @const)
(enum_assignment name: (_) @name) @const
(type_alias_declaration name: (_) @name) @alias
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(function_signature name: (_) @name) @fn.declared
(method_signature name: (_) @name) @method.declared
(abstract_method_signature name: (_) @name) @method.declared
(construct_signature "new" @name) @method.declared
(property_signature name: (_) @name) @field
(public_field_definition name: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @method
(public_field_definition name: (_) @name) @field
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @field
(required_parameter "readonly" pattern: (identifier) @name) @field
(ambient_declaration . [
  (abstract_class_declaration) (class_declaration) (enum_declaration) (function_signature) (interface_declaration)
  (internal_module) (lexical_declaration) (module) (type_alias_declaration) (variable_declaration)
]) @whole
(extends_clause value: [(identifier) @base (member_expression property: (_) @base)])
(extends_type_clause type: [
  (type_identifier) @base
  (generic_type name: (type_identifier) @base)
  (nested_type_identifier name: (_) @base)
  (generic_type name: (nested_type_identifier name: (_) @base))
])
(implements_clause [
  (type_identifier) @base
  (generic_type name: (type_identifier) @base)
  (nested_type_identifier name: (_) @base)
])
(type_identifier) @type
