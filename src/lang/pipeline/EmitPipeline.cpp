// emit_pipeline: prologue, a loop of copies and the body, epilogue, out of the ops of the language (S-C14). Per step:
// copies of blocks that come are started, those of this block awaited, the body runs, its results' copies are started,
// and those of the block before awaited.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "lang/pipeline/Conditions.h"
#include "lang/pipeline/PipelineWindow.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/debug.h"
#include "smalti/memory.h"
#include "smalti/ops.h"
#include "smalti/pipeline.h"

namespace smalti {
namespace lang {
namespace {

/// program_id and num_programs of the pipeline while it lives.
class GridScope {
 public:
  GridScope(Trace& trace, const PipelineGrid& grid, const std::vector<std::string>& names, const GridPoint& point)
      : trace_(trace),
        grid_(trace.grid),
        names_(trace.gridNames),
        indices_(trace.gridIndices),
        sizes_(trace.gridSizes) {
    trace.grid = grid.bounds();
    trace.gridNames = names;
    trace.gridIndices = point;
    trace.gridSizes = grid.sizes();
  }
  ~GridScope() {
    trace_.grid = std::move(grid_);
    trace_.gridNames = std::move(names_);
    trace_.gridIndices = std::move(indices_);
    trace_.gridSizes = std::move(sizes_);
  }
  GridScope(const GridScope&) = delete;
  GridScope& operator=(const GridScope&) = delete;

 private:
  Trace& trace_;
  std::vector<int64_t> grid_;
  std::vector<std::string> names_;
  std::vector<Array> indices_, sizes_;
};

/// One step of the loop: where it is, and what comes before and after.
struct Step {
  Array step, first, last;
  std::vector<GridPoint> previous;  ///< previous[k]: k steps back
  std::vector<GridPoint> ahead;     ///< ahead[k]: k steps on
  const GridPoint& point() const { return ahead[0]; }
};

class Emitter {
 public:
  Emitter(Trace& trace, const Kernel& body, const Pipeline& pipeline, const std::map<size_t, Ref>& buffers,
          const Location& at)
      : trace_(trace), body_(body), pipeline_(pipeline), buffers_(buffers), at_(at), grid_(pipeline.grid) {
    const size_t operands = pipeline.in_specs.size() + pipeline.out_specs.size();
    if (!buffers.empty() && buffers.rbegin()->first >= operands) {
      SourceLocationScope place(at_);
      refuse({.code = "SM6522",
              .message = "with_window_ref names an operand that the pipeline does not have",
              .place = {},
              .need = counted(operands, "operand"),
              .have = fmt::format("operand {}", buffers.rbegin()->first),
              .help = "count inputs, then outputs, from 0"});
    }
    for (const GridDim& d : pipeline.grid) names_.push_back(d.name);
  }

  std::vector<MemoryRef> allocations(const std::vector<Ref>& refs) {
    makeWindows(refs);
    std::vector<MemoryRef> memory;
    for (const PipelineWindow& w : windows_)
      for (MemoryRef& m : w.memory()) memory.push_back(std::move(m));
    return memory;
  }

  void run(const std::vector<Ref>& refs, const std::vector<Ref>* given) {
    const std::vector<MemoryRef> memory = allocations(refs);
    if (given) checkAllocations(*given, memory, at_);
    const auto bound = [&](const Ref* r) {
      for (PipelineWindow& w : windows_) w.bind(r);
      whenTrue(isLess(constantI32(0), grid_.steps()), at_, [&] { pipeline_.no_pipelining ? plain() : pipelined(); });
      return detail::Arrays{};
    };
    if (given || memory.empty())
      bound(given ? given->data() : nullptr);
    else
      detail::run_scoped(memory, bound);
  }

 private:
  void checkCounts(const std::vector<Ref>& refs) const {
    SourceLocationScope place(at_);
    const size_t inputs = pipeline_.in_specs.size(), outputs = pipeline_.out_specs.size();
    if (refs.size() != inputs + outputs)
      refuse({.code = "SM6521",
              .message = "the specs of emit_pipeline and its Refs do not match",
              .place = {},
              .need = fmt::format("{}: {} in_specs, {} out_specs", counted(inputs + outputs, "Ref"), inputs, outputs),
              .have = fmt::format("{}", refs.size()),
              .help = "give one BlockSpec per Ref; BlockSpec() takes the whole of it"});
    if (!pipeline_.dimension_semantics.empty() && pipeline_.dimension_semantics.size() != pipeline_.grid.size())
      refuse({.code = "SM6520",
              .message = "dimension_semantics must be the same length as grid",
              .place = {},
              .need = counted(pipeline_.grid.size(), "entry"),
              .have = fmt::format("{}", pipeline_.dimension_semantics.size()),
              .help = "give one of parallel, arbitrary per grid axis"});
  }

