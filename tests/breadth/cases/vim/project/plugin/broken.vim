function! s:broken() abort
  if g:station_path == ''
    echo 'no station'
endfunction
