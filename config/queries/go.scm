; Go. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(package_clause (package_identifier) @name) @module
(function_declaration name: (_) @name body: (_) @local) @fn
(function_declaration name: (_) @name !body) @fn.declared
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @scope
    (pointer_type (type_identifier) @scope)
    (generic_type type: (type_identifier) @scope)
    (pointer_type (generic_type type: (type_identifier) @scope))
  ]))
  name: (_) @name
  body: (_) @local) @method
(func_literal body: (_) @local)
(type_spec name: (_) @name type: (struct_type (field_declaration_list) @body)) @struct
(type_spec name: (_) @name type: (interface_type "{" @body)) @interface
(type_spec name: (_) @name) @alias
(type_alias name: (_) @name) @alias
(method_elem name: (_) @name) @method.declared
(field_declaration name: (_) @name) @field
; The names are all the identifiers; the values are in a list of their own.
(const_spec (identifier) @name) @const
(var_spec name: (_) @name) @variable
(import_spec path: (_) @name) @use.declared
(import_spec path: (_) @import)
(type_declaration "type" . (type_spec)) @whole
(type_declaration "type" . (type_alias)) @whole
(const_declaration "const" . (const_spec)) @whole
(var_declaration "var" . (var_spec)) @whole

(comment) @comment

(field_declaration !name type: [
  (type_identifier) @base
  (pointer_type (type_identifier) @base)
  (qualified_type name: (_) @base)
  (pointer_type (qualified_type name: (_) @base))
])
(interface_type (type_elem [(type_identifier) @base (qualified_type name: (_) @base)]))
(call_expression function: [
  (identifier) @call
  (selector_expression field: (_) @call)
  (parenthesized_expression (identifier) @call)
])
(composite_literal type: [(type_identifier) @call (qualified_type name: (_) @call)])
((type_identifier) @type (#not-any-of? @type
  "any" "bool" "byte" "error" "float64" "int" "int32" "int64" "rune" "string" "uint" "uint32" "uint64" "uint8"))
