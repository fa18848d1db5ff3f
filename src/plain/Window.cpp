// reduce_window: sums, maxima and the like over windows that move over an array; cumulative ones in one pass.
// select_and_scatter: the gradient of the maximum over such windows.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/RowMajor.h"
#include "eval/ScalarReduction.h"
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
    if (const auto scan = scanned(); scan && (!scan->fromEnd || keepsInit()))
      return cumulative(scan->dim, scan->fromEnd);
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

  /// Is init combined with itself init again? Then windows may combine padding as if it were init, as often as they see
  /// it.
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

  /// Rows of neighbours, if the region is a sum or the like; says whether it is.
  bool scannedByElements(int64_t rows, int64_t length, bool fromEnd, const Array& inits, Array& result) {
    const auto kind = reduceKind(call_.op.regions[0], result.dtype());
    return kind && eval::withScalarReduction(*kind, result.dtype(), [&]<class T>(T, const auto& combine) {
             for (int64_t row = 0; row < rows; ++row) {
               const T* from = call_.operands[0].as<T>() + row * length;
               T* to = result.as<T>() + row * length;
               T sum = inits.as<T>()[row];
               for (int64_t k = 0; k < length; ++k) {
                 const int64_t i = fromEnd ? length - 1 - k : k;
                 to[i] = sum = combine(sum, from[i]);
               }
             }
           });
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
    if (n_ == 1 && inner == 1 && scannedByElements(outer, shape_[dim], fromEnd, (*accumulators)[0], results[0]))
      return results;
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
    const auto paddedWith = [&](const Array& array, const std::byte* element) {
      auto result = Array::allocate({array.dtype(), padded});
      if (result) eval::pad(in(array), element, dims_.padLow, interior, out(*result));
      return result;
    };
    std::vector<Array> inputs;
    for (size_t i = 0; i < n_; ++i) {
      auto input = paddedWith(call_.operands[i], call_.operands[n_ + i].data());
      if (!input) return fail(std::move(input.error()));
      inputs.push_back(std::move(*input));
    }
    if (shape_.empty()) return slid(std::move(inputs), dims_.window, dims_.strides);
    if (!keepsInit()) {
      const auto isAbove = [](const Shape& values, int64_t most) {
        return std::ranges::any_of(values, [=](int64_t v) { return v > most; });
      };
      if (!isAbove(dims_.padLow, 0) && !isAbove(dims_.padHigh, 0) && !isAbove(dims_.baseDilations, 1))
        return slid(std::move(inputs), dims_.window, dims_.strides);
      auto whole = Array::allocate({DType::pred, shape_});
      if (!whole) return fail(std::move(whole.error()));
      std::fill_n(whole->data(), whole->bytes(), std::byte{1});
      constexpr std::byte kPadding{0};
      auto inside = paddedWith(*whole, &kPadding);
      if (!inside) return fail(std::move(inside.error()));
      return slid(std::move(inputs), dims_.window, dims_.strides, &*inside);
    }
    // One dimension after the other, the last one first, combines the same elements in the same order in fewer steps.
    for (size_t d = shape_.size(); d-- > 0;) {
      Shape window(shape_.size(), 1), strides(shape_.size(), 1);
      window[d] = dims_.window[d], strides[d] = dims_.strides[d];
      if (d > 0 && window[d] == 1 && strides[d] == 1) continue;
      auto combined = slid(std::move(inputs), window, strides);
      if (!combined) return combined;
      inputs = std::move(*combined);
    }
    return inputs;
  }

  /// The same row by row of the result, if windows next to each other start at neighbours and the region is a list of
  /// kernels; says whether that is so.
  bool slidByRows(const std::vector<Array>& inputs, const Shape& window, const Shape& strides,
                  std::vector<Array>& accumulators) {
    constexpr int64_t kMostOffsets = 1 << 16;  // larger windows leave so few results that the rows do not matter
    if (strides.empty() || strides.back() != 1 || num_elements(window) > kMostOffsets) return false;
    auto plan = RegionPlan::of(call_, call_.op.regions[0]);
    if (!plan) return false;
    const Shape inStrides = rowMajorStrides(inputs[0].shape());
    std::vector<int64_t> offsets;  // of a window's elements
    Shape at(window.size(), 0);
    do {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * dims_.windowDilations[d] * inStrides[d];
      offsets.push_back(offset);
    } while (advance(at, window));
    Shape rows = accumulators[0].shape();
    const int64_t length = rows.back();
    rows.pop_back();
    Shape row(rows.size(), 0);
    std::vector<const std::byte*> arguments(2 * n_);
    std::vector<std::byte*> sums(n_);
    int64_t result = 0;
    do {
      int64_t first = 0;
      for (size_t d = 0; d < row.size(); ++d) first += row[d] * strides[d] * inStrides[d];
      for (const int64_t offset : offsets) {
        for (size_t i = 0; i < n_; ++i) {
          const int64_t bytes = storage_bytes(inputs[i].dtype());
          arguments[i] = sums[i] = accumulators[i].data() + result * bytes;
          arguments[n_ + i] = inputs[i].data() + (first + offset) * bytes;
        }
        plan->run(arguments, sums, length);
      }
      result += length;
    } while (advance(row, rows));
    return true;
  }

  /// What windows of these dimensions hold, combined with init: element by element of the window, all windows at once.
  /// `inside`: bools in the shape of the inputs; elements where it is false are left out, as XLA does with padding.
  PlainResults slid(std::vector<Array> inputs, const Shape& window, const Shape& strides,
                    const Array* inside = nullptr) {
    Shape shape = inputs[0].shape();
    for (size_t d = 0; d < shape.size(); ++d)
      shape[d] = (shape[d] - (window[d] - 1) * dims_.windowDilations[d] - 1) / strides[d] + 1;
    auto accumulators = filled(shape);
    if (!accumulators || (!inside && slidByRows(inputs, window, strides, *accumulators))) return accumulators;
    Shape at(shape.size(), 0), starts(shape.size());
    do {
      for (size_t d = 0; d < at.size(); ++d) starts[d] = at[d] * dims_.windowDilations[d];
      const auto ofWindows = [&](const Array& input) {
        auto element = Array::allocate({input.dtype(), shape});
        if (element) eval::slice(in(input), starts, strides, out(*element));
        return element;
      };
      std::vector<Array> elements, before;
      for (const Array& input : inputs) {
        auto element = ofWindows(input);
        if (!element) return fail(std::move(element.error()));
        elements.push_back(std::move(*element));
      }
      if (inside) before = *accumulators;
      accumulators = combine(std::move(*accumulators), std::move(elements), shape);
      if (!accumulators) return accumulators;
      if (!inside) continue;
      const auto mask = ofWindows(*inside);
      if (!mask) return fail(mask.error());
      if (auto ok = restore(*mask, before, *accumulators); !ok) return fail(std::move(ok.error()));
    } while (advance(at, window));
    return accumulators;
  }

  /// Where the mask is false, accumulators are as before.
  static Status restore(const Array& mask, const std::vector<Array>& before, std::vector<Array>& accumulators) {
    for (size_t i = 0; i < before.size(); ++i) {
      Array& now = accumulators[i];
      if (!now.unique()) {
        auto own = now.clone();
        if (!own) return fail(std::move(own.error()));
        now = std::move(*own);
      }
      const int64_t bytes = storage_bytes(now.dtype());
      for (int64_t k = 0; k < now.elements(); ++k)
        if (!mask.as<uint8_t>()[k]) std::copy_n(before[i].data() + k * bytes, bytes, now.data() + k * bytes);
    }
    return {};
  }

  PlainCall& call_;
  const size_t n_;
  const WindowDims dims_;
  const Shape shape_, outShape_;
};

