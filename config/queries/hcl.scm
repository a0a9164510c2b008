; HCL, in particular Terraform: blocks, local values, and the values of a file of variables. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((block . (identifier) @_kind (body (attribute . (identifier) @_source
  (expression (literal_value (string_lit (template_literal) @name)))) @use.declared))
  (#eq? @_kind "module") (#eq? @_source "source"))
((block . (identifier) @_kind
    . [(identifier) @scope (string_lit (template_literal) @scope)]
    . [(identifier) @name (string_lit (template_literal) @name)]
    . (block_start) @body) @class
  (#any-of? @_kind "resource" "data" "ephemeral"))
((block . (identifier) @_kind . [(identifier) @name (string_lit (template_literal) @name)] . (block_start) @body) @variable
  (#any-of? @_kind "variable" "output"))
((block . (identifier) @_kind (body (attribute . (identifier) @name) @variable))
  (#eq? @_kind "locals"))
(config_file (body (attribute . (identifier) @name) @variable))
(block [(identifier) @name (string_lit (template_literal) @name)] . (block_start) @body) @module

(comment) @comment

((expression (variable_expr (identifier) @_root) . (get_attr (identifier) @type) . (get_attr (identifier) @other))
  (#eq? @_root "data"))
((expression (variable_expr (identifier) @_root) . (get_attr (identifier) @other))
  (#any-of? @_root "var" "local" "module"))
((expression (variable_expr (identifier) @type) . (get_attr (identifier) @other))
  (#match? @type "_"))
(function_call (identifier) @call)
