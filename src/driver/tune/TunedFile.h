// The file of tuned candidates: which blocks of which kernel are the fastest for which operands on which target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "smalti/autotune.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

/// One [[tuned]] of the file. Kernel, target and operands say what it is about.
struct TunedEntry {
  std::string kernel;  ///< the key of autotune
  std::string target;  ///< "v5e"; "cpu/znver4/8": times of a processor, or on fewer threads, say nothing of another
  std::vector<std::string> operands;  ///< "bf16[4096,4096]"
  Candidate candidate{};
  double us = 0;
  bool measured = false;   ///< else the model's
  int64_t candidates = 0;  ///< that it was chosen from

  bool isAbout(const TunedEntry& o) const { return kernel == o.kernel && target == o.target && operands == o.operands; }
};

/// The target of entries for this machine: its processor, and how many threads kernels may take.
std::string tunedTarget();
/// The target of a chip: its name, and a distinguishing suffix if its facts differ from those of Smalti's own chip of
/// this name.
std::string tunedTarget(const tpu::Chip&);

/// Its entries; none when there is no such file. SM6912: what is wrong with it, with the line. SM1001.
Result<std::vector<TunedEntry>> readTuned(const std::string& path);
/// The file with these entries in the order of kernel, target and operands: equal entries make equal bytes.
std::string tunedText(std::vector<TunedEntry> entries);
/// Puts the entries into the file, in place of those about the same; whole or not at all. SM6912, SM1006.
Status addTuned(const std::string& path, const std::vector<TunedEntry>& entries);

}  // namespace smalti::driver
