// What the bindings need of the C library; libc.c has it.
#pragma once
#include <stddef.h>

void *malloc(size_t bytes);
void *realloc(void *old, size_t bytes);
void free(void *pointer);
_Noreturn void abort(void);
