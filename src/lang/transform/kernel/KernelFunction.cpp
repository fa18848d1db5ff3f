#include "lang/transform/kernel/KernelFunction.h"

#include <algorithm>
#include <utility>

#include "lang/call/DerivedKernel.h"
#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/kernel/BodyFunction.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;

/// An array with its edge: blocks that reach beyond it are whole.
struct Padded {
  Shape before, shape;

  explicit Padded(const TracedOperand& o) : before(o.array.shape.size()), shape(o.array.shape) {
    if (!o.windowed) return;
    for (size_t i = 0; i < shape.size(); ++i) {
      const BlockDim& d = o.block[i];
      before[i] = d.kind == BlockDim::Kind::element ? d.padding.first + beyond(d) : 0;
      if (d.kind == BlockDim::Kind::element)
        shape[i] += d.padding.first + d.padding.second + 2 * beyond(d);
      else if (d.kind == BlockDim::Kind::blocked && d.size > 0)
        shape[i] = (shape[i] + d.size - 1) / d.size * d.size;
    }
  }
  /// A block that starts at any element may reach this far beyond the array and its padding, at both ends.
  static int64_t beyond(const BlockDim& d) { return std::max<int64_t>(d.size - 1, 0); }
  /// Elements beyond the edge have the value at the edge, as constants: zeros could be divided by, and a cotangent of 0
  /// times an infinity is not a number.
  Array padded(const Array& a) const {
    Array whole = a;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t size = a.shape()[i], after = shape[i] - before[i] - size;
      if (before[i] == 0 && after == 0) continue;
      std::vector<Operand> parts;
      if (before[i] > 0) parts.emplace_back(edge(whole, i, 0, before[i]));
      parts.emplace_back(whole);
      if (after > 0) parts.emplace_back(edge(whole, i, size - 1, after));
      whole = concatenate(parts, static_cast<int64_t>(i));
    }
    return whole;
  }
  Array unpadded(const Array& a, const Shape& inside) const {
    if (a.shape() == inside) return a;
    std::vector<int64_t> limits = before;
    for (size_t i = 0; i < limits.size(); ++i) limits[i] += inside[i];
    return slice(a, before, limits);
  }

 private:
  /// `count` times what is at one index of the axis; zeros where nothing is.
  static Array edge(const Array& a, size_t axis, int64_t at, int64_t count) {
    Shape repeated = a.shape(), starts(repeated.size()), limits = repeated;
    repeated[axis] = count;
    if (a.shape()[axis] == 0) return zeros(repeated, a.dtype());
    starts[axis] = at;
    limits[axis] = at + 1;
    return broadcast_to(stop_gradient(slice(a, starts, limits)), repeated);
  }
};

class GridLoop {
 public:
  GridLoop(const TracedKernel& kernel, std::span<const Array> operands, bool wide) : k_(kernel), wide_(wide) {
    const auto numBounds = static_cast<size_t>(kernel.numDynamicBounds());
    size_t bound = 0;
    for (const int64_t size : kernel.grid)
      grid_.push_back(size == kDynamicBound ? *concreteInteger(operands[bound++]) : size);
    for (const Array& scalars : operands.subspan(numBounds, kernel.prefetch.size()))
      prefetch_.push_back(convertTo(scalars, dtype(scalars.dtype())));
    const auto given = operands.subspan(numBounds + kernel.prefetch.size());
    for (size_t i = 0; i < kernel.operands.size(); ++i) {
      const TracedOperand& o = kernel.operands[i];
      edges_.emplace_back(o);
      const DType t = dtype(o.array.dtype);
      arrays_.push_back(static_cast<int>(i) < kernel.numInputs ? edges_[i].padded(convertTo(given[i], t))
                                                               : zeros(edges_[i].shape, t));
    }
    const size_t firstInput = numBounds + kernel.prefetch.size();
    for (const Alias& alias : kernel.aliases) {
      const size_t output = kernel.numInputs + alias.output;
      arrays_[output] =
          edges_[output].padded(convertTo(operands[alias.operand], dtype(kernel.operands[output].array.dtype)));
      // Scalars that are prefetched are read before the kernel begins: they keep a value of their own.
      if (static_cast<size_t>(alias.operand) < firstInput) continue;
      const size_t input = alias.operand - firstInput;
      if (kernel.operands[input].windowed)
        refetched_.push_back({input, output});
      else
        sameAs_[input] = output;
    }
  }

