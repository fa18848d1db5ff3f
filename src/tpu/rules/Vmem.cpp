// Windows, scratch and temporaries must fit into VMEM.
#include "tpu/Vmem.h"

#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "tpu/MaxBlocks.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string at(const SourcePlace& place) { return place.known() ? fmt::format(" ({})", place.str()) : ""; }

/// ": of 256 elements instead of 4096 along grid axis 2, or 64 instead of 4096 along axis 3", each alone enough.
std::string smallerBlocks(const Judge& judge, const VmemMap& map) {
  std::string text;
  for (const MaxBlocks& room : bytesOf(judge.kernel, judge.chip, map)) {
    const int64_t fits = room.dividing > 0 ? room.dividing : room.largest;
    if (fits == 0 || fits >= room.block) continue;
    text += fmt::format("{}{} instead of {} along grid axis {}", text.empty() ? ": " : ", or ", fits, room.block,
                        room.axis);
  }
  return text;
}

void onMemory(const Judge& judge) {
  const VmemMap map = vmemOf(judge.kernel, judge.chip);
  if (map.bytes() <= map.limitBytes || map.parts.empty()) return;
  const auto largest = std::max_element(map.parts.begin(), map.parts.end(),
                                        [](const VmemPart& a, const VmemPart& b) { return a.bytes < b.bytes; });
  const Temporaries& added = map.temporaries;
  std::string most = fmt::format("{}: {} × {}, {:.2f} MiB{}", largest->what, largest->buffers, largest->array.str(),
                                 mib(largest->bytes), at(largest->place));
  if (added.likely > largest->bytes && !added.kept.empty())
    most = fmt::format("the {}: {}{}", added.kept.front().what, added.kept.front().array.str(),
                       at(added.kept.front().place));
  const int64_t capacity = judge.chip.memory.vmemUsableBytes;
  std::string help = "choose smaller blocks" + smallerBlocks(judge, map);
  if (map.limitBytes < capacity)
    help += fmt::format(", or set vmem_limit_bytes (the chip has {:.0f} MiB)", mib(capacity));
  judge.refuse(reason::kVmem, judge.kernel.kernelFunction().getLoc(),
               {.message = "Ran out of memory in memory space vmem",
                .need = fmt::format("at most {:.2f} MiB", mib(map.limitBytes)),
                .have = fmt::format(
                    "{:.2f} MiB: windows and scratch {:.2f} MiB, what the compiler adds about {:.2f} MiB; most is {}",
                    mib(map.bytes()), mib(map.declaredBytes()), mib(added.likely), most),
                .help = std::move(help)});
}

}  // namespace

std::span<const Rule> vmemRules() {
  static constexpr Rule kRules[]{{.onKernel = onMemory}};
  return kRules;
}

}  // namespace smalti::tpu
