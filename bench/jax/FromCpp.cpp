// Recorded cases called from C++ as native code: for each folder the seconds of a call, the least of many. Arrays are
// in memory like XLA's: pages of 4 KiB, and every second call writes its results elsewhere.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <vector>

#include "smalti/executable.h"
#include "smalti/module.h"

namespace {

constexpr int kCalls = 300;

/// A copy in pages of 4 KiB, which lives as long as the program.
smalti::Array inSmallPages(const smalti::Array& array) {
  const size_t size = std::max<int64_t>(1, array.bytes());
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, size, MADV_NOHUGEPAGE);
  std::memcpy(memory, array.data(), array.bytes());
  return smalti::Array::view(array.type(), memory);
}

std::vector<smalti::Array> inSmallPages(const std::vector<smalti::Array>& arrays) {
  std::vector<smalti::Array> copies;
  for (const smalti::Array& array : arrays) copies.push_back(inSmallPages(array));
  return copies;
}

smalti::Result<double> secondsOfCall(const std::string& folder) {
  smalti::Settings settings;
  if (auto ok = settings.set("target", "cpu"); !ok) return smalti::fail(ok.error());
  const auto module = smalti::Module::load(folder);
  if (!module) return smalti::fail(module.error());
  const auto inputs = module->recorded_inputs();
  if (!inputs) return smalti::fail(inputs.error());
  const auto executable = module->compile(settings);
  if (!executable) return smalti::fail(executable.error());
  auto first = executable->execute(*inputs);
  if (!first) return smalti::fail(first.error());
  const std::vector<smalti::Array> operands = inSmallPages(*inputs);
  std::vector<smalti::Array> results[] = {inSmallPages(first->results), inSmallPages(first->results)};
  double best = 1e9;
  for (int i = 0; i < kCalls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = executable->execute_into(operands, results[i % 2]); !ran) return smalti::fail(ran.error());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto seconds = secondsOfCall(argv[i]);
    if (!seconds) return std::cerr << seconds.error().str(), 1;
    std::cout << *seconds << "\n";
  }
}
