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

void fail(const char *why) {
    tenure_ipam_log_level_t warn = {.tag = TENURE_IPAM_LOG_LEVEL_WARN};
    policy_string_t message = text(why);
    tenure_ipam_log_write(&warn, &message);
    abort();
}