  Arrays results() {
    int64_t steps = 1;
    for (const int64_t size : grid_) steps *= size;
    Arrays state(arrays_.begin() + k_.numInputs, arrays_.end());
    for (const MemoryRef& s : k_.scratch)
      if (!is_semaphore(s.dtype)) state.push_back(zeros(s.shape, dtype(s.dtype)));
    for (const Refetched& r : refetched_) {
      const TracedOperand& o = k_.operands[r.input];
      state.push_back(arrays_[r.output]);
      state.push_back(zeros(o.refShape(), dtype(o.array.dtype)));
      for (size_t n = coordinatesOf(r); n-- > 0;) state.push_back(full({}, INT32_MIN, DType::i32));
    }
    if (steps == 1)  // without steps nothing is traced: the array may be smaller than a block
      state = step(Arrays(grid_.size(), full({}, 0, DType::i32)), std::move(state));
    else if (steps > 1)
      state =
          detail::fori_loop(0, static_cast<int>(steps), 1, 1,
                            [&](const Array& i, const Arrays& carry) { return step(indicesOf(i), carry); }, state, {});
    Arrays results;
    const std::vector<ArrayType> types = resultsOf(k_);
    for (size_t i = 0; i < types.size(); ++i)
      results.push_back(convertTo(edges_[k_.numInputs + i].unpadded(state[i], types[i].shape), dtype(types[i].dtype)));
    return results;
  }

 private:
  DType dtype(DType t) const { return wide_ && is_float(t) ? DType::f64 : t; }

  Arrays indicesOf(const Array& step) const {
    Arrays indices(grid_.size());
    Array left = step;
    for (size_t i = grid_.size(); i-- > 0;) {
      const int size = static_cast<int>(grid_[i]);
      indices[i] = i == 0 ? left : rem(left, size);
      left = div(left, size);
    }
    return indices;
  }

  /// A blocked input that is one array with an output. A step fetches its block, if it is another one than in the step
  /// before, from the array that the outputs' blocks have been written back to: an output's block is, when the next
  /// step has another one. The state of the steps has, for each: that array, the input's block, and the positions of
  /// both blocks in the last step.
  struct Refetched {
    size_t input = 0, output = 0;
  };
  size_t coordinatesOf(const Refetched& r) const {
    const TracedOperand &in = k_.operands[r.input], &out = k_.operands[r.output];
    return in.array.shape.size() + (out.windowed ? out.array.shape.size() : 0);
  }

  /// Whether a block is another one than in the step before. `last`: the position then, which becomes that of now.
  static Array hasMoved(const Arrays& starts, Array* last) {
    Array moved = full({}, false, DType::pred);
    for (size_t d = 0; d < starts.size(); ++d) moved = moved || starts[d] != std::exchange(last[d], starts[d]);
    return moved;
  }

  /// The input's block of a step. `state`: of the Refetched.
  Array refetch(const Refetched& r, const Arrays& inStarts, const Arrays& outStarts, const Array& output,
                Array* state) const {
    const TracedOperand& o = k_.operands[r.input];
    Array &array = state[0], &block = state[1], *position = state + 2;
    array =
        k_.operands[r.output].windowed ? where(hasMoved(outStarts, position + inStarts.size()), output, array) : output;
    const Array fetched = blockAt(edges_[r.input].padded(edges_[r.output].unpadded(array, o.array.shape)), o, inStarts);
    return block = where(hasMoved(inStarts, position), fetched, block);
  }

  static Array blockAt(const Array& array, const TracedOperand& o, const Arrays& starts) {
    const Shape size = o.blockShape();
    const Array block = array.shape() == size ? array : dynamic_slice(array, {starts.begin(), starts.end()}, size);
    return reshapeTo(block, o.refShape());
  }

