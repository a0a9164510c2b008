; Lua: functions, tables, and what require loads. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(variable_declaration (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_require)))
  (#eq? @_require "require")) @use.declared
((chunk (function_call
  name: (identifier) @_require
  arguments: (arguments . (string content: (_) @name))) @use.declared)
  (#any-of? @_require "require" "dofile" "loadfile"))
(function_declaration name: (identifier) @name body: (_) @body) @fn
(function_declaration name: (identifier) @name) @fn
(function_declaration name: (dot_index_expression table: (_) @scope field: (_) @name)) @fn
(function_declaration name: (method_index_expression table: (_) @scope method: (_) @name)) @method
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: [(function_definition body: (_) @body) (function_definition !body "end" @body)]))) @fn
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: [(function_definition body: (_) @body) (function_definition !body "end" @body)])) @fn
(assignment_statement
  (variable_list . name: [
    (dot_index_expression table: (_) @scope field: (_) @name)
    (bracket_index_expression table: (_) @scope field: (string content: (_) @name))
  ])
  (expression_list . value: [(function_definition body: (_) @body) (function_definition !body "end" @body)])) @fn
(field name: [(identifier) @name (string content: (_) @name)]
  value: [(function_definition body: (_) @body) (function_definition !body "end" @body)]) @method
(assignment_statement (expression_list value: (table_constructor (field name: (identifier) @name) @field)))
(assignment_statement (variable_list name: (dot_index_expression table: (_) @scope field: (_) @name))) @field
(variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @variable
(variable_declaration (variable_list name: (identifier) @name)) @variable
(assignment_statement (variable_list name: (identifier) @name)) @variable
(function_declaration body: (_) @local)
(function_definition body: (_) @local)
(do_statement body: (_) @local)
(for_statement body: (_) @local)
(while_statement body: (_) @local)
(repeat_statement body: (_) @local)

(comment) @comment

(function_call name: [
  (identifier) @call
  (dot_index_expression field: (_) @call)
  (method_index_expression method: (_) @call)
])
(dot_index_expression field: (identifier) @other)
(arguments (identifier) @other)
