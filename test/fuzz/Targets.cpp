#include "Targets.h"

#include <sys/time.h>

#include <cstring>
#include <vector>

#include "Structure.h"
#include "driver/case/Case.h"
#include "driver/symbolic/Specialise.h"
#include "eval/FloatFormats.h"
#include "interop/Interop.h"
#include "interop/npy/Npy.h"
#include "ir/program/PlainOps.h"
#include "machine/Machine.h"
#include "machine/observers/Registry.h"

namespace smalti::fuzz {
namespace {

constexpr int64_t kLargestOperandElements = 1 << 22;
constexpr int64_t kLargestMesh = 8;

void count(Tally& tally, const Diagnostic& d) { ++tally.codes[d.code]; }

void refuse(Kind kind, const Diagnostic& d, Tally& tally) {
  ++tally.refused[kind];
  count(tally, d);
}

/// What a kernel is called with: small numbers, and among scalars that say where and how far, now and then others.
Result<Array> numbers(const ArrayType& type, bool scalars, Random& random) {
  static constexpr int32_t kFar[] = {-1, INT32_MIN, INT32_MAX, 1 << 20, 64, 127, 128};
  auto array = Array::allocate(type);
  if (!array) return array;
  if (type.dtype != DType::i32 && type.dtype != DType::u32) {
    const int bytes = storage_bytes(type.dtype);
    for (int64_t i = 0; i < array->elements(); ++i)
      eval::elementFromDouble(type.dtype, is_float(type.dtype) ? static_cast<double>(random() % 33) / 8 - 2 : 1,
                              array->data() + i * bytes);
    return array;
  }
  auto* out = reinterpret_cast<int32_t*>(array->data());
  for (int64_t i = 0; i < array->elements(); ++i) {
    out[i] = static_cast<int32_t>(random() % 5);
    if (scalars && random() % 16 == 0) out[i] = kFar[random() % std::size(kFar)];
  }
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
  Random random(seed);
  const auto numScalars = static_cast<size_t>(kernel.signature.numDynamicBounds() + kernel.signature.numScalarPrefetch);
  std::vector<std::vector<Array>> operands(devices);
  for (auto& list : operands)
    for (const ArrayType& t : kernel.operands) {
      auto array = numbers(t, list.size() < numScalars, random);
      if (!array) return;
      list.push_back(*array);
    }
  machine::MachineOptions options;
  options.seed = seed;
  options.stepLimit = kStepLimit;
  options.stepQuantum = 100;  // a turn of large matrix products takes a while
  options.stop = &timeToStop;
  options.memoryLimitBytes = kMemoryLimitBytes;
  options.checks = machine::allChecks();
  // An aliased operand that nobody else holds becomes the result's memory.
  const std::vector<Array> held = operands[0];
  auto compiled = machine::compileKernel(kernel, Numerics::f32);
  if (!compiled) return count(tally, compiled.error());
  auto result = machine::run(**compiled, operands, options);
  if (result) {
    ++tally.ran;
  } else {
    ++tally.failedRuns;
    count(tally, result.error());
  }
  if (!targetCompiler) return;
  driver::ExecuteSettings settings;
  settings.seed = seed;
  settings.stepQuantum = options.stepQuantum;
  settings.stepLimit = kStepLimit;
  settings.memoryLimitBytes = kMemoryLimitBytes;
  settings.threads = 1;
  runOnTarget(kernel, held, result, devices == 1, seed, settings, tally.onTarget);
}

/// The program for arguments of some shapes, often of one size.
Result<Program> specialised(const Program& symbolic, Random& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 8, 16, 128, 0, 256};
  const auto size = [&] { return kSizes[random() % std::size(kSizes)]; };
  const Function& main = symbolic.functions[static_cast<size_t>(symbolic.main)];
  std::vector<ArrayType> types;
  for (const ValueId v : main.arguments) types.push_back(main.values[static_cast<size_t>(v)]);
  const int64_t common = size();
  for (ArrayType& t : types)
    for (int64_t& d : t.shape)
      if (d == kUnknownDim) d = random() % 2 == 0 ? common : size();
  return driver::specialise(symbolic, types);
}

void tryProgram(const std::string& text, uint64_t seed, Tally& tally) {
  auto program = interop::importStableHlo(text, "input.mlir", interop::Shapes::symbolic);
  if (!program) return refuse(Kind::program, program.error(), tally);
  if (hasSymbolicShapes(*program)) {
    Random random(seed);
    program = specialised(*program, random);
    if (!program) return count(tally, program.error());
  }
  int64_t devices = program->meshes.empty() ? 1 : program->meshes.front().numDevices();
  if (devices < 1 || devices > kLargestMesh) devices = 1;
  for (const KernelPackage& kernel : program->kernels) runKernel(kernel, devices, seed, tally);
}

/// A bare body has no array shapes and does not run.
void tryKernel(const std::string& content, Tally& tally) {
  auto kernel = interop::importKernel(content, "input");
  if (!kernel) return refuse(Kind::kernel, kernel.error(), tally);
  if (auto status = finish(*kernel); !status) count(tally, status.error());
}

/// What was read is printed and read again.
void tryConfig(const std::string& json, Tally& tally) {
  auto parsed = interop::parseBackendConfig(json);
  if (!parsed) return refuse(Kind::config, parsed.error(), tally);
  if (auto again = interop::parseBackendConfig(interop::printBackendConfig(parsed->config, parsed->body)); !again)
    return refuse(Kind::config, again.error(), tally);
  tryKernel(parsed->body, tally);
}

void tryArray(const std::string& bytes, uint64_t seed, Tally& tally) {
  constexpr DType kWanted[] = {DType::f32, DType::bf16, DType::i4, DType::u2, DType::pred, DType::f8e4m3fn};
  const size_t choice = seed % (std::size(kWanted) + 1);
  auto array = interop::parseNpy(bytes, "input.npy",
                                 choice < std::size(kWanted) ? std::optional(kWanted[choice]) : std::nullopt);
  if (!array) return refuse(Kind::array, array.error(), tally);
  (void)driver::summarise(*array);
}

}  // namespace

