; Haskell. A signature and the equations that follow it are one symbol. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((header module: (module) @name) @module (#set! rest))
(import module: (module) @name) @use.declared
(import_name [(variable) (name)] @import)
(data_type name: (name) @name constructors: (_) @body) @enum
(data_type name: (name) @name) @enum
(newtype name: (name) @name constructor: (_) @body) @struct
(data_constructor constructor: (_ name: (constructor) @name)) @const
(data_constructor constructor: (infix operator: (_) @name)) @const
(gadt_constructor name: (constructor) @name) @const
(newtype_constructor name: (constructor) @name) @const
(field name: (field_name (variable) @name)) @field
(type_synonym name: (name) @name) @alias
(type_family name: (name) @name) @alias.declared
(data_family name: (name) @name) @alias.declared
(class name: (name) @name declarations: (_) @body) @trait
(class name: (name) @name) @trait
(instance name: (name) @name declarations: (_) @body) @impl
(instance name: (name) @name) @impl
(pattern_synonym (signature synonym: (constructor) @name)) @fn.declared
(foreign_import signature: (signature name: (variable) @name)) @fn.declared
(declarations (signature name: [(variable) @name (prefix_id (_) @name)]) @fn.declared)
(class_declarations (signature name: [(variable) @name (prefix_id (_) @name)]) @method.declared)
(declarations (signature names: (binding_list name: (variable) @name)) @fn.declared)
(class_declarations (signature names: (binding_list name: (variable) @name)) @method.declared)
(function name: [(variable) @name (prefix_id (_) @name)] patterns: (_) . match: (_) @body) @fn
(function (infix operator: (_) @name) . match: (_) @body) @fn
(declarations (bind name: [(variable) @name (prefix_id (_) @name)] . match: (_) @body) @fn)
(class_declarations (bind name: [(variable) @name (prefix_id (_) @name)] . match: (_) @body) @fn)
(instance_declarations (bind name: [(variable) @name (prefix_id (_) @name)] . match: (_) @body) @fn)
(local_binds) @local

(comment) @comment
(haddock) @comment
(pragma) @attribute

(deriving classes: (name) @base)
(deriving classes: (_ (name) @base))
(deriving_instance name: (name) @base)
(apply function: [(variable) @call (constructor) @call (qualified id: (_) @call)])
(infix operator: [(operator) (constructor_operator)] @other)
(infix operator: (infix_id (variable) @call))
(exp (variable) @call)
(constructor) @other
(qualified id: (variable) @other)
(apply argument: (variable) @other)
(infix left_operand: (variable) @other)
(infix right_operand: (variable) @other)
((name) @type (#not-any-of? @type "Bool" "Char" "Double" "Int" "Integer" "IO" "Maybe" "String"))