  /// The first element of the operand's block in the array with its edge.
  Arrays startsOf(const TracedOperand& o, const Arrays& indices) const {
    BodyFunction map(*o.indexMap, {.grid = {}, .gridSizes = {}, .wide = wide_});
    BodyFunction::Memory memory;
    const std::vector<ValueId>& arguments = o.indexMap->function.arguments;
    for (size_t i = 0; i < indices.size(); ++i) map.define(arguments[i], indices[i]);
    for (size_t i = 0; i < prefetch_.size(); ++i) memory[arguments[indices.size() + i]] = prefetch_[i];
    const Arrays blocks = map.run(memory);
    Arrays starts;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const BlockDim& d = o.block[i];
      if (d.kind == BlockDim::Kind::element && Padded::beyond(d) > 0)
        starts.emplace_back(blocks[i] + static_cast<int>(Padded::beyond(d)));
      else if (d.kind == BlockDim::Kind::blocked && d.size != 1)
        starts.emplace_back(blocks[i] * static_cast<int>(d.size));
      else
        starts.emplace_back(blocks[i]);
    }
    return starts;
  }

  Arrays step(const Arrays& indices, Arrays state) const {
    BodyFunction::Options options{.grid = indices, .gridSizes = {}, .wide = wide_};
    for (const int64_t size : grid_) options.gridSizes.push_back(full({}, static_cast<int>(size), DType::i32));
    BodyFunction body(k_.body, std::move(options));
    const auto firstOperand = prefetch_.size();
    for (const auto& [input, output] : sameAs_)
      if (!k_.operands[output].windowed)
        body.share(k_.body.function.arguments[firstOperand + input], k_.body.function.arguments[firstOperand + output]);
    BodyFunction::Memory memory;
    const std::vector<ValueId>& arguments = k_.body.function.arguments;
    size_t next = 0;
    for (const Array& p : prefetch_) memory[arguments[next++]] = p;
    std::vector<Arrays> starts(k_.operands.size());
    for (size_t i = 0; i < k_.operands.size(); ++i)
      if (k_.operands[i].windowed) starts[i] = startsOf(k_.operands[i], indices);
    Arrays refetched(k_.operands.size());
    size_t at = k_.operands.size() - k_.numInputs;
    for (const MemoryRef& s : k_.scratch) at += is_semaphore(s.dtype) ? 0 : 1;
    for (const Refetched& r : refetched_) {
      refetched[r.input] = refetch(r, starts[r.input], starts[r.output], state[r.output - k_.numInputs], &state[at]);
      at += 2 + coordinatesOf(r);
    }
    for (size_t i = 0; i < k_.operands.size(); ++i) {
      const TracedOperand& o = k_.operands[i];
      if (const auto same = sameAs_.find(i); same != sameAs_.end()) {
        // For a blocked output, the input is the whole array as the previous steps left it.
        if (k_.operands[same->second].windowed)
          memory[arguments[next]] = edges_[same->second].unpadded(state[same->second - k_.numInputs], o.array.shape);
        ++next;
        continue;
      }
      const Array& array = static_cast<int>(i) < k_.numInputs ? arrays_[i] : state[i - k_.numInputs];
      const bool isRefetched = std::ranges::any_of(refetched_, [&](const Refetched& r) { return r.input == i; });
      memory[arguments[next++]] = isRefetched ? refetched[i] : o.windowed ? blockAt(array, o, starts[i]) : array;
    }
    size_t kept = k_.operands.size() - k_.numInputs;
    for (const MemoryRef& s : k_.scratch) {
      const ValueId ref = arguments[next++];
      if (!is_semaphore(s.dtype)) memory[ref] = state[kept++];
    }
    body.run(memory);
    for (size_t i = k_.numInputs; i < k_.operands.size(); ++i) {
      const TracedOperand& o = k_.operands[i];
      Array& array = state[i - k_.numInputs];
      const Array block =
          reshapeTo(memory.at(arguments[firstOperand + i]), o.windowed ? o.blockShape() : array.shape());
      array = block.shape() == array.shape() ? block
                                             : dynamic_update_slice(array, block, {starts[i].begin(), starts[i].end()});
    }
    kept = k_.operands.size() - k_.numInputs;
    for (size_t i = 0; i < k_.scratch.size(); ++i)
      if (!is_semaphore(k_.scratch[i].dtype))
        state[kept++] = memory.at(arguments[firstOperand + k_.operands.size() + i]);
    return state;
  }

  const TracedKernel& k_;
  bool wide_;
  std::vector<int64_t> grid_;
  Arrays prefetch_, arrays_;  ///< `arrays_`: by operand, with their edges
  std::vector<Padded> edges_;
  std::vector<Refetched> refetched_;
  std::map<size_t, size_t> sameAs_;  ///< inputs that are passed whole, and the outputs whose memory they are
};

}  // namespace

std::string whyNoFunction(const TracedKernel& kernel, std::span<const Array> operands, bool wide) {
  for (int i = 0; i < kernel.numDynamicBounds(); ++i)
    if (!concreteInteger(operands[i])) return "its grid is computed in the function that is transformed";
  return whyNoFunction(kernel.body, wide);
}

std::vector<Array> runAsFunction(const TracedKernel& kernel, std::span<const Array> operands, bool wide) {
  return GridLoop(kernel, operands, wide).results();
}

std::vector<Array> runWide(const TracedKernel& kernel, std::span<const Array> operands) {
  const std::string why = whyNoFunction(kernel, operands, true);
  if (!why.empty())
    refuse({.code = "SM7114",
            .message = "this pallas_call cannot be computed in f64: " + why,
            .place = {},
            .need = "blocks, scratch, copies on the device, arithmetic and control flow",
            .have = "kernel '" + kernel.name + "'",
            .help = "call it without numerics f64"});
  return runAsFunction(kernel, operands, true);
}

}  // namespace smalti::lang
