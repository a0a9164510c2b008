; Erlang. A type specification and the clauses that follow it are one symbol. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((module_attribute name: (atom) @name) @module (#set! rest))
(import_attribute module: (atom) @name) @use.declared
(import_attribute funs: (fa fun: (atom) @import))
(pp_include file: (string) @name) @use.declared
(pp_include_lib file: (string) @name) @use.declared
(export_attribute funs: (fa) @exported)
(export_type_attribute types: (fa fun: (atom) @exported))
(pp_define lhs: (macro_lhs name: (_) @name)) @macro
(record_decl name: (atom) @name) @struct
(record_decl fields: (record_field name: (atom) @name) @field)
(type_alias name: (type_name name: (atom) @name)) @alias
(opaque name: (type_name name: (atom) @name)) @alias
(callback fun: (atom) @name) @method.declared
(spec fun: (atom) @name (type_sig args: (expr_args) @parameters)) @fn.declared
(spec fun: (atom) @name) @fn.declared
(fun_decl clause: (function_clause name: (atom) @name args: (expr_args) @parameters body: (_) @body)) @fn

(comment) @comment

(behaviour_attribute name: (atom) @base)
(remote_module module: (atom) @type)
(call expr: (atom) @call)
(internal_fun fun: (atom) @call)
(external_fun fun: (atom) @call)
(record_name name: (atom) @type)
(record_field_name name: (atom) @other)
((macro_call_expr name: (_) @other) (#not-any-of? @other "MODULE" "LINE" "FILE" "FUNCTION_NAME"))
