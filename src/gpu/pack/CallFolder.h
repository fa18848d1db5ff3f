// Writes calls of kernels to folders for testing a GPU without other software: the code, its launch, and the arrays
// before and after (tools/gpu/run_calls.c reads them).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/host/HostKernel.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

/// Watches the calls of one kernel in this process; each becomes a folder NUMBER-NAME in `folder`: call.txt,
/// kernel.ARCHITECTURE.ptx, operandN.bin, resultN.before.bin, resultN.bin. The code is for the oldest architecture and
/// for the newest. A call has a hidden folder until it is complete; then it takes the first number that is free, since
/// other processes may use the same folder.
class CallFolders : public CallWatcher {
 public:
  /// Errors are those of compileToPtx.
  static Result<std::shared_ptr<CallFolders>> make(const KernelPackage&, std::string folder, eval::Poison,
                                                   bool checkBlocks);
  Status before(const WatchedCall&) override;
  Status after(const WatchedCall&) override;
  void givenUp() override;

 private:
  std::string folder_, name_;
  std::vector<std::pair<std::string, PtxKernel>> codes_;
};

}  // namespace smalti::gpu
