#define SMALTI_ISA baseline
#define SMALTI_VECTOR_BYTES 16
#define SMALTI_KERNEL_ROWS 6
#include "eval/contract/KernelsImpl.h"
