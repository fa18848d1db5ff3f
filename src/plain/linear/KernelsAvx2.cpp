#define SMALTI_ISA avx2
#define SMALTI_EIGEN EigenAvx2
#include "plain/linear/KernelsImpl.h"
