" Warns when it is hot.
function! s:check(timer) abort
  let l:now = station#read(g:station_path)
  if l:now > 35.0
    echomsg 'Hot: ' . station#format(l:now)
  endif
endfunction

call timer_start(60000, function('s:check'))
