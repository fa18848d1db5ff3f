// sort: along one dimension, by any comparison, several arrays together, equal elements in their order. top_k,
// ApproxTopK.
#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

#include "base/Success.h"
#include "eval/Shape.h"
#include "plain/PlainEvaluators.h"
#include "plain/SortKeys.h"

namespace smalti::plain {
namespace {

/// Rows of one array with the sorted dimension first, so that a row is a step along it.
struct Column {
  Array rows;
  int64_t rowBytes = 0;
  std::byte* row(int64_t i) { return rows.data() + i * rowBytes; }
};

/// About so many element-wise steps take as long as the sorting of an element.
constexpr int64_t kStepsOfAnElement = 64;

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// Batcher's odd-even merge sort: lists of pairs that are compared and exchanged, each list at once.
Status sortByNetwork(int64_t n, const std::function<Status(const Pairs&)>& exchange) {
  Pairs pairs;
  for (int64_t p = 1; p < n; p *= 2)
    for (int64_t k = p; k >= 1; k /= 2) {
      pairs.clear();
      for (int64_t j = k % p; j + k < n; j += 2 * k)
        for (int64_t i = j; i < j + std::min(k, n - j - k); ++i)
          if (i / (2 * p) == (i + k) / (2 * p)) pairs.emplace_back(i, i + k);
      if (Status ok = exchange(pairs); !ok) return ok;
    }
  return {};
}

/// The positions of the elements `first`, `first + step`, … of the numbers in their order, equal elements as they are.
std::vector<int64_t> orderOf(const std::vector<std::vector<uint64_t>>& numbers, int64_t first, int64_t step,
                             int64_t n) {
  using Keyed = std::pair<uint64_t, int64_t>;
  std::vector<Keyed> elements(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) elements[i] = {numbers[0][first + i * step], i};
  const auto before = [&](const Keyed& a, const Keyed& b) {
    if (a.first != b.first) return a.first < b.first;
    for (size_t k = 1; k < numbers.size(); ++k) {
      const uint64_t x = numbers[k][first + a.second * step], y = numbers[k][first + b.second * step];
      if (x != y) return x < y;
    }
    return a.second < b.second;
  };
  std::ranges::sort(elements, before);
  std::vector<int64_t> order;
  order.reserve(elements.size());
  for (const Keyed& e : elements) order.push_back(e.second);
  return order;
}

class Sorter {
 public:
  /// Of the first `count` operands.
  Sorter(PlainCall& call, int64_t dim, size_t count) : call_(call), count_(count), shape_(call.operands[0].shape()) {
    const int64_t rank = static_cast<int64_t>(shape_.size());
    if (dim < 0) dim += rank;
    permutation_.push_back(dim);
    for (int64_t d = 0; d < rank; ++d)
      if (d != dim) permutation_.push_back(d);
    length_ = shape_[dim];
    width_ = num_elements(shape_) / std::max<int64_t>(length_, 1);
  }

  PlainResults run() {
    if (num_elements(shape_) == 0 || length_ == 1) {
      call_.operands.resize(count_);
      return std::move(call_.operands);
    }
    for (size_t i = 0; i < count_; ++i)
      if (Status ok = addColumn(call_.operands[i]); !ok) return fail(std::move(ok.error()));
    auto sorted = sortByKeys();
    if (!sorted) return fail(std::move(sorted.error()));
    if (!*sorted)
      if (Status ok = sortByComparing(); !ok) return fail(std::move(ok.error()));
    return movedBack();
  }

 private:
  Shape movedShape() const {
    Shape moved;
    for (const int64_t d : permutation_) moved.push_back(shape_[d]);
    return moved;
  }

  Status addColumn(const Array& operand) {
    auto rows = Array::allocate({operand.dtype(), movedShape()});
    if (!rows) return fail(std::move(rows.error()));
    eval::transpose(in(operand), permutation_, out(*rows));
    columns_.push_back({std::move(*rows), width_ * storage_bytes(operand.dtype())});
    return {};
  }

