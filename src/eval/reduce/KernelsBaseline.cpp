#define SMALTI_ISA baseline
#define SMALTI_VECTOR_BYTES 16
#include "eval/reduce/KernelsImpl.h"
