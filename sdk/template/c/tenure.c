#include "tenure.h"

#include <stdlib.h>
#include <string.h>

policy_string_t text(const char *text) {
    return (policy_string_t){(uint8_t *)text, strlen(text)};
}

policy_string_t number(uint32_t number) {
    uint8_t *end = (uint8_t *)malloc(10) + 10, *at = end;
    do *--at = '0' + number % 10;
    while (number /= 10);
    return (policy_string_t){at, end - at};
}

policy_string_t joined(const policy_string_t *parts, size_t count) {
    size_t length = 0;
    for (size_t i = 0; i < count; i++) length += parts[i].len;
    policy_string_t whole = {malloc(length), 0};
    for (size_t i = 0; i < count; i++) {
        memcpy(whole.ptr + whole.len, parts[i].ptr, parts[i].len);
        whole.len += parts[i].len;
    }
    return whole;
}

// The number of bytes of the character at a place; 0 if it is not UTF-8, as every text of the interface is.
static size_t character(const uint8_t *at) {
    uint8_t first = at[0], low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++, low = 0x80, high = 0xbf)
        if (at[i] < low || at[i] > high) return 0;
    return length;
}

// A text as UTF-8: a byte that is none is written as `\xff`.
static policy_string_t decoded(const char *text) {
    const uint8_t *at = (const uint8_t *)text, *digits = (const uint8_t *)"0123456789abcdef";
    policy_string_t whole = {malloc(4 * strlen(text)), 0};
    while (*at) {
        size_t length = character(at);
        uint8_t escape[] = {'\\', 'x', digits[*at >> 4], digits[*at & 15]};
        memcpy(whole.ptr + whole.len, length ? at : escape, length ? length : 4);
        whole.len += length ? length : 4;
        at += length ? length : 1;
    }
    return whole;
}

void fail(const char *why) {
    tenure_ipam_log_level_t warn = {.tag = TENURE_IPAM_LOG_LEVEL_WARN};
    policy_string_t message = decoded(why);
    tenure_ipam_log_write(&warn, &message);
    abort();
}
