// The time from an LLVM module to executable code: the first one of the process, then medians.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "JitModules.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

struct Times {
  double emitMs = 0, objectMs = 0, loadMs = 0;
  CompileReport report;
  double totalMs() const { return emitMs + objectMs + loadMs; }
};

Times once(const std::function<ModuleBuilder(const Processor&)>& make, const Processor& processor) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto ms = [](auto from, auto to) { return std::chrono::duration<double, std::milli>(to - from).count(); };
  Times times;
  const auto begin = now();
  ModuleBuilder built = make(processor);
  const auto emitted = now();
  auto object = generateObject(std::move(built), processor, &times.report);
  const auto generated = now();
  auto code = object ? loadObject(*object, {}, &times.report) : Result<std::shared_ptr<const LoadedCode>>(nullptr);
  if (!code || !*code) {
    fmt::print(stderr, "{}", (object ? code.error() : object.error()).str());
    std::exit(1);
  }
  times.emitMs = ms(begin, emitted);
  times.objectMs = ms(emitted, generated);
  times.loadMs = ms(generated, now());
  return times;
}

void print(const char* what, const Times& t) {
  fmt::print("{:34} {:6.2f} {:6.2f} {:6.2f} {:8.2f} {:6.2f} {:6.2f} {:8}\n", what, t.emitMs, t.report.optimiseMs,
             t.report.codegenMs, t.objectMs, t.loadMs, t.totalMs(), t.report.objectBytes);
}

}  // namespace
}  // namespace smalti::cpu

int main(int argc, char** argv) {
  using namespace smalti::cpu;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  const auto begin = std::chrono::steady_clock::now();
  const Processor& host = hostProcessor();
  const double hostMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}, {} rounds; the host's facts took {:.2f} ms\n", host.name, rounds, hostMs);
  fmt::print("{:34} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6} {:>8}\n", "ms", "emit", "opt", "code", "object", "load", "all",
             "bytes");
  const auto add = [](const Processor& p) { return addModule(p); };
  const auto tile = [](const Processor& p) { return matmulModule(p, 6, p.vectorRegisters == 32 ? 4 : 2, 1); };
  const auto unrolled = [](const Processor& p) { return matmulModule(p, 6, p.vectorRegisters == 32 ? 4 : 2, 4); };
  const std::vector<std::pair<const char*, std::function<ModuleBuilder(const Processor&)>>> kernels{
      {"add", add}, {"matmul tile", tile}, {"matmul tile, k unrolled by 4", unrolled}};
  print("the first of the process: add", once(add, host));
  for (const auto& [name, make] : kernels) {
    std::vector<Times> all;
    for (int i = 0; i < rounds; ++i) all.push_back(once(make, host));
    std::nth_element(all.begin(), all.begin() + rounds / 2, all.end(),
                     [](const Times& a, const Times& b) { return a.totalMs() < b.totalMs(); });
    print(name, all[static_cast<size_t>(rounds / 2)]);
  }
}
