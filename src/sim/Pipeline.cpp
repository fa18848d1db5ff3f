#include "sim/Pipeline.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "tpu/Tiling.h"

namespace smalti::sim {
namespace {

/// One window: which block it has, and its copies.
class WindowCopies {
 public:
  WindowCopies(const KernelArguments& arguments, size_t block, const Code& map, const tpu::Chip& chip, Memory& memory,
               std::span<const int64_t> grid, const Question& question)
      : isOutput_(block >= arguments.numInputs()),
        name_(arguments.roleOf(arguments.block(block))->str()),
        window_(*arguments.windowOf(block)),
        array_(arguments.arrayOf(block)),
        geometry_(window_, array_.shape),
        map_(map, chip, memory, grid, question),
        double_(window_.pipelineMode != smalti::PipelineMode::synchronous) {}

  Runner& map() { return map_; }
  bool isOutput() const { return isOutput_; }
  /// The block of the last examined step: "input 0 (3, 2)".
  std::string blockName() const { return fmt::format("{} ({})", name_, fmt::join(next_, ", ")); }
  const std::string& name() const { return name_; }

  /// Evaluates the block of a step. False: it is the one before.
  Result<bool> look(Clock& idle) {
    if (auto status = map_.run(idle); !status) return fail(std::move(status.error()));
    auto block = map_.results();
    if (!block) return fail(std::move(block.error()));
    const bool changed = next_ != *block;
    next_ = std::move(*block);
    return changed;
  }

  double bytes() {
    geometry_.place(next_, region_);
    return bytesOf(region_.size);
  }

  void countCopy(double moved) {
    traffic_.bytes += moved;
    ++traffic_.copies;
  }
  Traffic traffic() const {
    Traffic out = traffic_;
    out.what = name_;
    out.arrayBytes = bytesOf(array_.shape);
    return out;
  }

  bool changes = true;              ///< the next step has another block
  std::deque<Clock::Copy> fetched;  ///< started and not waited for
  std::optional<Clock::Copy> written;
  double writeBytes = 0;
  std::string writeName;  ///< of that block, where it is recorded
  bool isDouble() const { return double_; }

 private:
  /// Rows are whole tiles.
  double bytesOf(const Shape& shape) const {
    double n = 1;
    const size_t rank = shape.size();
    for (size_t d = 0; d < rank; ++d) {
      int64_t size = shape[d];
      if (d + 1 == rank) size = (size + tpu::kLanes - 1) / tpu::kLanes * tpu::kLanes;
      if (d + 2 == rank) size = (size + 7) / 8 * 8;
      n *= static_cast<double>(size);
    }
    return n * static_cast<double>(bit_width(array_.dtype)) / 8;
  }

  bool isOutput_;
  std::string name_;
  const Window& window_;
  const ArrayType& array_;
  BlockGeometry geometry_;
  Runner map_;
  bool double_;
  std::vector<int64_t> next_;
  BlockRegion region_;
  Traffic traffic_;
};

/// Limits of a recording: a few megabytes of trace, and as many intervals as a screen has pixels across.
constexpr size_t kMaxEvents = 10'000, kMaxStretches = 1024;

class Pipeline {
 public:
  Pipeline(const KernelPackage& package, const KernelCode& code, const tpu::Chip& chip, const Question& question,
           const std::vector<int64_t>& grid, const std::vector<int64_t>& whole, double hbmShare)
      : package_(package),
        arguments_(package),
        code_(code),
        chip_(chip),
        question_(question),
        grid_(grid),
        clock_(chip, hbmShare),
        idle_(chip, hbmShare),
        body_(code.body, chip, memory_, whole, question) {
    const auto& signature = package.signature;
    const size_t first = signature.grid.size();
    const size_t prefetches = static_cast<size_t>(signature.numScalarPrefetch);
    mlir::func::FuncOp f = package.kernelFunction();
    for (unsigned i = static_cast<unsigned>(first); i < f.getNumArguments(); ++i) {
      const auto type = mlir::dyn_cast<mlir::MemRefType>(f.getArgument(i).getType());
      if (!type) continue;
      views_.resize(f.getNumArguments());
      views_[i] = memory_.allocate(type, arguments_.roleOf(i).str(), known(i), operandOf(i));
      body_.setRef(i, views_[i]);
    }
    for (size_t b = 0; b < arguments_.numBlocks(); ++b) {
      if (!code.maps[b]) continue;
      windows_.push_back(std::make_unique<WindowCopies>(arguments_, b, *code.maps[b], chip, memory_, whole, question));
      for (size_t p = 0; p < prefetches; ++p) windows_.back()->map().setRef(first + p, views_[first + p]);
    }
  }

