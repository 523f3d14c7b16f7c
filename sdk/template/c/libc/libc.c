// A C library of the size that a policy needs. Each call runs in a fresh instance, so nothing is ever freed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 65536

extern unsigned char __heap_base;
static uintptr_t next;

// Returns zeroed memory; without any left, the call fails.
void *malloc(size_t bytes) {
    if (next == 0) next = (uintptr_t)&__heap_base;
    uintptr_t at = (next + 15) & ~(uintptr_t)15, end = at + bytes;
    uintptr_t size = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end < at) abort(); // wrapped around
    if (end > size && __builtin_wasm_memory_grow(0, (end - size + PAGE - 1) / PAGE) == (size_t)-1) abort();
    next = end;
    return (void *)at;
}

// The bytes before a block are not known, so it copies as many as the new block has; memory beyond the old one is harmless.
void *realloc(void *old, size_t bytes) {
    void *new = malloc(bytes);
    if (old) memcpy(new, old, bytes);
    return new;
}

void free(void *pointer) { (void)pointer; }

void abort(void) { __builtin_trap(); }

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile char *)to)[i] = (char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i]) return a[i] - b[i];
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (((const volatile char *)text)[length]) length++;
    return length;
}
