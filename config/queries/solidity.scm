; Solidity. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(contract_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(library_declaration name: (_) @name body: (_) @body) @class
(struct_declaration name: (_) @name body: (_) @body) @struct
(struct_member name: (_) @name) @field
(enum_declaration name: (_) @name body: (_) @body) @enum
(enum_value) @name @const
(event_definition name: (_) @name) @struct
(error_declaration name: (_) @name) @struct
(user_defined_type_definition name: (_) @name) @alias
(function_definition name: (_) @name body: (_) @body @local) @fn
(function_definition name: (_) @name !body) @fn.declared
(modifier_definition name: (_) @name body: (_) @body @local) @fn
(constructor_definition "constructor" @name body: (_) @body @local) @method
(fallback_receive_definition ["receive" "fallback"] @name body: (_) @body @local) @method
(state_variable_declaration "constant" name: (_) @name) @const
(state_variable_declaration name: (_) @name) @field
(constant_variable_declaration name: (_) @name) @const
(import_directive source: (_) @name) @use.declared
(import_directive import_name: (_) @import)

(comment) @comment

(inheritance_specifier ancestor: (user_defined_type (identifier) @base .))
(modifier_invocation (identifier) @call)
(call_expression function: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(emit_statement name: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(revert_statement error: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(new_expression name: (type_name (user_defined_type (identifier) @call .)))
(using_directive (type_alias (identifier) @type .))
(user_defined_type (identifier) @type .)
((expression (identifier) @other) (#match? @other "^[A-Z_]"))
((member_expression object: (identifier) @type) (#match? @type "^[A-Z]"))