  Result<KernelTime> run() {
    if (question_.record) clock_.recorder = &recorder_.emplace(kMaxEvents, kMaxStretches);
    clock_.scalar(chip_.time.kernelUs * 1e3 * chip_.device.clockGhz);
    std::vector<int64_t> at(grid_.size(), 0);
    const bool none = std::any_of(grid_.begin(), grid_.end(), [](int64_t b) { return b <= 0; });
    bool more = !none;
    if (more) {
      if (auto status = look(at); !status) return fail(std::move(status.error()));
      for (auto& w : windows_)
        if (!w->isOutput()) w->fetched.push_back(copied(*w, w->bytes(), 0));
    }
    while (more) {
      for (size_t d = 0; d < at.size(); ++d) body_.setNumber(d, at[d]);
      if (records())
        stepName_ = grid_.empty() ? "the kernel" : fmt::format("step {} ({})", steps_, fmt::join(at, ", "));
      std::vector<bool> waits(windows_.size());
      for (size_t w = 0; w < windows_.size(); ++w) {
        waits[w] = windows_[w]->changes;
        if (!windows_[w]->changes) continue;
        windows_[w]->writeBytes = windows_[w]->bytes();
        if (records() && windows_[w]->isOutput()) windows_[w]->writeName = windows_[w]->blockName();
      }
      more = advance(at);
      if (more) {
        if (auto status = look(at); !status) return fail(std::move(status.error()));
      }
      if (auto status = step(waits, more); !status) return fail(std::move(status.error()));
    }
    for (auto& w : windows_)
      if (w->written) clock_.waitFor(*w->written);
    KernelTime time;
    time.cycles = clock_.now();
    time.steps = steps_ > 1 || body_.rounds() == 0 ? steps_ : body_.rounds();
    time.spent = clock_.spent;
    time.work = clock_.work;
    time.hbmBytes = clock_.hbmBytes;
    time.copies = clock_.copies;
    time.traffic = traffic();
    time.lines = lines();
    if (recorder_) time.recording = recorder_->take(clock_.now());
    return time;
  }

 private:
  std::optional<size_t> operandOf(unsigned argument) const {
    const ArgumentRole role = arguments_.roleOf(argument);
    const auto index = static_cast<size_t>(role.index);
    if (role.kind == ArgumentRole::scalarPrefetch) return arguments_.prefetchOperand(index);
    if (role.kind != ArgumentRole::input) return std::nullopt;
    // A window whose block changes at each step keeps none of them.
    const auto& window = arguments_.windowOf(index);
    const bool whole = !window || window->bounds == arguments_.arrayOf(index).shape;
    return whole ? std::optional(arguments_.inputOperand(index)) : std::nullopt;
  }

  const Array* known(unsigned argument) const {
    const std::optional<size_t> operand = operandOf(argument);
    if (!operand || *operand >= question_.operands.size() || !question_.operands[*operand]) return nullptr;
    return &*question_.operands[*operand];
  }

  bool records() const { return recorder_ && !recorder_->full(); }

  bool advance(std::vector<int64_t>& at) const {
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < grid_[d]) return true;
      at[d] = 0;
    }
    return false;
  }

  Status look(const std::vector<int64_t>& at) {
    for (auto& w : windows_) {
      for (size_t d = 0; d < at.size(); ++d) w->map().setNumber(d, at[d]);
      auto changed = w->look(idle_);
      if (!changed) return fail(std::move(changed.error()));
      w->changes = *changed;
    }
    return {};
  }

