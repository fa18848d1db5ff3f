// Smalti: Pallas in C++. Kernels (pallas_call.h), their ops (ops.h, control.h), and modules from elsewhere (module.h).
// Free of MLIR and LLVM; link `smalti::smalti`.
#pragma once

#include "smalti/control.h"
#include "smalti/debug.h"
#include "smalti/dma.h"
#include "smalti/elsewhere.h"
#include "smalti/memory.h"
#include "smalti/module.h"
#include "smalti/ops.h"
#include "smalti/pallas_call.h"
#include "smalti/pipeline.h"
