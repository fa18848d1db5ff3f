#include <cmath>
#include <cstring>
#include <vector>

#include "eval/FloatFormats.h"
#include "eval/Reduce.h"
#include "eval/bits/Widen.h"
#include "eval/reduce/Layout.h"

namespace smalti::eval {
namespace {

template <class T>
bool combine(ReduceKind k, T& a, T b) {
  switch (k) {
    case ReduceKind::add:
      a += b;
      return true;
    case ReduceKind::mul:
      a *= b;
      return true;
    case ReduceKind::maximumf:
      a = a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
      return true;
    case ReduceKind::minimumf:
      a = a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
      return true;
    default:
      return false;
  }
}

bool combineInt(ReduceKind k, uint32_t& a, uint32_t b) {
  const int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (k) {
    case ReduceKind::add:
      a += b;
      return true;
    case ReduceKind::mul:
      a *= b;
      return true;
    case ReduceKind::maxsi:
      a = x > y ? a : b;
      return true;
    case ReduceKind::minsi:
      a = x < y ? a : b;
      return true;
    case ReduceKind::maxui:
      a = a > b ? a : b;
      return true;
    case ReduceKind::minui:
      a = a < b ? a : b;
      return true;
    case ReduceKind::andi:
      a &= b;
      return true;
    case ReduceKind::ori:
      a |= b;
      return true;
    case ReduceKind::xori:
      a ^= b;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<ReduceKind> reduceKindFromName(std::string_view name) {
  static constexpr std::string_view kNames[] = {"add",   "mul",   "maximumf", "minimumf", "maxsi", "minsi",
                                                "maxui", "minui", "and",      "or",       "xor"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<ReduceKind>(i);
  return std::nullopt;
}

bool multiReduce(ReduceKind kind, Input in, Dims dims, Input acc, Output out) {
  const ReduceLayout layout(in.shape, dims);
  const int64_t n = out.elements();
  const int64_t count = in.splat ? 1 : in.elements(), accCount = acc.splat ? 1 : n;
  auto run = [&](auto* values, auto* accs, auto* results, auto op) {
    if (n == 0) return;
    Odometer<1> kept(layout.kept, {Dims(layout.keptStrides)});
    for (int64_t i = 0; i < n; ++i, kept.next()) {
      results[i] = accs[acc.splat ? 0 : i];
      if (productOf(layout.reduced) == 0) continue;
      Odometer<1> along(layout.reduced, {Dims(layout.reducedStrides)});
      auto r = values[in.splat ? 0 : kept.offset(0)];
      while (along.next()) op(r, values[in.splat ? 0 : kept.offset(0) + along.offset(0)]);
      op(results[i], r);
    }
  };
  if (is_float(in.dtype) && in.dtype != DType::f64) {
    float probe = 0;
    if (!combine(kind, probe, 0.0f)) return false;
    std::vector<float> v(count), a(accCount), r(n);
    floatsToF32(in.dtype, in.data, v.data(), count);
    floatsToF32(acc.dtype, acc.data, a.data(), accCount);
    run(v.data(), a.data(), r.data(), [&](float& x, float y) { combine(kind, x, y); });
    floatsFromF32(out.dtype, r.data(), out.data, n);
    return true;
  }
  if (is_integer(in.dtype) && bit_width(in.dtype) <= 32) {
    uint32_t probe = 0;
    if (!combineInt(kind, probe, 0)) return false;
    const bool isUnsigned = kind == ReduceKind::maxui || kind == ReduceKind::minui;
    std::vector<int32_t> v(count), a(accCount);
    std::vector<uint32_t> r(n);
    integersToI32(in.dtype, isUnsigned, in.data, v.data(), count);
    integersToI32(acc.dtype, isUnsigned, acc.data, a.data(), accCount);
    run(reinterpret_cast<uint32_t*>(v.data()), reinterpret_cast<uint32_t*>(a.data()), r.data(),
        [&](uint32_t& x, uint32_t y) { combineInt(kind, x, y); });
    integersFromI32(out.dtype, reinterpret_cast<const int32_t*>(r.data()), out.data, n);
    return true;
  }
  return false;
}

}  // namespace smalti::eval
