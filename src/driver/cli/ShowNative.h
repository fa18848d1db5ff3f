// What show says of the cpu target's code.
#pragma once

#include <string>

#include "driver/Module.h"
#include "driver/cli/Session.h"

namespace smalti::cli {

struct NativeArguments {
  std::string stage = "all";  ///< "all": figures and the inner loop; "llvm", "optimised", "assembly": that text
  std::string processor = "host";
  std::string kernel;  ///< name or number of one; empty: all
  bool check = false;  ///< code as --check makes it
};
bool isNativeStage(const std::string& stage);

/// The exit code.
int showNative(const Session&, const driver::LoadedModule&, const NativeArguments&);

}  // namespace smalti::cli
