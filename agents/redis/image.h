/* The program that we are a guest in, as the loader laid it out: its exported functions, the file behind
 * its code, and the table of pointers (GOT) by which it calls other libraries. Read only, but for the
 * pointers. Not a general ELF reader: the main program of this process, x86-64. */
#ifndef SLOWPATH_REDIS_IMAGE_H
#define SLOWPATH_REDIS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Reasons are texts for people, to be read before the next call; NULL: it worked. */
typedef const char *reason;
reason reason_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The part of the program that holds its code. */
struct code {
    uint8_t *begin, *end;
    /* Where `begin` lies in the file, in bytes. */
    uint64_t offset;
    /* The file, kept open so that the original pages can be mapped again. */
    int file;
};
extern struct code program_code;

/* Finds the program's code. Needed before everything else here. */
reason image_open(void);
void image_close(void);

/* An exported function of the program itself, never one of a library; NULL: there is none. */
uint8_t *image_function(const char *name, size_t *size);

/* A function of any library of the process; NULL: none has it. */
void *library_function(const char *name);

/* Reads `size` bytes of the file behind `address`, which lies in the code. */
reason image_read_file(const uint8_t *address, void *into, size_t size);

/* A pointer through which the program calls a function of a library. */
struct imported {
    const char *function;
    void *hook;
    /* The function itself; NULL: the program does not import it. */
    void *original;
    void **slot;
    /* What the slot held: the function, or the loader's stub that looks for it. */
    void *before;
};

/* Finds where the program keeps the pointer; leaves slot NULL where it has none. */
void imported_find(struct imported *imported);

/* Makes the program call the hook, or again what it called before; one store, so that other threads see
 * one or the other. The page keeps the protection that it had. */
reason imported_hook(struct imported *imported);
reason imported_restore(struct imported *imported);

#endif
