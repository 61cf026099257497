// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/numba/name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define MAX_DEPTH  32 /* nested types; deeper ones are not parsed */
#define MAX_TYPES  256 /* arguments; more are not parsed */
#define MAX_SYMBOL (64u << 10) /* bytes; class types make long symbols */
#define DYNAMIC    "<dynamic>" /* module of functions without a file */
#define ARRAY_EXPR "__numba_array_expr_"
#define JIT_WRAPS  "jit_wrapper__"

/* ---- text ---- */

struct name_text {
	char *buf;
	size_t size, len; /* len < size */
	bool is_full; /* something was dropped, so all that follows is */
};

static void text_add_n(struct name_text *t, const char *s, size_t len)
{
	size_t room = t->is_full ? 0 : t->size - 1 - t->len;

	if (len > room) {
		t->is_full = true;
		len = room;
		/* Do not split a UTF-8 character. */
		while (len && ((unsigned char)s[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(t->buf + t->len, s, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

static void text_add(struct name_text *t, const char *s)
{
	text_add_n(t, s, strlen(s));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "_xx" at @s stands for, or -1. */
static int escaped_byte(const char *s, size_t len)
{
	if (len < 3 || s[0] != '_' || hex_digit(s[1]) < 0 || hex_digit(s[2]) < 0)
		return -1;
	return 16 * hex_digit(s[1]) + hex_digit(s[2]);
}

/* Length of the UTF-8 character with this first byte; 0: not a first byte. */
static size_t utf8_len(int first)
{
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Adds the escaped non-ASCII character at @s. Return: bytes of @s read, 0: none. */
static size_t add_utf8(struct name_text *t, const char *s, size_t len)
{
	char bytes[4];
	size_t nr = utf8_len(escaped_byte(s, len));

	for (size_t i = 0; i < nr; i++) {
		int byte = 3 * i < len ? escaped_byte(s + 3 * i, len - 3 * i) : -1;

		if (byte < 0 || (i && (byte & 0xc0) != 0x80))
			return 0;
		bytes[i] = (char)byte;
	}
	text_add_n(t, bytes, nr);
	return 3 * nr;
}

/* Return: where the next ">" begins; @len: there is none. */
static size_t find_closing(const char *s, size_t from, size_t len)
{
	const char *at = memmem(s + from, len - from, "_3e", 3);

	return at ? (size_t)(at - s) : len;
}

/*
 * Adds @s with its escapes decoded.
 * @type  the name of a type, in which any character may be escaped. In function names,
 * only "<locals>" and the like, and non-ASCII letters, are decoded: "_24h" is more
 * often part of the name.
 */
static void add_unescaped(struct name_text *t, const char *s, size_t len, bool type)
{
	size_t closing = 0; /* the first "_3e" from here on; @len: there is none */
	bool open = false;

	for (size_t i = 0, n; i < len && !t->is_full; i += n) {
		int byte = escaped_byte(s + i, len - i);
		bool meant;

		n = add_utf8(t, s + i, len - i);
		if (n)
			continue;
		if (byte == '<' && !type) {
			if (closing < i + 3)
				closing = find_closing(s, i + 3, len);
			open = meant = closing < len;
		} else if (byte == '>' && !type) {
			meant = open;
		} else {
			meant = type && byte >= ' ' && byte < 0x7f && !isalnum(byte) &&
				byte != '_';
		}
		n = meant ? 3 : 1;
		text_add_n(t, meant ? &(char){(char)byte} : s + i, 1);
	}
}

/* ---- identifiers ---- */

/* Reads "<length><text>". Return: false, with *p unchanged, when there is none. */
static bool read_ident(const char **p, const char **ret, size_t *ret_len)
{
	const char *s = *p;
	size_t len = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		len = 10 * len + (size_t)(*s - '0');
		if (len > 65536)
			return false;
		if (!len) /* empty: the digits after it belong to the next identifier */
			break;
	}
	if (!len && *s == '0')
		s++;
	if (strnlen(s, len) < len)
		return false;
	*ret = s;
	*ret_len = len;
	*p = s + len;
	return true;
}

static bool read_type(const char **p, struct name_text *t, unsigned int depth);

/* Skips "I ... E". */
static bool skip_template(const char **p, unsigned int depth)
{
	char scratch[2];
	struct name_text nowhere = {.buf = scratch, .size = sizeof(scratch)};

	(*p)++;
	while (**p != 'E')
		if (!read_type(p, &nowhere, depth + 1))
			return false;
	(*p)++;
	return true;
}

/* Skips any number of "B<length><text>". Return: is one of them a uid, as "v12"? */
static bool skip_tags(const char **p)
{
	bool uid = false;
	const char *tag;
	size_t len;

	while (**p == 'B') {
		const char *at = *p + 1;

		if (!read_ident(&at, &tag, &len))
			break;
		*p = at;
		uid |= len > 1 && tag[0] == 'v' &&
		       strspn(tag + 1, "0123456789") >= len - 1;
	}
	return uid;
}

/* ---- types ---- */

static const char *builtin_type(const char **p)
{
	static const struct {
		char code;
		const char *name;
	} types[] = {
		{'v', "none"},   {'b', "bool"},  {'h', "uint8"},   {'a', "int8"},
		{'t', "uint16"}, {'s', "int16"}, {'j', "uint32"},  {'i', "int32"},
		{'y', "uint64"}, {'x', "int64"}, {'f', "float32"}, {'d', "float64"},
	};

	if ((*p)[0] == 'D' && (*p)[1] == 'h') {
		*p += 2;
		return "float16";
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].code == **p) {
			(*p)++;
			return types[i].name;
		}
	return NULL;
}

/* Reads a number: "Li2E". */
static bool read_literal(const char **p, struct name_text *t)
{
	const char *s;
	size_t len;

	if ((*p)[1] != 'i')
		return false;
	s = *p + 2;
	len = *s == '-' ? 1 : 0;
	while (isdigit((unsigned char)s[len]))
		len++;
	if (!len || s[len] != 'E')
		return false;
	text_add_n(t, s, len);
	*p = s + len + 1;
	return true;
}

/* Reads the types up to the E; adds them separated by commas. */
static bool read_params(const char **p, struct name_text *t, unsigned int depth)
{
	for (bool first = true; **p != 'E'; first = false) {
		if (!first)
			text_add(t, ", ");
		if (!read_type(p, t, depth + 1))
			return false;
	}
	(*p)++;
	return true;
}

/*
 * Reads the part of "5ArrayIhLi2E1C7mutable7alignedE" after the I: "array(uint8, 2d,
 * C)".
 */
static bool read_array(const char **p, struct name_text *t, unsigned int depth)
{
	char rest[64];
	struct name_text r = {.buf = rest, .size = sizeof(rest)};

	text_add(t, "array(");
	if (!read_type(p, t, depth + 1))
		return false;
	text_add(t, ", ");
	if (!read_type(p, t, depth + 1))
		return false;
	text_add(t, "d, ");
	if (!read_type(p, t, depth + 1))
		return false;
	rest[0] = '\0';
	if (!read_params(p, &r, depth))
		return false;
	if (strstr(rest, "readonly"))
		text_add(t, ", readonly");
	if (strstr(rest, "nonaligned"))
		text_add(t, ", nonaligned");
	text_add(t, ")");
	return true;
}

static bool read_named_type(const char **p, struct name_text *t, unsigned int depth)
{
	bool nested = **p == 'N', first = true;
	const char *ident = "";
	size_t len = 0;

	*p += nested;
	do {
		if (!read_ident(p, &ident, &len))
			return !first && nested && *(*p)++ == 'E';
		if (!first)
			text_add(t, ".");
		if (**p == 'I' && len == 5 && !memcmp(ident, "Array", 5)) {
			(*p)++;
			return read_array(p, t, depth) && (!nested || *(*p)++ == 'E');
		}
		add_unescaped(t, ident, len, true);
		first = false;
		if (**p == 'I') {
			(*p)++;
			text_add(t, "(");
			if (!read_params(p, t, depth))
				return false;
			text_add(t, ")");
		}
	} while (nested && **p != 'E' && **p);
	if (nested && *(*p)++ != 'E')
		return false;
	return true;
}

static bool read_type(const char **p, struct name_text *t, unsigned int depth)
{
	const char *name;

	if (depth > MAX_DEPTH || !**p)
		return false;
	if (**p == 'L')
		return read_literal(p, t);
	if (**p == 'N' || isdigit((unsigned char)**p))
		return read_named_type(p, t, depth);
	name = builtin_type(p);
	if (!name)
		return false;
	text_add(t, name);
	return true;
}

/* ---- symbols ---- */

static bool skip(const char **p, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(*p, prefix, len))
		return false;
	*p += len;
	return true;
}

/* Skips the prefix of the mangled name, which tells the role. */
static enum numba_role read_role(const char **p)
{
	enum numba_role role = NUMBA_FUNCTION;

	if (skip(p, ".kernel.")) { /* an address, and "_" */
		*p += strspn(*p, "0123456789");
		*p += **p == '_';
	}
	if (skip(p, "cfunc."))
		role = NUMBA_FROM_C;
	else if (skip(p, "__gufunc__."))
		role = NUMBA_GUFUNC;
	else if (skip(p, "__ufunc__."))
		role = NUMBA_UFUNC;
	else if (skip(p, "finalize_"))
		role = NUMBA_FINALIZER;
	return role;
}

static bool is_generator_next(const char *ident, size_t len, const char *types)
{
	return len == 4 && *types == 'E' && !memcmp(ident, "next", 4) &&
	       strstr(types, "generator_28func_3d");
}

/* Reads the identifiers of a name, up to its tags. */
static bool read_path(const char **p, bool nested, struct numba_name *ret)
{
	struct name_text t = {.buf = ret->path, .size = sizeof(ret->path)};
	const char *ident;
	size_t len;

	ret->path[0] = '\0';
	if (nested && ret->role == NUMBA_FUNCTION && skip(p, "7cpython"))
		ret->role = NUMBA_FROM_PYTHON;
	do {
		if (!read_ident(p, &ident, &len))
			return t.len > 0;
		if (is_generator_next(ident, len, *p) && t.len)
			continue; /* the generator's body: it is the user's function */
		if (t.len)
			text_add(&t, ".");
		add_unescaped(&t, ident, len, false);
	} while (nested);
	return true;
}

bool numba_name_parse(const char *symbol, struct numba_name *ret)
{
	const char *p = symbol;
	bool nested;

	ret->role = read_role(&p);
	ret->certain = ret->role != NUMBA_FUNCTION;
	if (!skip(&p, "_Z") || strnlen(p, MAX_SYMBOL) == MAX_SYMBOL)
		return false;
	nested = skip(&p, "N");
	if (!read_path(&p, nested, ret))
		return false;
	if (ret->role == NUMBA_FROM_PYTHON)
		ret->certain = true;
	if (*p == 'I' && !skip_template(&p, 0))
		return false;
	ret->certain |= skip_tags(&p);
	if (nested && *p++ != 'E')
		return false;
	ret->certain |= skip_tags(&p); /* a wrapper of a function without module */
	ret->types = p;
	/* Functions without a module are named "<dynamic>.f"; keep only "f". */
	if (!strncmp(ret->path, DYNAMIC ".", sizeof(DYNAMIC)))
		memmove(ret->path, ret->path + sizeof(DYNAMIC),
			strlen(ret->path + sizeof(DYNAMIC)) + 1);
	return true;
}

const char *numba_name_text(const struct numba_name *name, char *buf, size_t size)
{
	static const char *const suffixes[] = {
		[NUMBA_FUNCTION] = "",
		[NUMBA_FROM_PYTHON] = " (call from Python)",
		[NUMBA_FROM_C] = " (call from C)",
		[NUMBA_UFUNC] = " (ufunc loop)",
		[NUMBA_GUFUNC] = " (gufunc loop)",
		[NUMBA_FINALIZER] = " (finalizer)",
	};
	struct name_text t = {.buf = buf, .size = size};

	buf[0] = '\0';
	text_add(&t, name->path);
	text_add(&t, suffixes[name->role]);
	return buf;
}

/* Adds the types of the arguments. Return: their number; -1: they cannot be parsed. */
static int read_args(const char *symbol, struct name_text *t)
{
	struct numba_name name;
	const char *p;
	int nr = 0;

	if (!numba_name_parse(symbol, &name))
		return -1;
	for (p = name.types; *p; nr++) {
		if (nr)
			text_add(t, ", ");
		if (nr == MAX_TYPES || !read_type(&p, t, 0))
			return -1;
	}
	return nr;
}

const char *numba_name_types(const char *symbol, char *buf, size_t size)
{
	struct name_text t = {.buf = buf, .size = size};

	text_add(&t, "(");
	if (read_args(symbol, &t) < 0)
		buf[0] = '\0';
	else
		text_add(&t, ")");
	return buf;
}

int numba_name_nr_args(const char *symbol)
{
	char scratch[2];
	struct name_text nowhere = {.buf = scratch, .size = sizeof(scratch)};

	return read_args(symbol, &nowhere);
}

const char *numba_name_parfor(const char *symbol)
{
	return strstr(symbol, NUMBA_PARFOR);
}

bool numba_name_is_generated(const char *function)
{
	return strstr(function, NUMBA_PARFOR) || strstr(function, ARRAY_EXPR) ||
	       strstr(function, JIT_WRAPS);
}

const char *numba_name_generated(const char *function, const char *prange, char *buf,
				 size_t size)
{
	/* "jit_wrapper__function_round__at_0x7f8f7a3fb250_", "jit_wrapper__sum_" */
	static const char *const before[] = {"built_in_", "function_"};
	struct name_text t = {.buf = buf, .size = size};
	const char *wrapped = strstr(function, JIT_WRAPS), *end;

	buf[0] = '\0';
	if (numba_name_parfor(function)) {
		text_add(&t, prange);
	} else if (wrapped) {
		wrapped += strlen(JIT_WRAPS);
		for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
			skip(&wrapped, before[i]);
		end = strstr(wrapped, "__at_0x");
		text_add(&t, "wrapper of ");
		text_add_n(&t, wrapped,
			   end ? (size_t)(end - wrapped)
			       : strspn(wrapped, "abcdefghijklmnopqrstuvwxyz_"));
	} else {
		text_add(&t, "array expression");
	}
	return buf;
}
