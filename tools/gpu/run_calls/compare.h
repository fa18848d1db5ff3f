/* Results of recorded calls. */
#pragma once

#include "launch.h"

/* Compares the results on the GPU with the files. 0 and a reason: they differ, or a file cannot be read. */
int compareResults(const char* folder, const struct Launch*);
