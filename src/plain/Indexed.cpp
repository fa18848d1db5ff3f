// gather and scatter: windows of an array at positions that another array holds.
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

/// Calls f(size), with a constant if it is the size of an element: copies of so many bytes are then single moves.
template <class F>
void withFixedSize(size_t size, const F& f) {
  switch (size) {
    case 1:
      return f(std::integral_constant<size_t, 1>());
    case 2:
      return f(std::integral_constant<size_t, 2>());
    case 4:
      return f(std::integral_constant<size_t, 4>());
    case 8:
      return f(std::integral_constant<size_t, 8>());
    default:
      return f(size);
  }
}

/// Of known size, so that loops over it have no counter.
template <class T, size_t kCount>
std::array<T, kCount> copyOf(const std::vector<T>& all, std::integral_constant<size_t, kCount>) {
  std::array<T, kCount> copied;
  std::ranges::copy(all, copied.begin());
  return copied;
}
template <class T>
std::span<const T> copyOf(const std::vector<T>& all, size_t) {
  return all;
}

bool contains(std::span<const int64_t> dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

/// The dimension numbers of both ops by common names: gather's result corresponds to scatter's updates.
class Windows {
 public:
  struct Numbers {
    std::span<const int64_t> windowDims;  ///< of the result or updates
    std::span<const int64_t> dropped;     ///< dims of the operand that windows do not have
    std::span<const int64_t> operandBatching, indicesBatching;
    std::span<const int64_t> map;  ///< entry of the index vector → dim of the operand
    int64_t indexVectorDim = 0;
  };

  Windows(const Numbers& numbers, const Shape& operand, const Array& indices, const Shape& batched)
      : numbers_(numbers), indices_(indices) {
    const Shape operandStrides = rowMajorStrides(operand), batchedStrides = rowMajorStrides(batched);
    size_t next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(operand.size()); ++d)
      if (!contains(numbers.dropped, d) && !contains(numbers.operandBatching, d)) {
        operandDims.push_back(d);
        shape.push_back(batched[numbers.windowDims[next]]);
        inOperand.push_back(operandStrides[d]);
        inBatched.push_back(batchedStrides[numbers.windowDims[next++]]);
      }
    for (int64_t d = 0; d < static_cast<int64_t>(batched.size()); ++d)
      if (!contains(numbers.windowDims, d)) {
        batch_.push_back(batched[d]);
        batchStrides_.push_back(batchedStrides[d]);
      }
    at_.assign(batch_.size(), 0);
    indicesStrides_ = rowMajorStrides(indices.shape());
    if (numbers.indexVectorDim < static_cast<int64_t>(indices.shape().size())) {
      indexStep_ = indicesStrides_[static_cast<size_t>(numbers.indexVectorDim)];
      indicesStrides_.erase(indicesStrides_.begin() + numbers.indexVectorDim);
    }
  }

  Shape shape;                 ///< of a window
  Shape inOperand, inBatched;  ///< strides of a window's dims in both arrays
  Shape operandDims;           ///< dims of the operand that windows have

  bool empty() const { return num_elements(batch_) == 0 || num_elements(shape) == 0; }
  int64_t count() const { return num_elements(batch_); }
  /// Whether windows are contiguous in both arrays.
  bool contiguous() const {
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
      if (shape[d] != 1 && (inOperand[d] != stride || inBatched[d] != stride)) return false;
    return true;
  }

  /// Calls `given` with each window's start in the operand and in the result or updates, in elements. Starts are
  /// clamped so that windows are inside the operand, or windows that are not wholly inside are left out, as XLA does.
  enum class Outside { clamp, leaveOut };
  template <Outside kOutside, class Visit>
  void forEach(const Shape& operand, const Visit& given) {
    forEach<kOutside>(operand, 0, count(), given);
  }
  /// The same with the windows begin, begin + 1, …, end - 1, of which there is one at least.
  template <Outside kOutside, class Visit>
  void forEach(const Shape& operand, int64_t begin, int64_t end, const Visit& given) {
    const Shape strides = rowMajorStrides(operand);
    Shape last = operand;
    for (int64_t& l : last) --l;
    for (size_t w = 0; w < shape.size(); ++w) last[operandDims[w]] -= shape[w] - 1;
    if (std::ranges::any_of(last, [](int64_t l) { return l < 0; })) return;
    std::vector<Term> terms;
    for (const int64_t d : numbers_.map) terms.push_back({last[d], strides[d]});
    const auto rows = [&](const auto index, const auto count) {
      const auto copied = copyOf(terms, count);
      const int64_t indexStep = indexStep_;
      const auto along = [&](Row row, const auto positionStep, const auto firstStep) {
        const Visit visit = given;  // nothing that it stores can be a variable of it
        for (int64_t i = 0; i < row.count; ++i, row.offset += row.offsetStep)
          if (const auto first = firstOf<kOutside>(row.first + i * firstStep, row.position + i * positionStep,
                                                   indexStep, copied, index))
            visit(*first, row.offset);
      };
      const int64_t inner = batch_.empty() ? 1 : batch_.back();
      seek(begin / inner);
      int64_t column = begin % inner;
      for (int64_t left = end - begin; left > 0; column = 0, next()) {
        const Row row = nextRow(strides).from(column, left);
        left -= row.count;
        if (row.positionStep == 1 && row.firstStep == 0)  // a list of indices
          along(row, std::integral_constant<int64_t, 1>(), std::integral_constant<int64_t, 0>());
        else
          along(row, row.positionStep, row.firstStep);
      }
    };
    const auto byCount = [&](const auto& index) {
      if (terms.size() == 1) return rows(index, std::integral_constant<size_t, 1>());
      if (terms.size() == 2) return rows(index, std::integral_constant<size_t, 2>());
      rows(index, terms.size());
    };
    if (indices_.dtype() == DType::i32)
      byCount([from = indices_.as<int32_t>()](int64_t element) -> int64_t { return from[element]; });
    else if (indices_.dtype() == DType::u32)
      byCount([from = indices_.as<uint32_t>()](int64_t element) -> int64_t { return from[element]; });
    else
      byCount([this](int64_t element) { return indexAt(indices_, element); });
  }
  /// Calls `visit` with each element's distance from the window's start in the operand and in the updates.
  template <class Visit>
  void forEachElement(const Visit& visit) const {
    Shape index(shape.size(), 0);
    do {
      int64_t to = 0, from = 0;
      for (size_t w = 0; w < index.size(); ++w) {
        to += index[w] * inOperand[w];
        from += index[w] * inBatched[w];
      }
      visit(to, from);
    } while (advance(index, shape));
  }

 private:
  /// One entry of an index vector: the largest start of a window that is inside, and what it counts in elements.
  struct Term {
    int64_t last, stride;
  };
  /// Windows along the last dimension of the batch.
  struct Row {
    int64_t count = 1;
    int64_t first = 0, firstStep = 0;        ///< in the operand, as far as batching dimensions say it
    int64_t position = 0, positionStep = 0;  ///< of the index vector
    int64_t offset = 0, offsetStep = 0;      ///< in the result or updates

    /// Without the windows before `column`, and with `most` at most.
    Row from(int64_t column, int64_t most) const {
      Row part = *this;
      part.count = std::min(count - column, most);
      part.first += column * firstStep;
      part.position += column * positionStep;
      part.offset += column * offsetStep;
      return part;
    }
  };

  Row nextRow(const Shape& operandStrides) const {
    Row row{.position = position_, .offset = offset_};
    const size_t inner = batch_.size() - 1;  // none if there is no batch
    for (size_t i = 0; i < numbers_.operandBatching.size(); ++i) {
      const int64_t d = numbers_.indicesBatching[i], stride = operandStrides[numbers_.operandBatching[i]];
      const auto at = static_cast<size_t>(d - (d > numbers_.indexVectorDim ? 1 : 0));
      (at == inner ? row.firstStep : row.first) += at == inner ? stride : at_[at] * stride;
    }
    if (batch_.empty()) return row;
    row.count = batch_[inner];
    row.positionStep = indicesStrides_[inner];
    row.offsetStep = batchStrides_[inner];
    return row;
  }

  template <Outside kOutside, class Terms, class Index>
  static std::optional<int64_t> firstOf(int64_t first, int64_t position, int64_t indexStep, const Terms& terms,
                                        const Index& index) {
    for (size_t i = 0; i < terms.size(); ++i) {
      int64_t start = index(position + static_cast<int64_t>(i) * indexStep);
      if constexpr (kOutside == Outside::clamp)
        start = std::clamp<int64_t>(start, 0, terms[i].last);
      else if (start < 0 || start > terms[i].last)
        return std::nullopt;
      first += start * terms[i].stride;
    }
    return first;
  }

  /// Goes to a row by its number.
  void seek(int64_t row) {
    offset_ = position_ = 0;
    for (size_t d = batch_.size() < 2 ? 0 : batch_.size() - 1; d-- > 0; row /= batch_[d]) {
      at_[d] = row % batch_[d];
      offset_ += at_[d] * batchStrides_[d];
      position_ += at_[d] * indicesStrides_[d];
    }
  }
  /// Goes to the next row; from the last one to the first.
  void next() {
    for (size_t d = batch_.size() < 2 ? 0 : batch_.size() - 1; d-- > 0;) {
      offset_ += batchStrides_[d];
      position_ += indicesStrides_[d];
      if (++at_[d] < batch_[d]) return;
      offset_ -= batch_[d] * batchStrides_[d];
      position_ -= batch_[d] * indicesStrides_[d];
      at_[d] = 0;
    }
  }

  Numbers numbers_;
  const Array& indices_;
  Shape batch_, batchStrides_, at_;
  Shape indicesStrides_;               ///< of the batch's dimensions
  int64_t indexStep_ = 0;              ///< from one entry of an index vector to the next
  int64_t position_ = 0, offset_ = 0;  ///< of the current row's first window
};

