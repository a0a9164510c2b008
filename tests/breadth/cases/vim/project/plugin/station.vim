" Commands of the weather station.
let g:station_path = expand('~/station.txt')

function! s:show() abort
  echo station#format(station#read(g:station_path))
endfunction

command! Weather call s:show()
