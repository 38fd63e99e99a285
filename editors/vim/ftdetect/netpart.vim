" Jobs of netpart: text messages of protobuf, and .conf files with a net.
autocmd BufRead,BufNewFile *.textproto,*.pbtxt setfiletype netpart
autocmd BufRead *.conf if search('^\s*neuralnet\s*:\?\s*[{<]', 'nw') | setlocal filetype=netpart | endif
