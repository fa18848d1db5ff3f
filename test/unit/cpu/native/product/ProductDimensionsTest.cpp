// Products with several free or contracting dimensions. The numbers are small whole ones: every order of additions
// gives the same.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

struct Dimensions {
  Shape lhs, rhs, lhsContracting, rhsContracting, lhsBatch, rhsBatch;
};

Shape freeDims(const Shape& shape, const Shape& contracting, const Shape& batch) {
  Shape left;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (std::find(contracting.begin(), contracting.end(), d) == contracting.end() &&
        std::find(batch.begin(), batch.end(), d) == batch.end())
      left.push_back(d);
  return left;
}

void product(const Dimensions& d, bool added) {
  SCOPED_TRACE(fmt::format("{} · {}, {} with {}", fmt::join(d.lhs, "x"), fmt::join(d.rhs, "x"),
                           fmt::join(d.lhsContracting, ","), fmt::join(d.rhsContracting, ",")));
  const Shape lhsFree = freeDims(d.lhs, d.lhsContracting, d.lhsBatch),
              rhsFree = freeDims(d.rhs, d.rhsContracting, d.rhsBatch);
  Shape out, order;
  const auto take = [&](const Shape& shape, const Shape& dims, int64_t operand) {
    for (int64_t at : dims) {
      out.push_back(shape[static_cast<size_t>(at)]);
      order.insert(order.end(), {operand, at});
    }
  };
  take(d.lhs, d.lhsBatch, 0);
  take(d.lhs, lhsFree, 0);
  take(d.rhs, rhsFree, 1);
  TextKernel kernel;
  const Val a = kernel.input({.array = d.lhs, .space = "vmem"}), b = kernel.input({.array = d.rhs, .space = "vmem"}),
            s = kernel.input({.array = out, .space = "vmem"}), c = kernel.output({.array = out, .space = "vmem"});
  const Val x = kernel.load(a), y = kernel.load(b), start = added ? kernel.load(s) : kernel.splat(kernel.f32(0), out);
  const Val r = kernel.fresh(start.type);
  kernel.raw(fmt::format(
      "{} = \"tpu.matmul\"({}, {}, {}) <{{dimension_numbers = #tpu.dot_dimension_numbers<[{}], [{}], [{}], [{}], [{}], "
      "[{}], [{}]>, transpose_lhs_hint = false}}> : ({}, {}, {}) -> {}",
      r.name, x.name, y.name, start.name, fmt::join(d.lhsContracting, ", "), fmt::join(d.rhsContracting, ", "),
      fmt::join(lhsFree, ", "), fmt::join(rhsFree, ", "), fmt::join(order, ", "), fmt::join(d.lhsBatch, ", "),
      fmt::join(d.rhsBatch, ", "), x.type, y.type, start.type, r.type));
  kernel.store(r, c);
  const auto numbers = [](const Shape& shape) {
    return f32Array(shape, [](int64_t i) { return static_cast<float>((i * 7 + i / 5) % 9 - 4); });
  };
  same(kernel, {numbers(d.lhs), numbers(d.rhs), numbers(out)});
  const auto code = native(kernel);
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->report().interpreted.empty());
}

TEST(NativeProductDimensions, SeveralFreeAndSeveralContracting) {
  SMALTI_LONG_TEST();
  const std::vector<Dimensions> all{
      {{2, 3, 20}, {20, 40}, {2}, {0}, {}, {}},              // rows that lie one after the other
      {{3, 20, 5}, {20, 40}, {1}, {0}, {}, {}},              // and not
      {{6, 20}, {3, 20, 8}, {1}, {1}, {}, {}},               // columns
      {{6, 4, 5}, {4, 5, 24}, {1, 2}, {0, 1}, {}, {}},       // both contracted
      {{6, 4, 5}, {5, 24, 4}, {1, 2}, {2, 0}, {}, {}},       // in another order
      {{4, 6, 5, 3}, {5, 2, 4, 7}, {0, 2}, {2, 0}, {}, {}},  // everything
      {{2, 4, 6, 5}, {2, 5, 3, 8}, {3}, {1}, {0}, {0}},      // in batches
      {{3, 1, 20, 1}, {20, 5, 1, 4}, {2}, {0}, {}, {}},      // next to sizes of 1
  };
  for (const Dimensions& d : all)
    for (const bool added : {false, true}) product(d, added);
}

/// The batch, and rows or columns, in any place: where the last dimension is neither, a matrix is copied.
TEST(NativeProductDimensions, InEveryOrder) {
  SMALTI_LONG_TEST();
  const Shape sizes{3, 12, 20};  // batch, rows or columns, depth
  std::vector<Shape> orders;
  Shape order{0, 1, 2};
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  ASSERT_EQ(orders.size(), 6U);
  const auto at = [](const Shape& in, int64_t what) { return std::find(in.begin(), in.end(), what) - in.begin(); };
  size_t number = 0;
  for (const Shape& left : orders)
    for (const Shape& right : orders) {
      const int64_t rows = std::array{1, 4, 12}[number++ % 3];  // each strategy for some
      Shape lhs, rhs;
      for (const int64_t d : left) lhs.push_back(d == 1 ? rows : sizes[static_cast<size_t>(d)]);
      for (const int64_t d : right) rhs.push_back(sizes[static_cast<size_t>(d)]);
      product({lhs, rhs, {at(left, 2)}, {at(right, 2)}, {at(left, 0)}, {at(right, 0)}}, false);
    }
}

}  // namespace
}  // namespace smalti::cpu::testing
