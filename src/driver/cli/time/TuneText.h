// What `smalti tune` found, as people and programs read it.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/Session.h"
#include "driver/tune/Blocks.h"
#include "driver/tune/TunedFile.h"

namespace smalti::cli {

/// One candidate, whatever it is one of.
struct TunedRow {
  std::string candidate;  ///< "block_m = 512", "grid (2, 8, 8), input 0 (2048, 512)"
  Json sizes;             ///< the same for programs
  double us = 0;          ///< 0 when it was refused
  int64_t vmemBytes = 0;  ///< 0: not known
  std::optional<Diagnostic> refusal{};
  bool isBase = false;  ///< the candidate without tuning
};

/// The candidates of one kernel on one target, the fastest first.
struct TunedKernel {
  std::string kernel, target;
  std::vector<ArrayType> operands;
  bool measured = false;
  bool all = true;  ///< false: there are more that were not tried
  std::vector<TunedRow> rows;
  std::vector<driver::TunedEntry> entries;  ///< for the file of --tuned: one, or none when nothing runs
};

TunedKernel tunedKernel(const Ranking&, const std::string& fileTarget, const Candidate& base);
TunedKernel tunedKernel(const KernelPackage&, const tpu::Chip&, const driver::BlockRanking&);

/// The fastest `most`, how many there are, and why the others are refused.
std::string tuneText(const Session&, const std::string& title, const TunedKernel&, size_t most);
Json toJson(const TunedKernel&);

}  // namespace smalti::cli
