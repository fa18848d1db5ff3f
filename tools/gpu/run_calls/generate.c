#include "generate.h"

#include <stdint.h>
#include <stdlib.h>

#include "fail.h"
#include "types.h"

/* The finalizer of MurmurHash3 (Austin Appleby, public domain). */
static uint32_t mixed(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

char* onePeriod(const struct Generator* g) {
  const int size = bytesOf(g->type);
  char* all = malloc((size_t)kPeriod * (size_t)size);
  if (!all) return fail("there is no memory"), NULL;
  const uint32_t start = mixed((uint32_t)g->array + 1);
  for (uint32_t i = 0; i < kPeriod; ++i) {
    const double u = (double)(mixed(i ^ start) >> 8) / (1 << 23) - 1;
    fromDouble(g->type, g->centre + g->radius * u, all + (size_t)i * (size_t)size);
  }
  return all;
}
