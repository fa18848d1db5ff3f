// The overhead of a call: of one that is already compiled, and of the first one.
#include <cstdio>
#include <filesystem>

#include "ours/Ours.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/matmul.h"

namespace smalti::bench {
namespace {

Work empty(const Spec&) {
  const Array x = operand({8, 128}, f32, 1);
  const PallasCall call = pallas_call([](Ref, Ref) {}, {.out_shape = ShapeDtype{{8, 128}, f32}});
  Work w = work([=] { return Array(call(x)); });
  w.probe = [] { return std::vector<double>(); };
  return w;
}

/// Small operands, so that running is little compared with compiling.
std::pair<PallasCall, std::vector<Array>> kernelOf(const std::string& kind, uint32_t nonce) {
  const float c = 1 + static_cast<float>(nonce % (1 << 22)) / (1 << 23);  // a kernel that was never compiled before
  if (kind == "matmul") {
    const std::vector<Array> operands{operand({256, 256}, f32, 1), operand({256, 256}, f32, 2)};
    const auto scaled = [c](const Array& z) { return z * c; };
    return {kernels::matmul_call(operands[0].type(), operands[1].type(), {.activation = scaled}), operands};
  }
  if (kind == "attention") {
    std::vector<Array> operands;
    for (uint32_t i = 1; i <= 3; ++i) operands.push_back(operand({1, 1, 256, 64}, f32, i));
    return {kernels::flash_attention_call(operands[0].type(), operands[1].type(), {.scale = c}), operands};
  }
  if (kind != "plain") throw Unable("knows no " + kind);
  return {pallas_call([c](Ref x, Ref y, Ref o) { o[_] = x[_] * c + y[_]; }, {.out_shape = ShapeDtype{{8, 128}, f32}}),
          {operand({8, 128}, f32, 1), operand({8, 128}, f32, 2)}};
}

uint32_t newNonce() {
  static uint32_t nonce = static_cast<uint32_t>(seconds() * 1e6);
  return ++nonce;
}

/// In a process of its own.
double firstInProcess(const std::string& kind, uint32_t nonce) {
  const std::string self(std::filesystem::read_symlink("/proc/self/exe"));
  const std::string command = "'" + self + "' --first " + kind + " " + std::to_string(nonce);
  FILE* pipe = popen(command.c_str(), "r");
  double took = 0;
  const bool read = pipe && std::fscanf(pipe, "%lf", &took) == 1;
  if (!pipe || pclose(pipe) != 0 || !read) throw Unable("the child process failed");
  return took;
}

/// when=warm: one of many kernels of a process; kept: the same, from the cache; first: the first kernel of a process;
/// cached: the same, from the cache.
Work compile(const Spec& s) {
  const std::string kind = s.text("kind"), when = s.text("when");
  Work w;
  if (when == "warm") w.timed = [=] { return firstCall(kind, newNonce()); };
  if (when == "kept") w.timed = [=] { return firstCall(kind, 1); };
  if (when == "first") w.timed = [=] { return firstInProcess(kind, newNonce()); };
  if (when == "cached") w.timed = [=] { return firstInProcess(kind, 1); };
  return w;
}

}  // namespace

double firstCall(const std::string& kind, uint32_t nonce) {
  const auto [call, operands] = kernelOf(kind, nonce);
  const std::vector<Operand> given(operands.begin(), operands.end());
  const double start = seconds();
  const Array result = call.run(given);
  return seconds() - start;
}

std::map<std::string, Maker> calls() { return {{"empty", empty}, {"compile", compile}}; }

}  // namespace smalti::bench
