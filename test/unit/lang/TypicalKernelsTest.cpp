// Kernels that people type first, against plain loops, on both targets.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_;
using std::tuple;

namespace {

std::vector<float> normals(int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(engine);
  return v;
}

void expectNear(const pl::Array& have, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(have.elements(), static_cast<int64_t>(want.size()));
  const pl::Array numbers = pl::astype(have, pl::f32);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(numbers.as<float>()[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "element " << i;
}

/// On the machine, under the observers, and natively.
template <class F>
void onBothTargets(const pl::PallasCall& call, const std::vector<pl::Operand>& x, const F& expect) {
  for (const auto& f : call.check_all(x).findings) ADD_FAILURE() << f.diagnostic.str();
  for (const char* target : {"interpret", "cpu"}) {
    SCOPED_TRACE(target);
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    pl::use_settings(settings);
    expect(call.run(x));
    pl::use_settings(pl::Settings());
  }
}

const auto kRow = [](auto i) { return tuple{i, 0}; };
const auto kFirst = [](auto) { return tuple{0, 0}; };

TEST(Typical, TopKByRepeatedArgmax) {
  constexpr int64_t rows = 16, columns = 256, k = 4;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref values, pl::Ref places) {
        const pl::Array lane = pl::broadcasted_iota(pl::i32, {8, columns}, 1);
        const pl::Array slot = pl::broadcasted_iota(pl::i32, {8, 128}, 1);
        const auto [rest, best, at] = pl::fori_loop(
            0, k,
            [&](auto i, auto carry) {
              const auto [rest, best, at] = carry;
              const pl::Array top = pl::argmax(rest, 1);
              const pl::Array column = pl::expand_dims(top, 1);
              const pl::Array value = pl::max(rest, {.axes = {1}, .keepdims = true});
              return tuple{pl::where(lane == column, -std::numeric_limits<float>::infinity(), rest),
                           pl::where(slot == i, value, best), pl::where(slot == i, column, at)};
            },
            tuple{x[_].value(), pl::zeros({8, 128}), pl::zeros({8, 128}, pl::i32)});
        values[_] = best;
        places[_] = at;
      },
      {.out_shape = {pl::ShapeDtype{{rows, 128}, pl::f32}, pl::ShapeDtype{{rows, 128}, pl::i32}},
       .grid = {rows / 8},
       .in_specs = {pl::BlockSpec{{8, columns}, kRow}},
       .out_specs = {pl::BlockSpec{{8, 128}, kRow}, pl::BlockSpec{{8, 128}, kRow}}});
  const auto x = normals(rows * columns, 1);
  onBothTargets(call, {pl::array(x, {rows, columns})}, [&](const pl::Results& out) {
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<int> order(columns);
      for (int c = 0; c < columns; ++c) order[c] = c;
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return x[r * columns + a] > x[r * columns + b]; });
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(out[1].as<int32_t>()[r * 128 + i], order[i]);
        EXPECT_EQ(out[0].as<float>()[r * 128 + i], x[r * columns + order[i]]);
      }
    }
  });
}

