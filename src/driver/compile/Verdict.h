// A TPU compiler's verdict on one module and chip.
#pragma once

#include <optional>
#include <string>

#include "driver/Json.h"

namespace smalti::driver {

struct CompilerVerdict {
  bool accepted = false;
  std::string fits = "uncertain";        ///< in memory: "yes", "no", or "uncertain" when it was refused before that
  std::string reason;                    ///< of a refusal: its class, "unaligned-index"; "crash", "timeout"
  int64_t vmemBytes = 0;                 ///< of the kernel that allots most; 0 when refused or without kernels
  int xlaVmemOperands = 0;               ///< operands of kernels that XLA keeps in VMEM besides that
  int64_t codeBytes = 0;                 ///< 0: not known
  double seconds = 0;                    ///< of the compilation alone
  std::string executable;                ///< the file that it was written to; empty: none
  std::string pluginVersion;             ///< in its own words
  std::optional<Diagnostic> diagnostic;  ///< of a refusal
  std::optional<Diagnostic> error;       ///< nothing was judged: the module or the plugin cannot be used
};

Json toJson(const CompilerVerdict&);
CompilerVerdict verdictFromJson(const Json&);

}  // namespace smalti::driver