  /// false: the comparison has no keys.
  Result<bool> sortByKeys() {
    // ApproxTopK has a function for its comparison.
    const Block& given = call_.op.regions[0];
    const Op& first = given.ops.front();
    const bool calls = first.name == "call" && call_.program && first.operands == given.arguments &&
                       first.results == given.ops.back().operands;
    const Function& function = calls ? *call_.program->find(first.callee) : call_.function;
    const Block region = calls ? Block{function.arguments, function.ops} : given;
    const auto keys = sortKeys(function, region);
    if (!keys) return false;
    std::vector<Array> lists;
    for (const Column& column : columns_) {
      auto list = column.rows.reshaped({length_ * width_});
      if (!list) return fail(std::move(list.error()));
      lists.push_back(std::move(*list));
    }
    std::vector<Array> none;
    const PlainCall inside{call_.op, function, none, {}, call_.device, call_.numerics, call_.outer, call_.program};
    const auto numbers = keyNumbers(inside, region, *keys, lists);
    if (!numbers) return fail(numbers.error());
    if (!*numbers) return false;
    lists.clear();
    std::vector<Array> sorted;
    for (const Column& column : columns_) {
      auto rows = Array::allocate(column.rows.type());
      if (!rows) return fail(std::move(rows.error()));
      sorted.push_back(std::move(*rows));
    }
    const int64_t steps = num_elements(shape_) * kStepsOfAnElement;
    shareInPieces(call_.share, width_, 1, steps, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const std::vector<int64_t> order = orderOf(**numbers, j, width_, length_);
        for (size_t c = 0; c < columns_.size(); ++c) {
          const int64_t rowBytes = columns_[c].rowBytes, bytes = rowBytes / width_;
          for (int64_t i = 0; i < length_; ++i)
            std::copy_n(columns_[c].row(order[i]) + j * bytes, bytes, sorted[c].data() + i * rowBytes + j * bytes);
        }
      }
    });
    for (size_t c = 0; c < columns_.size(); ++c) columns_[c].rows = std::move(sorted[c]);
    return true;
  }

  Status sortByComparing() {
    order_.resize(static_cast<size_t>(length_ * width_));
    for (int64_t i = 0; i < length_ * width_; ++i) order_[i] = i / width_;
    return sortByNetwork(length_, [this](const Pairs& pairs) { return exchange(pairs); });
  }

  /// The rows of one side of each pair, one after the other.
  Result<Array> side(Column& column, const Pairs& pairs, int64_t std::pair<int64_t, int64_t>::* which) {
    auto rows = Array::allocate({column.rows.dtype(), {static_cast<int64_t>(pairs.size()) * width_}});
    if (!rows) return rows;
    for (size_t p = 0; p < pairs.size(); ++p)
      std::copy_n(column.row(pairs[p].*which), column.rowBytes,
                  rows->data() + static_cast<int64_t>(p) * column.rowBytes);
    return rows;
  }

  /// Does the first of each two elements come before the second?
  Result<Array> before(const std::vector<Array>& first, const std::vector<Array>& second, int64_t n) {
    std::vector<Array> arguments;
    for (size_t i = 0; i < first.size(); ++i) {
      arguments.push_back(first[i]);
      arguments.push_back(second[i]);
    }
    auto results = runLifted(call_, call_.op.regions[0], std::move(arguments), {n});
    if (!results) return fail(std::move(results.error()));
    return std::move((*results)[0]);
  }

  Status exchange(const Pairs& pairs) {
    if (pairs.empty()) return {};
    std::vector<Array> low, high;
    for (Column& column : columns_) {
      auto a = side(column, pairs, &Pairs::value_type::first), b = side(column, pairs, &Pairs::value_type::second);
      if (!a || !b) return fail(std::move(a ? b.error() : a.error()));
      low.push_back(std::move(*a));
      high.push_back(std::move(*b));
    }
    const int64_t n = static_cast<int64_t>(pairs.size()) * width_;
    auto inOrder = before(low, high, n), reversed = before(high, low, n);
    if (!inOrder || !reversed) return fail(std::move(inOrder ? reversed.error() : inOrder.error()));
    for (int64_t p = 0, k = 0; p < static_cast<int64_t>(pairs.size()); ++p)
      for (int64_t j = 0; j < width_; ++j, ++k) {
        int64_t &a = order_[pairs[p].first * width_ + j], &b = order_[pairs[p].second * width_ + j];
        const bool swaps = reversed->as<uint8_t>()[k] || (!inOrder->as<uint8_t>()[k] && b < a);
        if (!swaps) continue;
        std::swap(a, b);
        for (Column& column : columns_) {
          const int64_t bytes = column.rowBytes / width_;
          std::byte* from = column.row(pairs[p].first) + j * bytes;
          std::swap_ranges(from, from + bytes, column.row(pairs[p].second) + j * bytes);
        }
      }
    return {};
  }

