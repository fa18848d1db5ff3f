// reduce_window: sums, maxima and the like over windows that move over an array; cumulative ones in one pass.
// select_and_scatter: the gradient of the maximum over such windows.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/RowMajor.h"
#include "eval/Shape.h"
#include "plain/PlainEvaluators.h"
#include "plain/RegionPlan.h"
#include "plain/Updates.h"

namespace smalti::plain {
namespace {

/// The op's attributes with their defaults.
struct WindowDims {
  Shape window, strides, baseDilations, windowDilations, padLow, padHigh;
  explicit WindowDims(const TypedOp& op) {
    const size_t rank = op.operand(0).shape.size();
    window = op.entries("window_dimensions", rank, 1);
    strides = op.entries("window_strides", rank, 1);
    baseDilations = op.entries("base_dilations", rank, 1);
    windowDilations = op.entries("window_dilations", rank, 1);
    padLow = padHigh = Shape(rank, 0);
    const auto padding = op.integers("padding");
    for (size_t d = 0; 2 * d < padding.size(); ++d) {
      padLow[d] = padding[2 * d];
      padHigh[d] = padding[2 * d + 1];
    }
  }
};

class WindowReduction {
 public:
  explicit WindowReduction(PlainCall& call)
      : call_(call),
        n_(call.results.size()),
        dims_(call.typed()),
        shape_(call.operands[0].shape()),
        outShape_(call.results[0].shape) {}

  PlainResults run() {
    if (num_elements(outShape_) == 0) return filled(outShape_);
    if (const auto scan = scanned(); scan && keepsInit()) return cumulative(scan->dim, scan->fromEnd);
    return overWindows();
  }

 private:
  struct Scan {
    int64_t dim = 0;
    bool fromEnd = false;
  };

  /// The dimension that every element is combined along with all before it (cumsum), or all behind it.
  std::optional<Scan> scanned() const {
    std::optional<Scan> found;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (dims_.strides[d] != 1 || dims_.baseDilations[d] != 1 || dims_.windowDilations[d] != 1) return std::nullopt;
      if (dims_.window[d] == 1 && dims_.padLow[d] == 0 && dims_.padHigh[d] == 0) continue;
      const int64_t rest = shape_[d] - 1;
      const bool forward = dims_.padLow[d] == rest && dims_.padHigh[d] == 0;
      const bool backward = dims_.padLow[d] == 0 && dims_.padHigh[d] == rest;
      if (found || dims_.window[d] != shape_[d] || (!forward && !backward)) return std::nullopt;
      found = Scan{static_cast<int64_t>(d), !forward};
    }
    return found;
  }

  /// Is init combined with itself init again? Then it does not matter how much padding a window sees.
  bool keepsInit() {
    std::vector<Array> arguments;
    for (int side = 0; side < 2; ++side)
      for (size_t i = 0; i < n_; ++i) arguments.push_back(call_.operands[n_ + i]);
    const auto combined = runLifted(call_, call_.op.regions[0], std::move(arguments), {});
    if (!combined) return false;
    for (size_t i = 0; i < n_; ++i)
      if (std::memcmp((*combined)[i].data(), call_.operands[n_ + i].data(), (*combined)[i].bytes()) != 0) return false;
    return true;
  }

  /// Arrays of `shape`, each filled with its init.
  PlainResults filled(const Shape& shape) {
    std::vector<Array> arrays;
    for (size_t i = 0; i < n_; ++i) {
      auto array = Array::allocate({call_.operands[i].dtype(), shape});
      if (!array) return fail(std::move(array.error()));
      eval::fill(array->data(), call_.operands[n_ + i].data(), array->elements(), storage_bytes(array->dtype()));
      arrays.push_back(std::move(*array));
    }
    return arrays;
  }

  PlainResults combine(std::vector<Array> accumulators, std::vector<Array> elements, const Shape& shape) {
    std::move(elements.begin(), elements.end(), std::back_inserter(accumulators));
    return runLifted(call_, call_.op.regions[0], std::move(accumulators), shape);
  }

