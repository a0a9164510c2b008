; Elixir: macro calls that define something. The clauses of a function are one symbol. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((call target: (identifier) @_define (arguments . (alias) @name) (do_block) @body) @module
  (#eq? @_define "defmodule"))
((call target: (identifier) @_define (arguments . (alias) @name) (do_block) @body) @interface
  (#eq? @_define "defprotocol"))
((call target: (identifier) @_define
  (arguments . (alias) @base (keywords . (pair value: (alias) @name)))
  (do_block) @body) @impl
  (#eq? @_define "defimpl"))
((call target: (identifier) @_define (arguments . (alias) @name . ) (do_block) @body) @impl
  (#eq? @_define "defimpl"))
((call target: (identifier) @_define
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name] operator: "when")
  ])
  (do_block) @body @local) @fn
  (#any-of? @_define "def" "defp" "defn" "defnp") (#not-eq? @name "when"))
((call target: (identifier) @_define
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name] operator: "when")
  ] . (keywords) @body)) @fn
  (#any-of? @_define "def" "defp" "defn" "defnp" "defdelegate") (#not-eq? @name "when"))
((call target: (identifier) @_define
  (arguments . (binary_operator left: (binary_operator operator: _ @name) operator: "when")) (do_block) @body @local) @fn
  (#any-of? @_define "def" "defp"))
((call target: (identifier) @_define
  (arguments . (binary_operator left: (binary_operator operator: _ @name) operator: "when") (keywords) @body)) @fn
  (#any-of? @_define "def" "defp"))
((call target: (identifier) @_define (arguments . (binary_operator operator: _ @name)) (do_block) @body @local) @fn
  (#any-of? @_define "def" "defp") (#not-eq? @name "when"))
((call target: (identifier) @_define (arguments . (binary_operator operator: _ @name) (keywords) @body)) @fn
  (#any-of? @_define "def" "defp") (#not-eq? @name "when"))
((call target: (identifier) @_define
  (arguments . [(call target: (identifier) @name (arguments) @parameters) (identifier) @name] . ) .) @fn.declared
  (#any-of? @_define "def" "defp"))
((call target: (identifier) @_define
  (arguments . [
    (call target: (identifier) @name (arguments) @parameters)
    (identifier) @name
    (binary_operator left: [(call target: (identifier) @name (arguments) @parameters) (identifier) @name] operator: "when")
  ])
  (do_block)? @body) @macro
  (#any-of? @_define "defmacro" "defmacrop" "defguard" "defguardp"))
((call target: (identifier) @_define (arguments . (string) @name) (do_block) @body @local) @fn
  (#any-of? @_define "test" "property"))
((call target: (identifier) @_define (arguments . (string) @name) (do_block) @body) @module
  (#eq? @_define "describe"))
((call target: (identifier) @_define (arguments [
  (list (atom) @name @field)
  (list (keywords (pair key: (keyword) @name) @field))
  (keywords (pair key: (keyword) @name) @field)
]))
  (#any-of? @_define "defstruct" "defexception"))
((unary_operator operator: "@" operand: (call
  target: (identifier) @_kind
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::"))) @alias)
  (#any-of? @_kind "type" "typep" "opaque"))
((unary_operator operator: "@" operand: (call
  target: (identifier) @_kind
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::"))) @method.declared)
  (#any-of? @_kind "callback" "macrocallback"))
((unary_operator operator: "@" operand: (call
  target: (identifier) @_kind
  (arguments (binary_operator
    left: (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")
    operator: "when"))) @method.declared)
  (#any-of? @_kind "callback" "macrocallback"))
((unary_operator operator: "@" operand: (call target: (identifier) @name (arguments)) @const)
  (#not-any-of? @name
    "after_compile" "before_compile" "behaviour" "callback" "compile" "deprecated" "derive" "describetag" "dialyzer" "doc"
    "enforce_keys" "external_resource" "fallback_to_any" "impl" "macrocallback" "moduledoc" "moduletag" "on_definition" "on_load" "opaque"
    "optional_callbacks" "since" "spec" "tag" "type" "typedoc" "typep" "vsn"))
((call target: (identifier) @_import (arguments . [(alias) @name (dot right: (tuple)) @name])) @use.declared
  (#any-of? @_import "alias" "import" "require" "use"))
((call target: (identifier) @_import (arguments . [(alias) @import (dot right: (tuple (alias) @import))]))
  (#any-of? @_import "alias" "import" "require" "use"))
((unary_operator operator: "@" operand: (call target: (identifier) @_kind (arguments (alias) @base)))
  (#eq? @_kind "behaviour"))
((unary_operator operator: "@" operand: (call target: (identifier) @_doc (arguments (string) @doc)))
  (#eq? @_doc "moduledoc"))
((unary_operator operator: "@" operand: (call target: (identifier) @_doc)) @comment
  (#any-of? @_doc "doc" "typedoc"))
((unary_operator operator: "@" operand: (call target: (identifier) @_kind)) @attribute
  (#any-of? @_kind "spec" "impl" "deprecated" "since" "tag" "dialyzer"))
(anonymous_function) @local

(comment) @comment

((call target: (identifier) @call) (#not-any-of? @call
  "alias" "behaviour" "callback" "case" "cond" "def" "defdelegate" "defexception" "defguard" "defguardp" "defimpl" "defmacro" "defmacrop" "defmodule" "defp"
  "defprotocol" "defstruct" "derive" "describe" "doc" "enforce_keys" "fallback_to_any" "for" "if" "import" "impl" "moduledoc" "opaque" "quote" "receive" "require" "spec" "test"
  "try" "type" "typedoc" "typep" "unless" "unquote" "use" "with"))
(call target: (dot right: (identifier) @call))
(binary_operator operator: "|>" right: (identifier) @call)
(unary_operator operator: "&" operand: (binary_operator left: [(identifier) @call (call target: (dot right: (identifier) @call))]))
(unary_operator operator: "@" operand: (identifier) @other)
(alias) @type
