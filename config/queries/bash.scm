; Bash and other shells. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(function_definition name: (_) @name body: (_) @local) @fn
(declaration_command "readonly" (variable_assignment name: (variable_name) @name)) @const
(declaration_command (variable_assignment name: (variable_name) @name)) @variable
(program (variable_assignment name: (variable_name) @name) @variable)
(if_statement (variable_assignment name: (variable_name) @name) @variable)
((command name: (command_name) @_source argument: (word) @name) @use.declared (#any-of? @_source "source" "."))
((command name: (command_name) @_alias argument: (concatenation . (word) @name)) @alias (#eq? @_alias "alias"))
(subshell) @local
(command_substitution) @local

(comment) @comment

(command name: (command_name (word) @call) (#not-any-of? @call
  "alias" "break" "cat" "cd" "continue" "cp" "declare" "echo" "eval" "exit" "export" "false" "grep" "local" "mkdir" "mv" "printf"
  "pwd" "read" "readonly" "return" "rm" "sed" "set" "shift" "sort" "source" "test" "trap" "true" "unset" "." ":" "["))
