#include "driver/program/BindOnGpu.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/DeviceArrayUses.h"
#include "base/Executable.h"
#include "eval/Shape.h"
#include "gpu/driver/CudaKernel.h"
#include "gpu/driver/LaunchGraph.h"

namespace smalti::driver {
namespace {

Diagnostic needsHost(std::string have) {
  return {.code = "SM7207",
          .message = "the program cannot run with arrays on the GPU",
          .place = {},
          .need = "calls of kernels, reshapes and constants",
          .have = std::move(have),
          .help = "compute the rest in kernels, or call the program with arrays of the host: execute"};
}

/// The elements of a constant. The attribute of one whose elements are equal may hold a single element.
Result<Array> elementsOf(const Array& value, const ArrayType& type) {
  if (value.type() == type) return value;
  auto all = Array::allocate(type);
  if (all) eval::fill(all->data(), value.data(), all->elements(), storage_bytes(type.dtype));
  return all;
}

/// Bytes of a GPU's memory.
struct Range {
  uint64_t begin = 0, end = 0;
  bool overlaps(const Range& o) const { return begin < o.end && o.begin < end; }
};
Range rangeOf(const DeviceArray& a) { return {a.address(), a.address() + static_cast<uint64_t>(a.type().bytes())}; }

/// A value of the program, with the number of writes before the one that made it.
struct Value {
  DeviceArray array;
  size_t writes = 0;
};

Diagnostic sharesMemory(std::string what, std::string have) {
  return {.code = "SM7207",
          .message = std::move(what),
          .place = {},
          .need = "outputs with memory of their own; an output may have that of the input that is aliased to it",
          .have = std::move(have),
          .help = "omit `outputs`, or pass other arrays"};
}

class BoundProgram : public DeviceProgram::State {
 public:
  BoundProgram(std::shared_ptr<const CompiledProgram> compiled, const gpu::CudaGpu& gpu)
      : compiled_(std::move(compiled)), gpu_(gpu) {}

  /// Binds the ops of a function.
  Result<std::vector<Value>> add(const Function& f, std::span<const Value> arguments,
                                 std::span<const DeviceArray> outputs, int64_t stepLimit) {
    std::vector<Value> values(f.values.size());
    for (size_t i = 0; i < arguments.size(); ++i) values[static_cast<size_t>(f.arguments[i])] = arguments[i];
    const std::vector<DeviceArray> given = memoryOfValues(f, outputs);
    for (const Op& op : f.ops) {
      std::vector<Value> operands;
      for (const ValueId v : op.operands) operands.push_back(values[static_cast<size_t>(v)]);
      auto made = current(std::move(operands));
      if (made && op.name != "return") made = resultsOf(f, op, *made, given, stepLimit);
      if (!made) {
        if (made.error().place.line == 0) made.error().place = op.place;
        return fail(std::move(made.error()));
      }
      if (op.name == "return") return made;
      for (size_t i = 0; i < op.results.size(); ++i) values[static_cast<size_t>(op.results[i])] = (*made)[i];
    }
    return fail(needsHost("a function without a return"));
  }

  Status finish(bool asGraph) {
    // Copies from the host may still be under way when they return; streams of the caller need not wait for them.
    const gpu::CudaDriver& driver = gpu_.driver();
    if (Status ok = driver.check(driver.call().contextSynchronize(), "wait for the GPU"); !ok || !asGraph) return ok;
    auto made = gpu::LaunchGraph::capture(gpu_, [&](gpu::CudaHandle stream) { return enqueue(stream); });
    if (!made) return fail(std::move(made.error()));
    graph_ = std::move(*made);
    return {};
  }

  Status launch(void* stream) const override {
    const gpu::CurrentGpu current(gpu_);
    if (!current.status()) return current.status();
    if (Status ok = waitForOthers(stream); !ok) return ok;
    return graph_ ? graph_->launch(stream) : enqueue(stream);
  }

  Status wait() const override {
    const gpu::CurrentGpu current(gpu_);
    if (!current.status()) return current.status();
    std::vector<std::pair<DeviceArray::Uses*, uint64_t>> over{{&launches_, launches_.count()}};
    for (const std::vector<DeviceArray>* arrays : {&inputs, &results})
      for (const DeviceArray& a : *arrays) over.emplace_back(a.uses().get(), a.uses()->count());
    Status first;
    for (const auto& [kernel, name] : kernels_) {
      const auto end = kernel->ended();
      if (!end) return fail(end.error());
      if (gpu::isComplete(*end) || !first) continue;
      first = fail(
          {.code = "SM7208",
           .message = *end == cpu::KernelStatus::stepLimit ? "a kernel did not end on the GPU within its step limit"
                                                           : "a kernel on the GPU met a fault",
           .place = {},
           .where = {fmt::format("kernel '{}'", name)},
           .have = *end == cpu::KernelStatus::outside     ? "a block outside its array"
                   : *end == cpu::KernelStatus::stepLimit ? "more iterations of loops than allowed"
                                                          : "an access out of bounds, or a wait that never ends",
           .help = "its results are not valid; execute the program with copies of its inputs on the host, "
                   "which explains the fault"});
    }
    for (const auto& [uses, count] : over) uses->forget(count);
    return first;
  }

