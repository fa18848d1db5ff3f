// Collectives of arrays that threads share and that are written by non-temporal stores, against loops over elements.
#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace smalti::driver {
namespace {

constexpr int64_t kLargeDevices = 4, kLargeRows = 1280,
                  kLargeColumns = 1028;  // 5 MiB on each device; rows end inside of cache lines

/// Whole numbers, so that sums are exact in any order; all devices' rows, one below the other.
Array rowsOfAll() {
  Array x = unwrap(Array::allocate({DType::f32, {kLargeDevices * kLargeRows, kLargeColumns}}));
  for (int64_t i = 0; i < x.elements(); ++i) x.as<float>()[i] = static_cast<float>(i * 37 % 1009);
  return x;
}

/// `of(device, row, column)` is what the device has; `per` columns and rows a device in the result, which is split as
/// `spec` says.
template <class Of>
void expectAll(const DeviceFunction& f, const PartitionSpec& spec, Of of, Shape shape) {
  const Array x = rowsOfAll();
  const Array got = shard_map(f, Mesh({{"x", kLargeDevices}}), P("x"), spec)(x);
  ASSERT_EQ(got.shape(), shape);
  int64_t wrong = 0;
  for (int64_t r = 0; r < shape[0]; ++r)
    for (int64_t c = 0; c < shape[1]; ++c) wrong += got.as<float>()[r * shape[1] + c] != of(x.as<float>(), r, c);
  EXPECT_EQ(wrong, 0);
}

float elementOf(const float* x, int64_t device, int64_t row, int64_t column) {
  return x[(device * kLargeRows + row) * kLargeColumns + column];
}
float sumOf(const float* x, int64_t row, int64_t column) {
  float all = 0;
  for (int64_t d = 0; d < kLargeDevices; ++d) all += elementOf(x, d, row, column);
  return all;
}

TEST(LargeCollectives, AllReduce) {
  expectAll([](const Array& x) { return psum(x, "x"); }, P(),
            [](const float* x, int64_t r, int64_t c) { return sumOf(x, r, c); }, {kLargeRows, kLargeColumns});
}

TEST(LargeCollectives, ReduceScatterAlongRowsAndColumns) {
  expectAll([](const Array& x) { return psum_scatter(x, "x", {.tiled = true}); }, P("x"),
            [](const float* x, int64_t r, int64_t c) { return sumOf(x, r, c); }, {kLargeRows, kLargeColumns});
  expectAll([](const Array& x) { return psum_scatter(x, "x", {.scatter_dimension = 1, .tiled = true}); },
            P(std::nullopt, "x"), [](const float* x, int64_t r, int64_t c) { return sumOf(x, r, c); },
            {kLargeRows, kLargeColumns});
}

TEST(LargeCollectives, AllGatherAlongColumns) {
  expectAll([](const Array& x) { return all_gather(x, "x", {.axis = 1, .tiled = true}); }, P(),
            [](const float* x, int64_t r, int64_t c) { return elementOf(x, c / kLargeColumns, r, c % kLargeColumns); },
            {kLargeRows, kLargeDevices * kLargeColumns});
}

TEST(LargeCollectives, AllToAllBetweenAnyTwoDimensions) {
  constexpr int64_t kPart = kLargeRows / kLargeDevices, kPiece = kLargeColumns / kLargeDevices;
  expectAll([](const Array& x) { return all_to_all(x, "x", 0, 0, {.tiled = true}); }, P("x"),
            [](const float* x, int64_t r, int64_t c) {
              const int64_t device = r / kLargeRows, from = r % kLargeRows / kPart, row = r % kPart;
              return elementOf(x, from, device * kPart + row, c);
            },
            {kLargeDevices * kLargeRows, kLargeColumns});
  expectAll([](const Array& x) { return all_to_all(x, "x", 1, 0, {.tiled = true}); }, P(std::nullopt, "x"),
            [](const float* x, int64_t r, int64_t c) { return elementOf(x, r / kLargeRows, r % kLargeRows, c); },
            {kLargeDevices * kLargeRows, kLargeColumns});
  expectAll([](const Array& x) { return all_to_all(x, "x", 0, 1, {.tiled = true}); }, P("x"),
            [](const float* x, int64_t r, int64_t c) { return elementOf(x, c / kLargeColumns, r, c % kLargeColumns); },
            {kLargeRows, kLargeDevices * kLargeColumns});
  expectAll([](const Array& x) { return all_to_all(x, "x", 1, 1, {.tiled = true}); }, P(std::nullopt, "x"),
            [](const float* x, int64_t r, int64_t c) {
              const int64_t device = c / kLargeColumns, from = c % kLargeColumns / kPiece;
              return elementOf(x, from, r, device * kPiece + c % kPiece);
            },
            {kLargeRows, kLargeDevices * kLargeColumns});
}

TEST(LargeCollectives, ResultsDoNotShareTheArgumentsMemory) {
  const Array x = rowsOfAll();
  const Array same = shard_map([](const Array& a) { return a; }, Mesh({{"x", kLargeDevices}}), P("x"), P("x"))(x);
  EXPECT_NE(same.data(), x.data());
}

}  // namespace
}  // namespace smalti::driver
