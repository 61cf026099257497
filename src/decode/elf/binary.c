// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/binary.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/*
 * What libelf allocates (more than 0.188 and 0.192 do) for each section and each note of a
 * segment. It copies headers and notes that are not aligned.
 */
#define SECTION_HEAP_BYTES 512

static void read_heap_bytes(struct binary *b)
{
	size_t nr_sections = 0, nr_segments = 0;

	elf_getshdrnum(b->elf, &nr_sections);
	elf_getphdrnum(b->elf, &nr_segments);
	b->heap_bytes += sizeof(*b) + nr_sections * SECTION_HEAP_BYTES +
			 nr_segments * sizeof(Elf64_Phdr);
}

static void read_loads(struct binary *b)
{
	size_t nr;

	if (elf_getphdrnum(b->elf, &nr))
		return;
	for (size_t i = 0; i < nr && b->nr_loads < BINARY_MAX_LOADS; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(b->elf, (int)i, &phdr))
			return;
		if (phdr.p_type != PT_LOAD || !phdr.p_memsz)
			continue;
		/* A range that wraps around would contain every address. */
		if (phdr.p_vaddr + phdr.p_memsz < phdr.p_vaddr ||
		    phdr.p_offset + phdr.p_filesz < phdr.p_offset)
			continue;
		b->loads[b->nr_loads++] = (struct binary_load){
			.vaddr = phdr.p_vaddr,
			.file_off = phdr.p_offset,
			.file_bytes = phdr.p_filesz,
			.mem_bytes = phdr.p_memsz,
			.flags = phdr.p_flags,
		};
	}
}

/* Reads the build id from @data, if one of its notes is NT_GNU_BUILD_ID of "GNU". */
static bool take_build_id(struct binary *b, Elf_Data *data)
{
	size_t off = 0, name_off, desc_off;
	GElf_Nhdr nhdr;

	while (data && (off = gelf_getnote(data, off, &nhdr, &name_off, &desc_off))) {
		const char *bytes = data->d_buf;

		/* libelf reads the header twice, and the file may change in between. */
		if (desc_off > data->d_size || nhdr.n_descsz > data->d_size - desc_off)
			continue;
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != 4 ||
		    memcmp(bytes + name_off, "GNU", 4))
			continue;
		if (!nhdr.n_descsz || nhdr.n_descsz > sizeof(b->build_id))
			continue;
		memcpy(b->build_id, bytes + desc_off, nhdr.n_descsz);
		b->build_id_len = nhdr.n_descsz;
		return true;
	}
	return false;
}

bool binary_take_bytes(uint64_t *left, uint64_t size)
{
	if (size > *left)
		return false;
	*left -= size;
	return true;
}

/*
 * Reads note sections and note segments. A debug-only file keeps its note sections, but
 * not the bytes that its program headers point to; a file without section headers has
 * only the latter.
 */
