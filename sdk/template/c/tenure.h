// Texts for the bindings, and a failure that says why.
#pragma once

#include "bindings/policy.h"

// A text. The bindings free what they are given, which the library in libc/ ignores.
policy_string_t text(const char *text);

// A number in decimal digits.
policy_string_t number(uint32_t number);

// Texts, one after the other.
policy_string_t joined(const policy_string_t *parts, size_t count);

// Fails the call. The reason is in the daemon's log and in the error.
_Noreturn void fail(const char *why);
