#include "cpu/CompileSteps.h"

#include <fmt/format.h>

#include "base/memory/KernelStorage.h"
#include "cpu/runtime/CallArrays.h"
#include "cpu/runtime/Pool.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsSync.h"
#include "ir/Types.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {

bool namesDevices(const KernelPackage& package) {
  const auto names = [](mlir::Operation* op) {
    if (auto copy = llvm::dyn_cast<tpu::EnqueueDMAOp>(op)) return static_cast<bool>(copy.getDeviceId());
    if (auto signal = llvm::dyn_cast<tpu::SemSignalOp>(op)) return static_cast<bool>(signal.getDeviceId());
    return llvm::isa<tpu::DeviceIdOp>(op);
  };
  return package.module
      .get()  // index maps may query them, too
      .walk(
          [&](mlir::Operation* op) { return names(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

std::optional<Diagnostic> unsuitableProcessor(const Processor& p) {
  constexpr int kSseBytes = 16;
  constexpr unsigned kAddressBits = 64;
  const llvm::Triple triple(p.triple);
  const llvm::DataLayout layout(triple.computeDataLayout());  // a 64-bit processor may have 32-bit pointers: x32
  const unsigned bits = layout.getPointerSizeInBits();
  if (bits != kAddressBits || !layout.isLittleEndian())
    return Diagnostic{.code = "SM7005",
                      .message = fmt::format("there is no native code for {}", p.triple),
                      .place = {},
                      .need = fmt::format("a little-endian machine with addresses of {} bits", kAddressBits),
                      .have = fmt::format("{}-endian, {} bits", layout.isLittleEndian() ? "little" : "big", bits),
                      .help = "name a processor such as haswell, or aarch64-linux-gnu/neoverse-n1"};
  if (!p.isX86() || p.vectorBytes > kSseBytes) return std::nullopt;
  return Diagnostic{.code = "SM7005",
                    .message = fmt::format("processor {} lacks AVX2, FMA or F16C", p.name),
                    .place = {},
                    .need = "a processor with fused multiply-add",
                    .help = "name haswell, x86-64-v3 or a later one"};
}

std::optional<Unsupported> unsuitableArrays(const KernelPackage& package) {
  const KernelArguments arguments(package);
  const auto check = [&](const ArrayType& array, mlir::Value ref) -> std::optional<Unsupported> {
    if (storageDiffers(array.dtype, elementDType(ref.getType())))
      return fmt::format("{} arrays are stored otherwise inside kernels", name(array.dtype));
    return std::nullopt;
  };
  for (size_t i = 0; i < arguments.numScalarPrefetch(); ++i)
    if (auto why = check(package.operands[arguments.prefetchOperand(i)], arguments.scalarPrefetch(i))) return why;
  for (size_t i = 0; i < arguments.numBlocks(); ++i)
    if (auto why = check(arguments.arrayOf(i), arguments.block(i))) return why;
  const std::vector<bool> overwritten = overwrittenOperands(package);
  for (size_t i = 0; i < overwritten.size(); ++i)
    if (overwritten[i]) return fmt::format("it writes to operand {}, which is the caller's", i);
  return std::nullopt;
}

tl::expected<PlannedKernel, Unsupported> planNative(const KernelPackage& package, const NativeOptions& options) {
  return planKernel(package, options.processor,
                    {.cores = availableCores(), .checkBlocks = options.checkBlocks, .devices = options.devices});
}

tl::expected<LoweredKernel, Unsupported> planAndLower(const KernelPackage& package, const NativeOptions& options,
                                                      llvm::Module& module, NativeReport& report,
                                                      FallbackOps& interpreted, MeasuredLowering* measured) {
  auto planned = planNative(package, options);
  if (!planned) return tl::unexpected(std::move(planned.error()));
  return lowerKernel(*planned, module, options.processor, report, interpreted,
                     {.poison = options.poison, .devices = options.devices, .measured = measured});
}

}  // namespace smalti::cpu
