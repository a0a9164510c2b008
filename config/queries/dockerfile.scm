; Dockerfiles: stages, arguments and variables of the environment. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(from_instruction as: (image_alias) @name) @module
(from_instruction (image_spec) @name) @use.declared
((arg_instruction . (arg_pair name: (_) @name)) @variable (#set! flat))
(arg_instruction (arg_pair name: (_) @name) @variable)
((env_instruction . (env_pair name: (_) @name)) @variable (#set! flat))
(env_instruction (env_pair name: (_) @name) @variable)

(comment) @comment

(from_instruction (image_spec name: (image_name) @other))
((copy_instruction (param) @other) (#match? @other "^--from="))
(expansion (variable) @other)