static void read_build_id(struct binary *b)
{
	uint64_t left = b->size_bytes;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Phdr phdr;
	size_t nr;

	while ((scn = elf_nextscn(b->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    !binary_take_bytes(&left, shdr.sh_size))
			continue;
		b->heap_bytes += shdr.sh_size;
		if (take_build_id(b, elf_getdata(scn, NULL)))
			return;
	}
	if (elf_getphdrnum(b->elf, &nr))
		return;
	left = b->size_bytes;
	for (size_t i = 0; i < nr && i < UINT16_MAX; i++) {
		if (!gelf_getphdr(b->elf, (int)i, &phdr))
			return;
		if (phdr.p_type != PT_NOTE || !binary_take_bytes(&left, phdr.p_filesz))
			continue;
		b->heap_bytes += SECTION_HEAP_BYTES + phdr.p_filesz;
		/* Alignment 8 tells libelf that notes are padded to 8 bytes. */
		if (take_build_id(b,
				  elf_getdata_rawchunk(
					  b->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					  phdr.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
			return;
	}
}

/* Takes ownership of @elf, also on failure. */
static int binary_new(Elf *elf, uint64_t size_bytes, struct binary **ret)
{
	_cleanup_(binary_freep) struct binary *b = calloc(1, sizeof(*b));
	GElf_Ehdr ehdr;

	if (!b) {
		elf_end(elf);
		return -ENOMEM;
	}
	b->elf = elf;
	b->size_bytes = size_bytes;
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return -EBADMSG;
	b->machine = ehdr.e_machine;
	b->type = ehdr.e_type;
	b->is_64bit = ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	b->is_little_endian = ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
	read_heap_bytes(b);
	read_loads(b);
	read_build_id(b);
	*ret = take_ptr(b);
	return 0;
}

int binary_open(int fd, struct binary **ret)
{
	struct stat st;
	Elf *elf;

	elf_version(EV_CURRENT);
	errno = 0;
	elf = fstat(fd, &st) ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf && errno == ENOMEM) /* a file says how many sections it has */
		return -ENOMEM;
	if (elf && elf_cntl(elf, ELF_C_FDREAD)) {
		elf_end(elf);
		elf = NULL;
	}
	return elf ? binary_new(elf, (uint64_t)st.st_size, ret) : -EBADMSG;
}

int binary_open_memory(void *data, size_t len, struct binary **ret)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(data, len);
	return elf ? binary_new(elf, len, ret) : -EBADMSG;
}

void binary_free(struct binary *b)
{
	if (!b)
		return;
	if (b->elf)
		elf_end(b->elf);
	free(b);
}

/* Finds the segment that holds @at, a file offset or vaddr; executable ones first. */
static const struct binary_load *find_load(const struct binary *b, uint64_t at,
					   bool is_file_off)
{
	const struct binary_load *found = NULL;

	for (size_t i = 0; i < b->nr_loads; i++) {
		const struct binary_load *load = &b->loads[i];
		uint64_t start = is_file_off ? load->file_off : load->vaddr;
		uint64_t bytes = is_file_off ? load->file_bytes : load->mem_bytes;

		if (at >= start && at - start < bytes &&
		    (!found || (load->flags & ~found->flags & PF_X)))
			found = load;
	}
	return found;
}

bool binary_file_off_to_vaddr(const struct binary *b, uint64_t file_off,
			      uint64_t *ret_vaddr)
{
	const struct binary_load *found = find_load(b, file_off, true);

	if (found)
		*ret_vaddr = file_off - found->file_off + found->vaddr;
	return found;
}

const struct binary_load *binary_load_of(const struct binary *b, uint64_t vaddr)
{
	return find_load(b, vaddr, false);
}

const uint8_t *binary_bytes_from(const struct binary *b, uint64_t vaddr, size_t *ret_len)
{
	const struct binary_load *load = binary_load_of(b, vaddr);
	size_t file_bytes = 0;
	const char *bytes = elf_rawfile(b->elf, &file_bytes);
	uint64_t at, left;

	if (!load || !bytes || vaddr - load->vaddr >= load->file_bytes)
		return NULL;
	at = load->file_off + (vaddr - load->vaddr);
	left = load->file_bytes - (vaddr - load->vaddr);
	if (at >= file_bytes)
		return NULL;
	*ret_len = left < file_bytes - at ? left : file_bytes - at;
	return (const uint8_t *)bytes + at;
}

const uint8_t *binary_bytes_at(const struct binary *b, uint64_t vaddr, size_t len)
{
	size_t left;
	const uint8_t *bytes = binary_bytes_from(b, vaddr, &left);

	return bytes && len && len <= left ? bytes : NULL;
}

const char *binary_string(const struct binary *b, size_t section, uint64_t offset)
{
	const Elf_Data *data = binary_section_bytes(elf_getscn(b->elf, section));
	const char *texts = data ? data->d_buf : NULL;

	return data && !texts[data->d_size - 1] && offset < data->d_size ? texts + offset
									 : NULL;
}

Elf_Scn *binary_section(const struct binary *b, const char *name, GElf_Shdr *ret_shdr)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(b->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(b->elf, scn))) {
		const char *scn_name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    !shdr.sh_size)
			continue;
		scn_name = binary_string(b, names, shdr.sh_name);
		if (!scn_name || strcmp(scn_name, name))
			continue;
		if (ret_shdr)
			*ret_shdr = shdr;
		return scn;
	}
	return NULL;
}

const Elf_Data *binary_section_bytes(Elf_Scn *scn)
{
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	return data && data->d_buf && data->d_size ? data : NULL;
}

#define GNU_HEADER_BYTES 12 /* of .zdebug_*: "ZLIB", then its size, big-endian */

uint64_t binary_inflated_size(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	const Elf_Data *raw;
	GElf_Chdr chdr;
	uint64_t size = 0;

	if (shdr->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
	raw = binary_section_bytes(scn);
	if (!raw || raw->d_size < GNU_HEADER_BYTES || memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return 0;
	for (size_t i = 4; i < GNU_HEADER_BYTES; i++)
		size = size << 8 | ((const uint8_t *)raw->d_buf)[i];
	return size;
}

bool binary_inflate(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	return (shdr->sh_flags & SHF_COMPRESSED ? elf_compress(scn, 0, 0)
						: elf_compress_gnu(scn, 0, 0)) >= 0;
}

bool binary_has_debug_info(const struct binary *b)
{
	return binary_section(b, ".debug_info", NULL) ||
	       binary_section(b, ".zdebug_info", NULL);
}
