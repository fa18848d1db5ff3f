// An observer that asks for instructions is told of each: op, class, types, memories, line.
#include <map>

#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

class Listener final : public Observer {
 public:
  Interest interest() const override { return {.instructions = true}; }
  void instruction(const Actor& actor, const InstructionEvent& e) override {
    ++instructions;
    if (!e.begins) return;
    ++begun[std::string(e.op->name)];
    ops.push_back(*e.op);
    devices[actor.device] += e.op->kind == OpClass::sync;
  }
  const OpInfo* find(std::string_view name) const {
    for (const OpInfo& op : ops)
      if (op.name == name) return &op;
    return nullptr;
  }
  int64_t instructions = 0;
  std::map<std::string, int> begun;
  std::map<int, int> devices;
  std::vector<OpInfo> ops;
};

/// The events of one run. Names and types are the compiled kernel's, so it is kept while they are looked at.
struct ObservedRun {
  ObservedRun(const TextKernel& k, const std::vector<std::vector<Array>>& operands, MachineOptions options = {}) {
    const KernelPackage package = k.package();
    kernel = *compileKernel(package, options.numerics);
    Observer* const extra[] = {&listener};
    auto r = run(*kernel, operands, options, extra);
    EXPECT_TRUE(r) << r.error().str();
    if (r) statistics = r->statistics;
  }
  std::shared_ptr<const CompiledKernel> kernel;
  Listener listener;
  RunStatistics statistics;
};

TEST(InstructionEvents, SayOpClassTypesMemoriesAndLine) {
  TextKernel k;
  const Val x = k.input({.array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
  const Val o = k.output({.array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
  const Val loaded = k.load(x);
  k.store(k.binary("arith.addf", loaded, loaded), o);
  // What the types point to lives in the run.
  class Checks final : public Observer {
   public:
    Interest interest() const override { return {.instructions = true}; }
    void instruction(const Actor&, const InstructionEvent& e) override {
      if (!e.begins) return;
      const auto type = [](const ValueType& t) {
        return ArrayType{t.dtype, t.shape}.str() + (t.memory ? "@" + std::string(name(*t.memory)) : "");
      };
      std::string line = std::string(e.op->name) + " " + std::string(name(e.op->kind));
      for (const ValueType& t : e.op->operands) line += " " + type(t);
      line += " ->";
      for (const ValueType& t : e.op->results) line += " " + type(t);
      lines.push_back(line);
      places.push_back(e.op->place->line);
    }
    std::vector<std::string> lines;
    std::vector<int> places;
  } checks;
  Observer* const extra[] = {&checks};
  ASSERT_TRUE(runOn(k, {{counting({8, 128})}}, {}, extra));
  const auto has = [&](const std::string& line) {
    const auto at = std::find(checks.lines.begin(), checks.lines.end(), line);
    return at == checks.lines.end() ? -1 : checks.places[static_cast<size_t>(at - checks.lines.begin())];
  };
  std::string all;
  for (const std::string& line : checks.lines) all += line + "\n";
  EXPECT_EQ(has("vector.load load f32[8,128]@VMEM index[] index[] -> f32[8,128]"), lineOf(k, "vector.load")) << all;
  EXPECT_EQ(has("arith.addf vector f32[8,128] f32[8,128] -> f32[8,128]"), lineOf(k, "arith.addf"));
  EXPECT_NE(all.find("store store f32[8,128]"), std::string::npos) << all;
  EXPECT_NE(all.find("func.return control"), std::string::npos) << all;
}

TEST(InstructionEvents, ThereIsOnePerInstructionAndTheLoopsBodyComesEachTime) {
  TextKernel k({2});
  const Val o = k.output({.dtype = "i32", .array = {2}, .block = {1}, .map = "%i", .space = "smem"});
  k.scalarStore(k.constant(0), o, {});
  k.loop(k.constant(0), k.constant(5),
         [&](Val i) { k.scalarStore(k.binary("arith.addi", k.scalarLoad(o, {}), i), o, {}); });
  const ObservedRun observed(k, {{}});
  // Constants come with the instruction after them.
  EXPECT_EQ(observed.listener.instructions - observed.listener.begun.at("arith.constant"),
            observed.statistics.instructions);
  EXPECT_EQ(observed.listener.begun.at("memref.load"), 2 * 5);
  EXPECT_EQ(observed.listener.begun.at("memref.store"), 2 * (5 + 1));
  EXPECT_EQ(observed.listener.find("arith.addi")->kind, OpClass::scalar);
  EXPECT_EQ(observed.listener.find("scf.for")->kind, OpClass::control);
  EXPECT_EQ(observed.listener.begun.at("scf.for"), 2);
}

TEST(InstructionEvents, OpsThatCostTheMachineNothingComeToo) {
  TextKernel k;
  const Val x = k.input({.array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
  const Val o = k.output({.array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
  k.raw("%flat = vector.shape_cast " + k.load(x).name + " : vector<8x128xf32> to vector<1024xf32>");
  k.raw("%back = vector.shape_cast %flat : vector<1024xf32> to vector<8x128xf32>");
  k.store({"%back", "vector<8x128xf32>"}, o);
  const ObservedRun observed(k, {{counting({8, 128})}});
  EXPECT_EQ(observed.listener.begun.at("vector.shape_cast"), 2);
  EXPECT_EQ(observed.listener.find("vector.shape_cast")->kind, OpClass::cross);
}

TEST(InstructionEvents, ARetriedWaitIsReportedOnce) {
  TextKernel k;
  const Val sem = k.semaphore(), one = k.constant(1);
  const Val id = k.deviceId();
  k.when(k.compare("eq", id, k.constant(0)), [&] {
    k.loop(k.constant(0), k.constant(100), [](Val) {});
    k.semSignal(sem, one, one);
  });
  k.when(k.compare("eq", id, one), [&] { k.semWait(sem, one); });
  MachineOptions options;
  options.stepQuantum = 5;  // many turns in which device 1 tries in vain
  const ObservedRun observed(k, {{}, {}}, options);
  EXPECT_EQ(observed.listener.begun.at("tpu.sem_wait"), 1);
  EXPECT_EQ(observed.listener.devices.at(0), 1);
  EXPECT_EQ(observed.listener.devices.at(1), 1);
}

}  // namespace
}  // namespace smalti::machine::testing