/// Starts are clamped so that windows are inside the operand.
PlainResults gather(PlainCall& call) {
  const Array& operand = call.operands[0];
  const TypedOp op = call.typed();
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  Windows windows({.windowDims = op.integers("offset_dims"),
                   .dropped = op.integers("collapsed_slice_dims"),
                   .operandBatching = op.integers("operand_batching_dims"),
                   .indicesBatching = op.integers("start_indices_batching_dims"),
                   .map = op.integers("start_index_map"),
                   .indexVectorDim = op.integer("index_vector_dim")},
                  operand.shape(), call.operands[1], result->shape());
  const int64_t bytes = storage_bytes(operand.dtype());
  if (windows.empty() || operand.elements() == 0) return one(std::move(*result));
  const auto forEachOf = [&](const auto& visit) {
    constexpr int64_t kPiece = 256;         // windows: results of different threads share few cache lines
    constexpr int64_t kStepsOfAWindow = 8;  // an access to any place takes as long
    const int64_t steps = windows.count() * (kStepsOfAWindow + num_elements(windows.shape));
    shareInPieces(call.share, windows.count(), kPiece, steps, [&](int64_t begin, int64_t end) {
      Windows part = windows;
      part.forEach<Windows::Outside::clamp>(operand.shape(), begin, end, visit);
    });
  };
  std::byte* const target = result->data();
  if (windows.contiguous()) {
    withFixedSize(static_cast<size_t>(num_elements(windows.shape) * bytes), [&](const auto size) {
      // By value: what is stored might be the captured variables, as far as the compiler knows.
      forEachOf([source = operand.data(), target, bytes, size](int64_t from, int64_t to) {
        std::memcpy(target + to * bytes, source + from * bytes, size);
      });
    });
    return one(std::move(*result));
  }
  forEachOf([&](int64_t from, int64_t to) {
    eval::copyStrided(operand.data() + from * bytes, windows.inOperand, target + to * bytes, windows.inBatched,
                      windows.shape, bytes);
  });
  return one(std::move(*result));
}

