// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A script has fixed functions, which find the command and the option whose value is
 * typed, and parts made from the tables: commands, options, descriptions, values.
 */
#include "cli/completion.h"

#include <string.h>

#include "base/cleanup.h"

/* What a shell offers for a word. */
enum offer {
	OFFER_NOTHING,
	OFFER_WORDS, /* those of the table */
	OFFER_FILES,
	OFFER_FOLDERS,
	OFFER_PIDS,
	OFFER_PROFILES, /* files, profiles first */
	OFFER_COMMANDS, /* a command, then what that command's completion offers */
};

static enum offer offer_of_option(const struct option_row *row,
				  const struct command_row *c)
{
	static const struct {
		const char *arg;
		enum offer offer;
	} offers[] = {
		{"FILE", OFFER_FILES},     {"SUFFIX", OFFER_FILES},
		{"DIR", OFFER_FOLDERS},    {"VENV", OFFER_FOLDERS},
		{"CGROUP", OFFER_FOLDERS},
	};

	if (option_word(row, c->name, 0))
		return OFFER_WORDS;
	/* The processes of a profile may have ended long ago. */
	if (!strcmp(row->arg, "PID"))
		return c->command == COMMAND_RECORD || c->command == COMMAND_TOP
			       ? OFFER_PIDS
			       : OFFER_NOTHING;
	for (size_t i = 0; i < ARRAY_SIZE(offers); i++)
		if (!strcmp(row->arg, offers[i].arg))
			return offers[i].offer;
	return OFFER_NOTHING;
}

static enum offer offer_of_command(const struct command_row *c)
{
	static const enum offer offers[] = {
		[TAKES_PROFILES] = OFFER_PROFILES,
		[TAKES_NOTHING] = OFFER_NOTHING,
		[TAKES_COMMAND] = OFFER_COMMANDS,
		[TAKES_SHELL] = OFFER_WORDS,
	};

	return offers[c->takes];
}

/* Does the next word belong to the option? */
static bool needs_value(const struct option_row *row)
{
	return row->arg && row->arg[0] != '[';
}

/* Returns the first row from @row on that the command takes; NULL: there is none. */
static const struct option_row *row_from(const struct option_row *row,
					 const struct command_row *c)
{
	while (row->name && !(row->on & 1U << c->command))
		row++;
	return row->name ? row : NULL;
}

/* Prints "a b c": words of the option, or, if it is NULL, of the command. */
static void put_words(FILE *out, const struct command_row *c,
		      const struct option_row *row)
{
	const char *word;

	for (size_t i = 0;; i++) {
		if (row)
			word = option_word(row, c->name, i);
		else
			word = i < NR_SHELLS ? shell_names[i] : NULL;
		if (!word)
			return;
		fprintf(out, "%s%s", i ? " " : "", word);
	}
}

/*
 * Prints the rest of a text within single quotes: @quote instead of a single quote, a
 * backslash before each character of @special.
 */
