; Protocol Buffers. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

((package (full_ident) @name) @module (#set! rest))
(import path: (_) @name) @use.declared
(message (message_name (identifier) @name) (message_body) @body) @struct
(group (message_name (identifier) @name) (message_body) @body) @struct
(field (identifier) @name) @field
(map_field (identifier) @name) @field
(oneof (identifier) @name) @field
(oneof_field (identifier) @name) @field
(enum (enum_name (identifier) @name) (enum_body) @body) @enum
(enum_field (identifier) @name) @const
(service (service_name (identifier) @name) "{" @body) @interface
(rpc (rpc_name (identifier) @name) "{" @body) @method
(rpc (rpc_name (identifier) @name)) @method
(extend (full_ident) @name (message_body) @body) @impl

(comment) @comment

(message_or_enum_type (identifier) @type .)
