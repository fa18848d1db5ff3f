// The text of `show` about a target's code.
#pragma once

#include <string>
#include <vector>

#include "driver/Module.h"
#include "driver/cli/Session.h"
#include "driver/target/Code.h"
#include "driver/target/Target.h"

namespace smalti::cli {

struct CodeArguments {
  std::string stage = "all";  ///< "all": what the code is like; one of the target's stages: that text
  std::string kernel;         ///< name or number of one; empty: all
  driver::CodeRequest request;
};

/// The stages of all targets.
std::vector<std::string> codeStages();
/// The target whose code `stage` shows: with "all" the chosen one if it has code to show, else the one that has this
/// stage. Null: the stage is not one of code.
const driver::Target* targetOfStage(const std::string& stage, const std::string& chosenTarget);

/// The exit code.
int showCode(const Session&, const driver::Target&, const driver::LoadedModule&, const CodeArguments&);

}  // namespace smalti::cli
