// docs/cpu/ops.md: which ops have native code, for which dtypes. Made of what compiling a kernel of each says, and of
// the compiler's own tables for ops that have no dtype.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "ElementwiseRows.h"
#include "cpu/emit/ops/OpTables.h"
#include "ir/KernelOps.h"

namespace smalti::cpu::testing {
namespace {

struct Status {
  std::vector<std::string> native, inside;  ///< dtypes; inside: the machine's code is called
  std::string machine;                      ///< why a whole kernel with it runs on the machine
};
using Table = std::map<std::string, Status>;

/// Ops of kernels that neither the machine nor native code has, with what kernels have instead.
bool hasNoKernel(const std::string& op) {
  static const std::set<std::string> kStructure{"arith.constant", "builtin.module", "func.func", "func.return",
                                                "scf.condition",  "scf.yield",      "tpu.yield"};
  return kStructure.contains(op);
}

void remember(std::vector<std::string>& list, const std::string& of) {
  if (std::ranges::find(list, of) == list.end()) list.push_back(of);
}

void addSamples(Table& table, std::vector<OpSample> samples) {
  // Samples with the same first dtype are one kernel.
  std::map<std::string, std::vector<const OpSample*>> kernels;
  for (const OpSample& s : samples) kernels[s.of.substr(0, s.of.find(' '))].push_back(&s);
  for (const auto& [dtype, list] : kernels) {
    TextKernel k;
    std::vector<std::vector<Val>> refs;
    for (const OpSample* s : list) refs.push_back(addOperands(k, *s));
    for (size_t i = 0; i < list.size(); ++i) addSample(k, *list[i], refs[i]);
    const auto code = native(k);
    ASSERT_TRUE(code) << dtype;
    std::set<std::string> inside;
    for (const std::string& name : code->report().interpreted) inside.insert(name);
    for (const OpSample* s : list) {
      if (!inside.contains(s->op)) {
        remember(table[s->op].native, s->of);
        continue;
      }
      TextKernel alone;  // of several dtypes in the kernel, which?
      addSample(alone, *s, addOperands(alone, *s));
      const auto own = native(alone);
      ASSERT_TRUE(own);
      const auto& names = own->report().interpreted;
      remember(std::ranges::find(names, s->op) == names.end() ? table[s->op].native : table[s->op].inside, s->of);
    }
  }
}

void addTables(Table& table) {
  for (const auto rows : nativeOpTables())
    for (const auto& [name, lower] : rows)
      if (isKernelOp(name) && !table.contains(std::string(name))) table[std::string(name)].native.push_back("all");
}

std::vector<OpSample> everySample() {
  std::vector<OpSample> all = elementwiseSamples();
  for (const OpSample& s : opSamples()) {
    TextKernel alone;
    addSample(alone, s, addOperands(alone, s));
    if (accepted(alone.text())) all.push_back(s);
  }
  return all;
}

/// "f32, bf16 → i8, i16": what stands before an arrow is said once.
std::string listed(const std::vector<std::string>& of) {
  std::vector<std::string> parts;
  std::string last;
  for (const std::string& o : of) {
    const size_t arrow = o.find(" → ");
    const std::string from = arrow == o.npos ? "" : o.substr(0, arrow + std::string(" → ").size());
    if (!from.empty() && from == last)
      parts.back() += " " + o.substr(from.size());
    else
      parts.push_back(o);
    last = from;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string page(const Table& table) {
  std::string text =
      "# Ops with native code\n\n"
      "Made by `SMALTI_WRITE=1 smalti_cpu_test --gtest_filter=NativeOps.TheTableIsUpToDate`. *Native*: machine code. "
      "*Inside*: the\nmachine's own code (`src/eval`) is called from native code, on values in memory. An op or a "
      "dtype "
      "that is not listed makes\nthe whole kernel run on the machine. `f32 → i8 i4`: from f32 to each of "
      "them.\n\n"
      "| op | native | inside |\n|---|---|---|\n";
  for (const auto& [op, status] : table)
    text += fmt::format("| {} | {} | {} |\n", op, listed(status.native), listed(status.inside));
  return text;
}

TEST(NativeOps, TheTableIsUpToDate) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  Table table;
  addSamples(table, everySample());
  addTables(table);
  for (const char* op : {"tpu.log", "tpu.log_buffer", "tpu.prng_random_bits", "tpu.prng_set_seed_32"})
    table[op].inside.push_back("all");
  const std::string file = SMALTI_SOURCE_DIR "/docs/cpu/ops.md", expected = page(table);
  if (std::getenv("SMALTI_WRITE")) std::ofstream(file) << expected;
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), expected) << "SMALTI_WRITE=1 writes it";

  // Every op that a kernel may hold is covered, or named here.
  static const std::set<std::string> kNowhere{
      // The matrix unit's own registers: cpu/rewrite makes them products, or the whole kernel runs on the machine.
      "tpu.matmul_acc_lhs", "tpu.matmul_lhs_fifo", "tpu.matmul_pop", "tpu.matmul_pop_fifo", "tpu.matmul_push_rhs",
      // Becomes wait_dma when a module is read.
      "tpu.wait_dma2",
      // Become products of halves when a package is made.
      "arith.mulsi_extended", "arith.mului_extended",
      // The machine refuses them too.
      "arith.addui_extended", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.scaling_extf",
      "arith.scaling_truncf", "math.clampf", "math.fma", "math.fpowi", "math.ipowi", "math.isfinite", "math.isinf",
      "math.isnan", "math.isnormal", "math.sincos", "vector.bitcast"};
  const auto context = makeContext();
  std::vector<std::string> uncovered;
  for (const mlir::RegisteredOperationName op : context->getRegisteredOperations()) {
    const std::string name = op.getStringRef().str();
    if (isKernelOp(name) && !table.contains(name) && !hasNoKernel(name) && !kNowhere.contains(name))
      uncovered.push_back(name);
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(uncovered, " ")), "");
}

}  // namespace
}  // namespace smalti::cpu::testing
