# Turns warnings on for a target.
function(use_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
endfunction()