/// Updates single elements one after the other, if the region is a sum or the like; says whether that was all.
bool updatesElements(const Op& op, Windows& windows, Array& result, const Array& updates) {
  const auto kind = reduceKind(op.regions[0], result.dtype());
  if (!kind || num_elements(windows.shape) != 1 || windows.empty()) return false;
  return eval::withScalarReduction(*kind, result.dtype(), [&]<class T>(T, const auto& combine) {
    T* to = result.as<T>();
    const T* from = updates.as<T>();
    windows.forEach<Windows::Outside::leaveOut>(
        result.shape(), [&](int64_t at, int64_t update) { to[at] = combine(to[at], from[update]); });
  });
}
/// Updates one window after the other, if the region is a list of kernels; says whether that was all of the scatter.
bool updatesWindows(const PlainCall& call, Windows& windows, std::vector<Array>& results,
                    std::span<const Array> updates) {
  auto plan = windows.empty() ? std::nullopt : RegionPlan::of(call, call.op.regions[0]);
  if (!plan) return false;
  const size_t n = results.size();
  std::vector<const std::byte*> arguments(2 * n);
  std::vector<std::byte*> updated(n);
  const auto update = [&](int64_t to, int64_t from, int64_t count) {
    for (size_t i = 0; i < n; ++i) {
      const int bytes = storage_bytes(results[i].dtype());
      arguments[i] = updated[i] = results[i].data() + to * bytes;
      arguments[n + i] = updates[i].data() + from * bytes;
    }
    plan->run(arguments, updated, count);
  };
  const bool inOnePiece = windows.contiguous();
  windows.forEach<Windows::Outside::leaveOut>(results[0].shape(), [&](int64_t first, int64_t from) {
    if (inOnePiece) return update(first, from, num_elements(windows.shape));
    windows.forEachElement(
        [&](int64_t inOperand, int64_t inBatched) { update(first + inOperand, from + inBatched, 1); });
  });
  return true;
}
/// Copies the windows if the region returns its updates, and says whether that was all of the scatter. Of several
/// updates of one element, the last remains.
bool copiesWindows(const Op& op, Windows& windows, std::vector<Array>& results, std::span<const Array> updates) {
  const Block& region = op.regions[0];
  const std::span<const ValueId> ofUpdates = std::span(region.arguments).subspan(results.size());
  if (region.ops.size() != 1 || !std::ranges::equal(region.ops[0].operands, ofUpdates) || windows.empty()) return false;
  windows.forEach<Windows::Outside::leaveOut>(results[0].shape(), [&](int64_t first, int64_t from) {
    for (size_t i = 0; i < results.size(); ++i) {
      const int bytes = storage_bytes(results[i].dtype());
      eval::copyStrided(updates[i].data() + from * bytes, windows.inBatched, results[i].data() + first * bytes,
                        windows.inOperand, windows.shape, bytes);
    }
  });
  return true;
}