  void makeWindows(const std::vector<Ref>& refs) {
    checkCounts(refs);
    const size_t inputs = pipeline_.in_specs.size();
    for (size_t i = 0; i < refs.size(); ++i) {
      const bool out = i >= inputs;
      const auto& both = pipeline_.input_outputs;
      const bool in = !out || std::find(both.begin(), both.end(), static_cast<int>(i - inputs)) != both.end();
      windows_.emplace_back(out ? fmt::format("output {}", i - inputs) : fmt::format("input {}", i), refs[i],
                            out ? pipeline_.out_specs[i - inputs] : pipeline_.in_specs[i], in, out, &grid_, at_);
      useOwnBuffer(i, windows_.back());
      maxIn_ = std::max(maxIn_, windows_.back().inCount());
      maxOut_ = std::max(maxOut_, windows_.back().outCount());
    }
  }

  void useOwnBuffer(size_t operand, PipelineWindow& w) const {
    const auto own = buffers_.find(operand);
    if (own != buffers_.end()) return w.useBuffer(own->second);
    SourceLocationScope place(at_);
    if (w.prefetched() > 0)
      refuse({.code = "SM6522",
              .message = fmt::format("Expected external window buffer to be bound for prefetched input {}", operand),
              .place = {},
              .need = "the memory into which the kernel fetched the first blocks",
              .help = fmt::format("call with_window_ref({}, memory) of the pipeline, or leave prefetched_count out",
                                  operand)});
  }

  void scoped(std::string_view name, const std::function<void()>& body) {
    std::optional<named_scope> scope;
    if (pipeline_.trace_scopes) scope.emplace(name, at_);
    body();
  }
  /// A copy or wait under a condition.
  void when(std::string_view name, const Array& condition, const std::function<void()>& body) {
    whenTrue(condition, at_, [&] { scoped(name, body); });
  }

  void runBody(const GridPoint& point, const std::vector<Counters>& counters) {
    std::vector<Ref> refs;
    for (size_t i = 0; i < windows_.size(); ++i) {
      const PipelineWindow& w = windows_[i];
      const BlockIndex block = w.inPlace() && !w.trivial() ? w.blockAt(point) : BlockIndex{};
      refs.push_back(w.view(block, w.input() ? counters[i].waitIn : counters[i].copyOut));
    }
    refs.insert(refs.end(), pipeline_.scratches.begin(), pipeline_.scratches.end());
    scoped("ep_run_kernel", [&] {
      if (body_(refs)) return;
      SourceLocationScope place(body_.at);
      refuse({.code = "SM6526",
              .message = "the body of emit_pipeline takes the wrong number of Refs",
              .place = {},
              .need = fmt::format("{}: {}, {}, {} of scratch", refs.size(), counted(pipeline_.in_specs.size(), "input"),
                                  counted(pipeline_.out_specs.size(), "output"), pipeline_.scratches.size()),
              .have = fmt::format("{}", fmt::join(body_.arities(), " or ")),
              .help = "the body takes a Ref for each, in this order"});
    });
  }

  // --- State of the loop as its carries --------------------------------------------------------------------------

