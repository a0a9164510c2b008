; JavaScript, TypeScript and TSX. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the
; first one wins.

(function_declaration name: (_) @name body: (_) @local) @fn
(generator_function_declaration name: (_) @name body: (_) @local) @fn
(function_expression name: (_) @name body: (_) @local) @fn
(function_expression body: (_) @local)
(generator_function body: (_) @local)
(arrow_function body: (_) @local)
(class_declaration name: (_) @name) @class
(method_definition name: [
  (property_identifier) @name
  (private_property_identifier) @name
  (string) @name
  (number) @name
  (computed_property_name) @name
] body: (_) @local) @method
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
]) @fn
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @class
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @const)
(lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @variable)
(variable_declaration (variable_declarator name: (identifier) @name) @variable)
; `const { a, b: c, d = 1, ...e } = f()` and `const [a, b = 1, ...c] = f()`, also one in the other.
(variable_declarator name: [
  (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (pair_pattern value: (identifier) @name)
    (pair_pattern value: (assignment_pattern left: (identifier) @name))
    (rest_pattern (identifier) @name)
  ])
  (array_pattern [
    (identifier) @name
    (assignment_pattern left: (identifier) @name)
    (rest_pattern (identifier) @name)
  ])
]) @variable
(variable_declarator name: (object_pattern [
  (pair_pattern value: [
    (object_pattern [
      (shorthand_property_identifier_pattern) @name
      (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
      (pair_pattern value: (identifier) @name)
      (pair_pattern value: (assignment_pattern left: (identifier) @name))
      (rest_pattern (identifier) @name)
    ])
    (array_pattern [
      (identifier) @name
      (assignment_pattern left: (identifier) @name)
      (rest_pattern (identifier) @name)
    ])
  ])
  (pair_pattern value: (assignment_pattern left: [
    (object_pattern [
      (shorthand_property_identifier_pattern) @name
      (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
      (pair_pattern value: (identifier) @name)
      (pair_pattern value: (assignment_pattern left: (identifier) @name))
      (rest_pattern (identifier) @name)
    ])
    (array_pattern [
      (identifier) @name
      (assignment_pattern left: (identifier) @name)
      (rest_pattern (identifier) @name)
    ])
  ]))
])) @variable
(variable_declarator name: (array_pattern [
  (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (pair_pattern value: (identifier) @name)
    (pair_pattern value: (assignment_pattern left: (identifier) @name))
    (rest_pattern (identifier) @name)
  ])
  (array_pattern [
    (identifier) @name
    (assignment_pattern left: (identifier) @name)
    (rest_pattern (identifier) @name)
  ])
])) @variable
(pair key: [(property_identifier) @name (string) @name] value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @method
(assignment_expression
  left: (member_expression object: (member_expression object: (_) @scope property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]
  (#eq? @_prototype "prototype")) @method
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @scope property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @fn
(import_statement source: (string) @name) @use.declared
(export_statement source: (string) @name) @use.declared
(statement_block) @local

(export_statement declaration: (_)) @whole
(export_statement value: (_)) @whole
(lexical_declaration (variable_declarator)) @whole
(variable_declaration (variable_declarator)) @whole
(export_clause (export_specifier name: (identifier) @exported))
(export_statement value: (identifier) @exported)
(comment) @comment
(decorator) @attribute

(import_specifier name: (identifier) @import)
(import_clause (identifier) @import)
(namespace_import (identifier) @import)
(export_specifier name: (identifier) @import)
(call_expression function: [
  (identifier) @call
  (member_expression property: (property_identifier) @call)
])
(new_expression constructor: [
  (identifier) @call
  (member_expression property: (property_identifier) @call)
])
(decorator [(identifier) @call (call_expression function: (identifier) @call)])
