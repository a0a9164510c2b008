; OCaml, for implementations and interfaces. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(let_binding pattern: [(value_name) @name (parenthesized_operator (_) @name)] (parameter) body: (_) @body) @fn
(let_binding pattern: [(value_name) @name (parenthesized_operator (_) @name)]
  body: [(function_expression) (fun_expression)] @body) @fn
(let_binding pattern: [(value_name) @name (tuple_pattern (value_name) @name)]) @const
(let_binding body: (_) @local)
(value_definition . (let_binding)) @whole
(exception_definition (constructor_declaration (constructor_name) @name)) @struct
(type_binding name: (type_constructor) @name body: (variant_declaration) @body) @enum
(type_binding name: (type_constructor) @name body: (record_declaration) @body) @struct
(type_binding name: (type_constructor) @name) @alias
(type_definition . (type_binding)) @whole
(constructor_declaration (constructor_name) @name) @const
(field_declaration (field_name) @name) @field
(external [(value_name) @name (parenthesized_operator (_) @name)]) @fn.declared
(value_specification [(value_name) @name (parenthesized_operator (_) @name)] type: (function_type)) @fn.declared
(value_specification [(value_name) @name (parenthesized_operator (_) @name)]) @const.declared
(module_definition (module_binding . (module_name) @name body: (_) @body)) @module
(module_definition (module_binding . (module_name) @name)) @module
(module_type_definition (module_type_name) @name body: (_) @body) @interface
(module_type_definition (module_type_name) @name) @interface
(class_definition (class_binding (class_name) @name body: (_) @body)) @class
(class_definition (class_binding (class_name) @name)) @class
(class_type_definition (class_type_binding (class_type_name) @name body: (_) @body)) @interface
(method_definition (method_name) @name body: (_) @body) @method
(method_definition (method_name) @name) @method.declared
(method_specification (method_name) @name) @method.declared
(instance_variable_definition (instance_variable_name) @name) @field
(open_module module: (_) @name) @use.declared
(include_module module: (_) @name) @use.declared
(open_module_signature module: (_) @name) @use.declared
(include_module_type module_type: (_) @name) @use.declared
(open_module_signature module: (extended_module_path (module_name) @import .))
(open_module module: (module_path (module_name) @import .))
(include_module module: (module_path (module_name) @import .))

(comment) @comment
(attribute) @attribute

(inheritance_definition class: (class_path (class_name) @base .))
(module_type_path (module_type_name) @base .)
(application_expression function: [
  (value_path (value_name) @call .)
  (constructor_path (constructor_name) @call .)
])
(method_invocation method: (method_name) @call)
(new_expression (class_path (class_name) @call .))
((infix_expression operator: (_) @_apply right: (value_path (value_name) @call .)) (#eq? @_apply "|>"))
((infix_expression left: (value_path (value_name) @call .) operator: (_) @_apply) (#eq? @_apply "@@"))
(value_path (value_name) @other .)
(constructor_path (constructor_name) @other .)
(field_path (field_name) @other .)
((type_constructor) @type (#not-any-of? @type "array" "bool" "char" "float" "int" "list" "option" "string" "unit"))
(module_name) @type
