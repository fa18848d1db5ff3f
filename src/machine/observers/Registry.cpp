#include "machine/observers/Registry.h"

#include <array>

namespace smalti::machine {

// One per file of this folder.
std::unique_ptr<Checker> makeInitialisationChecker(CheckContext);
std::unique_ptr<Checker> makeRevisitChecker(CheckContext);
std::unique_ptr<Checker> makeSemaphoreChecker(CheckContext);
std::unique_ptr<Checker> makeRaceChecker(CheckContext);
std::unique_ptr<Checker> makeUnwaitedCopyChecker(CheckContext);
std::unique_ptr<Checker> makeOvertakingChecker(CheckContext);
std::unique_ptr<Checker> makeOverlappingCopyChecker(CheckContext);

std::span<const ObserverRow> observerRows() {
  static constexpr std::array kRows{
      ObserverRow{"initialisation", "check-initialisation", makeInitialisationChecker, OnCpu::native},
      ObserverRow{"revisits", "check-revisits", makeRevisitChecker, OnCpu::native},
      ObserverRow{"semaphores", "check-semaphores", makeSemaphoreChecker, OnCpu::native},
      ObserverRow{"races", "check-races", makeRaceChecker, OnCpu::native, true},
      ObserverRow{"unwaited-copies", "check-dma", makeUnwaitedCopyChecker, OnCpu::native, true},
      ObserverRow{"overtaking", "check-dma", makeOvertakingChecker, OnCpu::native},
      ObserverRow{"overlapping-copies", "check-copies", makeOverlappingCopyChecker, OnCpu::native},
  };
  return kRows;
}

std::vector<const ObserverRow*> allChecks() {
  return checksOf([](std::string_view) { return true; });
}

std::vector<const ObserverRow*> checksOf(const std::function<bool(std::string_view option)>& isOn) {
  std::vector<const ObserverRow*> rows;
  for (const ObserverRow& row : observerRows())
    if (isOn(row.option)) rows.push_back(&row);
  return rows;
}

}  // namespace smalti::machine
