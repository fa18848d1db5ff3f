#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "types.h"

/* NaN is only the same as NaN, an infinity only as itself. Floats of 32 bits may differ by 1e-5 of their size, or of 1
 * if they are smaller, those of 16 bits by 1e-2; others not at all. */
static int isSame(const char* type, const char* got, const char* want) {
  const int size = bytesOf(type);
  if (memcmp(got, want, (size_t)size) == 0) return 1;
  if (!isFloat(type) || size == 1) return 0;
  const double x = toDouble(type, got), y = toDouble(type, want);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= (size == 2 ? 1e-2 : 1e-5) * fmax(1, fabs(y));
}

static int compareResult(const char* folder, const struct Launch* l, int r) {
  const struct Array* a = &l->call->array[l->call->operands + r];
  if (a->content != kFile) return fail("call.txt: result %d has no file to compare with", r);
  char file[64];
  snprintf(file, sizeof file, "result%d.bin", r);
  char *want = readExactly(folder, file, a->bytes), *got = malloc((size_t)a->bytes + 1);
  int ok = want && got &&
           (a->bytes == 0 ||
            check(cu.copyOut(got, l->at[l->call->operands + r], (size_t)a->bytes), "copy a result from the GPU"));
  const int size = bytesOf(a->type);
  long long differ = 0, first = 0;
  for (long long i = 0; ok && i < a->bytes; i += size)
    if (!isSame(a->type, got + i, want + i) && differ++ == 0) first = i / size;
  if (differ && isFloat(a->type))
    ok = fail("result %d: %lld elements differ, the first is element %lld: %g instead of %g", r, differ, first,
              toDouble(a->type, got + first * size), toDouble(a->type, want + first * size));
  else if (differ)
    ok = fail("result %d: %lld elements differ, the first is element %lld", r, differ, first);
  free(want);
  free(got);
  return ok;
}

int compareResults(const char* folder, const struct Launch* l) {
  for (int r = 0; r < l->call->results; ++r)
    if (!compareResult(folder, l, r)) return 0;
  return 1;
}
