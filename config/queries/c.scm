; C and C++. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the
; first one wins.

(function_definition declarator: (_) @declarator body: (_) @local) @fn
(function_definition declarator: (_) @declarator) @fn
(type_definition type: (struct_specifier !name body: (_) @body) declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier !name body: (_) @body) declarator: (type_identifier) @name) @struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @enum
((type_definition declarator: (_) @declarator) @alias (#set! flat))
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(translation_unit (struct_specifier name: (_) @name !body) @struct.declared)
(translation_unit (union_specifier name: (_) @name !body) @struct.declared)
(translation_unit (enum_specifier name: (_) @name !body) @enum.declared)
(type_definition type: (struct_specifier name: (_) @name !body) @struct.declared)
(type_definition type: (union_specifier name: (_) @name !body) @struct.declared)
(enumerator name: (_) @name) @const
(field_declaration declarator: (_) @declarator) @field
((declaration declarator: (_) @declarator) @variable (#set! flat))
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(preproc_include path: (_) @name) @use.declared
(preproc_include path: (_) @import)
; An error node may still contain a function declarator.
(ERROR (function_declarator declarator: (identifier) @name) @fn)
; Functions with K&R-style parameters.
(function_definition (declaration) @local)
(compound_statement) @local

(comment) @comment

(call_expression function: [
  (identifier) @call
  (field_expression field: (field_identifier) @call)
])
(type_identifier) @type
