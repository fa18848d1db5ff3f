#include "cpu/NativeParts.h"

#include <fmt/format.h>

#include "cpu/grid/Rewrite.h"
#include "cpu/lower/Parallel.h"
#include "cpu/lower/Streaming.h"
#include "cpu/runtime/Pool.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/TargetParser/Triple.h"
#include "machine/runtime/Boundary.h"
#include "machine/runtime/ProgramText.h"

namespace smalti::cpu {

std::vector<bool> overwrittenOperands(const KernelPackage& package) {
  auto function = package.kernelFunction();
  const KernelSignature& s = package.signature;
  const auto dynamic = static_cast<size_t>(s.numDynamicBounds());
  const size_t firstInput = dynamic + static_cast<size_t>(s.numScalarPrefetch);
  std::vector<bool> overwritten(package.operands.size(), false);
  for (size_t i = dynamic; i < package.operands.size(); ++i) {
    if (i >= firstInput && s.windows[i - firstInput]) continue;
    const auto isIt = [&](const Alias& a) { return a.operand == static_cast<int>(i); };
    overwritten[i] = llvm::none_of(package.aliases, isIt) &&
                     machine::mayBeWritten(function.getArgument(static_cast<unsigned>(s.grid.size() + i - dynamic)));
  }
  return overwritten;
}

std::optional<Diagnostic> unsuitableProcessor(const Processor& p) {
  constexpr int kSseBytes = 16;
  constexpr unsigned kAddressBits = 64;
  const llvm::Triple triple(p.triple);
  const llvm::DataLayout layout(triple.computeDataLayout());  // a processor of 64 bits may have pointers of 32: x32
  const unsigned bits = layout.getPointerSizeInBits();
  if (bits != kAddressBits || !layout.isLittleEndian())
    return Diagnostic{.code = "SM7005",
                      .message = fmt::format("there is no native code for {}", p.triple),
                      .place = {},
                      .need = fmt::format("a little-endian machine with addresses of {} bits", kAddressBits),
                      .have = fmt::format("{}-endian, {} bits", layout.isLittleEndian() ? "little" : "big", bits),
                      .help = "name a processor such as haswell, or aarch64-linux-gnu/neoverse-n1"};
  if (!triple.isX86() || p.vectorBytes > kSseBytes) return std::nullopt;
  return Diagnostic{.code = "SM7005",
                    .message = fmt::format("processor {} has not all of AVX2, FMA and F16C", p.name),
                    .place = {},
                    .need = "a processor with fused multiply-add",
                    .help = "name haswell, x86-64-v3 or a later one"};
}

std::optional<NotNative> unsuitableArrays(const KernelPackage& package) {
  auto function = package.kernelFunction();
  const KernelSignature& s = package.signature;
  size_t at = s.grid.size();
  const auto check = [&](const ArrayType& array) -> std::optional<NotNative> {
    auto type = llvm::cast<mlir::MemRefType>(function.getArgument(static_cast<unsigned>(at++)).getType());
    if (machine::storageDiffers(array.dtype, elementDType(type)))
      return fmt::format("{} arrays are stored otherwise inside kernels", name(array.dtype));
    return std::nullopt;
  };
  for (size_t i = static_cast<size_t>(s.numDynamicBounds()); i < package.operands.size(); ++i)
    if (auto why = check(package.operands[i])) return why;
  for (const ArrayType& t : package.results)
    if (auto why = check(t)) return why;
  const std::vector<bool> overwritten = overwrittenOperands(package);
  for (size_t i = 0; i < overwritten.size(); ++i)
    if (overwritten[i]) return fmt::format("it writes to operand {}, which is the caller's", i);
  return std::nullopt;
}

tl::expected<LoweredKernel, NotNative> lowerPlanned(const KernelPackage& package, const NativeOptions& options,
                                                    llvm::Module& module, NativeReport& report,
                                                    InterpretedOps& interpreted) {
  const auto other = rewritten(package, options.processor, availableCores());
  const KernelPackage& chosen = other ? *other : package;
  const ParallelPlan plan = planParallel(chosen);
  report.sharedAxes = plan.axes;
  report.inOrder = plan.reason;
  return lowerKernel(chosen, module, options.processor, report, interpreted, plan.axes, options.poison,
                     worthStreaming(chosen, options.processor));
}

}  // namespace smalti::cpu
