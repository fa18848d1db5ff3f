#include "driver/time/ProgramTime.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/time/CollectiveTime.h"
#include "driver/time/Fusions.h"
#include "driver/time/Known.h"
#include "driver/time/TimeParts.h"
#include "driver/time/TripCount.h"
#include "ir/program/Exchange.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalti::driver {
namespace {

/// The bytes that move if each block is fetched once: a grid that fetches blocks again is below the roofline.
double leastBytes(const sim::KernelTime& time) {
  double bytes = 0;
  for (const sim::Traffic& t : time.traffic) bytes += std::min(t.bytes * time.cores, t.arrayBytes);
  return bytes;
}

constexpr double kMostPasses = 9e18;  // an int64_t

class Walk {
 public:
  Walk(const Program& program, const tpu::Chip& chip, const sim::Assumptions& assume, double timeLimitSeconds)
      : program_(program), chip_(chip), assume_(assume), timeLimitSeconds_(timeLimitSeconds) {}

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
      } else if (op.name == "while") {
        auto status = callsKernels(op) ? loop(frame, op) : loopOfOps(frame, op);
        if (!status) return fail(std::move(status.error()));
      } else if ((op.name == "case" || op.name == "if") && (callsKernels(op) || holds(op, "while"))) {
        if (auto status = branches(frame, op); !status) return fail(std::move(status.error()));
      } else {
        iciUs_ += collectiveUs(frame.function, op, devices_, chip_);
        plain(frame, op);
      }
    }
    return std::vector<ValueId>{};
  }

  void plain(Frame& frame, const Op& op) {
    follow(frame, op);
    const auto results = evaluateKnown(program_, frame.function, op, frame.known);
    for (size_t i = 0; i < op.results.size(); ++i)  // in a loop, also no longer known
      frame.known[static_cast<size_t>(op.results[i])] = results ? std::optional((*results)[i]) : std::nullopt;
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

  /// Whether the op is one of that name, or runs one.
  bool holds(const Op& op, std::string_view name) const {
    return op.name == name || std::ranges::any_of(op.regions, [&](const Block& b) { return holds(b.ops, name); }) ||
           (op.name == "call" && holds(program_.find(op.callee)->ops, name));
  }
  bool holds(const std::vector<Op>& ops, std::string_view name) const {
    return std::ranges::any_of(ops, [&](const Op& op) { return holds(op, name); });
  }
  bool callsKernels(const Op& op) const { return holds(op, "kernel_call"); }

  /// What passes between iterations.
  struct Carried {
    std::vector<std::optional<Array>> known;
    std::vector<FromInputs> origins;
  };
  Carried carried(const Frame& frame, const std::vector<ValueId>& values) const {
    Carried made;
    for (const ValueId v : values) {
      made.known.push_back(frame.known[static_cast<size_t>(v)]);
      made.origins.push_back(frame.origins[static_cast<size_t>(v)]);
    }
    return made;
  }
  /// Gives values what was carried, in memory of their own.
  void enter(Frame& frame, const std::vector<ValueId>& values, const Carried& from) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto v = static_cast<size_t>(values[i]);
      const ArrayType& type = frame.function.values[v];
      frame.nodes[v] = fusions_.source(type, compact(type), /*overwritable=*/true);
      frame.known[v] = from.known[i];
      frame.origins[v] = from.origins[i];
    }
  }
  void need(const Frame& frame, const std::vector<ValueId>& values) {
    for (const ValueId v : values)
      if (const Fusions::Node node = frame.nodes[static_cast<size_t>(v)]; node >= 0) fusions_.needed(node);
  }

  /// Iteration by iteration: the time of a kernel may depend on the loop's index.
  Status loop(Frame& frame, const Op& op) {
    constexpr int64_t kMostIterations = 10'000;
    const Block &condition = op.regions[0], &body = op.regions[1];
    need(frame, op.operands);
    Carried state = carried(frame, op.operands);
    if (loops_++ == 0) firstInLoop_ = kernels_.size();
    for (int64_t iteration = 0;; ++iteration) {
      enter(frame, condition.arguments, state);
      auto goesOn = ops(frame, condition.ops);
      if (!goesOn) return fail(std::move(goesOn.error()));
      const auto& again = frame.known[static_cast<size_t>(goesOn->front())];
      if (!again || iteration == kMostIterations)
        return fail({.code = "SM6902",
                     .message = again ? "a loop around a kernel runs too often to be timed"
                                      : "how often a loop around a kernel runs depends on data that is not given",
                     .place = {},
                     .need = again ? fmt::format("at most {} iterations", kMostIterations) : std::string(),
                     .have = sourceOf(frame, goesOn->front()).what,
                     .help = again ? "time one iteration, and multiply" : sourceOf(frame, goesOn->front()).help});
      if (*again->as<uint8_t>() == 0) break;
      enter(frame, body.arguments, state);
      auto results = ops(frame, body.ops);
      if (!results) return fail(std::move(results.error()));
      need(frame, *results);
      state = carried(frame, *results);
    }
    --loops_;
    enter(frame, op.results, state);
    return {};
  }

  /// The values from outside that the op's regions read: those made inside have no nodes yet.
  void needInRegions(const Frame& frame, const Op& op) {
    for (const Block& region : op.regions)
      for (const Op& inner : region.ops) {
        need(frame, inner.operands);
        needInRegions(frame, inner);
      }
  }

  /// One iteration of a loop without kernels, times their number: each iteration takes the same time.
  Status loopOfOps(Frame& frame, const Op& op) {
    const Block &condition = op.regions[0], &body = op.regions[1];
    const auto trips = tripCount(program_, frame.function, op, frame.known);
    if (!trips) countedOnce_.insert(&op);
    need(frame, op.operands);
    needInRegions(frame, op);
    Walk once(program_, chip_, assume_, timeLimitSeconds_);
    once.devices_ = devices_;
    Frame inside = frame;
    for (size_t v = 0; v < inside.nodes.size(); ++v)
      if (frame.nodes[v] >= 0) {
        const ArrayType& type = frame.function.values[v];
        inside.nodes[v] = fusions_.isConstant(frame.nodes[v]) ? once.fusions_.constant(type)
                                                              : once.fusions_.source(type, compact(type));
      }
    Carried state = carried(frame, op.operands);
    state.known.assign(op.operands.size(), std::nullopt);
    for (const Block* block : {&condition, &body}) {
      once.enter(inside, block->arguments, state);
      auto results = once.ops(inside, block->ops);
      if (!results) return fail(std::move(results.error()));
      if (block == &condition) continue;
      if (trips) results->erase(results->begin() + static_cast<ptrdiff_t>(trips->counter));  // not in HBM
      once.need(inside, *results);
    }
    const double times = trips ? static_cast<double>(trips->iterations) : 1;
    const Fusions::Cost cost = once.fusions_.cost();
    inLoops_.passes += times * (static_cast<double>(cost.passes) + once.inLoops_.passes);
    inLoops_.bytes += times * (cost.bytes + once.inLoops_.bytes);
    iciUs_ += times * once.iciUs_;
    countedOnce_.merge(once.countedOnce_);
    const auto known = evaluateKnown(program_, frame.function, op, frame.known);
    follow(frame, op);
    state = carried(frame, op.results);
    for (size_t i = 0; i < op.results.size(); ++i) state.known[i] = known ? std::optional((*known)[i]) : std::nullopt;
    enter(frame, op.results, state);
    return {};
  }

  /// The branch that is taken; the slowest one, if that is not known.
  Status branches(Frame& frame, const Op& op) {
    need(frame, {op.operands.front()});
    const auto& index = frame.known[static_cast<size_t>(op.operands.front())];
    const size_t taken = index ? chosenBranch(op, *index) : 0;
    // The walk of each branch starts from what is known here.
    std::optional<Walk> slowest;
    double most = -1;
    std::optional<Frame> after;
    std::vector<ValueId> results;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (index && i != taken) continue;
      Walk branch = *this;
      Frame inside = frame;
      auto made = branch.ops(inside, op.regions[i].ops);
      if (!made) return fail(std::move(made.error()));
      branch.need(inside, *made);
      const double us = Walk(branch).total().us;
      if (us <= most) continue;
      most = us;
      slowest.emplace(std::move(branch));
      after.emplace(std::move(inside));
      results = std::move(*made);
    }
    take(std::move(*slowest));
    Carried state = carried(*after, results);
    if (!index) state.known.assign(results.size(), std::nullopt);
    enter(frame, op.results, state);
    return {};
  }
  void take(Walk&& other) {
    fusions_ = std::move(other.fusions_);
    iciUs_ = other.iciUs_;
    inLoops_ = other.inLoops_;
    countedOnce_ = std::move(other.countedOnce_);
    kernels_ = std::move(other.kernels_);
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

  /// An earlier call in the loops around that is like this one; null: there is none.
  KernelCallTime* inLoop(llvm::function_ref<bool(const KernelCallTime&)> isLikeThis) {
    if (loops_ == 0) return nullptr;
    const auto found =
        std::find_if(kernels_.begin() + static_cast<ptrdiff_t>(firstInLoop_), kernels_.end(), isLikeThis);
    return found == kernels_.end() ? nullptr : &*found;
  }
  static bool isSame(const std::optional<Array>& a, const std::optional<Array>& b) {
    if (!a || !b) return !a && !b;
    return a->bytes() == b->bytes() &&
           (a->data() == b->data() || std::memcmp(a->data(), b->data(), static_cast<size_t>(a->bytes())) == 0);
  }

  Status kernel(Frame& frame, const Op& op) {
    const KernelPackage& package = program_.kernels[static_cast<size_t>(op.kernel)];
    follow(frame, op);
    sim::Question question{.operands = {}, .assume = assume_, .timeLimitSeconds = timeLimitSeconds_};
    for (const ValueId v : op.operands) {
      question.sources.push_back(sourceOf(frame, v));
      question.operands.push_back(frame.known[static_cast<size_t>(v)]);
    }
    need(frame, op.operands);
    for (const ValueId v : op.results) {
      const auto i = static_cast<size_t>(v);
      const ArrayType& type = frame.function.values[i];
      frame.nodes[i] = fusions_.source(type, rowMajor(type.shape.size()));
      frame.known[i].reset();
    }
    if (KernelCallTime* same = inLoop([&](const KernelCallTime& k) {
          return k.kernel == op.kernel && std::ranges::equal(k.question.operands, question.operands, isSame);
        })) {
      ++same->calls;
      return {};
    }
    auto time = sim::timeOf(package, chip_, question);
    if (!time) {
      Diagnostic d = std::move(time.error());
      d.where.insert(d.where.begin(), fmt::format("kernel '{}'", package.name));
      return fail(std::move(d));
    }
    const double us = time->cycles / (chip_.device.clockGhz * 1e3);
    if (KernelCallTime* same = inLoop([&](const KernelCallTime& k) { return k.kernel == op.kernel && k.us == us; }))
      ++same->calls;
    else
      kernels_.push_back({package.name, us, std::move(*time), op.kernel, 1, std::move(question)});
    return {};
  }

  ProgramTime total() {
    ProgramTime out;
    const Fusions::Cost ops = fusions_.cost();
    const double passes = static_cast<double>(ops.passes) + inLoops_.passes;
    out.ops = static_cast<int64_t>(std::min(passes, kMostPasses));
    out.opBytes = ops.bytes + inLoops_.bytes;
    const double hbm = chip_.memory.hbmGbPerSecond * 1e3 * static_cast<double>(chip_.device.coresPerDevice) /
                       static_cast<double>(chip_.device.coresPerChip);  // bytes a µs of this device
    out.opsUs = passes * chip_.time.opUs + out.opBytes / (hbm * chip_.time.opEfficiency);
    for (const Op* op : countedOnce_) out.loopsCountedOnce.push_back(op->place);
    std::ranges::sort(out.loopsCountedOnce, {},
                      [](const SourcePlace& p) { return std::tie(p.file, p.line, p.column); });
    out.iciUs = iciUs_;
    out.us = out.opsUs + out.iciUs;
    for (KernelCallTime& k : kernels_) {
      const auto calls = static_cast<double>(k.calls);
      out.us += calls * k.us;
      const double matrix = k.time.work.cycles[sim::Work::matrix] * chip_.time.matrixEfficiency /
                            (chip_.device.clockGhz * 1e3) * k.time.cores /
                            static_cast<double>(chip_.device.coresPerDevice);
      out.rooflineUs += calls * std::max(matrix, leastBytes(k.time) / hbm);
    }
    out.kernels = std::move(kernels_);
    setRange(out, chip_);
    return out;
  }

  const Program& program_;
  const tpu::Chip& chip_;
  const sim::Assumptions& assume_;
  double timeLimitSeconds_;
  Fusions fusions_;
  int64_t devices_ = 1;     ///< that run what is walked
  int loops_ = 0;           ///< around what is walked
  size_t firstInLoop_ = 0;  ///< of kernels_, in the outermost loop
  double iciUs_ = 0;
  /// Of all iterations of loops without kernels; `fusions_` holds only what is around them.
  struct {
    double passes = 0, bytes = 0;
  } inLoops_;
  std::set<const Op*> countedOnce_;  ///< loops without kernels whose number of iterations is not known
  std::vector<KernelCallTime> kernels_;
};

}  // namespace

Result<ProgramTime> timeOf(const Program& program, const tpu::Chip& chip,
                           const std::vector<std::optional<Array>>& inputs, const sim::Assumptions& assume,
                           double timeLimitSeconds) {
  return Walk(program, chip, assume, timeLimitSeconds).run(inputs);
}

}  // namespace smalti::driver
