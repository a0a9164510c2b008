; R: functions and the classes of S4, reference classes and R6. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(binary_operator
  lhs: [
    (identifier) @name
    (string content: (_) @name)
    (extract_operator lhs: [(identifier) (extract_operator)] @scope rhs: [(identifier) @name (string content: (_) @name)])
  ]
  operator: ["<-" "<<-" "="]
  rhs: (function_definition body: (_) @body)) @fn
((binary_operator
  lhs: (identifier) @name
  operator: ["<-" "<<-" "="]
  rhs: (call
    function: [(identifier) @_class (namespace_operator rhs: (identifier) @_class)]
    arguments: (_) @body)) @class
  (#any-of? @_class "R6Class" "setClass" "setRefClass" "new_class"))
((call
  function: (identifier) @_class
  arguments: (arguments . (argument value: (string content: (_) @name)) (comma) @body)) @class
  (#any-of? @_class "setClass" "setClassUnion"))
((call
  function: (identifier) @_generic
  arguments: (arguments . (argument value: (string content: (_) @name)) (comma) @body)) @fn
  (#any-of? @_generic "setGeneric" "setMethod" "setReplaceMethod"))
((call
  function: (identifier) @_list
  arguments: (arguments (argument name: (identifier) @name value: (function_definition body: (_) @body)) @fn))
  (#eq? @_list "list"))
(program (binary_operator lhs: [(identifier) @name (string content: (_) @name)] operator: ["<-" "<<-" "="]) @variable)
(program (binary_operator operator: ["->" "->>"] rhs: (identifier) @name) @variable)
((call
  function: (identifier) @_import
  arguments: (arguments . (argument value: [(identifier) @name (string content: (_) @name)]))) @use.declared
  (#any-of? @_import "library" "require" "requireNamespace" "loadNamespace" "source"))
((call
  function: (identifier) @_class
  arguments: (arguments (argument name: (identifier) @_inherit value: [(identifier) @base (string content: (_) @base)])))
  (#any-of? @_class "R6Class" "setClass" "setRefClass") (#any-of? @_inherit "inherit" "contains"))
(function_definition body: (_) @local)

(comment) @comment

((call function: (identifier) @call) (#not-any-of? @call "library" "require" "source"))
(call function: [
  (namespace_operator rhs: (identifier) @call)
  (extract_operator rhs: (identifier) @call)
])
(argument value: (identifier) @other)
(binary_operator rhs: (identifier) @other)
