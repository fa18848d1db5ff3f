// A StableHLO module as an actor: compiled once for the target of SMALTI_TARGET, run on request.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "actor/Actor.h"
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

Work pallas(const Spec& s) {
  auto l = std::make_shared<Loaded>();
  if (const char* target = std::getenv("SMALTI_TARGET")) l->options.compile.target = target;
  l->options.compile.contract.checkBounds = false;
  std::ifstream in(s.text("path"));
  auto program = interop::importStableHlo(std::string(std::istreambuf_iterator<char>(in), {}), s.text("path"));
  if (!program) refuse(program.error());
  l->program = std::move(*program);
  auto compiled = driver::compileProgram({std::shared_ptr<void>(), &l->program}, l->options.compile);
  if (!compiled) refuse(compiled.error());
  l->compiled = *compiled;
  const Function& main = l->program.functions[l->program.main];
  for (ValueId v : main.arguments) {
    auto array = Array::allocate(main.values[v]);
    if (!array) refuse(array.error());
    const auto seed = static_cast<uint32_t>(l->arguments.size() + 1);
    for (int64_t i = 0; i < array->elements(); ++i) array->as<float>()[i] = element(static_cast<uint32_t>(i), seed);
    l->arguments.push_back(*array);
  }
  return {[l] {
            auto outcome = driver::run(*l->compiled, l->arguments, l->options.execute);
            if (!outcome) refuse(outcome.error());
            l->results = std::move(outcome->results);
          },
          [l] {
            const Array& first = l->results[0];
            return probes(first.elements(), [&](int64_t i) { return double{first.as<float>()[i]}; });
          }};
}

}  // namespace

int main() { return Actor({{"pallas", pallas}}).serve(); }
