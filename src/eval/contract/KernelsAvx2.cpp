#define SMALTI_ISA avx2
#define SMALTI_VECTOR_BYTES 32
#define SMALTI_KERNEL_ROWS 6
#include "eval/contract/KernelsImpl.h"
