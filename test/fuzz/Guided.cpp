// The inputs of smalti_fuzz chosen by coverage: LLVM's libFuzzer keeps an input that reaches new code, and mutates it
// further (tools/fuzz.sh --guided, preset guided). Readers, limits and mutations are those of smalti_fuzz.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>

#include "Targets.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);  // libFuzzer's own mutations of bytes

namespace smalti::fuzz {
namespace {

/// What the content looks like: libFuzzer names its files by their hashes.
Kind kindOfContent(const std::string& input) {
  if (input.starts_with("\x93NUMPY")) return Kind::array;
  if (const size_t at = input.find_first_not_of(" \n\t"); at != std::string::npos && input[at] == '{')
    return input.find("custom_call_config") == std::string::npos ? Kind::caseFile : Kind::config;
  const bool calls = input.find("stablehlo") != std::string::npos && input.find("@main") != std::string::npos;
  return calls ? Kind::program : Kind::kernel;
}

size_t store(const std::string& from, uint8_t* to, size_t maxSize) {
  const size_t size = std::min(from.size(), maxSize);
  std::memcpy(to, from.data(), size);
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::signal(SIGPROF, [](int) { timeToStop = true; });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  timeToStop = false;
  setCpuTimer(kSecondsToRun);
  Tally tally;
  // Arguments of kernels depend on the content alone, so that an input reaches the same code whenever it is tried.
  tryInput(kindOfContent(input), input, std::hash<std::string>()(input), tally);
  setCpuTimer(0);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  Random random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  const std::string input(reinterpret_cast<const char*>(data), size);
  return store(mutatedModule(kindOfContent(input), input, input, random), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t sizeOfA, const uint8_t* b, size_t sizeOfB,
                                            uint8_t* out, size_t maxSize, unsigned seed) {
  Random random(seed);
  const std::string first(reinterpret_cast<const char*>(a), sizeOfA), second(reinterpret_cast<const char*>(b), sizeOfB);
  return store(kindOfContent(first) == Kind::program && random() % 2 ? withMutatedBody(first, second, random)
                                                                     : mutate(first, second, random),
               out, maxSize);
}

}  // namespace smalti::fuzz
