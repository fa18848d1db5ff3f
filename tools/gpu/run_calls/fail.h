/* Why something failed: the first reason since the last call of `forget`. */
#pragma once

/* Keeps the reason, formatted as by printf, if there is none yet. Always 0. */
int fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* reason(void);
void forget(void);