  /// `waits`: whose block this step is the first to use. `more`: there is a next step, whose blocks are known.
  Status step(const std::vector<bool>& waits, bool more) {
    if (recorder_) recorder_->setStep(steps_);
    const double from = clock_.now();
    ++steps_;
    if (!grid_.empty()) clock_.scalar(chip_.time.stepCycles);
    for (size_t i = 0; i < windows_.size(); ++i) {
      WindowCopies& w = *windows_[i];
      if (!w.isOutput() && more && w.changes && w.isDouble()) w.fetched.push_back(copied(w, w.bytes(), steps_));
    }
    for (size_t i = 0; i < windows_.size(); ++i) {
      WindowCopies& w = *windows_[i];
      if (w.isOutput() || !waits[i] || w.fetched.empty()) continue;
      clock_.waitFor(w.fetched.front());
      w.fetched.pop_front();
    }
    const double begins = clock_.now();
    if (auto status = body_.run(clock_); !status) return status;
    const double ends = clock_.now();
    for (auto& w : windows_) {
      if (w->isOutput()) {
        const bool leaves = !more || w->changes;
        if (leaves && w->written) clock_.waitFor(*w->written);
        if (leaves) w->written = copied(*w, w->writeBytes, steps_ - 1);
      } else if (more && w->changes && !w->isDouble()) {
        w->fetched.push_back(copied(*w, w->bytes(), steps_));
      }
    }
    if (recorder_) recorder_->stepped(std::move(stepName_), from, begins, ends, clock_.now());
    return {};
  }

  Clock::Copy copied(WindowCopies& w, double bytes, int64_t step) {
    w.countCopy(bytes);
    if (records()) recorder_->nextCopy(w.name(), w.isOutput() ? w.writeName : w.blockName(), step);
    return clock_.start(Clock::Route::hbm, bytes);
  }

  std::vector<Traffic> traffic() const;
  std::vector<LineTime> lines() const;

  const KernelPackage& package_;
  KernelArguments arguments_;
  const KernelCode& code_;
  const tpu::Chip& chip_;
  const Question& question_;
  std::vector<int64_t> grid_;
  Clock clock_, idle_;
  Memory memory_;
  Runner body_;
  std::vector<View> views_;
  std::vector<std::unique_ptr<WindowCopies>> windows_;
  int64_t steps_ = 0;
  std::optional<Recorder> recorder_;
  std::string stepName_;
};

std::vector<Traffic> Pipeline::traffic() const {
  std::vector<Traffic> out;
  for (const auto& w : windows_) out.push_back(w->traffic());
  for (const Buffer& b : memory_.buffers()) out.push_back({b.name, b.movedBytes, b.copies, b.bytes});
  std::erase_if(out, [](const Traffic& t) { return t.copies == 0; });
  std::stable_sort(out.begin(), out.end(), [](const Traffic& a, const Traffic& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<LineTime> Pipeline::lines() const {
  std::map<std::string, LineTime> byLine;
  for (size_t s = 0; s < code_.body.stretches.size(); ++s) {
    const double passed = static_cast<double>(body_.passed()[s]);
    if (passed == 0) continue;
    for (const auto& [op, work] : code_.body.stretches[s].ops) {
      const SourcePlace place = placeOf(op->getLoc());
      LineTime& line = byLine[place.str()];
      line.place = place;
      for (size_t u = 0; u < Work::numUnits; ++u) line.work.cycles[u] += passed * work.cycles[u];
    }
  }
  std::vector<LineTime> out;
  for (auto& [name, line] : byLine) out.push_back(std::move(line));
  std::sort(out.begin(), out.end(), [](const LineTime& a, const LineTime& b) { return a.cycles() > b.cycles(); });
  return out;
}

}  // namespace

Result<KernelTime> runPipeline(const KernelPackage& package, const KernelCode& code, const tpu::Chip& chip,
                               const Question& question, const std::vector<int64_t>& grid,
                               const std::vector<int64_t>& whole, double hbmShare) {
  return Pipeline(package, code, chip, question, grid, whole, hbmShare).run();
}

}  // namespace smalti::sim
