; YAML: keys of mappings, not those in lists. What captures mean: src/index/extract/grammar.rs. Of several patterns for one name the first holds.

(block_mapping_pair key: (flow_node) @name) @variable
(flow_pair key: (flow_node) @name) @variable
(block_sequence) @local
(flow_sequence) @local
(comment) @comment
