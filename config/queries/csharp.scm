; C#. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((file_scoped_namespace_declaration name: (_) @name) @module (#set! rest))
(namespace_declaration name: (_) @name) @module
(class_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(record_declaration name: (_) @name) @struct
(enum_declaration name: (_) @name) @enum
(interface_declaration name: (_) @name) @interface
(delegate_declaration name: (_) @name) @alias
(enum_member_declaration name: (_) @name) @const
(method_declaration name: (_) @name body: (_) @local) @method
(method_declaration name: (_) @name !body) @method.declared
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(indexer_declaration "this" @name) @field
(local_function_statement name: (_) @name) @fn
(property_declaration name: (_) @name accessors: (_) @body) @field
(property_declaration name: (_) @name) @field
(event_declaration name: (_) @name) @field
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(field_declaration (modifier "const") (variable_declaration (variable_declarator name: (_) @name))) @const
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(record_declaration (parameter_list (parameter name: (_) @name) @field))
(using_directive name: (_) (_) @name) @use.declared
(using_directive !name [(identifier) (qualified_name)] @name) @use.declared
(using_directive [(identifier) @import (qualified_name name: (_) @import)] .)
(block) @local
(lambda_expression body: (_) @local)

(comment) @comment

(base_list [
  (identifier) @base
  (generic_name (identifier) @base)
  (qualified_name name: (identifier) @base)
  (qualified_name name: (generic_name (identifier) @base))
  (primary_constructor_base_type type: (identifier) @base)
])
(invocation_expression function: [
  (identifier) @call
  (generic_name (identifier) @call)
  (member_access_expression name: (identifier) @call)
  (member_access_expression name: (generic_name (identifier) @call))
  (conditional_access_expression (member_binding_expression name: (identifier) @call))
])
(object_creation_expression type: [
  (identifier) @call
  (generic_name (identifier) @call)
  (qualified_name name: (identifier) @call)
])
(attribute name: (identifier) @type)
(_ type: [
  (identifier) @type
  (generic_name (identifier) @type)
  (qualified_name name: (identifier) @type)
  (nullable_type (identifier) @type)
  (array_type (identifier) @type)
])
(_ returns: [
  (identifier) @type
  (generic_name (identifier) @type)
  (qualified_name name: (identifier) @type)
  (nullable_type (identifier) @type)
  (array_type (identifier) @type)
])
(type_argument_list (identifier) @type)