PlainResults reduceWindow(PlainCall& call) { return WindowReduction(call).run(); }

/// Selects an element of each window of operand 0, and scatters the window's element of operand 1 to it. Padding is
/// not selected.
class SelectAndScatter {
 public:
  explicit SelectAndScatter(PlainCall& call) : call_(call), dims_(call.typed()) {}

  PlainResults run() {
    auto result = Array::allocate(call_.results[0]);
    if (!result) return fail(std::move(result.error()));
    eval::fill(result->data(), call_.operands[2].data(), result->elements(), storage_bytes(result->dtype()));
    if (auto ok = select(); !ok) return fail(std::move(ok.error()));
    return scattered(std::move(*result));
  }

 private:
  /// Calls visit(window, element) for each window whose element `at` is inside the array.
  template <class Visit>
  void forEachInside(const Shape& at, const Visit& visit) const {
    const Shape& shape = call_.operands[0].shape();
    Shape rows = call_.operands[1].shape();  // of windows: all but the last dimension
    const Shape strides = rowMajorStrides(shape);
    const size_t last = rows.size() - 1;
    const int64_t length = rows[last];
    rows.pop_back();
    const auto position = [&](size_t d, int64_t window) { return window * dims_.strides[d] - dims_.padLow[d] + at[d]; };
    Shape row(rows.size(), 0);
    int64_t window = 0;
    do {
      int64_t first = 0;
      bool isInside = true;
      for (size_t d = 0; d < last; ++d) {
        const int64_t p = position(d, row[d]);
        isInside = isInside && p >= 0 && p < shape[d];
        first += p * strides[d];
      }
      for (int64_t k = 0; k < length && isInside; ++k)
        if (const int64_t p = position(last, k); p >= 0 && p < shape[last]) visit(window + k, first + p);
      window += length;
    } while (advance(row, rows));
  }

