/* Calls two kernels that were compiled ahead of time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "axpy.h"
#include "centre.h"

static float x[256 * 128], y[256 * 128], z[256 * 128];

int main(void) {
  for (int i = 0; i < 256 * 128; ++i) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }
  if (axpy(x, y, z) != 0) return 1;
  for (int i = 0; i < 256 * 128; ++i)
    if (z[i] != 2.0f * x[i] + 1.0f) return 2;

  void *workspace = aligned_alloc(64, (size_t)(centre_workspace_bytes + 63) / 64 * 64 + 64);
  if (!workspace || centre_in(workspace, x, z) != 0) return 3;
  for (int row = 0; row < 64; ++row)
    for (int i = 0; i < 128; ++i)
      if (fabsf(z[row * 128 + i] - ((float)i - 63.5f)) > 1e-2f) return 4;
  free(workspace);

  if (axpy(x, NULL, z) != 2) return 5; /* a null pointer is refused */
  puts("ok");
  return 0;
}
