#include "gpu/pack/CallText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/facts/GridBounds.h"

namespace smalti::gpu {
namespace {

constexpr int kVersion = 4;

int64_t pointsOf(const DeviceKernel& kernel, std::span<const int32_t> sizes) {
  std::vector<int64_t> bounds = kernel.sharedBounds;
  size_t next = 0;
  for (int64_t& bound : bounds)
    if (bound == kDynamicBound) bound = next < sizes.size() ? sizes[next++] : 1;
  return gridPoints(bounds);
}

}  // namespace

CallText::CallText(const std::vector<PackedCode>& codes, std::span<const int32_t> sizes)
    : text_(fmt::format("smalti-gpu-call {}\n", kVersion)) {
  for (const PackedCode& code : codes) {
    const DeviceKernel& kernel = code.kernel.lowered;
    line(fmt::format("code {} points {} threads {} shared {} workspace {} files {}", code.architecture,
                     pointsOf(kernel, sizes), kernel.allThreads(), kernel.sharedBytes, kernel.workspaceBytes,
                     code.cubin ? "cubin,ptx" : "ptx"));
    for (const TensorMap& map : kernel.maps)
      line(fmt::format("map {} array {} bytes {} extents {} box {}", code.architecture, map.array, map.elementBytes,
                       fmt::join(map.extents, ","), fmt::join(map.box, ",")));
  }
}

void CallText::prints(int64_t bytes) { line(fmt::format("prints {}", bytes)); }

void CallText::operandFromFile(int64_t bytes) { line(fmt::format("operand {} file", bytes)); }

void CallText::randomOperand(int64_t bytes, DType type, double centre, double radius) {
  line(fmt::format("operand {} random {} {} {}", bytes, name(type), centre, radius));
}

void CallText::operandAs(int64_t bytes, size_t operand) { line(fmt::format("operand {} as {}", bytes, operand)); }

void CallText::alias(int result) { line(fmt::format("alias {}", result)); }

void CallText::result(int64_t bytes, DType type, bool inFiles) {
  line(fmt::format("result {} {} {}", bytes, name(type), inFiles ? "file" : "computed"));
}

void CallText::line(const std::string& text) { text_ += text + "\n"; }

}  // namespace smalti::gpu
