#define SMALTI_ISA baseline
#define SMALTI_EIGEN EigenBaseline
#include "plain/linear/KernelsImpl.h"
