// Windows, scratch and temporaries must fit into VMEM.
#include "tpu/Vmem.h"

#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void onKernel(const Judge& judge) {
  const VmemMap map = vmemOf(judge.kernel, judge.chip);
  if (map.bytes() <= map.limitBytes || map.parts.empty()) return;
  const auto largest = std::max_element(map.parts.begin(), map.parts.end(),
                                        [](const VmemPart& a, const VmemPart& b) { return a.bytes < b.bytes; });
  const int64_t capacity = judge.chip.memory.vmemUsableBytes;
  judge.refuse(reason::kVmem, judge.kernel.kernelFunction().getLoc(),
               {.message = "Ran out of memory in memory space vmem",
                .need = fmt::format("at most {:.2f} MiB", mib(map.limitBytes)),
                .have = fmt::format(
                    "{:.2f} MiB: windows and scratch {:.2f} MiB, what the compiler adds about {:.2f} MiB; most is {}: "
                    "{} × {}, {:.2f} MiB",
                    mib(map.bytes()), mib(map.declaredBytes()), mib(map.temporaries.likely), largest->what,
                    largest->buffers, largest->array.str(), mib(largest->bytes)),
                .help = map.limitBytes < capacity
                            ? fmt::format("choose smaller blocks, or set vmem_limit_bytes (the chip has {:.0f} MiB)",
                                          mib(capacity))
                            : "choose smaller blocks"});
}

}  // namespace

std::span<const Rule> vmemRules() {
  static constexpr Rule kRules[]{{.onKernel = onKernel}};
  return kRules;
}

}  // namespace smalti::tpu
