// Every op of the `tpu` dialect.
#pragma once

#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsElementwise.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsMxu.h"
#include "ir/TpuOpsShape.h"
#include "ir/TpuOpsSync.h"
