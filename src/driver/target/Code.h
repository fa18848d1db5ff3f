// The code of a kernel on a target: for `smalti show`.
#pragma once

#include <map>
#include <string>

#include "driver/Json.h"
#include "eval/Numerics.h"

namespace smalti::driver {

struct CodeRequest {
  std::string processor = "host";  ///< whose code, as the target names them; "host": this machine's
  bool check = false;              ///< code as --check makes it
  Numerics numerics = Numerics::f32;
  std::string argument;       ///< of the target: what follows the colon
  std::string stage = "all";  ///< the stage that is shown: work that only other stages need may be skipped
};

struct CodeView {
  std::string processor;
  std::string notNative;  ///< why it has no code and the machine runs it; then all else is empty
  std::string text;       ///< a summary of the code (size, times, the inner loop) as text
  Json figures;           ///< the same for programs: members of the kernel's object
  std::map<std::string, std::string, std::less<>> stages;  ///< one text for each of Target::stages
};

}  // namespace smalti::driver
