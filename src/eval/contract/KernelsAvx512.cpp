#define SMALTI_ISA avx512
#define SMALTI_VECTOR_BYTES 64
#define SMALTI_KERNEL_ROWS 14
#include "eval/contract/KernelsImpl.h"