  detail::Arrays flat(const GridPoint& point, const std::vector<Counters>& counters) const {
    detail::Arrays out = point;
    for (size_t i = 0; i < windows_.size(); ++i) {
      const PipelineWindow& w = windows_[i];
      const Counters& c = counters[i];
      if (!w.pipelined()) continue;
      if (w.input()) out.insert(out.end(), {c.copyIn, c.waitIn});
      if (w.output()) out.insert(out.end(), {c.copyOut, c.waitOut});
      if (!w.lookahead()) continue;
      out.insert(out.end(), c.fetchPoint.begin(), c.fetchPoint.end());
      out.push_back(c.fetchStep);
    }
    return out;
  }
  void unflat(const detail::Arrays& in, GridPoint& point, std::vector<Counters>& counters) const {
    auto next = in.begin();
    for (Array& i : point) i = *next++;
    for (size_t i = 0; i < windows_.size(); ++i) {
      const PipelineWindow& w = windows_[i];
      Counters& c = counters[i];
      if (!w.pipelined()) continue;
      if (w.input()) c.copyIn = *next++, c.waitIn = *next++;
      if (w.output()) c.copyOut = *next++, c.waitOut = *next++;
      if (!w.lookahead()) continue;
      for (Array& p : c.fetchPoint) p = *next++;
      c.fetchStep = *next++;
    }
  }
  std::vector<Counters> zeros() const {
    const Array zero = constantI32(0);
    return std::vector<Counters>(windows_.size(), Counters{zero, zero, zero, zero, grid_.first(), zero});
  }
  void count(Array& counter, const Array& condition) const {
    SourceLocationScope place(at_);
    counter = selectValue(condition, plus(counter, 1), counter);
  }

  Step stepAt(const Array& step, const GridPoint& point) const {
    SourceLocationScope place(at_);
    Step s{step, isEqual(step, constantI32(0)), isEqual(step, plus(grid_.steps(), -1)), {point}, {point}};
    for (int64_t k = 1; k < std::max<int64_t>(maxOut_, 2); ++k) s.previous.push_back(grid_.previous(s.previous.back()));
    for (int64_t k = 1; k < std::max<int64_t>(maxIn_, 2); ++k) s.ahead.push_back(grid_.next(s.ahead.back()));
    return s;
  }

  /// Whether the blocks of two points differ.
  Array changes(const PipelineWindow& w, const GridPoint& a, const GridPoint& b) const {
    const BlockIndex x = w.blockAt(a), y = w.blockAt(b);
    SourceLocationScope place(at_);
    return differ(x, y);
  }
  template <class F>
  auto here(const F& f) const {
    SourceLocationScope place(at_);
    return f();
  }

  /// Whether block number `count` is one that the pipeline fetches: the kernel has fetched the first ones itself.
  Array fetches(const PipelineWindow& w, const Array& count) const {
    return w.prefetched() == 0 ? condition(true) : here([&] { return isLess(constantI32(w.prefetched() - 1), count); });
  }
  /// Starts the copy of a block that comes under a condition.
  void start(std::string_view name, const PipelineWindow& w, const Array& count, const Array& comes,
             const GridPoint& point) {
    const Array needed = here([&] { return logicalAnd(comes, fetches(w, count)); });
    when(name, needed, [&] { w.startIn(w.blockAt(point), count); });
  }

  // --- Phases ----------------------------------------------------------------------------------------------------

  /// Starts copies of the next different blocks while fewer than `limit` have been started.
  void fetchAhead(const PipelineWindow& w, Counters& c, const Array& limit) {
    detail::Arrays carry = c.fetchPoint;
    carry.insert(carry.end(), {c.fetchStep, c.copyIn});
    const size_t rank = c.fetchPoint.size();
    const detail::Arrays end = detail::while_loop(
        [&](const detail::Arrays& now) {
          SourceLocationScope place(at_);
          return logicalAnd(isLess(now[rank + 1], limit), isLess(plus(now[rank], 1), grid_.steps()));
        },
        [&](const detail::Arrays& now) {
          const GridPoint point = grid_.simplified({now.begin(), now.begin() + static_cast<std::ptrdiff_t>(rank)});
          const GridPoint next = here([&] { return grid_.next(point); });
          const Array change = changes(w, point, next);
          start("ep_copy_in", w, now[rank + 1], change, next);
          Array started = now[rank + 1];
          count(started, change);
          detail::Arrays out = next;
          out.insert(out.end(), {here([&] { return plus(now[rank], 1); }), started});
          return out;
        },
        carry, at_);
    for (size_t i = 0; i < rank; ++i) c.fetchPoint[i] = end[i];
    c.fetchStep = end[rank];
    c.copyIn = end[rank + 1];
  }

