// A module's time as people and programs read it.
#pragma once

#include <string>

#include "driver/cli/Session.h"
#include "driver/time/Advice.h"
#include "driver/time/ProgramTime.h"

namespace smalti::cli {

/// "12.3 µs".
std::string micro(double us);
/// One line, and with `whole` what takes the time and the costliest source lines.
std::string timeText(const Session&, const std::string& path, const tpu::Chip&, const driver::ProgramTime&, bool whole);
Json timeJson(const tpu::Chip&, const driver::ProgramTime&);

/// The same parts of two times side by side.
std::string comparisonText(const Session&, const std::string& a, const tpu::Chip&, const driver::ProgramTime&,
                           const std::string& b, const tpu::Chip&, const driver::ProgramTime&);

/// Changes that would make the program faster: the best three for each kernel, with the program's time.
struct KernelAdvice {
  std::string kernel;
  driver::Advice advice;
};
std::vector<KernelAdvice> adviceOn(const Program&, const tpu::Chip&, const driver::ProgramTime&);
std::string adviceText(const Session&, const driver::ProgramTime&, const std::vector<KernelAdvice>&);
Json adviceJson(const driver::ProgramTime&, const std::vector<KernelAdvice>&);

}  // namespace smalti::cli
