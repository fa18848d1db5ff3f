#define SMALTI_ISA avx2
#define SMALTI_VECTOR_BYTES 32
#include "eval/reduce/KernelsImpl.h"
