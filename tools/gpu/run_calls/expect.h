/* Results of benchmarks, of which some are computed again here, in double, from the same inputs.
 *
 * A check is a kind and its sizes (`check` in call.txt). Of each result, some rows are computed: the first, the last
 * and others in between; of a row of a matrix product some elements, of other rows all. A row is right if the norm of
 * what it differs by is at most kMostError16 of the row's norm (kMostError32, if the result is of f32). Besides, no
 * element of a result may be NaN, as it is before the kernel has written it. */
#pragma once

#include "launch.h"

static const double kMostError16 = 1e-2, kMostError32 = 1e-4;

struct Verdict {
  int isChecked;      /* 0: nothing checks this kernel */
  long long elements; /* that were computed again */
  double error;       /* the largest of a row */
};

/* 0 and a reason: a result is wrong, or cannot be checked. */
int checkResults(const char* folder, const struct Launch*, struct Verdict*);
