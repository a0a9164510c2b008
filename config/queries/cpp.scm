; C++, in addition to c.scm.

(class_specifier name: [(type_identifier) @name (qualified_identifier) @name (template_type name: (_) @name)] body: (_)) @class
(struct_specifier name: [(qualified_identifier) @name (template_type name: (_) @name)] body: (_)) @struct
(translation_unit (class_specifier name: (_) @name !body) @class.declared)
(declaration_list (class_specifier name: (_) @name !body) @class.declared)
(declaration_list (struct_specifier name: (_) @name !body) @struct.declared)
(declaration declarator: (init_declarator declarator: (structured_binding_declarator (identifier) @name))) @variable
(namespace_definition name: (_) @name) @module
(alias_declaration name: (_) @name) @alias
(concept_definition name: (_) @name) @trait
(using_declaration (qualified_identifier name: (_) @import))
(using_declaration (qualified_identifier) @name) @use.declared
(template_declaration [(class_specifier) (struct_specifier) (function_definition) (declaration) (alias_declaration) (concept_definition)]) @whole
(friend_declaration) @local
(lambda_expression body: (_) @local)
(access_specifier) @access
(base_class_clause [
  (type_identifier) @base
  (qualified_identifier name: (_) @base)
  (template_type name: (_) @base)
  (qualified_identifier name: (template_type name: (_) @base))
])
(call_expression function: [
  (qualified_identifier name: (identifier) @call)
  (qualified_identifier name: (template_function name: (_) @call))
  (qualified_identifier name: (qualified_identifier name: (identifier) @call))
  (template_function name: (identifier) @call)
  (field_expression field: (template_method name: (_) @call))
])
(new_expression type: (type_identifier) @call)
