// Mutated files through everything that reads them, kernels through the machine. Stops at the first input that takes
// longer than its limit (Targets.h); after that or a crash the input is in FILE `fuzz-last-input.…` of the working
// directory, which can be given again with --replay. With --target NAME kernels run on that target too; exit status 1
// when it gave other integers or far other floats than the machine, or missed an access out of bounds (FILE
// `fuzz-differs-…`).
//
//   smalti_fuzz --seconds 60 | --count 200000  [--only modules] [--target NAME [--cpu NAME]] [--seed N] [--first N]
//   SEED_FILE… smalti_fuzz --replay FILE
//   smalti_fuzz --write cases|sessions FOLDER --count N [--seed N] [--first N] SEED_FILE…
//
// Seed files: *.stablehlo.mlir, *.bc and other *.mlir (kernel bodies), *.npy, case.json. The first inputs are the seeds
// as they are. Input number N depends on the seed files, --seed and N alone; --first N goes on from there. --write only
// writes inputs into FOLDER: mutated cases, or sessions of a language server (Written.h).
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "Targets.h"
#include "Written.h"

namespace smalti::fuzz {
namespace {

/// Of this many inputs one is of each kind that is not a module.
constexpr uint64_t kModuleWeight = 8;

struct Options {
  double seconds = 0;
  int64_t count = 0, first = 0;
  uint64_t seed = 1;
  bool onlyModules = false;
  std::string replay;
  std::string written, folder;  ///< what is written, and where
  std::vector<std::string> files;
};

struct Input {
  Kind kind;
  std::string content;
};

struct Seeds {
  std::vector<Input> all, modules;
  std::vector<std::string> byKind[kKinds];  ///< of the kinds that are not modules
};

std::string readAll(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Seeds readSeeds(const Options& options) {
  Seeds seeds;
  auto add = [&](Kind kind, std::string content) {
    if (options.onlyModules && !isModule(kind)) return;
    if (options.onlyModules && targetCompiler && kind != Kind::program) return;  // a bare body does not run
    seeds.all.push_back({kind, content});
    if (isModule(kind))
      seeds.modules.push_back({kind, std::move(content)});
    else
      seeds.byKind[static_cast<int>(kind)].push_back(std::move(content));
  };
  for (const std::string& file : options.files) {
    const Kind kind = kindOf(file);
    std::string content = readAll(file);
    if (kind == Kind::program)
      if (std::string json = configOf(content); !json.empty()) add(Kind::config, std::move(json));
    add(kind, std::move(content));
  }
  return seeds;
}

Input makeInput(const Seeds& seeds, int64_t number, Random& random) {
  if (number < static_cast<int64_t>(seeds.all.size())) return seeds.all[static_cast<size_t>(number)];
  const uint64_t choice = random() % kModuleWeight;
  for (const Kind kind : {Kind::config, Kind::array, Kind::caseFile}) {
    const auto& list = seeds.byKind[static_cast<int>(kind)];
    if (!list.empty() && (seeds.modules.empty() || choice == static_cast<uint64_t>(kind)))
      return {kind, mutate(list[random() % list.size()], list[random() % list.size()], random)};
  }
  const Input &seed = seeds.modules[random() % seeds.modules.size()],
              &other = seeds.modules[random() % seeds.modules.size()];
  return {seed.kind, mutatedModule(seed.kind, seed.content, other.content, random)};
}

Random randomOf(const Options& options, int64_t number) {
  return Random(options.seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(number));
}

int writeAll(const Options& options) {
  namespace fs = std::filesystem;
  std::vector<fs::path> cases;
  std::vector<std::string> modules;
  for (const fs::path file : options.files) {
    if (file.filename() == "case.json") cases.push_back(file.parent_path());
    if (file.extension() == ".mlir") modules.push_back(readAll(file));
  }
  const bool sessions = options.written == "sessions";
  if (sessions ? modules.empty() : cases.empty()) {
    std::fprintf(stderr, "fuzz: no seed files for %s\n", options.written.c_str());
    return 2;
  }
  for (int64_t i = options.first; i < options.count; ++i) {
    Random random = randomOf(options, i);
    const fs::path to = fs::path(options.folder) / std::to_string(i);
    if (!sessions) {
      writeMutatedCase(cases, to, random);
      continue;
    }
    const std::string &module = modules[random() % modules.size()], &other = modules[random() % modules.size()];
    std::ofstream(to, std::ios::binary) << mutatedSession(module, other, random);
  }
  return 0;
}

const char* rememberedName(Kind kind) {
  constexpr const char* kNames[kKinds] = {"fuzz-last-input.stablehlo.mlir", "fuzz-last-input.bc",
                                          "fuzz-last-input.json", "fuzz-last-input.npy", "fuzz-last-input.case.json"};
  return kNames[static_cast<int>(kind)];
}

void remember(const Input& input) {
  std::ofstream(rememberedName(input.kind), std::ios::binary)
      .write(input.content.data(), static_cast<std::streamsize>(input.content.size()));
}

/// Native code and the machine do not agree on it: kept under a name of its own.
void keep(const Input& input, int64_t number) {
  const std::string name = "fuzz-differs-" + std::to_string(number) + "-" + rememberedName(input.kind);
  std::ofstream(name, std::ios::binary).write(input.content.data(), static_cast<std::streamsize>(input.content.size()));
  std::fprintf(stderr, "fuzz: native code and the machine do not agree: %s\n", name.c_str());
}

/// The next input may take its time from now on.
void startTimers() {
  timeToStop = false;
  setCpuTimer(kSecondsToRun);
  alarm(10 * kSecondsPerInput);
}

void stopTimers() {
  setCpuTimer(0);
  alarm(0);
}

void onAlarm(int signal) {
  if (signal == SIGPROF && !timeToStop) {
    timeToStop = true;
    return setCpuTimer(kSecondsPerInput - kSecondsToRun);
  }
  constexpr char kText[] = "fuzz: an input took longer than its limit; see the newest fuzz-last-input\n";
  [[maybe_unused]] auto n = write(2, kText, sizeof kText - 1);
  std::_Exit(1);
}

void report(const Tally& tally, double seconds, double slowest) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("fuzz: %.0f s, slowest input %.1f s, peak %ld MiB; %lld kernels ran, %lld stopped with a diagnostic\n",
              seconds, slowest, usage.ru_maxrss / 1024, static_cast<long long>(tally.ran),
              static_cast<long long>(tally.failedRuns));
  for (const auto& [kind, n] : tally.inputs) {
    const auto refused = tally.refused.find(kind);
    std::printf("  %s: %lld inputs, %lld refused\n", std::string(name(kind)).c_str(), static_cast<long long>(n),
                static_cast<long long>(refused == tally.refused.end() ? 0 : refused->second));
  }
  if (targetCompiler) std::printf("%s", describe(tally.onTarget).c_str());
  for (const auto& [code, n] : tally.codes) std::printf("  %s %lld\n", code.c_str(), static_cast<long long>(n));
}

int runAll(const Options& options) {
  Tally tally;
  std::signal(SIGALRM, onAlarm);
  std::signal(SIGPROF, onAlarm);
  if (!options.replay.empty()) {
    startTimers();
    tryInput(kindOf(options.replay), readAll(options.replay), options.seed, tally);
    report(tally, 0, 0);
    return tally.onTarget.wrong() > 0 ? 1 : 0;
  }
  const Seeds seeds = readSeeds(options);
  if (seeds.all.empty()) {
    std::fprintf(stderr, "fuzz: no seed files\n");
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double slowest = 0;
  for (int64_t i = options.first; options.count ? i < options.count : elapsed() < options.seconds; ++i) {
    Random random = randomOf(options, i);
    const Input input = makeInput(seeds, i, random);
    remember(input);
    const double before = elapsed();
    startTimers();
    const int64_t wrong = tally.onTarget.wrong();
    tryInput(input.kind, input.content, random(), tally);
    stopTimers();
    if (tally.onTarget.wrong() > wrong) keep(input, i);
    slowest = std::max(slowest, elapsed() - before);
    if ((i + 1) % 1000 == 0)
      std::fprintf(stderr, "fuzz: %lld inputs, %.0f s, slowest %.1f s\n", static_cast<long long>(i + 1), elapsed(),
                   slowest);
  }
  for (int kind = 0; kind < kKinds; ++kind) std::remove(rememberedName(static_cast<Kind>(kind)));
  report(tally, elapsed(), slowest);
  return tally.onTarget.wrong() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace smalti::fuzz

int main(int argc, char** argv) {
  smalti::fuzz::Options options;
  std::string target, processor;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool hasValue = i + 1 < argc;
    if (arg == "--seconds" && hasValue)
      options.seconds = std::atof(argv[++i]);
    else if (arg == "--count" && hasValue)
      options.count = std::atoll(argv[++i]);
    else if (arg == "--first" && hasValue)
      options.first = std::atoll(argv[++i]);
    else if (arg == "--seed" && hasValue)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (arg == "--replay" && hasValue)
      options.replay = argv[++i];
    else if (arg == "--target" && hasValue)
      target = argv[++i];
    else if (arg == "--cpu" && hasValue)
      processor = argv[++i];
    else if (arg == "--write" && i + 2 < argc)
      options.written = argv[++i], options.folder = argv[++i];
    else if (arg == "--only" && hasValue)
      options.onlyModules = std::string(argv[++i]) == "modules";
    else
      options.files.push_back(arg);
  }
  if (!target.empty() || !processor.empty()) smalti::fuzz::chooseTarget(target.empty() ? "cpu" : target, processor);
  return options.written.empty() ? smalti::fuzz::runAll(options) : smalti::fuzz::writeAll(options);
}
