// Mutated modules through everything that reads and runs them. Stops at the first input that takes longer than its
// limit; a crash leaves the input in FILE `fuzz-last-input` of the working directory.
//
//   smalti_fuzz --seconds 60 | --count 200000  [--seed N] SEED_FILE…      (*.bc bodies, *.mlir StableHLO or Mosaic
//   text)
//
// Limits that each input must keep: 20 s, 1,000,000 machine steps, 256 MiB of machine memory.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "Mutate.h"
#include "interop/Interop.h"
#include "machine/Machine.h"

namespace smalti::fuzz {
namespace {

constexpr unsigned kSecondsPerInput = 20;
constexpr int64_t kStepLimit = 1'000'000;
constexpr int64_t kMemoryLimitBytes = 256 << 20;
constexpr int64_t kLargestOperandElements = 1 << 22;
constexpr int64_t kLargestMesh = 8;

struct Seed {
  std::string name, content;
};

struct Tally {
  int64_t inputs = 0, refused = 0, ran = 0, failedRuns = 0;
  std::map<std::string, int64_t> codes;
};

void count(Tally& tally, const Diagnostic& d) { ++tally.codes[d.code]; }

/// All ones: what a case without inputs is run with.
Result<Array> ones(const ArrayType& type) {
  auto array = Array::allocate(type);
  if (array) std::memset(array->data(), 1, array->bytes());
  return array;
}

bool runnable(const KernelPackage& kernel) {
  for (const auto* types : {&kernel.operands, &kernel.results})
    for (const ArrayType& t : *types) {
      int64_t n = 1;
      for (int64_t d : t.shape)
        if (d < 0 || __builtin_mul_overflow(n, d, &n)) return false;
      if (n > kLargestOperandElements) return false;
    }
  return true;
}

void runKernel(const KernelPackage& kernel, int64_t devices, uint64_t seed, Tally& tally) {
  if (!runnable(kernel)) return;
  std::vector<std::vector<Array>> operands(devices);
  for (auto& list : operands)
    for (const ArrayType& t : kernel.operands) {
      auto array = ones(t);
      if (!array) return;
      list.push_back(*array);
    }
  machine::MachineOptions options;
  options.seed = seed;
  options.stepLimit = kStepLimit;
  options.memoryLimitBytes = kMemoryLimitBytes;
  options.checkInitialisation = options.checkRevisits = options.checkSemaphores = options.checkDma = true;
  auto compiled = machine::compileKernel(kernel, machine::Numerics::f32);
  if (!compiled) return count(tally, compiled.error());
  auto result = machine::run(**compiled, operands, options);
  if (result) {
    ++tally.ran;
  } else {
    ++tally.failedRuns;
    count(tally, result.error());
  }
}

void tryStableHlo(const std::string& text, uint64_t seed, Tally& tally) {
  auto program = interop::importStableHlo(text, "input.mlir");
  if (!program) {
    ++tally.refused;
    return count(tally, program.error());
  }
  int64_t devices = program->meshes.empty() ? 1 : program->meshes.front().numDevices();
  if (devices < 1 || devices > kLargestMesh) devices = 1;
  for (const KernelPackage& kernel : program->kernels) runKernel(kernel, devices, seed, tally);
}

/// A bare body: it has no array shapes, so windows stand for whole arrays where the signature lets them.
void tryKernel(const std::string& content, Tally& tally) {
  auto kernel = interop::importKernel(content, "input");
  if (!kernel) {
    ++tally.refused;
    return count(tally, kernel.error());
  }
  if (auto status = finish(*kernel); !status) count(tally, status.error());
}

/// Re-encodes a mutated body into its module, so that the call around it stays well-formed.
std::string withMutatedBody(const std::string& text, const std::string& other, Random& random) {
  const std::string marker = "body\\22: \\22";
  const size_t at = text.find(marker);
  if (at == std::string::npos) return mutate(text, other, random);
  const size_t begin = at + marker.size(), end = text.find("\\22", begin);
  if (end == std::string::npos) return mutate(text, other, random);
  std::string escaped = "{\"custom_call_config\": {\"body\": \"" + text.substr(begin, end - begin) + "\"}}";
  auto parsed = interop::parseBackendConfig(escaped);
  if (!parsed) return mutate(text, other, random);
  const std::string json = interop::printBackendConfig({}, mutate(parsed->body, other, random));
  const std::string key = "\"body\": \"";
  const size_t from = json.find(key) + key.size(), to = json.find('"', from);
  return text.substr(0, begin) + json.substr(from, to - from) + text.substr(end);
}

void remember(const std::string& input) {
  std::ofstream("fuzz-last-input", std::ios::binary).write(input.data(), static_cast<std::streamsize>(input.size()));
}

void onAlarm(int) {
  constexpr char kText[] = "fuzz: an input took longer than its limit; see fuzz-last-input\n";
  [[maybe_unused]] auto n = write(2, kText, sizeof kText - 1);
  std::_Exit(1);
}

struct Options {
  double seconds = 0;
  int64_t count = 0;
  uint64_t seed = 1;
  std::vector<std::string> files;
};

bool endsWith(const std::string& s, std::string_view suffix) {
  return s.size() >= suffix.size() && s.compare(s.size() - suffix.size(), suffix.size(), suffix) == 0;
}

int runAll(const Options& options) {
  std::vector<Seed> seeds;
  for (const std::string& f : options.files) {
    std::ifstream in(f, std::ios::binary);
    seeds.push_back({f, std::string(std::istreambuf_iterator<char>(in), {})});
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "fuzz: no seed files\n");
    return 2;
  }
  std::signal(SIGALRM, onAlarm);
  Random random(options.seed);
  Tally tally;
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (options.count ? tally.inputs < options.count : elapsed() < options.seconds) {
    const Seed& seed = seeds[random() % seeds.size()];
    const Seed& other = seeds[random() % seeds.size()];
    const bool stablehlo = endsWith(seed.name, "stablehlo.mlir");
    const std::string input = stablehlo && random() % 2 ? withMutatedBody(seed.content, other.content, random)
                                                        : mutate(seed.content, other.content, random);
    remember(input);
    alarm(kSecondsPerInput);
    if (stablehlo) {
      tryStableHlo(input, random(), tally);
    } else {
      tryKernel(input, tally);
    }
    alarm(0);
    if (++tally.inputs % 1000 == 0)
      std::fprintf(stderr, "fuzz: %lld inputs, %.0f s\n", static_cast<long long>(tally.inputs), elapsed());
  }
  std::remove("fuzz-last-input");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "fuzz: %lld inputs in %.0f s: %lld refused, %lld kernels ran, %lld stopped with a diagnostic; peak %ld MiB\n",
      static_cast<long long>(tally.inputs), elapsed(), static_cast<long long>(tally.refused),
      static_cast<long long>(tally.ran), static_cast<long long>(tally.failedRuns), usage.ru_maxrss / 1024);
  for (const auto& [code, n] : tally.codes) std::printf("  %s %lld\n", code.c_str(), static_cast<long long>(n));
  return 0;
}

}  // namespace
}  // namespace smalti::fuzz

int main(int argc, char** argv) {
  smalti::fuzz::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool hasValue = i + 1 < argc;
    if (arg == "--seconds" && hasValue)
      options.seconds = std::atof(argv[++i]);
    else if (arg == "--count" && hasValue)
      options.count = std::atoll(argv[++i]);
    else if (arg == "--seed" && hasValue)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else
      options.files.push_back(arg);
  }
  return smalti::fuzz::runAll(options);
}
