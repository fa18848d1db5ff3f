// A kernel is a plain function, so "op r on float c" needs its own function: a thunk with both numbers as template
// arguments that looks up the f32 kernel and the codec. The tables may have at most kMax… ops.
#include "eval/elementwise/Narrow.h"

#include <algorithm>
#include <utility>

namespace smalti::eval {
namespace {

constexpr int kMaxUnary = 48;
constexpr int kMaxBinary = 24;
constexpr int kMaxTests = 4;
constexpr int64_t kBlock = 256;

struct Block {
  alignas(64) float values[kBlock];
};

const CodecRow& codecRow(int codec) { return activeTables().codecs.first[codec]; }

void runUnary(UnaryKernel kernel, const CodecRow& narrow, const void* in, void* out, int64_t n) {
  const int bytes = storage_bytes(narrow.dtype);
  Block block;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    narrow.load(static_cast<const char*>(in) + at * bytes, block.values, count);
    kernel(block.values, block.values, count);
    narrow.store(block.values, static_cast<char*>(out) + at * bytes, count);
  }
}

void runTest(UnaryKernel kernel, const CodecRow& narrow, const void* in, void* out, int64_t n) {
  const int bytes = storage_bytes(narrow.dtype);
  Block block;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    narrow.load(static_cast<const char*>(in) + at * bytes, block.values, count);
    kernel(block.values, static_cast<char*>(out) + at, count);
  }
}

/// With `toPred` the kernel's results are bytes and go straight to `out`.
void runBinary(BinaryKernel kernel, const CodecRow& narrow, bool toPred, const void* a, const void* b, void* out,
               int64_t n, Splat splat) {
  const int bytes = storage_bytes(narrow.dtype);
  Block left, right, result;
  if (n > 0 && splat == Splat::lhs) narrow.load(a, left.values, 1);
  if (n > 0 && splat == Splat::rhs) narrow.load(b, right.values, 1);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    if (splat != Splat::lhs) narrow.load(static_cast<const char*>(a) + at * bytes, left.values, count);
    if (splat != Splat::rhs) narrow.load(static_cast<const char*>(b) + at * bytes, right.values, count);
    kernel(left.values, right.values, toPred ? static_cast<char*>(out) + at : static_cast<void*>(result.values), count,
           splat);
    if (!toPred) narrow.store(result.values, static_cast<char*>(out) + at * bytes, count);
  }
}

template <int op, int codec>
void unaryThunk(const void* in, void* out, int64_t n) {
  runUnary(floatUnaryRow(activeTables(), op)->f32, codecRow(codec), in, out, n);
}
template <int op, int codec>
void testThunk(const void* in, void* out, int64_t n) {
  runTest(activeTables().floatTest.first[op].f32, codecRow(codec), in, out, n);
}
template <int op, int codec>
void binaryThunk(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  runBinary(floatBinaryRow(activeTables(), op)->f32, codecRow(codec), false, a, b, out, n, splat);
}
template <int op, int codec>
void compareThunk(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  runBinary(activeTables().floatCompare.first[op].f32, codecRow(codec), true, a, b, out, n, splat);
}

template <class Kernel, int ops>
using Thunks = std::array<std::array<Kernel, ops>, kNumCodecs>;

// One array per kind of thunk: rows by codec, columns by op.
template <class Kernel, template <int, int> class Thunk, int... i>
constexpr auto thunks(std::integer_sequence<int, i...>) {
  constexpr int ops = sizeof...(i) / kNumCodecs;
  Thunks<Kernel, ops> all{};
  ((all[i / ops][i % ops] = Thunk<i % ops, i / ops>::kernel), ...);
  return all;
}

template <int op, int codec>
struct Unary {
  static constexpr UnaryKernel kernel = unaryThunk<op, codec>;
};
template <int op, int codec>
struct Test {
  static constexpr UnaryKernel kernel = testThunk<op, codec>;
};
template <int op, int codec>
struct Binary {
  static constexpr BinaryKernel kernel = binaryThunk<op, codec>;
};
template <int op, int codec>
struct Compare {
  static constexpr BinaryKernel kernel = compareThunk<op, codec>;
};

template <int ops>
using Sequence = std::make_integer_sequence<int, ops * kNumCodecs>;
constexpr auto kUnary = thunks<UnaryKernel, Unary>(Sequence<kMaxUnary>{});
constexpr auto kTests = thunks<UnaryKernel, Test>(Sequence<kMaxTests>{});
constexpr auto kBinary = thunks<BinaryKernel, Binary>(Sequence<kMaxBinary>{});
constexpr auto kCompares = thunks<BinaryKernel, Compare>(Sequence<kMaxBinary>{});

template <class All>
auto thunkFor(const All& all, int op, DType t) -> std::decay_t<decltype(all[0][0])> {
  const Rows<CodecRow>& codecs = activeTables().codecs;
  if (op < 0 || op >= static_cast<int>(all[0].size())) return nullptr;
  for (int codec = 0; codec < codecs.count && codec < kNumCodecs; ++codec)
    if (codecs.first[codec].dtype == t) return all[codec][op];
  return nullptr;
}

template <class Row>
const Row* rowOf(const Rows<Row>& first, const Rows<Row>& second, int op) {
  if (op < first.count) return first.first + op;
  return op < first.count + second.count ? second.first + (op - first.count) : nullptr;
}

}  // namespace

const UnaryRow* floatUnaryRow(const Tables& tables, int op) { return rowOf(tables.floatUnary, tables.mathUnary, op); }
const BinaryRow* floatBinaryRow(const Tables& tables, int op) {
  return rowOf(tables.floatBinary, tables.mathBinary, op);
}

UnaryKernel narrowUnary(int op, DType t) { return thunkFor(kUnary, op, t); }
BinaryKernel narrowBinary(int op, DType t) { return thunkFor(kBinary, op, t); }
UnaryKernel narrowTest(int op, DType t) { return thunkFor(kTests, op, t); }
BinaryKernel narrowCompare(int op, DType t) { return thunkFor(kCompares, op, t); }

}  // namespace smalti::eval