TEST(Typical, LayerNormBackward) {
  constexpr int64_t rows = 32, n = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x_ref, pl::Ref g_ref, pl::Ref dy_ref, pl::Ref dx_ref, pl::Ref dg_ref, pl::Ref db_ref) {
        const pl::Array x = x_ref[_], dy = dy_ref[_];
        const pl::Array mean = pl::mean(x, {.axes = {1}, .keepdims = true});
        const pl::Array scale = pl::rsqrt(pl::var(x, {.axes = {1}, .keepdims = true}) + 1e-5f);
        const pl::Array normal = (x - mean) * scale, wdy = dy * g_ref[_];
        const pl::Array a = pl::mean(normal * wdy, {.axes = {1}, .keepdims = true});
        const pl::Array b = pl::mean(wdy, {.axes = {1}, .keepdims = true});
        dx_ref[_] = (wdy - normal * a - b) * scale;
        pl::when(pl::program_id(0) == 0, [&] {
          dg_ref[_] = pl::zeros_like(dg_ref);
          db_ref[_] = pl::zeros_like(db_ref);
        });
        dg_ref[_] += pl::sum(dy * normal, {.axes = {0}, .keepdims = true});
        db_ref[_] += pl::sum(dy, {.axes = {0}, .keepdims = true});
      },
      {.out_shape = {pl::ShapeDtype{{rows, n}}, pl::ShapeDtype{{1, n}}, pl::ShapeDtype{{1, n}}},
       .grid = {rows / 8},
       .in_specs = {pl::BlockSpec{{8, n}, kRow}, pl::BlockSpec{{1, n}, kFirst}, pl::BlockSpec{{8, n}, kRow}},
       .out_specs = {pl::BlockSpec{{8, n}, kRow}, pl::BlockSpec{{1, n}, kFirst}, pl::BlockSpec{{1, n}, kFirst}}});
  const auto x = normals(rows * n, 2), g = normals(n, 3), dy = normals(rows * n, 4);
  std::vector<double> dx(rows * n), dg(n), db(n);
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, square = 0, a = 0, b = 0;
    for (int64_t c = 0; c < n; ++c) mean += x[r * n + c] / static_cast<double>(n);
    for (int64_t c = 0; c < n; ++c) square += std::pow(x[r * n + c] - mean, 2) / static_cast<double>(n);
    const double scale = 1 / std::sqrt(square + 1e-5);
    for (int64_t c = 0; c < n; ++c) {
      const double h = (x[r * n + c] - mean) * scale, w = static_cast<double>(dy[r * n + c]) * g[c];
      a += h * w / static_cast<double>(n);
      b += w / static_cast<double>(n);
      dg[c] += dy[r * n + c] * h;
      db[c] += dy[r * n + c];
    }
    for (int64_t c = 0; c < n; ++c) {
      const double h = (x[r * n + c] - mean) * scale, w = static_cast<double>(dy[r * n + c]) * g[c];
      dx[r * n + c] = (w - h * a - b) * scale;
    }
  }
  onBothTargets(call, {pl::array(x, {rows, n}), pl::array(g, {1, n}), pl::array(dy, {rows, n})},
                [&](const pl::Results& out) {
                  expectNear(out[0], dx, 1e-5);
                  expectNear(out[1], dg, 1e-5);
                  expectNear(out[2], db, 1e-5);
                });
}

TEST(Typical, RotaryEmbedding) {
  // Heads of 128: the halves turn together. cos and sin are [positions, 64].
  constexpr int64_t positions = 32, heads = 2, d = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref cos, pl::Ref sin, pl::Ref o) {
        const pl::Array c = pl::concatenate({cos[_], cos[_]}, 1), s = pl::concatenate({-sin[_], sin[_]}, 1);
        o[_] = x[_] * c + pl::roll(x[_], d / 2, 1) * s;
      },
      {.out_shape = pl::ShapeDtype{{heads, positions, d}},
       .grid = {heads, positions / 16},
       .in_specs = {pl::BlockSpec{{pl::squeezed, 16, d}, [](auto h, auto i) { return tuple{h, i, 0}; }},
                    pl::BlockSpec{{16, d / 2}, [](auto, auto i) { return tuple{i, 0}; }},
                    pl::BlockSpec{{16, d / 2}, [](auto, auto i) { return tuple{i, 0}; }}},
       .out_specs = {pl::BlockSpec{{pl::squeezed, 16, d}, [](auto h, auto i) { return tuple{h, i, 0}; }}}});
  const auto x = normals(heads * positions * d, 5);
  std::vector<float> cos(positions * d / 2), sin(cos.size());
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t f = 0; f < d / 2; ++f) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(f) / 64);
      cos[p * d / 2 + f] = static_cast<float>(std::cos(angle));
      sin[p * d / 2 + f] = static_cast<float>(std::sin(angle));
    }
  std::vector<double> want(x.size());
  for (int64_t r = 0; r < heads * positions; ++r)
    for (int64_t f = 0; f < d / 2; ++f) {
      const double c = cos[r % positions * d / 2 + f], s = sin[r % positions * d / 2 + f];
      const double a = x[r * d + f], b = x[r * d + f + d / 2];
      want[r * d + f] = a * c - b * s;
      want[r * d + f + d / 2] = b * c + a * s;
    }
  onBothTargets(
      call,
      {pl::array(x, {heads, positions, d}), pl::array(cos, {positions, d / 2}), pl::array(sin, {positions, d / 2})},
      [&](const pl::Results& out) { expectNear(out[0], want, 1e-6); });
}

