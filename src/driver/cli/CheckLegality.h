// What the compilers of TPUs say of modules, without running them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/Module.h"
#include "driver/cli/Session.h"
#include "tpu/Legality.h"

namespace smalti::cli {

struct LegalityOfModule {
  struct OnChip {
    std::string chip;
    tpu::Verdict verdict;  ///< of the first kernel that is refused, else the one that takes most VMEM
  };
  std::string path;
  std::optional<Diagnostic> error;  ///< the module cannot be read
  std::vector<OnChip> chips;
  bool accepted() const;
  int exitCode() const;
};

LegalityOfModule judgeModule(const driver::LoadedModule&, const std::vector<tpu::Chip>&);
LegalityOfModule judgeFile(const std::string& path, const std::vector<tpu::Chip>&);
/// Many files, on several threads.
std::vector<LegalityOfModule> judgeFiles(const std::vector<std::string>& paths, const std::vector<tpu::Chip>&,
                                         int64_t jobs);
Json toJson(const LegalityOfModule&);
std::string legalityText(const Session&, const LegalityOfModule&);

}  // namespace smalti::cli
