; JavaScript, in addition to ecmascript.scm.
(field_definition property: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @method
(field_definition property: (_) @name) @field
(class_heritage [(identifier) @base (member_expression property: (_) @base)])
