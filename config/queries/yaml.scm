; YAML: keys of mappings, not those in lists. Captures are described in src/index/extract/grammar.rs. If several patterns match one name, the first one wins.

(block_mapping_pair key: (flow_node) @name) @variable
(flow_pair key: (flow_node) @name) @variable
(block_sequence) @local
(flow_sequence) @local
(comment) @comment