  Status readyOn(void* stream) const override {
    const auto last = launches_.writer();
    if (!last || *last == stream) return {};
    const gpu::CurrentGpu current(gpu_);
    if (!current.status()) return current.status();
    return gpu::waitOn(gpu_.driver(), *last, stream);
  }

  std::vector<DeviceArray> inputs;

 private:
  /// What is launched next on `stream` begins after the launches on other streams that use the same arrays: it reads
  /// what they have written, and writes what they have read. Two launches of this program use the same memory anyway.
  Status waitForOthers(void* stream) const {
    std::set<void*> earlier;
    for (const DeviceArray& a : inputs) a.uses()->read(stream, earlier);
    for (const DeviceArray& a : results) a.uses()->write(stream, earlier);
    launches_.write(stream, earlier);
    for (void* other : earlier)
      if (Status ok = gpu::waitOn(gpu_.driver(), other, stream); !ok) return ok;
    return {};
  }

  Status enqueue(gpu::CudaHandle stream) const {
    for (const auto& [kernel, name] : kernels_)
      if (Status ok = kernel->enqueue(stream); !ok) return ok;
    return {};
  }

  /// The caller's outputs are the memory of what the function returns, and of what it reshapes to that.
  static std::vector<DeviceArray> memoryOfValues(const Function& f, std::span<const DeviceArray> outputs) {
    std::vector<DeviceArray> memory(f.values.size());
    const Op& last = f.ops.back();
    for (size_t i = 0; i < outputs.size(); ++i) memory[static_cast<size_t>(last.operands[i])] = outputs[i];
    for (size_t i = f.ops.size(); i-- > 0;)
      if (const Op& op = f.ops[i]; op.name == "reshape")
        if (const DeviceArray& to = memory[static_cast<size_t>(op.results[0])]; to.address() != 0)
          memory[static_cast<size_t>(op.operands[0])] = reshaped(to, f.values[static_cast<size_t>(op.operands[0])]);
    return memory;
  }

  static DeviceArray reshaped(const DeviceArray& x, const ArrayType& type) {
    return DeviceArray::view(type, x.address(), x.gpu(), std::make_shared<DeviceArray>(x));
  }

  /// SM7207: another value has been written to the memory of one of these since.
  Result<std::vector<Value>> current(std::vector<Value> values) const {
    for (const Value& v : values)
      for (size_t i = v.writes; i < writes_.size(); ++i)
        if (writes_[i].overlaps(rangeOf(v.array)))
          return fail(sharesMemory("an output overwrites an array that the program still needs",
                                   fmt::format("an array of {} at the same address", v.array.type().str())));
    return values;
  }

  Result<std::vector<Value>> resultsOf(const Function& f, const Op& op, std::span<const Value> operands,
                                       std::span<const DeviceArray> given, int64_t stepLimit) {
    if (op.name == "reshape")
      return std::vector{
          Value{reshaped(operands[0].array, f.values[static_cast<size_t>(op.results[0])]), operands[0].writes}};
    if (op.name == "constant") {
      const auto* value = std::get_if<Array>(op.find("value"));
      if (!value) return fail(needsHost("a constant without elements"));
      auto elements = elementsOf(*value, f.values[static_cast<size_t>(op.results[0])]);
      if (!elements) return fail(std::move(elements.error()));
      auto copy = DeviceArray::copy_of(*elements, gpu_.number());
      if (!copy) return fail(std::move(copy.error()));
      return std::vector{Value{std::move(*copy), writes_.size()}};
    }
    std::vector<DeviceArray> outputs;
    for (const ValueId v : op.results) {
      const ArrayType& type = f.values[static_cast<size_t>(v)];
      const DeviceArray& output = given[static_cast<size_t>(v)];
      if (output.type() == type && output.address() != 0) {
        outputs.push_back(output);
        continue;
      }
      auto made = DeviceArray::allocate(type, gpu_.number());
      if (!made) return fail(std::move(made.error()));
      outputs.push_back(std::move(*made));
    }
    if (op.name == "call") return add(*compiled_->functions.at(op.callee), operands, outputs, stepLimit);
    if (op.name != "kernel_call") return fail(needsHost(fmt::format("the op '{}'", op.name)));
    return launchOf(op, operands, std::move(outputs), stepLimit);
  }

