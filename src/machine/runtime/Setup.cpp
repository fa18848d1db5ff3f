// Makes a device's memories from the operands of the call, and takes the results out of them at the end.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/RowMajor.h"
#include "base/Success.h"
#include "base/memory/KernelStorage.h"
#include "eval/Shape.h"
#include "ir/BlockGeometry.h"
#include "machine/runtime/Runtime.h"

namespace smalti::machine {
namespace {

class DeviceSetup {
 public:
  DeviceSetup(Runtime& runtime, int device, const std::vector<Array>& operands)
      : runtime_(runtime),
        kernel_(runtime.kernel),
        operands_(operands),
        device_(device),
        hlo_(runtime.options.semantics == Semantics::hlo) {}

  Status run() {
    DeviceMemory& device = runtime_.devices[device_];
    device.arrays.assign(kernel_.operands.size(), nullptr);
    device.cores.resize(runtime_.numCores);
    for (size_t i = 0; i < kernel_.operands.size(); ++i)
      if (auto ok = array(i); !ok) return ok;
    for (int c = 0; c < runtime_.numCores; ++c)
      if (auto ok = core(c); !ok) return ok;
    return {};
  }

 private:
  int firstPrefetch() const { return kernel_.numDynamicBounds(); }
  int firstInput() const { return firstPrefetch() + static_cast<int>(kernel_.prefetch.size()); }
  const Array& input(const OperandPlan& plan) const { return operands_[firstInput() + plan.index]; }

  /// An allocation that uses the caller's elements, or a copy of them if they would be modified.
  Result<std::unique_ptr<Allocation>> adopt(const Array& array, const ArgumentPlan& plan, const Shape& shape,
                                            bool copy) {
    auto a = std::make_unique<Allocation>();
    a->name = plan.name;
    a->type = {plan.type.dtype, shape};
    a->space = plan.space;
    a->device = device_;
    if (storageDiffers(array.dtype(), plan.type.dtype) || copy) {
      if (auto ok = runtime_.memory.take(a->type.bytes(), plan.name); !ok) return fail(std::move(ok.error()));
      auto copied =
          storageDiffers(array.dtype(), plan.type.dtype) ? toKernelStorage(array, plan.type.dtype) : array.clone();
      if (!copied) return fail(std::move(copied.error()));
      a->storage = std::move(*copied);
    } else {
      a->storage = array;
    }
    return a;
  }

  /// The array grown so that every block of the window fits, new elements undefined (S-B7).
  Result<std::unique_ptr<Allocation>> padded(const Array* array, const OperandPlan& plan) {
    const BlockGeometry geometry(*plan.window, plan.array.shape);
    const Shape shape = geometry.paddedShape(), start = geometry.paddedStart();
    auto a = make(plan, {plan.type.dtype, shape});
    if (!a || !array) return a;
    auto inside = storageDiffers(array->dtype(), plan.type.dtype) ? toKernelStorage(*array, plan.type.dtype) : *array;
    if (!inside) return fail(std::move(inside.error()));
    const Shape strides = rowMajorStrides(shape);
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) offset += start[d] * strides[d];
    const int bytes = (*a)->elementBytes();
    eval::copyStrided(std::as_const(*inside).data(), rowMajorStrides(plan.array.shape), (*a)->data() + offset * bytes,
                      strides, plan.array.shape, bytes);
    if (runtime_.tracks) {
      const std::byte one{1};
      eval::copyStrided(&one, Shape(shape.size(), 0), reinterpret_cast<std::byte*>((*a)->defined.data()) + offset,
                        strides, plan.array.shape, 1);
    }
    return a;
  }

  /// An undefined array. Unsigned integers have their own minimum and maximum.
  Result<std::unique_ptr<Allocation>> make(const OperandPlan& plan, ArrayType type) {
    auto a = makeAllocation(Allocation::Kind::array, plan.index, plan.name, std::move(type), plan.space,
                            runtime_.memory, runtime_.options.poison, runtime_.tracks);
    if (a && is_unsigned_integer(plan.array.dtype))
      std::memset((*a)->data(), runtime_.options.poison == Poison::intMax ? 0xff : 0, (*a)->type.bytes());
    return a;
  }

