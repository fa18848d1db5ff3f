/* Memory of a process and of those that it starts afterwards. */
#pragma once

#include <stddef.h>

/* Zeros; the program ends if there is no memory. */
void* sharedMemory(size_t bytes);
