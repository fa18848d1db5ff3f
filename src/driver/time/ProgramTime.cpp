#include "driver/time/ProgramTime.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/time/CollectiveTime.h"
#include "driver/time/Fusions.h"
#include "driver/time/Known.h"
#include "driver/time/TimeParts.h"
#include "ir/program/Exchange.h"

namespace smalti::driver {
namespace {

/// The bytes that move if each block is fetched once: a grid that fetches blocks again is below the roofline.
double leastBytes(const sim::KernelTime& time) {
  double bytes = 0;
  for (const sim::Traffic& t : time.traffic) bytes += std::min(t.bytes * time.cores, t.arrayBytes);
  return bytes;
}

class Walk {
 public:
  Walk(const Program& program, const tpu::Chip& chip, const sim::Assumptions& assume)
      : program_(program), chip_(chip), assume_(assume) {}

  Result<ProgramTime> run(const std::vector<std::optional<Array>>& inputs) {
    const Function& main = program_.functions[static_cast<size_t>(program_.main)];
    Frame frame(main);
    for (size_t i = 0; i < main.arguments.size(); ++i) {
      const auto v = static_cast<size_t>(main.arguments[i]);
      frame.nodes[v] = fusions_.source(main.values[v], compact(main.values[v]));
      if (i < inputs.size()) frame.known[v] = inputs[i];
      frame.origins[v] = {{static_cast<int>(i)}, true};
    }
    auto results = ops(frame, main.ops);
    if (!results) return fail(std::move(results.error()));
    for (const ValueId v : *results) fusions_.returned(frame.nodes[static_cast<size_t>(v)]);
    return total();
  }

 private:
  /// The origin of a value: inputs of the module; the input itself, or a value computed from inputs.
  struct FromInputs {
    std::set<int> inputs;
    bool isInput = false;
  };
  struct Frame {
    explicit Frame(const Function& f)
        : function(f), known(f.values.size()), nodes(f.values.size(), -1), origins(f.values.size()) {}
    const Function& function;
    KnownValues known;
    std::vector<Fusions::Node> nodes;
    std::vector<FromInputs> origins;
  };

  void follow(Frame& frame, const Op& op) {
    FromInputs from;
    for (const ValueId v : op.operands)
      from.inputs.insert(frame.origins[static_cast<size_t>(v)].inputs.begin(),
                         frame.origins[static_cast<size_t>(v)].inputs.end());
    for (const ValueId v : op.results) frame.origins[static_cast<size_t>(v)] = from;
  }

  /// The name of a kernel call's operand in messages.
  sim::Question::Source sourceOf(const Frame& frame, ValueId v) const {
    const FromInputs& from = frame.origins[static_cast<size_t>(v)];
    if (from.isInput) {
      const int i = *from.inputs.begin();
      return {fmt::format("input {} of the module, {}", i, frame.function.values[static_cast<size_t>(v)].str()),
              fmt::format("give it (--in {0}=FILE.npy), or assume its value (--assume {0}=NUMBER)", i)};
    }
    if (from.inputs.empty()) return {"computed by the module", "time the kernel alone, with this operand as an input"};
    std::vector<std::string> give;
    for (const int i : from.inputs) give.push_back(fmt::format("--in {}=FILE.npy", i));
    return {fmt::format("computed from {} {} of the module", from.inputs.size() == 1 ? "input" : "inputs",
                        fmt::join(from.inputs, ", ")),
            fmt::format("give what it is computed from: {}, or --assume for each", fmt::join(give, " "))};
  }

  /// The values that the ops return.
  Result<std::vector<ValueId>> ops(Frame& frame, const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (op.name == "return") return op.operands;
      if (op.name == "kernel_call") {
        if (auto status = kernel(frame, op); !status) return fail(std::move(status.error()));
      } else if (op.name == "call") {
        if (auto status = call(frame, op); !status) return fail(std::move(status.error()));
      } else if (op.name == "manual_computation") {
        if (auto status = onDevices(frame, op); !status) return fail(std::move(status.error()));
      } else {
        iciUs_ += collectiveUs(frame.function, op, devices_, chip_);
        plain(frame, op);
      }
    }
    return std::vector<ValueId>{};
  }

  void plain(Frame& frame, const Op& op) {
    follow(frame, op);
    if (auto results = evaluateKnown(program_, frame.function, op, frame.known))
      for (size_t i = 0; i < op.results.size(); ++i) frame.known[static_cast<size_t>(op.results[i])] = (*results)[i];
    std::vector<Fusions::Node> operands;
    for (const ValueId v : op.operands)
      if (frame.nodes[static_cast<size_t>(v)] >= 0) operands.push_back(frame.nodes[static_cast<size_t>(v)]);
    std::vector<int64_t> permutation;
    if (op.name == "transpose")
      if (const Attribute* p = op.find("permutation")) permutation = std::get<std::vector<int64_t>>(*p);
    for (const ValueId v : op.results) {
      const ArrayType& type = frame.function.values[static_cast<size_t>(v)];
      frame.nodes[static_cast<size_t>(v)] =
          op.operands.empty() ? fusions_.constant(type) : fusions_.op(op.name, operands, type, permutation);
    }
  }

