# Prints what zsh offers for command lines, sorted: "LINE| OFFER OFFER".
# usage: zsh -f zsh-offers.zsh FOLDER <LINES   (FOLDER: the completion function _lineburn)
# Completion needs a line editor and so a terminal: a second zsh, in a pseudo-terminal.
zmodload zsh/zpty || exit
export TERM=dumb
zpty inner "zsh -f -i"
zpty -w inner "source ${(q)0:A:h}/zsh-inner.zsh ${(q)1}"
zpty -r inner answer "*ready*" || exit
while IFS= read -r line; do
	zpty -w -n inner "$line"$'\t'
	zpty -r inner answer "*<<*>>*" || exit
	offers=(${(M)${(f)${answer//$'\r'/}}:#offer *})
	print -r -- "$line| ${(j: :)${(ou)offers[@]#offer }}"
	zpty -w -n inner $'\C-u'
done
zpty -d inner