  PlainResults cumulative(int64_t dim, bool fromEnd) {
    Shape slab = shape_;
    slab[dim] = 1;
    std::vector<int64_t> starts(shape_.size(), 0);
    const std::vector<int64_t> ones(shape_.size(), 1);
    auto accumulators = filled(slab);
    if (!accumulators) return accumulators;
    std::vector<Array> results;
    for (size_t i = 0; i < n_; ++i) {
      auto result = Array::allocate(call_.results[i]);
      if (!result) return fail(std::move(result.error()));
      results.push_back(std::move(*result));
    }
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(dim) + 1; d < shape_.size(); ++d) inner *= shape_[d];
    const int64_t outer = num_elements(slab) / inner;
    if (auto plan = RegionPlan::of(call_, call_.op.regions[0])) {
      std::vector<const std::byte*> arguments(2 * n_);
      std::vector<std::byte*> sums(n_);
      for (int64_t o = 0; o < outer; ++o) {
        for (size_t i = 0; i < n_; ++i) arguments[i] = (*accumulators)[i].data();
        for (int64_t step = 0; step < shape_[dim]; ++step) {
          const int64_t row = o * shape_[dim] + (fromEnd ? shape_[dim] - 1 - step : step);
          for (size_t i = 0; i < n_; ++i) {
            const int64_t at = row * inner * storage_bytes(results[i].dtype());
            arguments[n_ + i] = call_.operands[i].data() + at;
            sums[i] = results[i].data() + at;
          }
          plan->run(arguments, sums, inner);
          std::ranges::copy(sums, arguments.begin());
        }
      }
      return results;
    }
    for (int64_t step = 0; step < shape_[dim]; ++step) {
      starts[dim] = fromEnd ? shape_[dim] - 1 - step : step;
      std::vector<Array> elements;
      for (size_t i = 0; i < n_; ++i) {
        auto element = Array::allocate({call_.operands[i].dtype(), slab});
        if (!element) return fail(std::move(element.error()));
        eval::slice(in(call_.operands[i]), starts, ones, out(*element));
        elements.push_back(std::move(*element));
      }
      accumulators = combine(std::move(*accumulators), std::move(elements), slab);
      if (!accumulators) return accumulators;
      for (size_t i = 0; i < n_; ++i) {
        const int64_t row = inner * storage_bytes(results[i].dtype());
        for (int64_t o = 0; o < outer; ++o)
          std::copy_n((*accumulators)[i].data() + o * row, row,
                      results[i].data() + (o * shape_[dim] + starts[dim]) * row);
      }
    }
    return results;
  }

  /// Padded and dilated inputs; then, element by element of the window, what all windows have there.
  PlainResults overWindows() {
    Shape padded(shape_.size());
    std::vector<int64_t> interior(shape_.size());
    for (size_t d = 0; d < shape_.size(); ++d) {
      interior[d] = dims_.baseDilations[d] - 1;
      const int64_t dilated = shape_[d] == 0 ? 0 : (shape_[d] - 1) * dims_.baseDilations[d] + 1;
      padded[d] = dilated + dims_.padLow[d] + dims_.padHigh[d];
    }
    std::vector<Array> inputs;
    for (size_t i = 0; i < n_; ++i) {
      auto input = Array::allocate({call_.operands[i].dtype(), padded});
      if (!input) return fail(std::move(input.error()));
      eval::pad(in(call_.operands[i]), call_.operands[n_ + i].data(), dims_.padLow, interior, out(*input));
      inputs.push_back(std::move(*input));
    }
    auto accumulators = filled(outShape_);
    if (!accumulators) return accumulators;
    Shape at(shape_.size(), 0), starts(shape_.size());
    for (int64_t k = 0; k < num_elements(dims_.window); ++k) {
      for (size_t d = 0; d < at.size(); ++d) starts[d] = at[d] * dims_.windowDilations[d];
      std::vector<Array> elements;
      for (const Array& input : inputs) {
        auto element = Array::allocate({input.dtype(), outShape_});
        if (!element) return fail(std::move(element.error()));
        eval::slice(in(input), starts, dims_.strides, out(*element));
        elements.push_back(std::move(*element));
      }
      accumulators = combine(std::move(*accumulators), std::move(elements), outShape_);
      if (!accumulators) return accumulators;
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < dims_.window[d]) break;
        at[d] = 0;
      }
    }
    return accumulators;
  }

  PlainCall& call_;
  const size_t n_;
  const WindowDims dims_;
  const Shape shape_, outShape_;
};