std::atomic<bool> timeToStop = false;

std::string_view name(Kind kind) {
  constexpr std::string_view kNames[kKinds] = {"program", "kernel", "config", "array", "case"};
  return kNames[static_cast<int>(kind)];
}

Kind kindOf(std::string_view fileName) {
  if (fileName.ends_with("stablehlo.mlir")) return Kind::program;
  if (fileName.ends_with(".npy")) return Kind::array;
  if (fileName.ends_with("case.json")) return Kind::caseFile;
  if (fileName.ends_with(".json")) return Kind::config;
  return Kind::kernel;
}

void tryInput(Kind kind, const std::string& input, uint64_t seed, Tally& tally) {
  ++tally.inputs[kind];
  switch (kind) {
    case Kind::program:
      return tryProgram(input, seed, tally);
    case Kind::kernel:
      return tryKernel(input, tally);
    case Kind::config:
      return tryConfig(input, tally);
    case Kind::array:
      return tryArray(input, seed, tally);
    case Kind::caseFile:
      if (auto parsed = driver::parseCase(input, "folder"); !parsed) refuse(kind, parsed.error(), tally);
      return;
  }
}

std::string configOf(const std::string& stablehlo) {
  const std::string_view marker = "backend_config = \"";
  const size_t at = stablehlo.find(marker);
  if (at == std::string::npos) return "";
  std::string json;
  auto digit = [](char c) { return c >= 'A' ? (c | 0x20) - 'a' + 10 : c - '0'; };
  for (size_t i = at + marker.size(); i < stablehlo.size() && stablehlo[i] != '"'; ++i) {
    if (stablehlo[i] == '\\' && i + 2 < stablehlo.size()) {  // \22 and the like
      json += static_cast<char>(digit(stablehlo[i + 1]) * 16 + digit(stablehlo[i + 2]));
      i += 2;
    } else {
      json += stablehlo[i];
    }
  }
  return json;
}

std::string withMutatedBody(const std::string& stablehlo, const std::string& other, Random& random) {
  const std::string marker = "body\\22: \\22";
  const size_t at = stablehlo.find(marker);
  if (at == std::string::npos) return mutate(stablehlo, other, random);
  const size_t begin = at + marker.size(), end = stablehlo.find("\\22", begin);
  if (end == std::string::npos) return mutate(stablehlo, other, random);
  std::string escaped = "{\"custom_call_config\": {\"body\": \"" + stablehlo.substr(begin, end - begin) + "\"}}";
  auto parsed = interop::parseBackendConfig(escaped);
  if (!parsed) return mutate(stablehlo, other, random);
  const std::string json = interop::printBackendConfig({}, mutate(parsed->body, other, random));
  const std::string key = "\"body\": \"";
  const size_t from = json.find(key) + key.size(), to = json.find('"', from);
  return stablehlo.substr(0, begin) + json.substr(from, to - from) + stablehlo.substr(end);
}

std::string mutatedModule(Kind kind, const std::string& content, const std::string& other, Random& random) {
  const uint64_t how = kind == Kind::program ? random() % 4 : 0;
  if (how == 0) return mutate(content, other, random);
  if (how == 1) return withMutatedBody(content, other, random);
  return withMutatedStructure(content, random);
}

void setCpuTimer(unsigned seconds) {
  const itimerval time{.it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

}  // namespace smalti::fuzz
