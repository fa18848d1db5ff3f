#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

static char kept[4096];

int fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!*kept) vsnprintf(kept, sizeof kept, format, arguments);
  va_end(arguments);
  return 0;
}

const char* reason(void) { return *kept ? kept : "unknown reason"; }

void forget(void) { *kept = 0; }