  Result<std::vector<Value>> launchOf(const Op& op, std::span<const Value> operands, std::vector<DeviceArray> outputs,
                                      int64_t stepLimit) {
    const KernelPackage& package = compiled_->program->kernels[static_cast<size_t>(op.kernel)];
    const auto* code = compiled_->kernels[static_cast<size_t>(op.kernel)]->onGpu();
    if (!code) return fail(needsHost("a kernel that the abstract machine runs"));
    if (Status ok = checkMemory(package, operands, outputs); !ok) return fail(std::move(ok.error()));
    std::vector<gpu::CudaAddress> from, to;
    for (const Value& v : operands) from.push_back(v.array.address());
    for (const DeviceArray& a : outputs) to.push_back(a.address());
    auto bound = code->bind(from, to, {.stepLimit = stepLimit, .memoryLimitBytes = 0});
    if (!bound) return fail(std::move(bound.error()));
    kernels_.emplace_back(std::move(*bound), package.name);
    for (const Value& v : operands) kept_.push_back(v.array);
    for (const DeviceArray& a : outputs) writes_.push_back(rangeOf(a));
    std::vector<Value> made;
    for (DeviceArray& a : outputs) made.push_back({kept_.emplace_back(std::move(a)), writes_.size()});
    return made;
  }

  /// The memory of a kernel's results: distinct, and that of no operand but an aliased one.
  static Status checkMemory(const KernelPackage& package, std::span<const Value> operands,
                            std::span<const DeviceArray> outputs) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const bool isAliased = std::ranges::any_of(package.aliases, [&](const Alias& a) {
          return a.operand == static_cast<int>(i) && a.output == static_cast<int>(o);
        });
        if (!rangeOf(outputs[o]).overlaps(rangeOf(operands[i].array)) ||
            (isAliased && outputs[o].address() == operands[i].array.address()))
          continue;
        return fail(sharesMemory(
            fmt::format("kernel '{}' would write result {} to the memory of operand {}", package.name, o, i),
            isAliased ? "an output that overlaps the input that is aliased to it"
                      : "an output that overlaps an input that is not aliased to it"));
      }
      for (size_t other = 0; other < o; ++other)
        if (rangeOf(outputs[o]).overlaps(rangeOf(outputs[other])))
          return fail(sharesMemory(
              fmt::format("kernel '{}' would write results {} and {} to the same memory", package.name, other, o),
              "outputs that overlap"));
    }
    return {};
  }

  std::shared_ptr<const CompiledProgram> compiled_;
  gpu::CudaGpu gpu_;
  std::vector<DeviceArray> kept_;  ///< arrays that the launches read and write
  std::vector<Range> writes_;      ///< of the launches so far, in their order
  std::vector<std::pair<std::unique_ptr<gpu::BoundKernel>, std::string>> kernels_;
  std::unique_ptr<gpu::LaunchGraph> graph_;
  mutable DeviceArray::Uses launches_;  ///< of memory that only this program uses
};

}  // namespace

Result<gpu::CudaGpu> gpuOf(const CompiledProgram& compiled) {
  if (compiled.kernels.empty())
    return fail({.code = "SM7207",
                 .message = "the program has no kernel, so that nothing of it runs on a GPU",
                 .place = {},
                 .need = "a call of a kernel",
                 .help = "compute in a kernel, or call the program with arrays of the host: execute"});
  const gpu::CudaKernel* code = compiled.kernels[0]->onGpu();
  if (!code) return fail(Executable::State::notOnGpu());
  return code->gpu();
}

Result<std::shared_ptr<const DeviceProgram::State>> bindOnGpu(std::shared_ptr<const CompiledProgram> compiled,
                                                              std::span<const DeviceArray> inputs,
                                                              const BindOptions& options, int64_t stepLimit) {
  const auto gpu = gpuOf(*compiled);
  if (!gpu) return fail(gpu.error());
  const int number = gpu->number();
  for (std::span<const DeviceArray> arrays : {inputs, std::span<const DeviceArray>(options.outputs)})
    for (size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i].gpu() != number)
        return fail(
            {.code = "SM7207",
             .message = fmt::format("{} {} is on another GPU", arrays.data() == inputs.data() ? "input" : "output", i),
             .place = {},
             .need = fmt::format("GPU {}", number),
             .have = fmt::format("GPU {}", arrays[i].gpu()),
             .help = "copy it, or compile the executable for that GPU: the target cuda:NUMBER"});
  const gpu::CurrentGpu current(*gpu);
  if (!current.status()) return fail(current.status().error());
  auto bound = std::make_shared<BoundProgram>(compiled, *gpu);
  bound->inputs.assign(inputs.begin(), inputs.end());
  const Function& main = compiled->main();
  std::vector<Value> arguments;
  for (const DeviceArray& input : inputs) arguments.push_back({input});
  auto results = bound->add(main, arguments, options.outputs, stepLimit);
  if (!results) return fail(std::move(results.error()));
  for (size_t i = 0; i < results->size(); ++i) {
    const bool isGiven = i < options.outputs.size();
    if (isGiven && (*results)[i].array.address() != options.outputs[i].address())
      return fail(needsHost(fmt::format("result {}, which no kernel writes to memory of its own", i)));
    bound->results.push_back(isGiven ? options.outputs[i] : std::move((*results)[i].array));
  }
  if (Status ok = bound->finish(options.graph); !ok) return fail(std::move(ok.error()));
  return bound;
}

}  // namespace smalti::driver