static void put_quoted(FILE *out, const char *text, const char *quote,
		       const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* ---- bash ---- */

static const char bash_head[] =
	"# Completion of lineburn in bash, printed by \"lineburn completion bash\".\n"
	"\n"
	"# Sets options and arguments to what COMMAND takes, and value to what OPTION "
	"takes\n"
	"# as its value: words or one of the kinds of _lineburn_offer; empty: nothing.\n"
	"_lineburn_option() # COMMAND OPTION\n"
	"{\n"
	"\toptions= arguments= value=\n"
	"\tcase $1 in\n";

static const char bash_tail[] =
	"\tesac\n"
	"}\n"
	"\n"
	"_lineburn_offer() # WORDS-OR-KIND PREFIX\n"
	"{\n"
	"\tcase $1 in\n"
	"\t'<any>' | '') return ;;\n"
	"\t'<files>') mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
	"\t'<folders>') mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
	"\t'<profiles>')\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -X '!*.pb.gz' -- \"$2\"; compgen -d -- "
	"\"$2\")\n"
	"\t\t((${#COMPREPLY[@]})) || _lineburn_offer '<files>' \"$2\"\n"
	"\t\t;;\n"
	"\t'<pids>') mapfile -t COMPREPLY < <(compgen -W \"$(cd /proc && echo [0-9]*)\" "
	"-- \"$2\") ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\") ;;\n"
	"\tesac\n"
	"\t[[ $1 != '<'* ]] || compopt -o filenames 2>/dev/null\n"
	"}\n"
	"\n"
	"# The command that run starts, which is word NUMBER, or its arguments.\n"
	"_lineburn_run() # NUMBER\n"
	"{\n"
	"\tif declare -F _comp_command_offset >/dev/null; then\n"
	"\t\t_comp_command_offset \"$1\"\n"
	"\telif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD > $1)); then\n"
	"\t\t_lineburn_offer '<files>' \"${COMP_WORDS[COMP_CWORD]}\"\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_lineburn()\n"
	"{\n"
	"\tlocal IFS=$' \\t\\n' word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
	"\tlocal i=2 first=0 options arguments value\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD < 2)); then\n"
	"\t\t_lineburn_option '' ''\n"
	"\t\t_lineburn_offer \"$options\" \"$word\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# Find the option whose value is typed, or the first word after all options.\n"
	"\twhile ((i < COMP_CWORD && !first)); do\n"
	"\t\t_lineburn_option \"$command\" \"${COMP_WORDS[i]}\"\n"
	"\t\tcase ${COMP_WORDS[i++]} in\n"
	"\t\t--) first=$i ;;\n"
	"\t\t-*)\n"
	"\t\t\t# Bash splits --option=value at the sign.\n"
	"\t\t\tif [[ ${COMP_WORDS[i]} == = ]]; then\n"
	"\t\t\t\t((i += 2))\n"
	"\t\t\telif [[ $value ]]; then\n"
	"\t\t\t\t((i++))\n"
	"\t\t\tfi\n"
	"\t\t\t;;\n"
	"\t\t*) [[ $arguments != '<commands>' ]] || first=$((i - 1)) ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tif ((i > COMP_CWORD)); then\n"
	"\t\t[[ $word != = ]] || word=\n"
	"\t\t_lineburn_offer \"$value\" \"$word\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_lineburn_option \"$command\" ''\n"
	"\tif ((!first)) && [[ $word == -* || ! $arguments ]]; then\n"
	"\t\t_lineburn_offer \"$options\" \"$word\"\n"
	"\telif [[ $arguments == '<commands>' ]]; then\n"
	"\t\t_lineburn_run \"$((first ? first : i))\"\n"
	"\telse\n"
	"\t\t_lineburn_offer \"$arguments\" \"$word\"\n"
	"\tfi\n"
	"}\n"
	"complete -F _lineburn lineburn\n";

static void put_bash_offer(FILE *out, enum offer offer, const struct command_row *c,
			   const struct option_row *row)
{
	static const char *const kinds[] = {
		[OFFER_NOTHING] = "<any>",       [OFFER_FILES] = "<files>",
		[OFFER_FOLDERS] = "<folders>",   [OFFER_PIDS] = "<pids>",
		[OFFER_PROFILES] = "<profiles>", [OFFER_COMMANDS] = "<commands>",
	};

	fputc('\'', out);
	if (offer == OFFER_WORDS)
		put_words(out, c, row);
	else
		fputs(kinds[offer], out);
	fputs("'", out);
}

static void put_bash_command(FILE *out, const struct command_row *c)
{
	const struct option_row *row;

	fprintf(out, "\t%s)\n\t\toptions='", c->name);
	for (row = row_from(option_rows, c); row; row = row_from(row + 1, c)) {
		if (row->letter)
			fprintf(out, "-%c ", row->letter);
		fprintf(out, "--%s%s", row->name, row_from(row + 1, c) ? " " : "");
	}
	fputs("'\n", out);
	if (c->takes != TAKES_NOTHING) {
		fputs("\t\targuments=", out);
		put_bash_offer(out, offer_of_command(c), c, NULL);
		fputc('\n', out);
	}
	fputs("\t\tcase $2 in\n", out);
	for (row = row_from(option_rows, c); row; row = row_from(row + 1, c)) {
		if (!needs_value(row))
			continue;
		fputs("\t\t", out);
		if (row->letter)
			fprintf(out, "-%c | ", row->letter);
		fprintf(out, "--%s) value=", row->name);
		put_bash_offer(out, offer_of_option(row, c), c, row);
		fputs(" ;;\n", out);
	}
	fputs("\t\tesac\n\t\t;;\n", out);
}

static void print_bash(FILE *out)
{
	fputs(bash_head, out);
	fputs("\t'') options='", out);
	for (size_t i = 0; i < nr_command_rows; i++)
		fprintf(out, "%s ", command_rows[i].name);
	fputs("--help --version' ;;\n", out);
	for (size_t i = 0; i < nr_command_rows; i++)
		put_bash_command(out, &command_rows[i]);
	fputs(bash_tail, out);
}

/* ---- zsh ---- */

#define ZSH_QUOTE "'\\''"

static const char zsh_head[] =
	"#compdef lineburn\n"
	"# Completion of lineburn in zsh, printed by \"lineburn completion zsh\".\n"
	"\n"
	"_lineburn() {\n"
	"\tlocal curcontext=$curcontext state line\n"
	"\tlocal -a names\n"
	"\n"
	"\tif (( CURRENT > 2 )); then\n"
	"\t\tshift words\n"
	"\t\t(( CURRENT-- ))\n"
	"\t\tcurcontext=${curcontext%:*}-$words[1]:\n"
	"\t\t_lineburn_command\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_arguments \\\n"
	"\t\t'(- *)'{-h,--help}'[list the commands]' \\\n"
	"\t\t'(- *)'{-V,--version}'[print the version]' \\\n"
	"\t\t'1: :->command' && return\n"
	"\t[[ $state == command ]] || return\n"
	"\tnames=(\n";

static const char zsh_names_end[] = "\t)\n"
				    "\t_describe -t commands command names\n"
				    "}\n"
				    "\n"
				    "_lineburn_command() {\n"
				    "\tcase $words[1] in\n";

static const char zsh_tail[] =
	"\tesac\n"
	"}\n"
	"\n"
	"# As a file of fpath this is the function itself; otherwise it is sourced.\n"
	"if [[ $funcstack[1] == _lineburn ]]; then\n"
	"\t_lineburn \"$@\"\n"
	"else\n"
	"\tcompdef _lineburn lineburn\n"
	"fi\n";

static void put_zsh_offer(FILE *out, enum offer offer, const struct command_row *c,
			  const struct option_row *row)
{
	static const char *const actions[] = {
		[OFFER_NOTHING] = " ",
		[OFFER_FILES] = "_files",
		[OFFER_FOLDERS] = "_files -/",
		[OFFER_PIDS] = "_pids",
		[OFFER_PROFILES] = "_files -g \"*.pb.gz(-.)\"",
		[OFFER_COMMANDS] = " _command_names -e",
	};

	if (offer == OFFER_WORDS) {
		fputc('(', out);
		put_words(out, c, row);
		fputc(')', out);
	} else {
		fputs(actions[offer], out);
	}
}

/* '*'{-F+,--frequency=}'[samples a second]:HZ: ' */
static void put_zsh_option(FILE *out, const struct command_row *c,
			   const struct option_row *row)
{
	const char *value = !row->arg ? "" : needs_value(row) ? "=" : "=-";
	const char *arg = row->arg ? row->arg + strspn(row->arg, "[=") : "";

	fputs(" \\\n\t\t\t'*'", out);
	if (row->letter)
		fprintf(out, "{-%c%s,--%s%s}'[", row->letter, row->arg ? "+" : "",
			row->name, value);
	else
		fprintf(out, "--%s%s'[", row->name, value);
	put_quoted(out, row->help, ZSH_QUOTE, "[]\\");
	fputc(']', out);
	if (row->arg) {
		fprintf(out,
			"%s%.*s:", needs_value(row) ? ":" : "::", (int)strcspn(arg, "]"),
			arg);
		put_zsh_offer(out, offer_of_option(row, c), c, row);
	}
	fputc('\'', out);
}

static void put_zsh_command(FILE *out, const struct command_row *c)
{
	static const char *const specs[] = {
		[TAKES_PROFILES] = "*:profile:",
		[TAKES_COMMAND] = "(-)1:command:",
		[TAKES_SHELL] = "1:shell:",
	};
	bool runs = c->takes == TAKES_COMMAND;

	fprintf(out, "\t%s)\n", c->name);
	/* With "--" as the first word, zsh offers no options of the command to run. */
	if (runs)
		fputs("\t\t(( CURRENT == 2 )) || [[ $words[2] != -- ]] ||\n"
		      "\t\t\t{ words[2]=(); (( CURRENT-- )) }\n",
		      out);
	fprintf(out, "\t\t_arguments -s -S%s", runs ? " -A '-*'" : "");
	for (const struct option_row *row = row_from(option_rows, c); row;
	     row = row_from(row + 1, c))
		put_zsh_option(out, c, row);
	if (c->takes != TAKES_NOTHING) {
		fprintf(out, " \\\n\t\t\t'%s", specs[c->takes]);
		put_zsh_offer(out, offer_of_command(c), c, NULL);
		fprintf(out, "'%s", runs ? " '*::argument:_normal'" : "");
	}
	fputs("\n\t\t;;\n", out);
}

static void print_zsh(FILE *out)
{
	fputs(zsh_head, out);
	for (size_t i = 0; i < nr_command_rows; i++) {
		fprintf(out, "\t\t'%s:", command_rows[i].name);
		put_quoted(out, command_rows[i].help, ZSH_QUOTE, "\\");
		fputs("'\n", out);
	}
	fputs(zsh_names_end, out);
	for (size_t i = 0; i < nr_command_rows; i++)
		put_zsh_command(out, &command_rows[i]);
	fputs(zsh_tail, out);
}

/* ---- fish ---- */

static const char fish_head[] =
	"# Completion of lineburn in fish, printed by \"lineburn completion fish\".\n"
	"\n"
	"# Prints the command that \"lineburn run\" starts and its arguments, without "
	"the word\n"
	"# that is typed. Fails if the command is not complete yet.\n"
	"function __lineburn_program\n"
	"    set -l words (commandline -opc)\n"
	"    set -l i 3\n"
	"    test \"$words[2]\" = run; or return\n"
	"    while test $i -le (count $words)\n"
	"        switch $words[$i]\n"
	"            case --\n"
	"                set i (math $i + 1)\n"
	"                break\n"
	"            case";

static const char fish_valued_end[] =
	"\n"
	"                set i (math $i + 2)\n"
	"            case '-*'\n"
	"                set i (math $i + 1)\n"
	"            case '*'\n"
	"                break\n"
	"        end\n"
	"    end\n"
	"    test $i -le (count $words); and printf '%s\\n' $words[$i..-1]\n"
	"end\n"
	"\n"
	"# Completes that command or its next argument.\n"
	"function __lineburn_complete_program\n"
	"    complete -C (string join ' ' -- (__lineburn_program | string escape) "
	"(commandline -ct))\n"
	"end\n"
	"\n"
	"# Is this the command, and are its own options and arguments next?\n"
	"function __lineburn_at\n"
	"    set -l words (commandline -opc)\n"
	"    test \"$words[2]\" = \"$argv[1]\"; and not __lineburn_program >/dev/null\n"
	"end\n"
	"\n"
	"# Is it, and is the word that is typed no option?\n"
	"function __lineburn_argument\n"
	"    __lineburn_at $argv[1]; and not string match -q -- '-*' (commandline -ct)\n"
	"end\n"
	"\n"
	"complete -c lineburn -f\n"
	"complete -c lineburn -n '__lineburn_at \"\"' -s h -l help -d 'list the "
	"commands'\n"
	"complete -c lineburn -n '__lineburn_at \"\"' -s V -l version -d 'print the "
	"version'\n"
	"complete -c lineburn -n __lineburn_program -a '(__lineburn_complete_program)'\n";

static void put_fish_description(FILE *out, const char *help)
{
	fputs(" -d '", out);
	put_quoted(out, help, "\\'", "\\");
	fputs("'\n", out);
}

static void put_fish_offer(FILE *out, enum offer offer, const struct command_row *c,
			   const struct option_row *row)
{
	static const char *const offers[] = {
		[OFFER_NOTHING] = "",
		[OFFER_FILES] = " -F",
		[OFFER_FOLDERS] = " -a '(__fish_complete_directories)'",
		[OFFER_PIDS] = " -a '(__fish_complete_pids)'",
		[OFFER_PROFILES] = " -k -a '(__fish_complete_suffix .pb.gz)'",
		[OFFER_COMMANDS] = " -a '(__lineburn_complete_program)'",
	};

	if (offer != OFFER_WORDS) {
		fputs(offers[offer], out);
		return;
	}
	fputs(" -a '", out);
	put_words(out, c, row);
	fputc('\'', out);
}

static void put_fish_command(FILE *out, const struct command_row *c)
{
	fprintf(out, "\ncomplete -c lineburn -n '__lineburn_at \"\"' -a %s", c->name);
	put_fish_description(out, c->help);
	for (const struct option_row *row = row_from(option_rows, c); row;
	     row = row_from(row + 1, c)) {
		fprintf(out, "complete -c lineburn -n '__lineburn_at %s'", c->name);
		if (row->letter)
			fprintf(out, " -s %c", row->letter);
		fprintf(out, " -l %s", row->name);
		if (needs_value(row)) {
			fputs(offer_of_option(row, c) == OFFER_FILES ? " -r" : " -x",
			      out);
			put_fish_offer(out, offer_of_option(row, c), c, row);
		}
		put_fish_description(out, row->help);
	}
	if (c->takes == TAKES_NOTHING)
		return;
	fprintf(out, "complete -c lineburn -n '__lineburn_argument %s'", c->name);
	put_fish_offer(out, offer_of_command(c), c, NULL);
	fputc('\n', out);
}

static void print_fish(FILE *out)
{
	const struct option_row *row;

	fputs(fish_head, out);
	for (size_t i = 0; i < nr_command_rows; i++) {
		if (command_rows[i].takes != TAKES_COMMAND)
			continue;
		for (row = row_from(option_rows, &command_rows[i]); row;
		     row = row_from(row + 1, &command_rows[i])) {
			if (needs_value(row) && row->letter)
				fprintf(out, " -%c", row->letter);
			if (needs_value(row))
				fprintf(out, " --%s", row->name);
		}
	}
	fputs(fish_valued_end, out);
	for (size_t i = 0; i < nr_command_rows; i++)
		put_fish_command(out, &command_rows[i]);
}

void completion_print(enum shell shell, FILE *out)
{
	static void (*const printers[])(FILE *) = {
		[SHELL_BASH] = print_bash,
		[SHELL_ZSH] = print_zsh,
		[SHELL_FISH] = print_fish,
	};
	_Static_assert(ARRAY_SIZE(printers) == NR_SHELLS, "one for each");

	printers[shell](out);
}
