; Zig. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((variable_declaration ["const" "var"] . (identifier) @name
  (builtin_function (builtin_identifier) @_import)) @use.declared
  (#any-of? @_import "@import" "@cImport"))
(variable_declaration ["const" "var"] . (identifier) @name (struct_declaration "{" @body)) @struct
(variable_declaration ["const" "var"] . (identifier) @name (union_declaration "{" @body)) @struct
(variable_declaration ["const" "var"] . (identifier) @name (opaque_declaration "{" @body)) @struct
(variable_declaration ["const" "var"] . (identifier) @name (enum_declaration "{" @body)) @enum
(variable_declaration ["const" "var"] . (identifier) @name (error_set_declaration "{" @body)) @enum
(variable_declaration "const" . (identifier) @name) @const
(variable_declaration "var" . (identifier) @name) @variable
((enum_declaration (container_field name: (identifier) @name) @const) (#not-eq? @name "_"))
(variable_declaration (error_set_declaration (identifier) @name @const))
(variable_declaration (binary_expression (error_set_declaration (identifier) @name @const)))
((container_field name: (identifier) @name) @field (#not-eq? @name "_"))
((function_declaration name: (_) @name type: (builtin_type) @_type body: (_) @body) @struct
  (#eq? @_type "type"))
(function_declaration name: (_) @name body: (_) @body) @fn
(function_declaration name: (_) @name !body) @fn.declared
((function_declaration type: (_) @_type body: (_) @local)
  (#not-eq? @_type "type"))
(parameter) @local
(function_declaration type: (struct_declaration) @local)
(test_declaration (string) @name (block) @body @local) @fn
(test_declaration (block) @local)
(comptime_declaration (block) @local)

(comment) @comment

(call_expression function: [(identifier) @call (field_expression member: (identifier) @call)])
(struct_initializer (identifier) @call)
(_ type: (identifier) @type)
(pointer_type (identifier) @type)
(nullable_type (identifier) @type)
(slice_type (identifier) @type)
(array_type (identifier) @type)
(error_union_type (identifier) @type)
(_ type: (field_expression member: (identifier) @type .))
((field_expression object: (identifier) @type) (#match? @type "^[A-Z]"))
(field_expression member: (identifier) @other)
