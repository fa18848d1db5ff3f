// Ring attention over the processes of an MPI launcher, a device in each: bin/bench_mpi_ring HEADS LENGTH DEPTH SECONDS
// prints seconds per call, the median of many, which mpi.py compares for one and for two.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "smalti/kernels/ring_attention.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::Array;

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int64_t heads = std::atoll(argv[1]), length = std::atoll(argv[2]), depth = std::atoll(argv[3]);
  const double seconds = std::atof(argv[4]);
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const int64_t devices = size ? std::atoll(size) : 1;
  pl::Settings settings;
  pl::unwrap(settings.set("target", "cpu"));
  pl::use_settings(settings);

  const pl::Shape shape{heads, devices * length, depth};
  const auto input = [&](int seed) { return pl::normal(pl::random_key(seed), shape); };
  const Array q = input(0), k = input(1), v = input(2);
  const auto spec = pl::P(std::nullopt, "x");
  const auto attention = pl::shard_map(
      [](const Array& q, const Array& k, const Array& v) { return pl::kernels::ring_attention(q, k, v, "x"); },
      pl::Mesh({{"x", devices}}), spec, spec);
  const pl::Executable run = attention.compile(q, k, v);
  const std::vector<Array> operands{q, k, v};
  using Clock = std::chrono::steady_clock;
  const auto once = [&] {
    const auto from = Clock::now();
    (void)pl::unwrap(run.execute(operands, run.options()));
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  once();
  // All processes make the same number of calls, regardless of their own clocks.
  const int calls = std::clamp(static_cast<int>(seconds / std::max(once() * 1.0, 1e-4)), 5, 1000);
  std::vector<double> took;
  const Array agreed =
      devices > 1 ? Array(pl::shard_map([](const Array& x) { return pl::pmin(x, "x"); }, pl::Mesh({{"x", devices}}),
                                        pl::P(), pl::P())(pl::full({1}, calls, pl::i32)))
                  : pl::full({1}, calls, pl::i32);
  for (int i = 0; i < *agreed.as<int32_t>(); ++i) took.push_back(once());
  std::ranges::sort(took);
  if (!rank || std::string(rank) == "0") std::printf("%.9g\n", took[took.size() / 2]);
}