  void initialize(const PipelineWindow& w, Counters& c, const Step& s, int64_t ahead) {
    if (!w.input() || !w.pipelined() || ahead >= std::max<int64_t>(w.inCount() - 1, 0)) return;
    if (ahead == 0) {
      start("ep_initialize_0", w, c.copyIn, condition(true), s.point());
      c.copyIn = constantI32(1);
    } else if (w.lookahead()) {
      if (ahead == 1) fetchAhead(w, c, constantI32(w.inCount() - 1));
    } else {
      const Array inside = here([&] { return isLess(constantI32(ahead), grid_.steps()); });
      const Array change = changes(w, s.ahead[ahead - 1], s.ahead[ahead]);
      const Array comes = here([&] { return logicalAnd(inside, change); });
      start(fmt::format("ep_initialize_{}", ahead), w, c.copyIn, comes, s.ahead[ahead]);
      count(c.copyIn, comes);
    }
  }

  void copyIn(const PipelineWindow& w, Counters& c, const Step& s) {
    if (!w.input() || !w.pipelined()) return;
    const int64_t n = w.inCount();
    if (w.lookahead() && n > 1) return fetchAhead(w, c, here([&] { return plus(c.waitIn, n); }));
    const Array change = n < 2 ? changes(w, s.previous[0], s.previous[1]) : changes(w, s.ahead[n - 2], s.ahead[n - 1]);
    const Array comes = here([&] {
      return n < 2 ? logicalOr(change, s.first) : logicalAnd(change, isLess(plus(s.step, n - 1), grid_.steps()));
    });
    start("ep_copy_in", w, c.copyIn, comes, s.ahead[n - 1]);
    count(c.copyIn, comes);
  }

  void waitIn(const PipelineWindow& w, const Counters& c, const Step& s) {
    if (!w.input() || !w.pipelined()) return;
    const Array change = changes(w, s.previous[0], s.previous[1]);
    const Array wait = here([&] { return logicalAnd(logicalOr(change, s.first), fetches(w, c.waitIn)); });
    when("ep_wait_in", wait, [&] { w.waitIn(w.blockAt(s.point()), c.waitIn); });
  }

  void copyOut(const PipelineWindow& w, Counters& c, const Step& s, const Array& leaves) {
    if (!w.output() || !w.pipelined()) return;
    when("ep_copy_out", leaves, [&] { w.startOut(w.blockAt(s.point()), w.input() ? c.waitIn : c.copyOut); });
    count(c.copyOut, leaves);
  }

  /// Awaits the copy out of the block of `lag` steps ago, where it was left then.
  void waitOut(const PipelineWindow& w, Counters& c, const Step& s) {
    if (!w.output() || !w.pipelined() || w.outCount() < 2) return;
    const int64_t lag = w.outCount() - 1;
    const Array change = changes(w, s.previous[lag - 1], s.previous[lag]);
    const Array wait = here([&] { return logicalAnd(change, isLess(constantI32(lag - 1), s.step)); });
    when("ep_wait_out", wait, [&] { w.waitOut(w.blockAt(s.previous[lag]), c.waitOut); });
    count(c.waitOut, wait);
  }

  void finalize(const PipelineWindow& w, Counters& c, const Step& s, int64_t lag) {
    if (!w.output() || !w.pipelined() || lag >= w.outCount() - 1) return;
    Array wait = condition(true);
    if (lag > 0) {
      const Array change = changes(w, s.previous[lag - 1], s.previous[lag]);
      wait = here([&] { return logicalAnd(change, isLess(constantI32(lag), grid_.steps())); });
    }
    when(fmt::format("ep_finalize_{}", lag), wait, [&] { w.waitOut(w.blockAt(s.previous[lag]), c.waitOut); });
    count(c.waitOut, wait);
  }

  void loopStep(const Step& s, std::vector<Counters>& counters) {
    const GridScope scope(trace_, grid_, names_, s.point());
    for (size_t i = 0; i < windows_.size(); ++i) copyIn(windows_[i], counters[i], s);
    for (size_t i = 0; i < windows_.size(); ++i) waitIn(windows_[i], counters[i], s);
    runBody(s.point(), counters);
    std::vector<Array> leaves;  // whether this is the last step of the block
    for (const PipelineWindow& w : windows_) {
      const Array change = w.pipelined() ? changes(w, s.ahead[0], s.ahead[1]) : condition(false);
      leaves.push_back(here([&] { return logicalOr(change, s.last); }));
    }
    for (size_t i = 0; i < windows_.size(); ++i) copyOut(windows_[i], counters[i], s, leaves[i]);
    for (size_t i = 0; i < windows_.size(); ++i) waitOut(windows_[i], counters[i], s);
    for (size_t i = 0; i < windows_.size(); ++i)
      if (windows_[i].input() && windows_[i].pipelined()) count(counters[i].waitIn, leaves[i]);
  }

