# What zsh-offers.zsh runs in a terminal: the Tab key prints what is offered, between << and >>, and
# leaves the line as it is. $1: the folder of the completion function.
PS1=
setopt no_beep
fpath=($1 $fpath)
autoload -Uz compinit
compinit -D
# Completion functions add each offer with compadd. With -O, -A or -D they only ask which words match.
compadd() {
	local -a offers
	if [[ " ${(j: :)@[1,(i)-(|-)]} " != *" -"[OAD]" "* ]]; then
		builtin compadd -A offers "$@"
		(( ! $#offers )) || print -rl -- "offer "$^offers
	fi
	builtin compadd "$@"
}
say_offers() {
	print "<<"
	_main_complete
	print ">>"
	compstate[insert]= compstate[list]=
}
zle -C say-offers complete-word say_offers
bindkey '^I' say-offers
print rea''dy
