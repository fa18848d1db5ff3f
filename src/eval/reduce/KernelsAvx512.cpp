#define SMALTI_ISA avx512
#define SMALTI_VECTOR_BYTES 64
#include "eval/reduce/KernelsImpl.h"
