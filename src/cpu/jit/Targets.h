// LLVM's code generators: the host's, and all others once another one is requested.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class MCSubtargetInfo;
class Target;
}  // namespace llvm

namespace smalti::cpu {

/// Null if LLVM was built without it.
const llvm::Target* findLlvmTarget(const std::string& triple);

/// A processor's features according to LLVM; empty without its target.
class LlvmFeatures {
 public:
  LlvmFeatures(const std::string& triple, const std::string& processor, const std::string& features);
  /// `feature`: LLVM's name of it, such as "avx512bf16".
  bool has(const std::string& feature) const;

 private:
  std::shared_ptr<const llvm::MCSubtargetInfo> info_;
};

}  // namespace smalti::cpu
