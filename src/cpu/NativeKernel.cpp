#include "cpu/NativeKernel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "cpu/lower/Kernel.h"
#include "llvm/IR/Module.h"
#include "machine/runtime/Boundary.h"

namespace smalti::cpu {
namespace {

extern "C" int32_t smaltiCpuInterpret(void* context, int32_t op, void** pointers) {
  return static_cast<InterpretContext*>(context)->run(op, pointers);
}

/// Memory for one call's values, kept for the next one.
class Workspaces {
 public:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  using Block = std::unique_ptr<std::byte, Free>;
  explicit Workspaces(int64_t bytes) : bytes_(bytes) {}

  Block take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        Block b = std::move(free_.back());
        free_.pop_back();
        return b;
      }
    }
    const size_t size = static_cast<size_t>(std::max<int64_t>(bytes_, 64) + 63) / 64 * 64;
    return Block(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  }
  void give(Block b) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(b));
  }

 private:
  int64_t bytes_;
  std::mutex mutex_;
  std::vector<Block> free_;
};

class Kernel : public NativeKernel {
 public:
  Kernel(const KernelPackage& package, const NativeOptions& options, LoweredKernel lowered, InterpretedOps interpreted,
         NativeReport report, std::shared_ptr<const LoadedCode> code)
      : operandTypes_(package.operands),
        resultTypes_(package.results),
        aliases_(package.aliases),
        lowered_(std::move(lowered)),
        interpreted_(std::move(interpreted)),
        report_(std::move(report)),
        poison_(options.poison),
        code_(std::move(code)),
        function_(code_->function<KernelFunction>(kKernelSymbol)),
        workspaces_(lowered_.arenaBytes) {}

  bool usable() const { return function_ != nullptr; }
  const NativeReport& report() const override { return report_; }

  Result<std::vector<Array>> call(std::span<const Array> operands, int, bool& fault) const override {
    std::vector<Array> results;
    std::vector<void*> pointers;
    pointers.reserve(operandTypes_.size() + resultTypes_.size());
    for (const Array& a : operands) pointers.push_back(const_cast<std::byte*>(a.data()));
    for (size_t i = 0; i < resultTypes_.size(); ++i) {
      auto result = makeResult(i, operands);
      if (!result) return fail(std::move(result.error()));
      for (const Alias& alias : aliases_)
        if (alias.output == static_cast<int>(i)) pointers[static_cast<size_t>(alias.operand)] = result->data();
      results.push_back(std::move(*result));
    }
    for (Array& r : results) pointers.push_back(r.data());

    Workspaces::Block arena = workspaces_.take();
    if (!arena)
      return fail({.code = "SM1009",
                   .message = fmt::format("no memory for the kernel's values: {} bytes", lowered_.arenaBytes),
                   .place = {},
                   .help = "use smaller blocks, or free memory"});
    for (const auto& u : lowered_.undefined)
      machine::poison(u.type.dtype, poison_, arena.get() + u.offset, u.type.elements());
    InterpretContext context(interpreted_);
    fault = function_(&context, pointers.data(), arena.get(), 0, 1) != 0;
    workspaces_.give(std::move(arena));
    return results;
  }

 private:
  Result<Array> makeResult(size_t i, std::span<const Array> operands) const {
    for (const Alias& alias : aliases_)
      if (alias.output == static_cast<int>(i)) {
        const Array& operand = operands[static_cast<size_t>(alias.operand)];
        auto copy = operand.clone();
        if (!copy) return copy;
        return machine::retyped(*copy, resultTypes_[i]);
      }
    auto made = Array::allocate(resultTypes_[i]);
    if (made && !lowered_.written[i]) makeUndefined(*made);
    return made;
  }
  void makeUndefined(Array& a) const {
    if (is_unsigned_integer(a.dtype()))
      std::memset(a.data(), poison_ == machine::Poison::intMin ? 0 : 0xff, static_cast<size_t>(a.bytes()));
    else
      machine::poison(a.dtype(), poison_, a.data(), a.elements());
  }

  std::vector<ArrayType> operandTypes_, resultTypes_;
  std::vector<Alias> aliases_;
  LoweredKernel lowered_;
  InterpretedOps interpreted_;
  NativeReport report_;
  machine::Poison poison_;
  std::shared_ptr<const LoadedCode> code_;
  KernelFunction* function_;
  mutable Workspaces workspaces_;
};

/// Why arrays of these types cannot be handed to native code as they are.
std::optional<NotNative> unsuitableArrays(const KernelPackage& package) {
  auto function = package.kernelFunction();
  const KernelSignature& s = package.signature;
  size_t at = s.grid.size();
  const size_t dynamic = static_cast<size_t>(s.numDynamicBounds());
  const auto check = [&](const ArrayType& array) -> std::optional<NotNative> {
    auto type = llvm::cast<mlir::MemRefType>(function.getArgument(static_cast<unsigned>(at++)).getType());
    if (machine::storageDiffers(array.dtype, elementDType(type)))
      return fmt::format("{} arrays are stored otherwise inside kernels", name(array.dtype));
    return std::nullopt;
  };
  for (size_t i = dynamic; i < package.operands.size(); ++i)
    if (auto why = check(package.operands[i])) return why;
  for (const ArrayType& t : package.results)
    if (auto why = check(t)) return why;
  return std::nullopt;
}

}  // namespace

Result<NativeOutcome> compileNative(const KernelPackage& package, const NativeOptions& options) {
  if (auto why = unsuitableArrays(package)) return NativeOutcome{nullptr, *why};
  const auto begin = std::chrono::steady_clock::now();
  NativeReport report;
  InterpretedOps interpreted;
  ModuleBuilder built(options.processor, package.name);
  auto lowered = lowerKernel(package, *built.module, options.processor, report, interpreted, 0, options.poison);
  if (!lowered) return NativeOutcome{nullptr, lowered.error()};
  report.compile.emitMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  auto object = generateObject(std::move(built), options.processor, &report.compile);
  if (!object) return fail(std::move(object.error()));
  const RuntimeSymbol symbols[] = {{kInterpretSymbol, reinterpret_cast<void*>(&smaltiCpuInterpret)}};
  auto code = loadObject(*object, symbols, &report.compile);
  if (!code) return fail(std::move(code.error()));
  auto kernel = std::make_shared<Kernel>(package, options, std::move(*lowered), std::move(interpreted),
                                         std::move(report), std::move(*code));
  if (!kernel->usable())
    return fail({.code = "SM9001", .message = "the generated code has no kernel function", .place = {}});
  return NativeOutcome{std::move(kernel), {}};
}

}  // namespace smalti::cpu