  Status call(Frame& frame, const Op& op) {
    const Function* callee = program_.find(op.callee);
    Frame inner(*callee);
    for (size_t i = 0; i < callee->arguments.size(); ++i) {
      const auto from = static_cast<size_t>(op.operands[i]), to = static_cast<size_t>(callee->arguments[i]);
      inner.nodes[to] = frame.nodes[from];
      inner.known[to] = frame.known[from];
      inner.origins[to] = frame.origins[from];
    }
    auto results = ops(inner, callee->ops);
    if (!results) return fail(std::move(results.error()));
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto from = static_cast<size_t>((*results)[i]), to = static_cast<size_t>(op.results[i]);
      frame.nodes[to] = inner.nodes[from];
      frame.known[to] = inner.known[from];
      frame.origins[to] = inner.origins[from];
    }
    return {};
  }

  /// All devices do the same at the same time: the time is that of one of them, on its part of the arrays.
  Status onDevices(Frame& frame, const Op& op) {
    const Block& body = op.regions.front();
    const int64_t around = devices_;
    devices_ = meshOf(program_, op).numDevices();
    for (size_t i = 0; i < body.arguments.size(); ++i) {
      const auto from = static_cast<size_t>(op.operands[i]), to = static_cast<size_t>(body.arguments[i]);
      const ArrayType &whole = frame.function.values[from], &part = frame.function.values[to];
      if (frame.nodes[from] >= 0) fusions_.needed(frame.nodes[from]);
      frame.nodes[to] = fusions_.source(part, compact(part));
      if (part == whole) frame.known[to] = frame.known[from];
      frame.origins[to] = frame.origins[from];
      frame.origins[to].isInput &= part == whole;
    }
    auto results = ops(frame, body.ops);
    if (!results) return fail(std::move(results.error()));
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto from = static_cast<size_t>((*results)[i]), to = static_cast<size_t>(op.results[i]);
      frame.nodes[to] = frame.nodes[from];
      frame.origins[to] = frame.origins[from];
    }
    devices_ = around;
    return {};
  }

  Status kernel(Frame& frame, const Op& op) {
    const KernelPackage& package = program_.kernels[static_cast<size_t>(op.kernel)];
    follow(frame, op);
    sim::Question question{.operands = {}, .assume = assume_};
    for (const ValueId v : op.operands) {
      question.sources.push_back(sourceOf(frame, v));
      question.operands.push_back(frame.known[static_cast<size_t>(v)]);
      if (frame.nodes[static_cast<size_t>(v)] >= 0) fusions_.needed(frame.nodes[static_cast<size_t>(v)]);
    }
    auto time = sim::timeOf(package, chip_, question);
    if (!time) {
      Diagnostic d = std::move(time.error());
      d.where.insert(d.where.begin(), fmt::format("kernel '{}'", package.name));
      return fail(std::move(d));
    }
    for (const ValueId v : op.results) {
      const ArrayType& type = frame.function.values[static_cast<size_t>(v)];
      frame.nodes[static_cast<size_t>(v)] = fusions_.source(type, rowMajor(type.shape.size()));
    }
    const double us = time->cycles / (chip_.device.clockGhz * 1e3);
    kernels_.push_back({package.name, us, std::move(*time), op.kernel, std::move(question)});
    return {};
  }

  ProgramTime total() {
    ProgramTime out;
    const Fusions::Cost ops = fusions_.cost();
    out.ops = ops.passes;
    out.opBytes = ops.bytes;
    const double hbm = chip_.memory.hbmGbPerSecond * 1e3 * static_cast<double>(chip_.device.coresPerDevice) /
                       static_cast<double>(chip_.device.coresPerChip);  // bytes a µs of this device
    out.opsUs = static_cast<double>(ops.passes) * chip_.time.opUs + ops.bytes / (hbm * chip_.time.opEfficiency);
    out.iciUs = iciUs_;
    out.us = out.opsUs + out.iciUs;
    for (KernelCallTime& k : kernels_) {
      out.us += k.us;
      const double matrix = k.time.work.cycles[sim::Work::matrix] * chip_.time.matrixEfficiency /
                            (chip_.device.clockGhz * 1e3) * k.time.cores /
                            static_cast<double>(chip_.device.coresPerDevice);
      out.rooflineUs += std::max(matrix, leastBytes(k.time) / hbm);
    }
    out.kernels = std::move(kernels_);
    setRange(out, chip_);
    return out;
  }

  const Program& program_;
  const tpu::Chip& chip_;
  const sim::Assumptions& assume_;
  Fusions fusions_;
  int64_t devices_ = 1;  ///< that run what is walked
  double iciUs_ = 0;
  std::vector<KernelCallTime> kernels_;
};

}  // namespace

Result<ProgramTime> timeOf(const Program& program, const tpu::Chip& chip,
                           const std::vector<std::optional<Array>>& inputs, const sim::Assumptions& assume) {
  return Walk(program, chip, assume).run(inputs);
}

}  // namespace smalti::driver
