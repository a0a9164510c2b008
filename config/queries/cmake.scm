; CMake: functions, macros, targets and variables. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(function_def
  (function_command (argument_list . (argument (unquoted_argument) @name)))
  (body) @body @local) @fn
(macro_def
  (macro_command (argument_list . (argument (unquoted_argument) @name)))
  (body) @body @local) @macro
((normal_command (identifier) @_command (argument_list . (argument (unquoted_argument) @name))) @module
  (#match? @_command "^(?i:project)$"))
((normal_command (identifier) @_command (argument_list . (argument (unquoted_argument) @name))) @class
  (#match? @_command "^(?i:add_(library|executable|custom_target))$") (#not-match? @name "[$]"))
((normal_command (identifier) @_command (argument_list . (argument (unquoted_argument) @name))) @variable
  (#match? @_command "^(?i:set|option|list)$") (#not-match? @name "[$]|^(APPEND|FILTER|FIND|GET|INSERT|JOIN|LENGTH|PREPEND|REMOVE_.*|REVERSE|SORT|SUBLIST|TRANSFORM)$"))
((normal_command (identifier) @_command (argument_list . (argument (unquoted_argument) @name))) @use.declared
  (#match? @_command "^(?i:include|find_package|add_subdirectory)$"))
(foreach_loop) @local

(line_comment) @comment
(bracket_comment) @comment

((normal_command (identifier) @_command (argument_list (argument (unquoted_argument) @other)))
  (#match? @_command "^(?i:target_.*|add_dependencies|add_test|install|set_target_properties|add_library)$")
  (#not-match? @other "^[A-Z_]+$|[$/.]"))
((normal_command (identifier) @call)
  (#not-match? @call "^(?i:set|unset|option|list|string|file|message|math|include|project|return|install|find_.*|add_.*|target_.*|get_.*|set_.*|cmake_.*)$"))
(variable_ref (normal_var (variable) @other))