  void copyTrivial(bool in) {
    for (const PipelineWindow& w : windows_)
      if (w.buffered() && w.trivial() && (in ? w.input() && w.prefetched() == 0 : w.output()))
        w.copyNow(w.blockAt(grid_.first()), in);
  }

  void pipelined() {
    GridPoint point = grid_.first();
    std::vector<Counters> counters = zeros();
    copyTrivial(true);
    {
      const Step s = stepAt(constantI32(0), point);
      const GridScope scope(trace_, grid_, names_, point);
      for (int64_t ahead = 0; ahead + 1 < std::max<int64_t>(maxIn_, 2); ++ahead)
        for (size_t i = 0; i < windows_.size(); ++i) initialize(windows_[i], counters[i], s, ahead);
    }
    const detail::Arrays end = detail::fori_loop(
        Operand(constantI32(0), at_), Operand(grid_.steps(), at_), 1, 1,
        [&](const Array& step, const detail::Arrays& carry) {
          GridPoint now = point;
          std::vector<Counters> inside = counters;
          unflat(carry, now, inside);
          now = grid_.simplified(now);
          loopStep(stepAt(step, now), inside);
          return flat(here([&] { return grid_.next(now); }), inside);
        },
        flat(point, counters), at_);
    unflat(end, point, counters);
    {
      const GridPoint last = here([&] { return grid_.previous(grid_.simplified(point)); });
      const Step s = stepAt(here([&] { return plus(grid_.steps(), -1); }), last);
      const GridScope scope(trace_, grid_, names_, last);
      for (int64_t lag = std::max<int64_t>(maxOut_ - 2, 0); lag >= 0; --lag)
        for (size_t i = 0; i < windows_.size(); ++i) finalize(windows_[i], counters[i], s, lag);
    }
    copyTrivial(false);
  }

  /// Copies in, body, copies out, one after the other.
  void plain() {
    detail::fori_loop(
        Operand(constantI32(0), at_), Operand(grid_.steps(), at_), 1, 1,
        [&](const Array&, const detail::Arrays& carry) {
          const GridPoint point = grid_.simplified(carry);
          const GridScope scope(trace_, grid_, names_, point);
          const auto copies = [&](bool in) {
            for (const PipelineWindow& w : windows_)
              if (w.buffered() && (in ? w.input() : w.output())) w.copyNow(w.blockAt(point), in);
          };
          copies(true);
          runBody(point, zeros());
          copies(false);
          return here([&] { return grid_.next(point); });
        },
        grid_.first(), at_);
  }

  Trace& trace_;
  const Kernel& body_;
  const Pipeline& pipeline_;
  const std::map<size_t, Ref>& buffers_;  ///< of the kernel's own, by operand
  Location at_;
  PipelineGrid grid_;
  std::vector<std::string> names_;
  std::vector<PipelineWindow> windows_;
  int64_t maxIn_ = 1, maxOut_ = 1;
};

}  // namespace
}  // namespace lang

namespace {

lang::Emitter emitterOf(const Kernel& body, const Pipeline& pipeline, const std::map<size_t, Ref>& buffers,
                        const Location& at) {
  lang::SourceLocationScope place(at);
  return {lang::kernelTrace("emit_pipeline"), body, pipeline, buffers, at};
}

}  // namespace

void EmittedPipeline::run(const std::vector<Ref>& refs) const {
  emitterOf(body_, pipeline_, buffers_, at_).run(refs, memory_ ? &*memory_ : nullptr);
}

std::vector<MemoryRef> EmittedPipeline::allocations(const std::vector<Ref>& refs) const {
  return emitterOf(body_, pipeline_, buffers_, at_).allocations(refs);
}

EmittedPipeline EmittedPipeline::with_allocations(const std::vector<Ref>& memory) const {
  EmittedPipeline here = *this;
  here.memory_ = memory;
  return here;
}

EmittedPipeline EmittedPipeline::with_window_ref(size_t operand, const Ref& window) const {
  EmittedPipeline here = *this;
  here.buffers_[operand] = window;
  return here;
}

}  // namespace smalti
