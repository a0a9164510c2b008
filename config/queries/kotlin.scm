; Kotlin. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((package_header (qualified_identifier) @name) @module (#set! rest))
(class_declaration "interface" name: (_) @name (class_body) @body) @interface
(class_declaration "interface" name: (_) @name) @interface
(class_declaration name: (_) @name (enum_class_body) @body) @enum
(class_declaration name: (_) @name (class_body) @body) @class
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name (class_body) @body) @class
(object_declaration name: (_) @name) @class
(companion_object name: (_) @name (class_body) @body) @class
(property_declaration (modifiers (property_modifier "const")) (variable_declaration (identifier) @name)) @const
(enum_entry (identifier) @name) @const
(function_declaration name: (_) @name (function_body) @body) @fn
(function_declaration name: (_) @name) @fn.declared
(secondary_constructor "constructor" @name (block) @body) @method
(secondary_constructor "constructor" @name) @method
((class_parameter ["val" "var"] (identifier) @name) @field)
(class_body (property_declaration (variable_declaration (identifier) @name)) @field)
(enum_class_body (property_declaration (variable_declaration (identifier) @name)) @field)
(property_declaration "val" (variable_declaration (identifier) @name)) @const
(property_declaration (variable_declaration (identifier) @name)) @variable
(type_alias type: (identifier) @name) @alias
(import (qualified_identifier) @name) @use.declared
(import (qualified_identifier (identifier) @import .))
(function_body) @local
(block) @local
(lambda_literal) @local
(getter) @local
(setter) @local

(line_comment) @comment
(block_comment) @comment

(delegation_specifier [
  (user_type (identifier) @base .)
  (user_type (identifier) @base (type_arguments))
  (constructor_invocation (user_type (identifier) @base))
])
(call_expression . [(identifier) @call (navigation_expression (identifier) @call .)])
(constructor_invocation (user_type (identifier) @call))
(user_type (identifier) @type)
