; GraphQL: schemas and documents with operations. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(schema_definition "schema" @name) @module
(object_type_definition (name) @name (fields_definition) @body) @class
(object_type_definition (name) @name) @class
(interface_type_definition (name) @name (fields_definition) @body) @interface
(interface_type_definition (name) @name) @interface
(input_object_type_definition (name) @name (input_fields_definition) @body) @struct
(enum_type_definition (name) @name (enum_values_definition) @body) @enum
(enum_value_definition (enum_value (name) @name)) @const
(union_type_definition (name) @name) @alias
; `extend schema` without braces is read as a scalar.
((scalar_type_definition (name) @name) @alias (#not-eq? @name "schema"))
(directive_definition (name) @name) @macro
(object_type_extension (name) @name (fields_definition) @body) @impl
(interface_type_extension (name) @name (fields_definition) @body) @impl
(input_object_type_extension (name) @name (input_fields_definition) @body) @impl
(enum_type_extension (name) @name (enum_values_definition) @body) @impl
(field_definition (name) @name) @field
(input_fields_definition (input_value_definition (name) @name) @field)
(operation_definition (name) @name (selection_set) @body) @fn
(fragment_definition (fragment_name (name) @name) (selection_set) @body) @fn

(comment) @comment
(description) @comment
(description) @doc

(implements_interfaces (named_type (name) @base))
(fragment_spread (fragment_name (name) @call))
(directive (name) @call)
(field (name) @other)
(value (enum_value (name) @other))
((named_type (name) @type) (#not-any-of? @type "Boolean" "Float" "ID" "Int" "String"))