  Result<std::unique_ptr<Allocation>> makeArray(const OperandPlan& plan) {
    if (!plan.isOutput) {
      if (hlo_ && plan.window) return padded(&input(plan), plan);
      return adopt(input(plan), plan, plan.array.shape, hlo_ || (plan.written && !plan.window));
    }
    for (const Alias& alias : kernel_.aliases) {
      if (alias.output != plan.index) continue;
      const Array& operand = operands_[alias.operand];
      if (hlo_ && plan.window) return padded(&operand, plan);
      return adopt(operand, plan, plan.array.shape, !operand.unique() || hlo_ || isInCore(plan));
    }
    if (hlo_ && plan.window) return padded(nullptr, plan);
    return make(plan, {plan.type.dtype, plan.array.shape});
  }

  /// Whole in a core's own memory: there an aliased output is a copy of its input, though both were one in HBM.
  static bool isInCore(const OperandPlan& plan) {
    return !plan.window && (plan.space == MemoryKind::vmem || plan.space == MemoryKind::smem);
  }

  Status array(size_t i) {
    const OperandPlan& plan = kernel_.operands[i];
    DeviceMemory& device = runtime_.devices[device_];
    if (device.arrays[i]) return {};
    // An aliased output and its input are one array; interpret=True keeps those with windows apart.
    for (size_t o = 0; o < kernel_.operands.size(); ++o)
      if (kernel_.operands[o].sharedWith == static_cast<int>(i) && !isInCore(plan) &&
          !(hlo_ && (plan.window || kernel_.operands[o].window))) {
        if (auto ok = array(o); !ok) return ok;
        device.arrays[i] = device.arrays[o];
        return {};
      }
    auto a = makeArray(plan);
    if (!a) return fail(std::move(a.error()));
    (*a)->kind = Allocation::Kind::array;
    (*a)->index = static_cast<int>(i);
    (*a)->device = device_;
    device.arrays[i] = a->get();
    device.owned.push_back(std::move(*a));
    return {};
  }

  Status core(int c) {
    CoreMemory& core = runtime_.devices[device_].cores[c];
    core.windows.resize(kernel_.operands.size());
    auto own = [&](Allocation::Kind kind, int index, const ArgumentPlan& plan,
                   std::unique_ptr<Allocation>& slot) -> Status {
      auto a = makeAllocation(kind, index, plan.name, plan.type, plan.space, runtime_.memory, runtime_.options.poison,
                              runtime_.tracks);
      if (!a) return fail(std::move(a.error()));
      (*a)->device = device_;
      (*a)->core = c;
      slot = std::move(*a);
      return {};
    };
    for (size_t i = 0; i < kernel_.operands.size(); ++i) {
      if (!kernel_.operands[i].window) continue;
      if (auto ok = own(Allocation::Kind::window, static_cast<int>(i), kernel_.operands[i], core.windows[i]); !ok)
        return ok;
      runtime_.statistics.peakWindowBytes += core.windows[i]->type.bytes();
    }
    core.scratch.resize(kernel_.scratch.size());
    for (size_t i = 0; i < kernel_.scratch.size(); ++i)
      if (auto ok = own(Allocation::Kind::scratch, static_cast<int>(i), kernel_.scratch[i], core.scratch[i]); !ok)
        return ok;
    for (size_t i = 0; i < kernel_.prefetch.size(); ++i) {
      const ArgumentPlan& plan = kernel_.prefetch[i];
      auto a = adopt(operands_[firstPrefetch() + i], plan, plan.type.shape, plan.written);
      if (!a) return fail(std::move(a.error()));
      (*a)->kind = Allocation::Kind::prefetch;
      (*a)->index = static_cast<int>(i);
      (*a)->core = c;
      core.prefetch.push_back(std::move(*a));
    }
    const ArgumentPlan barrier{"barrier semaphore", {DType::semaphore, {}}, MemoryKind::semaphore};
    return own(Allocation::Kind::barrier, 0, barrier, core.barrier);
  }