PlainResults reduceWindow(PlainCall& call) { return WindowReduction(call).run(); }

/// Selects an element of each window of operand 0, and scatters the window's element of operand 1 to it. Padding is
/// not selected, so the windows' parts inside the array suffice: all windows at once, element by element.
class SelectAndScatter {
 public:
  explicit SelectAndScatter(PlainCall& call) : call_(call), dims_(call.typed()) {}

  PlainResults run() {
    auto result = Array::allocate(call_.results[0]);
    if (!result) return fail(std::move(result.error()));
    eval::fill(result->data(), call_.operands[2].data(), result->elements(), storage_bytes(result->dtype()));
    if (auto ok = select(); !ok) return fail(std::move(ok.error()));
    UpdateRounds rounds(result->elements());
    for (size_t w = 0; w < selected_.size(); ++w)
      if (selected_[w] >= 0) rounds.add({.from = static_cast<int64_t>(w), .to = selected_[w]});
    std::vector<Array> results;
    results.push_back(std::move(*result));
    return applyUpdates(call_, call_.op.regions[1], rounds, std::move(results),
                        std::span<const Array>(call_.operands).subspan(1, 1));
  }

 private:
  /// Element `step` of the parts of the windows inside the array, for those that have as many: from that element to the
  /// window.
  std::vector<Update> candidates(int64_t step) const {
    const Shape &shape = call_.operands[0].shape(), &windows = call_.operands[1].shape();
    const Shape strides = rowMajorStrides(shape);
    std::vector<Update> found;
    if (selected_.empty()) return found;
    Shape window(windows.size(), 0);
    int64_t w = 0;
    do {
      int64_t element = 0, rest = step;
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t start = window[d] * dims_.strides[d] - dims_.padLow[d];
        const int64_t first = std::max<int64_t>(start, 0), end = std::min(start + dims_.window[d], shape[d]);
        if (end <= first) {
          rest = 1;
          break;
        }
        element += (first + rest % (end - first)) * strides[d];
        rest /= end - first;
      }
      if (rest == 0) found.push_back({.from = element, .to = w});
      ++w;
    } while (advance(window, windows));
    return found;
  }

  Status select() {
    const Array& operand = call_.operands[0];
    selected_.assign(static_cast<size_t>(call_.operands[1].elements()), -1);
    for (const Update& c : candidates(0)) selected_[static_cast<size_t>(c.to)] = c.from;
    for (int64_t step = 1;; ++step) {
      std::vector<Update> next = candidates(step);
      if (next.empty()) return {};
      std::vector<Update> pairs = next;  // the element from each window so far, and the next
      for (Update& p : pairs) p.to = selected_[static_cast<size_t>(p.to)];
      auto best = gatherElements(operand, pairs, &Update::to), element = gatherElements(operand, pairs, &Update::from);
      if (!best || !element) return fail(std::move(best ? element.error() : best.error()));
      std::vector<Array> arguments;
      arguments.push_back(std::move(*best));
      arguments.push_back(std::move(*element));
      auto keeps = runLifted(call_, call_.op.regions[0], std::move(arguments), {static_cast<int64_t>(next.size())});
      if (!keeps) return fail(std::move(keeps.error()));
      for (size_t k = 0; k < next.size(); ++k)
        if (!(*keeps)[0].as<uint8_t>()[k]) selected_[static_cast<size_t>(next[k].to)] = next[k].from;
    }
  }

  PlainCall& call_;
  const WindowDims dims_;
  std::vector<int64_t> selected_;  ///< by window: the element of the array, -1 where the window has none
};

PlainResults selectAndScatter(PlainCall& call) { return SelectAndScatter(call).run(); }

constexpr std::array kWindowEvaluators{EvaluatorRow{"reduce_window", reduceWindow},
                                       EvaluatorRow{"select_and_scatter", selectAndScatter}};

}  // namespace

std::span<const EvaluatorRow> windowEvaluators() { return kWindowEvaluators; }

}  // namespace smalti::plain
