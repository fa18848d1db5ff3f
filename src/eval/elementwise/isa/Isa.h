// Sources in this folder are compiled once per instruction set: the preprocessor name SMALTI_ISA is then one of
// baseline, avx2, avx512, and everything they define lives in a namespace of that name, so that no inline function
// compiled for a newer machine can replace one that an older machine runs. For the same reason they call nothing from
// the C++ library at run time.
#pragma once

#ifndef SMALTI_ISA
#define SMALTI_ISA baseline
#define SMALTI_ISA_BASELINE 1
#endif
