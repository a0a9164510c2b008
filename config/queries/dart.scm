; Dart. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((library_name (dotted_identifier_list) @name) @module (#set! rest))
(class_declaration name: (_) @name body: (_) @body) @class
(class_declaration (mixin_application_class . (identifier) @name)) @class
(mixin_declaration name: (_) @name body: (_) @body) @trait
(enum_declaration name: (_) @name body: (_) @body) @enum
(enum_entry name: (_) @name) @const
(extension_declaration name: (_) @name body: (_) @body) @class
(extension_type_declaration name: (extension_type_name . (identifier) @name) body: (_) @body) @class
(type_alias (type_identifier) @name) @alias
(function_declaration signature: (function_signature name: (_) @name) body: (_) @body @local) @fn
(getter_declaration signature: (getter_signature name: (_) @name) body: (_) @body @local) @fn
(setter_declaration signature: (setter_signature name: (_) @name) body: (_) @body @local) @fn
(external_function_declaration signature: (function_signature name: (_) @name)) @fn.declared
(local_function_declaration (function_signature name: (_) @name) (function_body) @body @local) @fn
(member_declaration (method_declaration
  signature: (method_signature [
    (function_signature name: (_) @name)
    (getter_signature name: (_) @name)
    (setter_signature name: (_) @name)
    (operator_signature operator: (_) @name)
    (constructor_signature name: (identifier) @name . parameters: (_))
    (factory_constructor_signature name: (identifier) @name . parameters: (_))
  ])
  body: (_) @body @local)) @method
(member_declaration (declaration [
  (constructor_signature name: (identifier) @name . parameters: (_))
  (constant_constructor_signature name: (identifier) @name . parameters: (_))
  (redirecting_factory_constructor_signature name: (identifier) @name . parameters: (_))
])) @method
(member_declaration (declaration [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
  (operator_signature operator: (_) @name)
])) @method.declared
(member_declaration (declaration "const"
  (static_final_declaration_list (static_final_declaration name: (_) @name)))) @const
(member_declaration (declaration [
  (static_final_declaration_list (static_final_declaration name: (_) @name))
  (initialized_identifier_list (initialized_identifier name: (_) @name))
])) @field
(top_level_variable_declaration
  (static_final_declaration_list (static_final_declaration name: (_) @name))) @const
(top_level_variable_declaration
  (initialized_identifier_list (initialized_identifier name: (_) @name))) @variable
(import_specification uri: (_) @name) @use.declared
(library_export uri: (_) @name) @use.declared
(part_directive uri: (_) @name) @use.declared
(combinator (identifier) @import)
(function_expression body: (_) @local)

(comment) @comment
(documentation_comment) @comment
(annotation) @attribute

(superclass type: (type (type_identifier) @base))
(mixin_application . (type (type_identifier) @base))
(mixins (type (type_identifier) @base))
(interfaces (type (type_identifier) @base))
(mixin_declaration (type (type_identifier) @base))
(extension_declaration class: (type (type_identifier) @base))
(call_expression function: [(identifier) @call (member_expression property: (_) @call)])
(cascade_call_expression property: (_) @call)
(new_expression (type (type_identifier) @call))
(const_object_expression (type (type_identifier) @call))
(annotation name: (identifier) @call)
((member_expression object: (identifier) @type) (#match? @type "^[A-Z]"))
((type_identifier) @type (#not-any-of? @type
  "bool" "double" "dynamic" "int" "num" "Future" "Iterable" "List" "Map" "Object" "Set" "Stream" "String"))
(arguments (identifier) @other)
