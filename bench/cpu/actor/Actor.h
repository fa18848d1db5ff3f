// An actor of the benchmark: a process that holds one piece of work and times it on request. bench/cpu/cpu.py conducts
// several of them in turn, so that no two ever run at once. The protocol is lines: the conductor writes
//   prepare NAME [key=value…]    → "ok CALLS" (calls per step), or "no REASON" when this actor cannot do it
//   run                          → "SECONDS AMOUNT": seconds per call of one step, amount of work per call
//   probe                        → elements spread over the result, for comparing actors
// Actors are started with the CPU mask and thread count they shall use, so whatever threads they make inherit both.
#pragma once

#include <malloc.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace smalti::bench {

/// The request of `prepare`.
struct Spec {
  std::string name;
  std::map<std::string, std::string> values;

  std::string text(const std::string& key, const std::string& otherwise = "") const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
  int64_t operator[](const std::string& key) const { return at(key, 0); }
  int64_t at(const std::string& key, int64_t otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stoll(found->second);
  }
  /// "64,320,128": sizes of groups, for one.
  std::vector<int32_t> numbers(const std::string& key) const {
    std::vector<int32_t> all;
    std::istringstream in(text(key));
    for (std::string one; std::getline(in, one, ',');) all.push_back(std::stoi(one));
    return all;
  }
};

struct Work {
  std::function<void()> run;  ///< one call
  std::function<std::vector<double>()> probe = [] { return std::vector<double>(); };
  double amount = 0;                ///< of work per call; 0: the conductor knows
  std::function<double()> timed{};  ///< instead of run: one call that says itself how many seconds it took
};

/// Thrown by a maker for work that this actor cannot do.
struct Unable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Maker = std::function<Work(const Spec&)>;

/// Page-aligned, at least 64 bytes longer than asked for; in huge pages where the system gives them.
template <class T>
std::shared_ptr<T[]> allocate(int64_t count) {
  constexpr size_t kPage = 4096, kHugePage = 2 << 20;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T) + 64, page = bytes < 2 * kHugePage ? kPage : kHugePage;
  auto* p = static_cast<T*>(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  if (!p) throw std::bad_alloc();
  if (page == kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
  return std::shared_ptr<T[]>(p, std::free);
}

/// Element i of operand number `seed`, in [-.5, .5): the same numbers in every actor (peers/actor.py has them too).
inline float element(uint32_t i, uint32_t seed) {
  const uint32_t hash = (i * 2654435761u + seed * 40503u) ^ (i >> 7);
  return static_cast<float>(hash >> 8) / static_cast<float>(1 << 24) - .5f;
}
/// The same rounded to an int8.
inline int8_t elementI8(uint32_t i, uint32_t seed) { return static_cast<int8_t>(element(i, seed) * 200); }
/// Bits of the bf16 nearest to x, ties to even; x is not NaN.
inline uint16_t bf16Bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float fromBf16(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}

template <class T>
std::shared_ptr<T[]> filled(int64_t count, uint32_t seed);
template <>
inline std::shared_ptr<float[]> filled<float>(int64_t count, uint32_t seed) {
  auto p = allocate<float>(count);
  for (int64_t i = 0; i < count; ++i) p[i] = element(i, seed);
  return p;
}
template <>
inline std::shared_ptr<uint16_t[]> filled<uint16_t>(int64_t count, uint32_t seed) {
  auto p = allocate<uint16_t>(count);
  for (int64_t i = 0; i < count; ++i) p[i] = bf16Bits(element(i, seed));
  return p;
}
template <>
inline std::shared_ptr<int8_t[]> filled<int8_t>(int64_t count, uint32_t seed) {
  auto p = allocate<int8_t>(count);
  for (int64_t i = 0; i < count; ++i) p[i] = elementI8(i, seed);
  return p;
}

/// The elements of a probe: 61 places that are unrelated to block sizes.
template <class Read>
std::vector<double> probes(int64_t count, Read&& read) {
  std::vector<double> values;
  for (int64_t j = 0; j < 61 && count > 0; ++j) values.push_back(read(static_cast<int64_t>(j * 1000003 % count)));
  return values;
}

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Actor {
 public:
  explicit Actor(std::map<std::string, Maker> makers) : makers_(std::move(makers)) {}

  int serve() {
    // Results live in the heap, where freed memory is used again: fresh pages cost more than most work here.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    for (std::string line; std::getline(std::cin, line);) {
      try {
        std::cout << answer(line) << std::endl;
      } catch (const std::exception& e) {
        std::string reason = e.what();
        for (char& c : reason)
          if (c == '\n') c = ' ';
        std::cout << "no " << reason << std::endl;
      }
    }
    return 0;
  }

 private:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    std::ostringstream out;
    out.precision(9);
    if (verb == "prepare") {
      work_ = {};
      Spec spec;
      words >> spec.name;
      for (std::string word; words >> word;) {
        const size_t at = word.find('=');
        if (at != std::string::npos) spec.values[word.substr(0, at)] = word.substr(at + 1);
      }
      const auto maker = makers_.find(spec.name);
      if (maker == makers_.end()) throw Unable("has no " + spec.name);
      work_ = maker->second(spec);
      out << "ok " << calibrate(spec);
    } else if (verb == "run") {
      if (!work_.run && !work_.timed) throw Unable("nothing is prepared");
      out << step(calls_) << ' ' << work_.amount;
    } else if (verb == "probe") {
      for (double v : work_.probe()) out << v << ' ';
    } else {
      throw Unable("there is no '" + verb + "'");
    }
    return out.str();
  }

  /// Calls per step: as many as `calls` says, or as fill `us` microseconds. The first call compiles and warms up.
  int64_t calibrate(const Spec& spec) {
    step(1);
    calls_ = work_.timed ? 1 : spec.at("calls", 0);
    if (calls_) return calls_;
    const double wanted = static_cast<double>(spec.at("us", 2000)) * 1e-6;
    for (calls_ = 1; calls_ < (1 << 24);) {
      const double took = step(calls_) * static_cast<double>(calls_);
      if (took >= wanted) break;
      calls_ = took < wanted / 16 ? calls_ * 8 : static_cast<int64_t>(static_cast<double>(calls_) * wanted / took) + 1;
    }
    return calls_;
  }

  double step(int64_t calls) {
    if (work_.timed) return work_.timed();
    const double start = seconds();
    for (int64_t i = 0; i < calls; ++i) work_.run();
    return (seconds() - start) / static_cast<double>(calls);
  }

  std::map<std::string, Maker> makers_;
  Work work_;
  int64_t calls_ = 1;
};

}  // namespace smalti::bench