TEST(Typical, CumulativeSumsCarryInScratch) {
  constexpr int64_t rows = 32, n = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref carry) {
        pl::when(pl::program_id(0) == 0, [&] { carry[_] = pl::zeros_like(carry); });
        pl::Array sum = x[_];
        const pl::Array row = pl::broadcasted_iota(pl::i32, {8, n}, 0);
        for (int64_t step = 1; step < 8; step *= 2) sum = sum + pl::where(row >= step, pl::roll(sum, step, 0), 0);
        sum = sum + carry[_];
        o[_] = sum;
        carry[_] = pl::slice(sum, {7, 0}, {8, n});
      },
      {.out_shape = pl::ShapeDtype{{rows, n}},
       .grid = {rows / 8},
       .in_specs = {pl::BlockSpec{{8, n}, kRow}},
       .out_specs = {pl::BlockSpec{{8, n}, kRow}},
       .scratch_shapes = {pl::vmem({1, n}, pl::f32)}});
  const auto x = normals(rows * n, 6);
  std::vector<double> want(x.begin(), x.end());
  for (int64_t i = n; i < rows * n; ++i) want[i] += want[i - n];
  onBothTargets(call, {pl::array(x, {rows, n})}, [&](const pl::Results& out) { expectNear(out[0], want, 1e-5); });
}

TEST(Typical, QuantiseRowsToInt8) {
  constexpr int64_t rows = 64, n = 256;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref q, pl::Ref scale) {
        const pl::Array largest = pl::max(pl::abs(x[_]), {.axes = {1}, .keepdims = true});
        const pl::Array s = pl::where(largest == 0, 1, largest / 127.0f);
        q[_] = pl::astype(pl::clip(pl::round(x[_] / s), -127, 127), pl::i8);
        scale[_] = s;
      },
      {.out_shape = {pl::ShapeDtype{{rows, n}, pl::i8}, pl::ShapeDtype{{rows, 1}}},
       .grid = {rows / 32},
       .in_specs = {pl::BlockSpec{{32, n}, kRow}},
       .out_specs = {pl::BlockSpec{{32, n}, kRow}, pl::BlockSpec{{32, 1}, kRow}}});
  auto x = normals(rows * n, 7);
  std::fill_n(x.begin() + 5 * n, n, 0.0f);
  onBothTargets(call, {pl::array(x, {rows, n})}, [&](const pl::Results& out) {
    for (int64_t r = 0; r < rows; ++r) {
      float largest = 0;
      for (int64_t c = 0; c < n; ++c) largest = std::max(largest, std::abs(x[r * n + c]));
      const float s = largest == 0 ? 1 : largest / 127.0f;
      ASSERT_EQ(out[1].as<float>()[r], s);
      for (int64_t c = 0; c < n; ++c)
        ASSERT_EQ(out[0].as<int8_t>()[r * n + c], static_cast<int8_t>(std::nearbyint(x[r * n + c] / s)));
    }
  });
}

