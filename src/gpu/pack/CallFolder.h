// Writes calls of kernels to folders for testing a GPU without other software: the code, its launch, and the arrays
// before and after (tools/gpu/run_calls reads them).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/host/HostKernel.h"
#include "gpu/pack/PackedCode.h"

namespace smalti::gpu {

/// Watches the calls of one kernel in this process; each becomes a folder NUMBER-NAME in `folder`: call.txt,
/// kernel.ARCHITECTURE.ptx and .cubin, operandN.bin, resultN.before.bin, resultN.bin. A call has a hidden folder until
/// it is complete; then it takes the first number that is free, since other processes may use the same folder.
class CallFolders : public CallWatcher {
 public:
  /// Errors are those of packCode.
  static Result<std::shared_ptr<CallFolders>> make(const KernelPackage&, std::string folder, eval::Poison,
                                                   bool checkBlocks);
  Status before(const WatchedCall&) override;
  Status after(const WatchedCall&) override;
  void givenUp() override;

 private:
  std::string folder_, name_;
  std::vector<PackedCode> codes_;
  size_t dynamicAxes_ = 0;
};

}  // namespace smalti::gpu