  PlainResults movedBack() {
    std::vector<int64_t> inverse(permutation_.size());
    for (size_t d = 0; d < permutation_.size(); ++d) inverse[permutation_[d]] = static_cast<int64_t>(d);
    std::vector<Array> results;
    for (size_t i = 0; i < columns_.size(); ++i) {
      auto result = Array::allocate({columns_[i].rows.dtype(), shape_});
      if (!result) return fail(std::move(result.error()));
      eval::transpose(in(columns_[i].rows), inverse, out(*result));
      results.push_back(std::move(*result));
    }
    return results;
  }

  PlainCall& call_;
  const size_t count_;
  const Shape shape_;
  std::vector<int64_t> permutation_;
  int64_t length_ = 0, width_ = 0;
  std::vector<Column> columns_;
  std::vector<int64_t> order_;  ///< the old index of each element along the dimension
};

PlainResults sort(PlainCall& call) {
  return Sorter(call, call.typed().integer("dimension", -1), call.operands.size()).run();
}

/// Exactly the first: a recall of 1.
PlainResults approxTopK(PlainCall& call) {
  const auto dim = static_cast<size_t>(call.typed().integer("reduction_dim"));
  auto sorted = Sorter(call, static_cast<int64_t>(dim), call.results.size()).run();
  if (!sorted) return sorted;
  std::vector<Array> results;
  for (size_t i = 0; i < sorted->size(); ++i) {
    auto result = Array::allocate(call.results[i]);
    if (!result) return fail(std::move(result.error()));
    const std::vector<int64_t> starts(result->shape().size(), 0), steps(result->shape().size(), 1);
    eval::slice(in((*sorted)[i]), starts, steps, out(*result));
    results.push_back(std::move(*result));
  }
  return results;
}

using Numbered = std::pair<uint64_t, int32_t>;

/// The k least of the numbers with their positions, in order; of equal ones the first.
std::vector<Numbered> leastOf(std::span<const uint64_t> numbers, int64_t k) {
  // Most numbers are not below the k-th of those seen: they are only compared with it.
  const auto most = static_cast<size_t>(4 * k + 1024);
  std::vector<Numbered> least;
  uint64_t bound = UINT64_MAX;
  bool isFull = false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (isFull && numbers[i] >= bound) continue;
    least.emplace_back(numbers[i], static_cast<int32_t>(i));
    if (least.size() < most) continue;
    std::ranges::nth_element(least, least.begin() + (k - 1));
    least.resize(static_cast<size_t>(k));
    bound = least.back().first;
    isFull = true;
  }
  std::ranges::sort(least);
  least.resize(static_cast<size_t>(k));
  return least;
}

PlainResults topK(PlainCall& call) {
  const Array& in = call.operands[0];
  auto values = Array::allocate(call.results[0]), indices = Array::allocate(call.results[1]);
  if (!values || !indices) return fail(std::move(values ? indices.error() : values.error()));
  const int64_t length = in.shape().back(), k = call.results[0].shape.back(), bytes = storage_bytes(in.dtype());
  if (k == 0) return several(std::move(*values), std::move(*indices));
  std::mutex mutex;
  Status status = success();
  shareInPieces(call.share, values->elements() / k, 1, in.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::byte* from = in.data() + row * length * bytes;
      const auto numbers = orderedNumbers(Array::view({in.dtype(), {length}}, const_cast<std::byte*>(from)),
                                          {.isDescending = true, .isTotalOrder = true});
      if (!numbers) {
        const std::scoped_lock lock(mutex);
        status = fail(numbers.error());
        return;
      }
      const std::vector<Numbered> least = leastOf(**numbers, k);
      for (int64_t i = 0; i < k; ++i) {
        const int32_t at = least[i].second;
        indices->as<int32_t>()[row * k + i] = at;
        std::copy_n(from + at * bytes, bytes, values->data() + (row * k + i) * bytes);
      }
    }
  });
  if (!status) return fail(std::move(status.error()));
  return several(std::move(*values), std::move(*indices));
}

constexpr std::array kSortEvaluators{EvaluatorRow{"ApproxTopK", approxTopK}, EvaluatorRow{"sort", sort},
                                     EvaluatorRow{"top_k", topK}};

}  // namespace

std::span<const EvaluatorRow> sortEvaluators() { return kSortEvaluators; }

}  // namespace smalti::plain
