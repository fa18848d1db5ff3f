// The verdicts of TPU compilers on modules, without running them.
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
    tpu::Verdict verdict;              ///< of the first kernel that is refused, else the one that takes most VMEM
    std::vector<Diagnostic> warnings;  ///< about accepted but slow code of all kernels
  };
  std::string path;
  std::optional<Diagnostic> error;  ///< the module cannot be read
  std::vector<OnChip> chips;
  bool accepted() const;
  int exitCode() const;
};

/// Warnings about code that the chip's compiler accepts but that is slow: SM6636 to SM6639.
std::vector<Diagnostic> warningsOf(const KernelPackage&, const tpu::Chip&);
LegalityOfModule judgeModule(const driver::LoadedModule&, const std::vector<tpu::Chip>&);
LegalityOfModule judgeFile(const std::string& path, const std::vector<tpu::Chip>&);
/// Many files, on several threads.
std::vector<LegalityOfModule> judgeFiles(const std::vector<std::string>& paths, const std::vector<tpu::Chip>&,
                                         int64_t jobs);
/// The chips of --chip, for verdicts alone; none without the option. Error SM6609.
Result<std::vector<tpu::Chip>> chipsGiven(const Session&);
/// Their verdicts, as --json has them: {"v5e": {…}}.
Json toJson(const LegalityOfModule&);
std::string legalityText(const Session&, const LegalityOfModule&);
/// The text of a table cell: "accepted", "refused by v4, v5e (SM6612)".
std::string legalityCell(const LegalityOfModule&);

}  // namespace smalti::cli