UpdateRounds updateRounds(Windows& windows, const Shape& operand) {
  if (windows.empty()) return UpdateRounds(0);
  UpdateRounds rounds(num_elements(operand));
  windows.forEach<Windows::Outside::leaveOut>(operand, [&](int64_t first, int64_t from) {
    windows.forEachElement(
        [&](int64_t inOperand, int64_t inBatched) { rounds.add({from + inBatched, first + inOperand}); });
  });
  return rounds;
}

PlainResults scatter(PlainCall& call) {
  const size_t n = call.results.size();
  const TypedOp op = call.typed();
  std::vector<Array> results;
  for (size_t i = 0; i < n; ++i) {
    auto copy = call.operands[i].unique() ? Result<Array>(std::move(call.operands[i])) : call.operands[i].clone();
    if (!copy) return fail(std::move(copy.error()));
    results.push_back(std::move(*copy));
  }
  const std::span<const Array> updates = std::span<const Array>(call.operands).subspan(n + 1);
  Windows windows({.windowDims = op.integers("update_window_dims"),
                   .dropped = op.integers("inserted_window_dims"),
                   .operandBatching = op.integers("input_batching_dims"),
                   .indicesBatching = op.integers("scatter_indices_batching_dims"),
                   .map = op.integers("scatter_dims_to_operand_dims"),
                   .indexVectorDim = op.integer("index_vector_dim")},
                  results[0].shape(), call.operands[n], updates[0].shape());
  if (copiesWindows(call.op, windows, results, updates) ||
      (n == 1 && updatesElements(call.op, windows, results[0], updates[0])) ||
      updatesWindows(call, windows, results, updates))
    return results;
  const UpdateRounds rounds = updateRounds(windows, results[0].shape());
  return applyUpdates(call, call.op.regions[0], rounds, std::move(results), updates);
}

constexpr std::array kIndexedEvaluators{
    EvaluatorRow{"gather", gather},
    EvaluatorRow{"scatter", scatter},
};

}  // namespace

bool advance(Shape& index, const Shape& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

void UpdateRounds::add(Update update) {
  const auto round = static_cast<size_t>(seen_[static_cast<size_t>(update.to)]++);
  if (round == rounds_.size()) rounds_.emplace_back();
  rounds_[round].push_back(update);
}

Result<Array> gatherElements(const Array& array, const std::vector<Update>& updates, int64_t Update::* pick) {
  auto elements = Array::allocate({array.dtype(), {static_cast<int64_t>(updates.size())}});
  if (!elements) return elements;
  const int bytes = storage_bytes(array.dtype());
  withFixedSize(static_cast<size_t>(bytes), [&](const auto size) {
    for (size_t k = 0; k < updates.size(); ++k)
      std::memcpy(elements->data() + k * size, array.data() + updates[k].*pick * static_cast<int64_t>(size), size);
  });
  return elements;
}

PlainResults applyUpdates(const PlainCall& call, const Block& region, const UpdateRounds& rounds,
                          std::vector<Array> results, std::span<const Array> updates) {
  for (const std::vector<Update>& round : rounds.all()) {
    std::vector<Array> arguments;
    for (const auto& [arrays, pick] :
         {std::pair{std::span<const Array>(results), &Update::to}, {updates, &Update::from}})
      for (const Array& array : arrays) {
        auto elements = gatherElements(array, round, pick);
        if (!elements) return fail(std::move(elements.error()));
        arguments.push_back(std::move(*elements));
      }
    auto updated = runLifted(call, region, std::move(arguments), {static_cast<int64_t>(round.size())});
    if (!updated) return updated;
    for (size_t i = 0; i < results.size(); ++i)
      for (int64_t k = 0, bytes = storage_bytes(results[i].dtype()); k < static_cast<int64_t>(round.size()); ++k)
        std::copy_n((*updated)[i].data() + k * bytes, bytes, results[i].data() + round[k].to * bytes);
  }
  return results;
}

std::span<const EvaluatorRow> indexedEvaluators() { return kIndexedEvaluators; }

}  // namespace smalti::plain
