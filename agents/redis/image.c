/* Finds functions and pointers in the main program by what the loader itself uses: program headers and
 * the dynamic section. See image.h; nothing here changes code. */
#define _GNU_SOURCE
#include "image.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

struct code program_code = {.file = -1};

static ElfW(Addr) base;
static const ElfW(Dyn) *dynamic;
static void *program_handle;

reason reason_of(const char *format, ...)
{
    static char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

/* The first object is the main program. */
static int read_headers(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(base + header->p_vaddr);
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || program_code.begin)
            continue;
        uintptr_t begin = (base + header->p_vaddr) & ~(PAGE - 1);
        program_code.begin = (uint8_t *)begin;
        program_code.end = (uint8_t *)(base + header->p_vaddr + header->p_filesz);
        program_code.offset = header->p_offset & ~(PAGE - 1);
    }
    return 1;
}

reason image_open(void)
{
    dl_iterate_phdr(read_headers, NULL);
    if (!program_code.begin || !dynamic)
        return "the program is not dynamically linked";
    program_handle = dlopen(NULL, RTLD_NOW);
    program_code.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (program_code.file < 0)
        return reason_of("/proc/self/exe cannot be opened: %s", strerror(errno));
    return NULL;
}

void image_close(void)
{
    if (program_code.file >= 0)
        close(program_code.file);
    program_code.file = -1;
}

uint8_t *image_function(const char *name, size_t *size)
{
    Dl_info where;
    const ElfW(Sym) *symbol = NULL;
    uint8_t *function = dlsym(program_handle, name);
    if (!function || function < program_code.begin || function >= program_code.end)
        return NULL;
    if (!dladdr1(function, &where, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return NULL;
    if (where.dli_saddr != function || symbol->st_size > (size_t)(program_code.end - function))
        return NULL;
    *size = symbol->st_size;
    return function;
}

void *library_function(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

reason image_read_file(const uint8_t *address, void *into, size_t size)
{
    off_t offset = program_code.offset + (address - program_code.begin);
    if (pread(program_code.file, into, size, offset) != (ssize_t)size)
        return reason_of("the program's file cannot be read: %s", strerror(errno));
    return NULL;
}

static uintptr_t dynamic_value(ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    return 0;
}

static void **slot_among(const char *function, const ElfW(Rela) *relocations, size_t bytes)
{
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic_value(DT_SYMTAB);
    const char *names = (const char *)dynamic_value(DT_STRTAB);
    for (size_t i = 0; relocations && i < bytes / sizeof *relocations; i++) {
        unsigned type = ELF64_R_TYPE(relocations[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        if (!strcmp(names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, function))
            return (void **)(base + relocations[i].r_offset);
    }
    return NULL;
}

void imported_find(struct imported *imported)
{
    void **slot = slot_among(imported->function, (const ElfW(Rela) *)dynamic_value(DT_JMPREL),
                             dynamic_value(DT_PLTRELSZ));
    if (!slot)
        slot = slot_among(imported->function, (const ElfW(Rela) *)dynamic_value(DT_RELA),
                          dynamic_value(DT_RELASZ));
    imported->original = slot ? library_function(imported->function) : NULL;
    imported->slot = imported->original ? slot : NULL;
}

/* What /proc says of the page: PROT_ flags, or -1. */
static int protection_of(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int protection = -1;
    while (maps && protection < 0 && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char flags[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, flags) == 3 && (uintptr_t)address >= begin &&
            (uintptr_t)address < end)
            protection = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                         (flags[2] == 'x' ? PROT_EXEC : 0);
    }
    if (maps)
        fclose(maps);
    return protection;
}

static reason store(struct imported *imported, void *value)
{
    void *page = (void *)((uintptr_t)imported->slot & ~(PAGE - 1));
    int protection = protection_of(page);
    if (protection < 0 || protection & PROT_EXEC)
        return reason_of("the pointer to %s lies in unusual memory", imported->function);
    /* Lazy binding writes there later, so a writable page must stay so. */
    int read_only = !(protection & PROT_WRITE);
    if (read_only && mprotect(page, PAGE, protection | PROT_WRITE))
        return reason_of("the pointer to %s cannot be changed: %s", imported->function, strerror(errno));
    __atomic_store_n(imported->slot, value, __ATOMIC_SEQ_CST);
    if (read_only)
        mprotect(page, PAGE, protection);
    return NULL;
}

reason imported_hook(struct imported *imported)
{
    if (!imported->slot || *imported->slot == imported->hook)
        return NULL;
    imported->before = *imported->slot;
    return store(imported, imported->hook);
}

reason imported_restore(struct imported *imported)
{
    if (!imported->slot || *imported->slot != imported->hook)
        return NULL;
    return store(imported, imported->before);
}
