// A StableHLO module as an actor: compiled once for the target of SMALTI_TARGET, run on request.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "actor/Actor.h"
#include "cpu/aot/Aot.h"
#include "cpu/jit/Jit.h"
#include "driver/program/RunProgram.h"
#include "interop/Interop.h"

namespace {

using namespace smalti;
using namespace smalti::bench;

[[noreturn]] void refuse(const Diagnostic& d) { throw Unable(d.code + " " + d.message); }

struct Loaded {
  Program program;
  driver::RunSettings options;
  std::shared_ptr<const driver::CompiledProgram> compiled;
  std::vector<Array> arguments, results;
};

/// Compiled for the target of SMALTI_TARGET; the arguments are allocated but not filled yet.
std::shared_ptr<Loaded> load(const std::string& path) {
  auto l = std::make_shared<Loaded>();
  if (const char* target = std::getenv("SMALTI_TARGET")) l->options.compile.target = target;
  l->options.compile.contract.checkBounds = false;
  std::ifstream in(path);
  if (!in) throw Unable("cannot read " + path);
  auto program = interop::importStableHlo(std::string(std::istreambuf_iterator<char>(in), {}), path);
  if (!program) refuse(program.error());
  l->program = std::move(*program);
  auto compiled = driver::compileProgram({std::shared_ptr<void>(), &l->program}, l->options.compile);
  if (!compiled) refuse(compiled.error());
  l->compiled = *compiled;
  const Function& main = l->program.functions[l->program.main];
  for (ValueId v : main.arguments) {
    auto array = Array::allocate(main.values[v]);
    if (!array) refuse(array.error());
    l->arguments.push_back(*array);
  }
  return l;
}

uint16_t bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
double fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Argument `i`, of floats, as every actor has it.
void fill(Loaded& l, size_t i) {
  Array& a = l.arguments[i];
  const auto seed = static_cast<uint32_t>(i + 1);
  for (int64_t k = 0; k < a.elements(); ++k) {
    const float value = element(static_cast<uint32_t>(k), seed);
    if (a.dtype() == DType::bf16)
      reinterpret_cast<uint16_t*>(a.data())[k] = bf16(value);
    else
      a.as<float>()[k] = value;
  }
}

std::function<void()> runOf(const std::shared_ptr<Loaded>& l) {
  return [l] {
    auto outcome = driver::run(*l->compiled, l->arguments, l->options.execute);
    if (!outcome) refuse(outcome.error());
    l->results = std::move(outcome->results);
  };
}

Work pallas(const Spec& s) {
  auto l = load(s.text("path"));
  for (size_t i = 0; i < l->arguments.size(); ++i) fill(*l, i);
  return {runOf(l), [l] {
            const Array& first = l->results[0];
            return probes(first.elements(), [&](int64_t i) { return double{first.as<float>()[i]}; });
          }};
}

/// JAX's ragged paged attention: sequences of `queries` new tokens each after `keys` - `queries` old ones, in pages
/// that are in no order. `tokens`: of the recorded module.
Work ragged(const Spec& s) {
  const char* recorded = std::getenv("SMALTI_BENCH_MODULES");
  auto l = load(std::string(recorded ? recorded : ".") + "/ragged_" + s.text("tokens") + ".mlir");
  for (const size_t i : {0, 1}) fill(*l, i);
  const std::vector<int32_t> queries = s.numbers("queries"), keys = s.numbers("keys");
  const auto numbers = [&](size_t i) { return l->arguments[i].as<int32_t>(); };
  for (size_t i = 2; i < l->arguments.size(); ++i)
    std::fill_n(l->arguments[i].data(), l->arguments[i].bytes(), std::byte{0});
  const auto pages = static_cast<int32_t>(l->arguments[1].type().shape[0]);
  const Shape table = l->arguments[3].type().shape;
  for (int64_t i = 0; i < table[0] * table[1]; ++i) numbers(3)[i] = static_cast<int32_t>(i * 5 % pages);
  int32_t end = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    numbers(2)[i] = keys[i];
    numbers(4)[i + 1] = end += queries[i];
  }
  numbers(5)[0] = static_cast<int32_t>(queries.size());
  return {runOf(l), [l, end] {
            const Array& first = l->results[0];
            const auto* bits = reinterpret_cast<const uint16_t*>(first.data());
            // Elements after the last sequence are undefined.
            return probes(end * first.elements() / first.type().shape[0], [&](int64_t i) { return fromBf16(bits[i]); });
          }};
}

/// A kernel with loops that may be endless, as an exported object; its iterations are counted, unless
/// SMALTI_BENCH_UNCOUNTED is set. `n`: iterations.
Work loops(const Spec& s) {
  const char* recorded = std::getenv("SMALTI_BENCH_MODULES");
  auto l = load(std::string(recorded ? recorded : ".") + "/loops_" + s.text("kind") + ".mlir");
  *l->arguments[0].as<int32_t>() = static_cast<int32_t>(s["n"]);
  fill(*l, 1);
  const int64_t limit = std::getenv("SMALTI_BENCH_UNCOUNTED") ? 0 : int64_t{1} << 60;
  auto made = cpu::compileAheadOfTime(l->program.kernels.at(0), cpu::hostProcessor(), "loops", limit);
  if (!made) refuse(made.error());
  const cpu::RuntimeSymbol allocation[] = {{"aligned_alloc", reinterpret_cast<void*>(&std::aligned_alloc)},
                                           {"free", reinterpret_cast<void*>(&std::free)}};
  auto code = cpu::loadObject(made->object, allocation);
  if (!code) refuse(code.error());
  auto result = Array::allocate(l->program.kernels.at(0).results.at(0));
  if (!result) refuse(result.error());
  l->results = {*result};
  using Function = int(const void*, const void*, void*);
  auto* function = (*code)->function<Function>("loops");
  if (!function) throw Unable("the object has no function");
  return {[l, code = *code, function] {
            if (function(l->arguments[0].data(), l->arguments[1].data(), l->results[0].data()) != 0)
              throw Unable("the loops ended early");
          },
          [l] {
            const Array& first = l->results[0];
            return probes(first.elements(), [&](int64_t i) { return double{first.as<float>()[i]}; });
          }};
}

}  // namespace

int main() { return Actor({{"pallas", pallas}, {"ragged", ragged}, {"loops", loops}}).serve(); }
