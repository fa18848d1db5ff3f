// Recorded cases called from C++ as native code: for each folder the seconds of a call, the least of many. Outputs are
// in the caller's memory, as in a program of JAX.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "smalti/executable.h"
#include "smalti/module.h"

namespace {

constexpr int kCalls = 100;

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
  double best = 1e9;
  for (int i = 0; i < kCalls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = executable->execute_into(*inputs, first->results); !ran) return smalti::fail(ran.error());
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
