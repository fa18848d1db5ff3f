#include "plain/Collectives.h"

#include <algorithm>
#include <array>

#include "base/ArrayPiece.h"
#include "eval/Elementwise.h"

namespace smalti::plain {
namespace {

/// The same results for every receiver.
std::vector<std::vector<Array>> forAll(std::vector<Array> results) {
  std::vector<std::vector<Array>> all;
  all.push_back(std::move(results));
  return all;
}

/// The elements that a thread reduces at a time, and per step: so few that the hardware prefetcher follows the
/// senders' arrays as concurrent streams (longer steps reach a tenth less of the memory bandwidth).
constexpr int64_t kReducedBytes = 256 << 10, kStepBytes = 2 << 10;

/// Elements [first, last) of every sender's, reduced in the senders' order, in one pass over memory.
void reduceRange(eval::BinaryKernel reduce, const CollectiveCall& call, size_t operand, Array& to, int64_t first,
                 int64_t last, bool streamed) {
  const int bytes = storage_bytes(to.dtype());
  const auto of = [&](size_t s, int64_t at) { return std::as_const(call.sent[s][operand]).data() + at * bytes; };
  alignas(64) std::byte step[kStepBytes];
  const int64_t most = streamed ? kStepBytes / bytes : last - first;
  for (int64_t at = first; at < last; at += most) {
    const int64_t n = std::min(most, last - at);
    std::byte* into = streamed ? step : to.data() + at * bytes;
    reduce(of(0, at), of(1, at), into, n, eval::Splat::none);
    for (size_t s = 2; s < call.sent.size(); ++s) reduce(into, of(s, at), into, n, eval::Splat::none);
    if (streamed) stream(step, to.data() + at * bytes, n * bytes);
  }
  if (streamed) endStream();
}

/// Operand `operand` of every sender, reduced in the senders' order.
Result<Array> reduced(CollectiveCall& call, size_t operand) {
  const ArrayType type = call.sent[0][operand].type();
  const auto reduce = call.sent.size() < 2 ? nullptr
                      : call.reducer       ? call.reducer
                                           : reducerOf(call.op.regions[0], type.dtype);
  if (reduce) {
    auto sum = Array::allocate(type);
    if (!sum || sum->elements() == 0) return sum;
    if (!call.share || sum->bytes() < kWorthSharingBytes) {
      reduceRange(reduce, call, operand, *sum, 0, sum->elements(), false);
    } else {
      const int64_t step = kReducedBytes / storage_bytes(type.dtype), n = sum->elements();
      call.share((n + step - 1) / step, [&](int64_t first, int64_t last) {
        reduceRange(reduce, call, operand, *sum, first * step, std::min(n, last * step),
                    sum->bytes() >= kStreamedBytes);
      });
    }
    return sum;
  }
  Array sum = call.sent[0][operand];
  std::vector<Array> none;
  const PlainCall reducer{call.op, call.function, none, {}, 0, call.numerics, call.outer, call.program};
  for (size_t s = 1; s < call.sent.size() && type.elements() > 0; ++s) {
    auto next = runLifted(reducer, call.op.regions[0], {std::move(sum), call.sent[s][operand]}, type.shape);
    if (!next) return fail(std::move(next.error()));
    sum = std::move((*next)[0]);
  }
  return sum;
}

/// An array of `n` results of a type side by side, each an array of its own.
Result<std::vector<Array>> sideBySide(const ArrayType& type, size_t n) {
  Shape shape = type.shape;
  shape.insert(shape.begin(), static_cast<int64_t>(n));
  auto whole = Array::allocate({type.dtype, std::move(shape)});
  if (!whole) return fail(std::move(whole.error()));
  std::vector<Array> parts;
  for (size_t p = 0; p < n; ++p) parts.push_back(pieceOf(*whole, type, static_cast<int64_t>(p) * type.elements()));
  return parts;
}

CollectiveResults allReduce(CollectiveCall& call) {
  std::vector<Array> sums;
  for (size_t i = 0; i < call.results.size(); ++i) {
    auto sum = reduced(call, i);
    if (!sum) return fail(std::move(sum.error()));
    sums.push_back(std::move(*sum));
  }
  return forAll(std::move(sums));
}

CollectiveResults reduceScatter(CollectiveCall& call) {
  auto sum = reduced(call, 0);
  if (!sum) return fail(sum.error());
  const ArrayType& type = call.results[0];
  const size_t n = call.sent.size();
  const auto dim = static_cast<size_t>(call.typed().integer("scatter_dimension"));
  std::vector<Array> parts;
  if (num_elements(std::span(type.shape).first(dim)) == 1) {  // each is one piece of the sum
    for (size_t p = 0; p < n; ++p) parts.push_back(pieceOf(*sum, type, static_cast<int64_t>(p) * type.elements()));
  } else {
    auto made = sideBySide(type, n);
    if (!made) return fail(std::move(made.error()));
    parts = std::move(*made);
    std::vector<Move> moves;
    const int64_t run = num_elements(std::span(type.shape).subspan(dim)) * storage_bytes(type.dtype);
    for (size_t p = 0; p < n; ++p)
      moves.push_back({sum->data() + static_cast<int64_t>(p) * run, parts[p].data(),
                       num_elements(std::span(type.shape).first(dim)), run, static_cast<int64_t>(n) * run, run});
    moveAll(moves, call.share);
  }
  std::vector<std::vector<Array>> received;
  for (Array& part : parts) received.push_back(one(std::move(part)).value());
  return received;
}

CollectiveResults allGather(CollectiveCall& call) {
  const auto dim = static_cast<size_t>(call.typed().integer("all_gather_dim"));
  std::vector<Array> gathered;
  std::vector<Move> moves;
  for (size_t i = 0; i < call.results.size(); ++i) {
    auto whole = Array::allocate(call.results[i]);
    if (!whole) return fail(std::move(whole.error()));
    const std::span<const int64_t> shape = call.sent[0][i].shape();
    const int64_t run = num_elements(shape.subspan(dim)) * storage_bytes(whole->dtype());
    for (size_t s = 0; s < call.sent.size(); ++s)
      moves.push_back({std::as_const(call.sent[s][i]).data(), whole->data() + static_cast<int64_t>(s) * run,
                       num_elements(shape.first(dim)), run, run, static_cast<int64_t>(call.sent.size()) * run});
    gathered.push_back(std::move(*whole));
  }
  moveAll(moves, call.share);
  return forAll(std::move(gathered));
}

/// A piece of the dimension `split` of an array becomes one of the dimension `concat` of another.
void addPiece(const Array& from, int64_t piece, size_t split, Array& to, int64_t place, size_t concat,
              std::span<const int64_t> shape, std::vector<Move>& moves) {
  const int bytes = storage_bytes(from.dtype());
  const size_t outer = std::min(split, concat), inner = std::max(split, concat);
  const int64_t run = num_elements(shape.subspan(inner)) * bytes;
  // Bytes from one index to the next in the dimension before the split one, and before the joined one.
  const int64_t fromBlock = num_elements(std::span(from.shape()).subspan(split)) * bytes;
  const int64_t toBlock = num_elements(std::span(to.shape()).subspan(concat)) * bytes;
  const std::byte* begin = from.data() + piece * num_elements(shape.subspan(split)) * bytes;
  std::byte* end = to.data() + place * num_elements(shape.subspan(concat)) * bytes;
  if (split == concat) return moves.push_back({begin, end, num_elements(shape.first(split)), run, fromBlock, toBlock});
  const int64_t rows = num_elements(shape.subspan(outer, inner - outer)), blocks = num_elements(shape.first(outer));
  const bool splitsFirst = split < concat;
  for (int64_t b = 0; b < blocks; ++b)
    moves.push_back({begin + b * (splitsFirst ? fromBlock : rows * fromBlock),
                     end + b * (splitsFirst ? rows * toBlock : toBlock), rows, run, splitsFirst ? run : fromBlock,
                     splitsFirst ? toBlock : run});
}

CollectiveResults allToAll(CollectiveCall& call) {
  const auto split = static_cast<size_t>(call.typed().integer("split_dimension"));
  const auto concat = static_cast<size_t>(call.typed().integer("concat_dimension"));
  const size_t n = call.sent.size();
  std::vector<std::vector<Array>> received(n);
  std::vector<Move> moves;
  for (size_t i = 0; i < call.results.size(); ++i) {
    auto made = sideBySide(call.results[i], n);
    if (!made) return fail(std::move(made.error()));
    Shape piece = call.sent[0][i].shape();
    piece[split] /= static_cast<int64_t>(n);
    for (size_t to = 0; to < n; ++to) {
      for (size_t s = 0; s < n && call.results[i].elements() > 0; ++s)
        addPiece(call.sent[s][i], static_cast<int64_t>(to), split, (*made)[to], static_cast<int64_t>(s), concat, piece,
                 moves);
      received[to].push_back((*made)[to]);
    }
  }
  moveAll(moves, call.share);
  return received;
}

/// One sender, and what it sends.
CollectiveResults asSent(CollectiveCall& call) { return forAll(std::move(call.sent[0])); }

struct CollectiveRow {
  std::string_view op;
  CollectiveEvaluator evaluate;
};
constexpr std::array kCollectives{
    CollectiveRow{"all_gather", allGather},      CollectiveRow{"all_reduce", allReduce},
    CollectiveRow{"all_to_all", allToAll},       CollectiveRow{"collective_broadcast", asSent},
    CollectiveRow{"collective_permute", asSent}, CollectiveRow{"reduce_scatter", reduceScatter},
};

}  // namespace

eval::BinaryKernel reducerOf(const Block& block, DType t) {
  if (block.arguments.size() != 2 || block.ops.size() != 2 || block.ops[1].name != "return") return nullptr;
  const Op& op = block.ops[0];
  if (op.operands != block.arguments || op.results != block.ops[1].operands || !op.regions.empty()) return nullptr;
  const std::string_view name = kernelOpName(op.name, t);
  return name.empty() ? nullptr : eval::findBinary(name, t);
}

CollectiveEvaluator findCollective(std::string_view op) {
  const auto row = std::find_if(kCollectives.begin(), kCollectives.end(), [&](auto& r) { return r.op == op; });
  return row == kCollectives.end() ? nullptr : row->evaluate;
}

}  // namespace smalti::plain
