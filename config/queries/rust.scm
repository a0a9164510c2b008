; Rust. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(function_item name: (_) @name body: (_) @local) @fn
(function_signature_item name: (_) @name) @fn.declared
(closure_expression body: (_) @local)
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(enum_variant name: (_) @name) @const
(field_declaration name: (_) @name) @field
(trait_item name: (_) @name) @trait
(impl_item type: [
  (type_identifier) @name
  (primitive_type) @name
  (generic_type type: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (_) @name))
  (scoped_type_identifier name: (_) @name)
  (reference_type type: (type_identifier) @name)
  (reference_type type: (generic_type type: (type_identifier) @name))
  (dynamic_type) @name
  (tuple_type) @name
  (array_type) @name
  (pointer_type) @name
  (unit_type) @name
]) @impl
(impl_item trait: [
  (type_identifier) @base
  (scoped_type_identifier name: (_) @base)
  (generic_type type: (type_identifier) @base)
  (generic_type type: (scoped_type_identifier name: (_) @base))
])
(trait_bounds [
  (type_identifier) @base
  (scoped_type_identifier name: (_) @base)
  (generic_type type: (type_identifier) @base)
  (generic_type type: (scoped_type_identifier name: (_) @base))
])
(mod_item name: (_) @name body: (_)) @module
(mod_item name: (_) @name !body) @module.declared
(type_item name: (_) @name) @alias
(associated_type name: (_) @name) @alias.declared
(const_item name: (_) @name) @const
(static_item name: (_) @name) @static
(macro_definition name: (_) @name) @macro
(use_declaration argument: (_) @name) @use.declared
(extern_crate_declaration name: (_) @name) @use.declared

(line_comment) @comment
(block_comment) @comment
(attribute_item) @attribute

(call_expression function: [
  (identifier) @call
  (scoped_identifier name: (_) @call)
  (field_expression field: (field_identifier) @call)
  (generic_function function: [
    (identifier) @call
    (scoped_identifier name: (_) @call)
    (field_expression field: (field_identifier) @call)
  ])
])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (_) @call)])
(struct_expression name: [(type_identifier) @call (scoped_type_identifier name: (_) @call)])
(use_declaration argument: [(identifier) @import (scoped_identifier name: (_) @import)])
(use_list [(identifier) @import (scoped_identifier name: (_) @import)])
(use_as_clause path: [(identifier) @import (scoped_identifier name: (_) @import)])
(scoped_identifier path: (identifier) @type (#match? @type "^[A-Z]"))
(type_identifier) @type
