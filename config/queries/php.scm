; PHP. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((namespace_definition name: (_) @name !body) @module (#set! rest))
(namespace_definition name: (_) @name body: (_)) @module
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(enum_case name: (_) @name) @const
(function_definition name: (_) @name body: (_) @local) @fn
(method_declaration name: (_) @name body: (_) @local) @method
(method_declaration name: (_) @name !body) @method.declared
(anonymous_function body: (_) @local)
(arrow_function body: (_) @local)
(const_declaration (const_element (name) @name)) @const
(property_declaration (property_element name: (variable_name (name) @name))) @field
(property_promotion_parameter name: (variable_name (name) @name)) @field
(program (expression_statement (assignment_expression left: (variable_name (name) @name)) @variable))
((function_call_expression function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))) @const
  (#eq? @_define "define"))
(namespace_use_clause . [(qualified_name) (name)] @name) @use.declared
(namespace_use_clause . [(qualified_name (name) @import .) (name) @import])

(comment) @comment
(attribute_list) @attribute

(base_clause [(name) @base (qualified_name (name) @base .)])
(class_interface_clause [(name) @base (qualified_name (name) @base .)])
(use_declaration [(name) @base (qualified_name (name) @base .)])
(function_call_expression function: [(name) @call (qualified_name (name) @call .)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(scoped_call_expression scope: [(name) @type (qualified_name (name) @type .)])
(class_constant_access_expression . [(name) @type (qualified_name (name) @type .)])
(object_creation_expression [(name) @call (qualified_name (name) @call .)])
(named_type [(name) @type (qualified_name (name) @type .)])
(attribute [(name) @type (qualified_name (name) @type .)])