  /// The elements of windows along dimension `d` that any window has inside the array, ascending.
  std::vector<int64_t> stepsAlong(size_t d) const {
    const int64_t size = call_.operands[0].shape()[d];
    std::vector<int64_t> steps;
    for (int64_t window = call_.operands[1].shape()[d] - 1; window >= 0; --window) {  // its part inside moves up
      const int64_t before = dims_.padLow[d] - window * dims_.strides[d];             // elements before the array
      const int64_t end = std::min(dims_.window[d], before + size);
      for (int64_t k = std::max({int64_t{0}, before, steps.empty() ? 0 : steps.back() + 1}); k < end; ++k)
        steps.push_back(k);
    }
    return steps;
  }

  /// The windows in step: of each, the element selected so far is compared with its next.
  Status select() {
    selected_.assign(static_cast<size_t>(call_.operands[1].elements()), -1);
    if (selected_.empty()) return {};
    if (dims_.window.empty()) {  // the one window of a scalar
      selected_[0] = 0;
      return {};
    }
    auto plan = RegionPlan::of(call_, call_.op.regions[0]);
    std::vector<std::vector<int64_t>> steps;
    Shape counts;
    for (size_t d = 0; d < dims_.window.size(); ++d) {
      steps.push_back(stepsAlong(d));
      counts.push_back(static_cast<int64_t>(steps[d].size()));
    }
    if (num_elements(counts) == 0) return {};
    Shape step(counts.size(), 0), at(counts.size());
    std::vector<Update> pairs;  // from the window's next element, to the window
    do {
      pairs.clear();
      for (size_t d = 0; d < at.size(); ++d) at[d] = steps[d][static_cast<size_t>(step[d])];
      forEachInside(at, [&](int64_t window, int64_t element) {
        int64_t& selected = selected_[static_cast<size_t>(window)];
        if (selected < 0)
          selected = element;
        else
          pairs.push_back({.from = element, .to = window});
      });
      if (pairs.empty()) continue;
      auto keeps = comparedPairs(pairs, plan);
      if (!keeps) return fail(std::move(keeps.error()));
      for (size_t k = 0; k < pairs.size(); ++k)
        if (!keeps->as<uint8_t>()[k]) selected_[static_cast<size_t>(pairs[k].to)] = pairs[k].from;
    } while (advance(step, counts));
    return {};
  }

  /// What the region says of the elements selected so far and the next ones: whether the former stay.
  Result<Array> comparedPairs(const std::vector<Update>& pairs, std::optional<RegionPlan>& plan) {
    const Array& operand = call_.operands[0];
    std::vector<Update> best = pairs;
    for (Update& p : best) p.from = selected_[static_cast<size_t>(p.to)];
    std::vector<Array> arguments;
    for (const std::vector<Update>* elements : {&std::as_const(best), &pairs}) {
      auto gathered = gatherElements(operand, *elements, &Update::from);
      if (!gathered) return gathered;
      arguments.push_back(std::move(*gathered));
    }
    const auto count = static_cast<int64_t>(pairs.size());
    if (!plan) {
      auto keeps = runLifted(call_, call_.op.regions[0], std::move(arguments), {count});
      if (!keeps) return fail(std::move(keeps.error()));
      return std::move((*keeps)[0]);
    }
    auto keeps = Array::allocate({DType::pred, {count}});
    if (keeps)
      plan->run(std::array<const std::byte*, 2>{arguments[0].data(), arguments[1].data()}, std::array{keeps->data()},
                count);
    return keeps;
  }

  PlainResults scattered(Array result) {
    const Array& source = call_.operands[1];
    std::vector<Array> results;
    results.push_back(std::move(result));
    if (auto plan = RegionPlan::of(call_, call_.op.regions[1])) {
      const int bytes = storage_bytes(source.dtype());
      for (size_t w = 0; w < selected_.size(); ++w) {
        if (selected_[w] < 0) continue;
        std::byte* element = results[0].data() + selected_[w] * bytes;
        plan->run(std::array<const std::byte*, 2>{element, source.data() + static_cast<int64_t>(w) * bytes},
                  std::array{element}, 1);
      }
      return results;
    }
    UpdateRounds rounds(results[0].elements());
    for (size_t w = 0; w < selected_.size(); ++w)
      if (selected_[w] >= 0) rounds.add({.from = static_cast<int64_t>(w), .to = selected_[w]});
    return applyUpdates(call_, call_.op.regions[1], rounds, std::move(results), {&source, 1});
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
