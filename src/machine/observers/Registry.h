// The observers that `smalti check` runs, one row each. An option switches one or several of them; a new row
// adds nothing anywhere else but the option, its test and the page of its code.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "machine/observers/Checker.h"

namespace smalti::machine {

/// What `--target cpu --check` does for an observer.
enum class OnCpu : uint8_t {
  native,   ///< src/cpu/check compiles it in, or leaves a kernel to the machine that it cannot judge
  machine,  ///< the kernel runs on the machine
};

struct ObserverRow {
  std::string_view name;
  std::string_view option;  ///< as in base/Options.cpp: "check-dma"
  std::unique_ptr<Checker> (*make)(CheckContext);
  OnCpu onCpu;
  bool needsAllDevices = false;  ///< left out where other processes have some of them
};

/// In the order in which they see events and report.
std::span<const ObserverRow> observerRows();
/// Not among these: what one run says about all orders of its steps, in RunStatistics and as findings of races.
const ObserverRow& orderRow();
/// For MachineOptions::checks.
std::vector<const ObserverRow*> allChecks();
std::vector<const ObserverRow*> checksOf(const std::function<bool(std::string_view option)>& isOn);

}  // namespace smalti::machine