  Runtime& runtime_;
  const CompiledKernel& kernel_;
  const std::vector<Array>& operands_;
  int device_;
  bool hlo_;
};

}  // namespace

Status checkOperands(const CompiledKernel& kernel, const std::vector<Array>& operands) {
  const auto where = [&] { return std::vector{fmt::format("kernel '{}'", kernel.name)}; };  // of calls that fail
  if (operands.size() != kernel.callOperands.size())
    return fail({.code = "SM4056",
                 .message = "the call has the wrong number of operands",
                 .place = {},
                 .where = where(),
                 .need = fmt::format("{} operands", kernel.callOperands.size()),
                 .have = fmt::format("{}", operands.size()),
                 .help = "pass dynamic grid bounds, scalar prefetch arrays and inputs, in this order"});
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type() != kernel.callOperands[i])
      return fail({.code = "SM4056",
                   .message = fmt::format("operand {} has the wrong type", i),
                   .place = {},
                   .where = where(),
                   .need = kernel.callOperands[i].str(),
                   .have = operands[i].type().str(),
                   .help = "pass arrays of the types that the custom call has"});
    const auto address = reinterpret_cast<uintptr_t>(operands[i].data());
    const auto alignment = static_cast<uintptr_t>(storage_bytes(operands[i].dtype()));
    if (operands[i].elements() > 0 && (address == 0 || address % alignment != 0))
      return fail({.code = "SM4056",
                   .message = fmt::format("operand {} has no memory that is aligned for its elements", i),
                   .place = {},
                   .where = where(),
                   .need = fmt::format("an address that is a multiple of {}", alignment),
                   .have = fmt::format("{:#x}", address),
                   .help = "copy it to an array of its own: Array::allocate"});
  }
  return success();
}

Status setUpDevices(Runtime& runtime, std::span<const std::vector<Array>> operands) {
  for (const int d : runtime.devicesHere())
    if (auto ok = DeviceSetup(runtime, d, operands[static_cast<size_t>(d - runtime.options.firstDevice)]).run(); !ok)
      return ok;
  return {};
}

Result<std::vector<Array>> takeResults(Runtime& runtime, int device) {
  std::vector<Array> results;
  const CompiledKernel& kernel = runtime.kernel;
  for (size_t i = kernel.numInputs(); i < kernel.operands.size(); ++i) {
    const OperandPlan& plan = kernel.operands[i];
    Allocation& a = *runtime.devices[device].arrays[i];
    Array array = retyped(a.storage, a.type);
    if (a.type.shape != plan.array.shape) {  // interpret=True: without the padding
      auto inner = Array::allocate({a.type.dtype, plan.array.shape});
      if (!inner) return fail(std::move(inner.error()));
      const Shape strides = rowMajorStrides(a.type.shape);
      int64_t offset = 0;
      const Shape start = BlockGeometry(*plan.window, plan.array.shape).paddedStart();
      for (size_t d = 0; d < strides.size(); ++d) offset += start[d] * strides[d];
      eval::copyStrided(a.data() + offset * a.elementBytes(), strides, inner->data(), rowMajorStrides(plan.array.shape),
                        plan.array.shape, a.elementBytes());
      array = std::move(*inner);
    }
    if (storageDiffers(plan.array.dtype, a.type.dtype)) {
      auto outside = fromKernelStorage(array, plan.array);
      if (!outside) return fail(std::move(outside.error()));
      results.push_back(std::move(*outside));
    } else {
      results.push_back(retyped(array, plan.array));
    }
  }
  return results;
}

}  // namespace smalti::machine
