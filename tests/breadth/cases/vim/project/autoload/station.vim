" A weather station in the status line.
function! station#format(celsius) abort
  return printf('%.1f degrees', a:celsius)
endfunction

function! station#read(path) abort
  let l:lines = readfile(a:path)
  return str2float(l:lines[0])
endfunction
