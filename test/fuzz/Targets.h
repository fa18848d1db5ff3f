// What reads untrusted input: each kind of file through the function that reads it, kernels through the machine too.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "Mutate.h"
#include "OnTarget.h"

namespace smalti::fuzz {

enum class Kind : uint8_t {
  program,   ///< StableHLO text; its kernels run
  kernel,    ///< a bare body: Mosaic text or bytecode
  config,    ///< backend_config JSON with a body in base64
  array,     ///< a .npy file
  caseFile,  ///< case.json
};
inline constexpr int kKinds = 5;
std::string_view name(Kind);
/// What a file's name says it is.
Kind kindOf(std::string_view fileName);
inline bool isModule(Kind k) { return k == Kind::program || k == Kind::kernel; }

// Each input must keep within these.
inline constexpr unsigned kSecondsPerInput = 20;  ///< of this process; ten times that by the clock, for busy machines
inline constexpr unsigned kSecondsToRun = 10;     ///< then a kernel that still runs is told to stop
inline constexpr int64_t kStepLimit = 1'000'000;
inline constexpr int64_t kMemoryLimitBytes = 256 << 20;

struct Tally {
  std::map<Kind, int64_t> inputs, refused;
  int64_t ran = 0, failedRuns = 0;  ///< kernels
  TargetTally onTarget;
  std::map<std::string, int64_t> codes;
};

/// Set when the input's kernels have run long enough.
extern std::atomic<bool> timeToStop;

/// Reads the input, and runs what kernels are in it.
void tryInput(Kind, const std::string& input, uint64_t seed, Tally&);

/// The text's backend_config, as the JSON that it quotes; "" when there is none.
std::string configOf(const std::string& stablehlo);
/// The text with its kernel's body mutated as bytes, so that the call around it stays well-formed.
std::string withMutatedBody(const std::string& stablehlo, const std::string& other, Random&);
/// A module mutated as bytes or, if it is a program, in its body alone or as a module (Structure.h).
std::string mutatedModule(Kind, const std::string& content, const std::string& other, Random&);

/// SIGPROF after so much CPU time of this process; 0: never.
void setCpuTimer(unsigned seconds);

}  // namespace smalti::fuzz
