; Ruby. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(module name: [(constant) @name (scope_resolution name: (_) @name)]) @module
(class name: [(constant) @name (scope_resolution name: (_) @name)]) @class
(method name: (_) @name) @fn
(singleton_method name: (_) @name) @fn
(method body: (_) @local)
(singleton_method body: (_) @local)
(alias name: (_) @name) @fn
; `A = B = 1`: the second one isn't in the first one.
((assignment left: (constant) @name right: (assignment)) @const (#set! flat))
(assignment left: (constant) @name) @const
(assignment left: (left_assignment_list [(constant) @name (rest_assignment (constant) @name)])) @const
(assignment left: (left_assignment_list [(global_variable) @name (class_variable) @name])) @variable
(assignment left: (scope_resolution name: (constant) @name)) @const
(assignment left: [(class_variable) (global_variable)] @name) @variable
((call method: (identifier) @_attr arguments: (argument_list (simple_symbol) @name)) @field
  (#any-of? @_attr "attr_reader" "attr_writer" "attr_accessor"))
((call method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name)) @fn
  (#any-of? @_define "define_method" "alias_method"))
((call method: (identifier) @_require arguments: (argument_list . (string (string_content) @name))) @use.declared
  (#any-of? @_require "require" "require_relative" "load" "autoload"))
((call method: (identifier) @_mixin arguments: (argument_list [(constant) @base (scope_resolution name: (_) @base)]))
  (#any-of? @_mixin "include" "extend" "prepend"))
(call arguments: (argument_list (method))) @whole
(body_statement (identifier) @access)
(block) @local
(do_block) @local
(lambda) @local

(comment) @comment

(superclass [(constant) @base (scope_resolution name: (_) @base)])
(call method: [(identifier) (constant)] @call)
(call receiver: (constant) @type)
(scope_resolution name: (constant) @type)

(method_parameters (identifier) @bound)
(block_parameters (identifier) @bound)
(lambda_parameters (identifier) @bound)
(destructured_parameter (identifier) @bound)
(optional_parameter name: (_) @bound)
(keyword_parameter name: (_) @bound)
(splat_parameter name: (_) @bound)
(hash_splat_parameter name: (_) @bound)
(block_parameter name: (_) @bound)
(block_parameters locals: (_) @bound)
(assignment left: (identifier) @bound)
(operator_assignment left: (identifier) @bound)
(left_assignment_list [(identifier) @bound (rest_assignment (identifier) @bound)])
(destructured_left_assignment (identifier) @bound)
(for pattern: (identifier) @bound)
(exception_variable (identifier) @bound)
(in_clause pattern: (identifier) @bound)
(array_pattern (identifier) @bound)
(keyword_pattern value: (identifier) @bound)
(as_pattern name: (identifier) @bound)
; A name alone is a call, unless it is a local variable.
((identifier) @bare (#not-any-of? @bare "private" "protected" "public" "private_constant" "module_function" "attr_reader"
  "attr_writer" "attr_accessor"))
