#include "driver/target/KeepLog.h"

#include <fmt/format.h>

namespace smalti::driver {

void keepLog(std::span<const std::string> lines, size_t device, const ExecuteSettings& settings,
             machine::KernelResult& to) {
  const size_t number = device + static_cast<size_t>(settings.firstDevice);
  for (const std::string& line : lines) to.log.push_back(fmt::format("d{}{}", number, line.substr(line.find(':'))));
}

}  // namespace smalti::driver
