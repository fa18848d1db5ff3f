#pragma once

#include "interop/bytecode/Model.h"

namespace smalti::interop::bytecode {

/// Reads the op section into `model.root`. The tables of `model` are complete.
void parseOps(Cursor, BodyModel& model);

}  // namespace smalti::interop::bytecode