TEST(Typical, ConvolutionAsShiftedSums) {
  // y[t] = Σ w[j] x[t + j - 1], zeros outside: Element blocks with a halo of one row above and below.
  constexpr int64_t time = 32, channels = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref w, pl::Ref o) {
        const pl::Array first = pl::program_id(0) * 8 - 1;
        pl::Array sum = pl::zeros({8, channels});
        for (int64_t j = 0; j < 3; ++j) {
          const pl::Array at = pl::broadcasted_iota(pl::i32, {8, channels}, 0) + first + j;
          const pl::Array part = pl::where(at >= 0 && at < time, x[pl::ds(j, 8)], 0);
          sum = sum + part * w[pl::ds(j, 1)];
        }
        o[_] = sum;
      },
      {.out_shape = pl::ShapeDtype{{time, channels}},
       .grid = {time / 8},
       .in_specs = {pl::BlockSpec{{pl::Element{10, {1, 1}}, pl::Element{channels}},
                                  [](auto i) { return tuple{i * 8, 0}; }},
                    pl::BlockSpec{}},
       .out_specs = {pl::BlockSpec{{8, channels}, kRow}}});
  const auto x = normals(time * channels, 8), w = normals(3 * channels, 9);
  std::vector<double> want(x.size());
  for (int64_t t = 0; t < time; ++t)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t j = 0; j < 3; ++j)
        if (t + j >= 1 && t + j <= time)
          want[t * channels + c] += static_cast<double>(w[j * channels + c]) * x[(t + j - 1) * channels + c];
  onBothTargets(call, {pl::array(x, {time, channels}), pl::array(w, {3, channels})},
                [&](const pl::Results& out) { expectNear(out[0], want, 1e-5); });
}

TEST(Typical, EmbeddingLookupWithScalarPrefetch) {
  constexpr int64_t tokens = 10, vocabulary = 50, n = 256;
  const auto call = pl::pallas_call(
      [](pl::Ref, pl::Ref table, pl::Ref o) { o[_] = table[_]; },
      {.out_shape = pl::ShapeDtype{{tokens, 1, n}, pl::bf16},
       .grid_spec = pl::GridSpec{
           .num_scalar_prefetch = 1,
           .grid = {tokens},
           .in_specs = {pl::BlockSpec{{pl::squeezed, 1, n}, [](auto i, auto ids) { return tuple{ids[i], 0, 0}; }}},
           .out_specs = {pl::BlockSpec{{pl::squeezed, 1, n}, [](auto i, auto) { return tuple{i, 0, 0}; }}}}});
  const pl::Array table = pl::astype(pl::array(normals(vocabulary * n, 10), {vocabulary, 1, n}), pl::bf16);
  const std::vector<int32_t> ids{3, 49, 0, 3, 7, 7, 21, 48, 1, 30};
  std::vector<double> want;
  const pl::Array numbers = pl::astype(table, pl::f32);
  for (const int32_t id : ids)
    for (int64_t c = 0; c < n; ++c) want.push_back(numbers.as<float>()[id * n + c]);
  onBothTargets(call, {pl::array(ids), table}, [&](const pl::Results& out) { expectNear(out[0], want, 0); });
}

TEST(Typical, Histogram) {
  constexpr int64_t rows = 40, n = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref counts) {
        pl::when(pl::program_id(0) == 0, [&] { counts[_] = pl::zeros_like(counts); });
        const pl::Array bin = pl::broadcasted_iota(pl::i32, {n, 128}, 1);
        pl::loop(0, 8, [&](auto r) {
          const pl::Array values = pl::transpose(x[pl::ds(r, 1)].value());
          counts[_] += pl::sum(pl::astype(values == bin, pl::i32), {.axes = {0}, .keepdims = true});
        });
      },
      {.out_shape = pl::ShapeDtype{{1, 128}, pl::i32},
       .grid = {rows / 8},
       .in_specs = {pl::BlockSpec{{8, n}, kRow}},
       .out_specs = {pl::BlockSpec{{1, 128}, kFirst}}});
  std::vector<int32_t> x(rows * n);
  std::vector<double> want(128);
  for (size_t i = 0; i < x.size(); ++i) want[x[i] = static_cast<int32_t>(i * i % 97 % 64)] += 1;
  onBothTargets(call, {pl::array(x, {rows, n})}, [&](const pl::Results& out) { expectNear(out[0], want, 0); });
}

