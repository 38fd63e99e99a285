" gg=G lays out the whole job as netpart does; K on a word shows what it means.
setlocal commentstring=#\ %s comments=b:# expandtab shiftwidth=2 softtabstop=2 textwidth=120
setlocal equalprg=netpart\ fmt\ - keywordprg=netpart\ fields
let b:undo_ftplugin = 'setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< textwidth< equalprg< keywordprg<'
