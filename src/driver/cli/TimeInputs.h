// Inputs of a module on which its time depends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/case/ModuleOrCase.h"

namespace smalti::cli {

/// By the number of the input; nullopt: not known. `in`: of --in, "FILE.npy" for the next one, "NUMBER=FILE.npy" for a
/// certain one; without any, those of a recorded case. SM1008.
Result<std::vector<std::optional<Array>>> timeInputsOf(const driver::ModuleOrCase&, const std::vector<std::string>& in);

}  // namespace smalti::cli