TEST(Typical, OnlineSoftmaxWithLogsumexp) {
  constexpr int64_t rows = 16, columns = 512, block = 128;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref m, pl::Ref l) {
        const pl::Array phase = pl::program_id(1), j = pl::program_id(2);
        pl::when(phase == 0 && j == 0, [&] {
          m[_] = pl::full_like(m, -std::numeric_limits<float>::infinity());
          l[_] = pl::zeros_like(l);
        });
        pl::when(phase == 0, [&] {
          const pl::Array before = m[_];
          const pl::Array now = pl::maximum(before, pl::max(x[_], {.axes = {1}, .keepdims = true}));
          l[_] = l[_] * pl::exp(before - now) + pl::sum(pl::exp(x[_] - now), {.axes = {1}, .keepdims = true});
          m[_] = now;
        });
        pl::when(phase == 1, [&] { o[_] = x[_] - (m[_] + pl::log(l[_])); });
      },
      {.out_shape = pl::ShapeDtype{{rows, columns}},
       .grid = {rows / 8, 2, columns / block},
       .in_specs = {pl::BlockSpec{{8, block}, [](auto i, auto, auto j) { return tuple{i, j}; }}},
       .out_specs = {pl::BlockSpec{{8, block}, [](auto i, auto phase, auto j) { return tuple{i, j * phase}; }}},
       .scratch_shapes = {pl::vmem({8, 1}, pl::f32), pl::vmem({8, 1}, pl::f32)}});
  const auto x = normals(rows * columns, 11);
  std::vector<double> want(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c]);
    for (int64_t c = 0; c < columns; ++c) want[r * columns + c] = x[r * columns + c] - std::log(sum);
  }
  onBothTargets(call, {pl::array(x, {rows, columns})}, [&](const pl::Results& out) { expectNear(out[0], want, 1e-5); });
}

TEST(Typical, RingBufferOfCopies) {
  // Three slots; a copy is started two chunks ahead, results leave through another ring.
  constexpr int64_t chunks = 7, rows = 8, n = 128, slots = 3;
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref in, pl::Ref out, pl::Ref in_sems, pl::Ref out_sems) {
        const auto part = [](pl::Ref whole, const pl::Array& i) { return whole.at(pl::ds(i * rows, rows)); };
        const auto fetch = [&](const pl::Array& i) {
          return pl::make_async_copy(part(x, i), in.at(i % slots), in_sems.at(i % slots));
        };
        const auto send = [&](const pl::Array& i) {
          return pl::make_async_copy(out.at(i % slots), part(o, i), out_sems.at(i % slots));
        };
        for (int32_t i = 0; i < slots - 1; ++i) fetch(pl::full({}, i, pl::i32)).start();
        pl::loop(0, chunks, [&](auto i) {
          pl::when(i + (slots - 1) < chunks, [&] { fetch(i + (slots - 1)).start(); });
          fetch(i).wait();
          pl::when(i >= slots, [&] { send(i - slots).wait(); });
          out[i % slots] = in[i % slots] * 2 + pl::astype(i, pl::f32);
          send(i).start();
        });
        for (int32_t i = chunks - slots; i < chunks; ++i) send(pl::full({}, i, pl::i32)).wait();
      },
      {.out_shape = pl::ShapeDtype{{chunks * rows, n}},
       .in_specs = {pl::BlockSpec(pl::any_space)},
       .out_specs = {pl::BlockSpec(pl::any_space)},
       .scratch_shapes = {pl::vmem({slots, rows, n}, pl::f32), pl::vmem({slots, rows, n}, pl::f32),
                          pl::semaphore_type::dma({slots}), pl::semaphore_type::dma({slots})}});
  const auto x = normals(chunks * rows * n, 12);
  std::vector<double> want(x.size());
  for (size_t i = 0; i < x.size(); ++i) want[i] = x[i] * 2 + static_cast<float>(i / (rows * n));
  onBothTargets(call, {pl::array(x, {chunks * rows, n})},
                [&](const pl::Results& out) { expectNear(out[0], want, 1e-6); });
}

}  // namespace
