// The machine's limits as an actor: bench_cpu_limits THREADS.
#include <algorithm>
#include <cstring>
#include <limits>

#include "actor/Actor.h"
#include "limits/Loops.h"
#include "limits/Team.h"

namespace {

using namespace smalti::bench;

Team* team = nullptr;

Work arithmetic(Arithmetic loop) {
  if (!loop) throw Unable("the processor has no such instruction");
  // Two milliseconds: long enough to measure, short enough to fall between two bursts of a neighbour.
  const double start = seconds();
  loop(20'000);
  const auto iterations = static_cast<int64_t>(20'000 * 2e-3 / (seconds() - start)) + 1;
  Work work;
  work.amount = loop(1) * static_cast<double>(iterations) * team->size();
  work.timed = [=] { return team->run([=](int) { loop(iterations); }); };
  return work;
}

/// Memory for one loop: as many arrays of floats as it streams. Each thread touches its own part first.
struct Arrays {
  Arrays(int count, int64_t floats) : floats(floats) {
    for (int i = 0; i < count; ++i) data.push_back(allocate<float>(floats));
    const int64_t part = floats / team->size();
    team->run([&](int index) {
      for (auto& d : data) std::fill_n(d.get() + index * part, part, 1.f);
    });
  }
  int64_t floats;
  std::vector<std::shared_ptr<float[]>> data;
};

/// A step of a loop over big arrays takes the next chunk of them, so that it is short and nothing is in a cache.
Work chunked(int arrays, double bytesPerFloat, int64_t floats,
             std::function<void(const std::vector<float*>&, int64_t)> part) {
  constexpr int64_t kChunks = 8;
  auto memory = std::make_shared<Arrays>(arrays, floats);
  auto chunk = std::make_shared<int64_t>(0);
  const int64_t size = floats / kChunks, own = size / team->size() / 64 * 64;
  Work work;
  work.amount = bytesPerFloat * static_cast<double>(own * team->size());
  work.timed = [=] {
    const int64_t start = (*chunk)++ % kChunks * size;
    return team->run([&](int index) {
      std::vector<float*> at;
      for (auto& d : memory->data) at.push_back(d.get() + start + index * own);
      part(at, own);
    });
  };
  return work;
}

/// The better of two loops.
Work better(Work a, Work b) {
  double best[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (int round = 0; round < 24; ++round)
    for (int which = 0; which < 2; ++which) {
      best[which] = std::min(best[which], (which ? b : a).timed());
    }
  return best[1] < best[0] ? b : a;
}

constexpr int64_t kDramFloats = 64 << 20;  // 256 MiB per array

Work readDram(const Spec& spec) {
  auto with = [](auto loop, auto... page) {
    return chunked(1, 4, kDramFloats, [=](const std::vector<float*>& at, int64_t n) {
      volatile float sum = loop(at[0], n, page...);
      (void)sum;
    });
  };
  if (const int64_t bytes = spec["page_bytes"])
    return better(with(streams().readPagesByFour, bytes / 4), with(streams().readPagesByEight, bytes / 4));
  return better(with(streams().read), with(streams().readForward));
}

Work copyBlocks(const Spec& spec) {
  if (const int64_t bytes = spec["bytes"]) {  // in and out of a cache, both of this size
    auto memory = std::make_shared<Arrays>(2, bytes / 4);
    const int64_t own = bytes / 4 / team->size() / 64 * 64;
    Work work;
    work.amount = 8. * static_cast<double>(own * team->size());
    work.run = [=] {
      team->run([&](int index) {
        streams().copy(memory->data[1].get() + index * own, memory->data[0].get() + index * own, own);
      });
    };
    return work;
  }
  auto with = [](auto loop) {
    return chunked(2, 8, kDramFloats, [loop](const std::vector<float*>& at, int64_t n) { loop(at[0], at[1], n); });
  };
  return better(with(streams().copy), with(streams().copyStreaming));
}

Work triadWith(void (*loop)(float*, const float*, const float*, float, int64_t)) {
  return chunked(3, 12, kDramFloats,
                 [loop](const std::vector<float*>& at, int64_t n) { loop(at[0], at[1], at[2], 3.f, n); });
}

/// Each step follows a pause, in which other actors run.
Work wake(const Spec&) {
  Work work;
  work.timed = [] { return team->wake(); };
  return work;
}

}  // namespace

int main(int argc, char** argv) {
  Team threads(argc > 1 ? std::atoi(argv[1]) : 1);
  team = &threads;
  return Actor({{"fma", [](const Spec&) { return arithmetic(fmaLoop()); }},
                {"bf16", [](const Spec&) { return arithmetic(bf16DotLoop()); }},
                {"int8", [](const Spec&) { return arithmetic(int8DotLoop()); }},
                {"wake", wake},
                {"read", readDram},
                {"copy", copyBlocks},
                {"triad_plain", [](const Spec&) { return triadWith(streams().triad); }},
                {"triad_streaming", [](const Spec&) { return triadWith(streams().triadStreaming); }},
                {"triad",
                 [](const Spec&) { return better(triadWith(streams().triad), triadWith(streams().triadStreaming)); }}})
      .serve();
}
