// The TPUs that Smalti describes: those whose compilers it knows and whose times it predicts.
#pragma once

#include <string>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti {

struct ChipDescription {
  std::string name;          ///< as the option `chip` takes it: "v5e"
  std::string title;         ///< "TPU v5e (v5 lite)"
  std::string device_kind;   ///< what JAX calls the kind of such a device: "TPU v5 lite"
  int cores_per_device = 1;  ///< TensorCores that run one kernel
};

/// All of them, oldest first. Fails if the installed description of one is unusable (SM1040, SM1041).
Result<std::vector<ChipDescription>> chips();

}  // namespace smalti
