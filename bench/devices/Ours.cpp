// Collectives of a shard_map on the target cpu, an all-reduce among the other ops of a program, and one inside a
// running kernel: bin/bench_devices_ours DEVICES, which devices.py asks as Rounds.h says.
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "Rounds.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::Array;

namespace {

struct Collective {
  pl::DeviceFunction f;
  bool replicated = false;  ///< its result
};

const std::map<std::string, Collective>& collectives() {
  static const std::map<std::string, Collective> all{
      {"all_reduce", {[](const Array& x) { return pl::psum(x, "x"); }, true}},
      {"all_gather", {[](const Array& x) { return pl::all_gather(x, "x", {.tiled = true}); }, true}},
      {"reduce_scatter", {[](const Array& x) { return pl::psum_scatter(x, "x", {.tiled = true}); }}},
      {"all_to_all", {[](const Array& x) { return pl::all_to_all(x, "x", 0, 0, {.tiled = true}); }}},
  };
  return all;
}

double collective(const std::string& name, int64_t devices, int64_t bytes, double seconds) {
  const Collective& c = collectives().at(name);
  const int64_t elements = bytes / 4 / (name == "all_gather" ? devices : 1);
  const Array x = pl::ones({devices * elements});
  const auto map = pl::shard_map(c.f, pl::Mesh({{"x", devices}}), pl::P("x"), c.replicated ? pl::P() : pl::P("x"));
  const pl::Executable run = map.compile(x);
  return devices::fastest(seconds, [&] { (void)pl::unwrap(run.execute({&x, 1}, run.options())); });
}

/// One all-reduce and one element-wise op of a program that consists of several.
double inProgram(int64_t devices, int64_t bytes, double seconds) {
  constexpr int kTimes = 8;
  const auto repeated = [](const Array& x) {
    Array mean = x;
    for (int i = 0; i < kTimes; ++i) mean = pl::psum(mean, "x") * 0.5f;
    return mean;
  };
  const Array x = pl::ones({devices * bytes / 4});
  const auto run = pl::jit([map = pl::shard_map(repeated, pl::Mesh({{"x", devices}}), pl::P("x"), pl::P())](
                               const Array& a) { return map(a); });
  return devices::fastest(seconds, [&] { (void)run(x); }) / kTimes;
}

/// Bytes read and written per second by copies with non-temporal stores, on all cores: the limit's unit.
double copySeconds(int64_t bytes, double seconds) {
  const Array from = pl::ones({bytes / 4});
  Array to = pl::ones({bytes / 4});
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return devices::fastest(seconds, [&] {
    std::vector<std::jthread> threads;
    for (int64_t c = 0; c < cores; ++c)
      threads.emplace_back([&, c] {
        const int64_t begin = bytes * c / cores / 64 * 64, end = bytes * (c + 1) / cores / 64 * 64;
#if defined(__x86_64__)
        for (int64_t i = begin; i < end; i += 16)
          _mm_stream_si128(reinterpret_cast<__m128i*>(to.data() + i),
                           _mm_load_si128(reinterpret_cast<const __m128i*>(from.data() + i)));
#else
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
#endif
      });
  });
}

/// One all-reduce of f32[bytes / 512, 128] between two devices in a loop inside of a running kernel.
double inKernel(int64_t bytes, double seconds) {
  constexpr int kTimes = 20'000;
  const pl::Shape shape{bytes / 512, 128};
  const pl::Mesh mesh({{"x", 2}});
  const auto kernel = [](pl::Ref x, pl::Ref o, pl::Ref theirs, pl::Ref send, pl::Ref receive) {
    const Array other = 1 - pl::axis_index("x");
    const pl::DeviceId peer = std::map<std::string, pl::Operand>{{"x", other}};
    const pl::Ref barrier = pl::get_barrier_semaphore();
    pl::semaphore_signal(barrier, 1, {.device_id = peer});
    pl::semaphore_wait(barrier, 1);
    o[pl::_] = x[pl::_];
    pl::loop(0, kTimes, [&](const Array& i) {
      const Array slot = pl::rem(i, 2);
      pl::async_remote_copy(o, theirs.at(slot), send, receive.at(slot), peer).wait();
      o[pl::_] = (o[pl::_] + theirs[slot]) * 0.5f;
    });
  };
  const auto call =
      pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{shape, pl::f32},
                               .scratch_shapes = {pl::vmem({2, shape[0], 128}, pl::f32), pl::semaphore_type::dma(),
                                                  pl::semaphore_type::dma({2})},
                               .name = "all_reduces",
                               .compiler_params = {.collective_id = 0}});
  const Array x = pl::ones({2 * shape[0], 128});
  const pl::Executable run =
      pl::shard_map([&](const Array& a) { return Array(call(a)); }, mesh, pl::P("x"), pl::P("x")).compile(x);
  return devices::fastest(seconds, [&] { (void)pl::unwrap(run.execute({&x, 1}, run.options())); }) / kTimes;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t devices = argc > 1 ? std::stoll(argv[1]) : 2;
  pl::Settings settings;
  pl::unwrap(settings.set("target", "cpu"));
  pl::use_settings(settings);
  std::string name;
  int64_t bytes = 0;
  double seconds = 0;
  while (std::cin >> name >> bytes >> seconds) {
    const double took = name == "copy"         ? copySeconds(bytes, seconds)
                        : name == "in_kernel"  ? inKernel(bytes, seconds)
                        : name == "in_program" ? inProgram(devices, bytes, seconds)
                                               : collective(name, devices, bytes, seconds);
    std::cout << took << std::endl;
  }
}
