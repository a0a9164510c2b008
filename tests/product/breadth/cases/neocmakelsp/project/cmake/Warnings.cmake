# Turns on the warnings that every target must survive.
function(enable_strict_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
endfunction()

macro(print_gauge_banner text)
  message(STATUS "gauge: ${text}")
endmacro()
