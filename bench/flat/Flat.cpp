// The flat program alone, on a core that does nothing: `ns_per_instruction` of scalar loops, time per run of bodies.
#include <benchmark/benchmark.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "machine/FlatProgram.h"

namespace smalti::machine {
namespace {

class NullCore : public Core {
 public:
  Observer watching;
  bool observed = false;
  const Actor& actor() const override { return actor_; }
  int32_t deviceId() const override { return 0; }
  int32_t coreId() const override { return 0; }
  int32_t iterationBound(int) const override { return 1; }
  Result<Buffer*> allocate(int, ArrayType, MemoryKind, const SourcePlace&) override { return fail({}); }
  void release(Buffer&) override {}
  Result<Buffer*> barrierSemaphore(const SourcePlace&) override { return fail({}); }
  bool continuesAfter(Diagnostic) override { return false; }
  Result<Wait> semaphoreWait(const Ref&, int64_t, const SourcePlace&) override { return Wait::done; }
  std::optional<int32_t> semaphoreRead(const Ref&) override { return 0; }
  Status semaphoreSignal(const Ref&, int64_t, std::optional<int32_t>, std::optional<int32_t>,
                         const SourcePlace&) override {
    return {};
  }
  Status startDma(const DmaRequest&) override { return {}; }
  Result<Wait> waitDma(const Ref&, const Ref&, bool, const SourcePlace&) override { return Wait::done; }
  void log(std::string) override {}
  void prngSeed(std::span<const int32_t>) override {}
  void prngFill(uint32_t*, int64_t) override {}
  void trace(std::string_view, bool) override {}
  void delay(int64_t) override {}
  Observer* observer() override { return observed ? &watching : nullptr; }
  bool tracksInitialisation() const override { return observed; }
  Poison poisonKind() const override { return Poison::intMin; }

 private:
  Actor actor_;
};

struct Setup {
  std::unique_ptr<Execution> execution;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Argument> arguments;
};

/// `refs` f32 buffers of `shape` as arguments of `@kernel` in `text`.
Setup prepare(const std::string& text, int refs, const Shape& shape) {
  static const auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  Setup s;
  s.execution = std::make_unique<Execution>(*compile(module->lookupSymbol<mlir::func::FuncOp>("kernel"), {}));
  for (int k = 0; k < refs; ++k) {
    s.buffers.push_back(std::make_unique<Buffer>());
    Buffer& b = *s.buffers.back();
    b.type = {DType::f32, shape};
    b.storage = *Array::allocate(b.type);
    std::fill_n(b.storage.as<float>(), b.type.elements(), 1.0f);
    s.arguments.emplace_back(Ref::whole(b));
  }
  return s;
}

void runAll(benchmark::State& state, Setup& s, bool observed = false) {
  NullCore core;
  core.observed = observed;
  for (auto _ : state) {
    s.execution->start(s.arguments);
    if (!s.execution->run(core, INT64_MAX)) state.SkipWithError("failed");
  }
}

void scalarLoop(benchmark::State& state) {
  Setup s = prepare(R"(func.func @kernel() {
    %lo = arith.constant 0 : i32
    %hi = arith.constant 100000 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %r = scf.for %i = %lo to %hi step %one iter_args(%a = %lo) -> (i32) : i32 {
      %b = arith.muli %a, %three : i32
      %c = arith.addi %b, %i : i32
      %d = arith.xori %c, %one : i32
      %e = arith.cmpi slt, %d, %lo : i32
      %f = arith.select %e, %c, %d : i32
      scf.yield %f : i32
    }
    "tpu.log"(%r) <{formatted = false, tag = ""}> : (i32) -> ()
    return
  })",
                    0, {});
  runAll(state, s);
  state.counters["ns_per_instruction"] = benchmark::Counter(static_cast<double>(s.execution->instructions()) / 1e9,
                                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(scalarLoop);

const std::string kAdd =
    R"(func.func @kernel(%0: memref<NxM, #tpu.memory_space<vmem>>, %1: memref<NxM, #tpu.memory_space<vmem>>, %2: memref<NxM, #tpu.memory_space<vmem>>) {
    %c = arith.constant 0 : index
    %a = vector.load %0[%c, %c] : memref<NxM, #tpu.memory_space<vmem>>, vector<NxM>
    %b = vector.load %1[%c, %c] : memref<NxM, #tpu.memory_space<vmem>>, vector<NxM>
    %s = arith.addf %a, %b : vector<NxM>
    %old = vector.load %2[%c, %c] : memref<NxM, #tpu.memory_space<vmem>>, vector<NxM>
    vector.store %s, %2[%c, %c] : memref<NxM, #tpu.memory_space<vmem>>, vector<NxM>
    return
  })";

std::string sized(std::string text, int64_t rows) {
  const std::string type = std::to_string(rows) + "x128xf32";
  for (size_t at; (at = text.find("NxM")) != std::string::npos;) text.replace(at, 3, type);
  return text;
}

void add(benchmark::State& state, bool observed) {
  const int64_t rows = state.range(0);
  Setup s = prepare(sized(kAdd, rows), 3, {rows, 128});
  runAll(state, s, observed);
  state.SetBytesProcessed(state.iterations() * rows * 128 * 12);
}
void addPlain(benchmark::State& state) { add(state, false); }
void addObserved(benchmark::State& state) { add(state, true); }
BENCHMARK(addPlain)->Arg(1)->Arg(8)->Arg(128)->Arg(8192);
BENCHMARK(addObserved)->Arg(8)->Arg(128);

void slices(benchmark::State& state) {
  Setup s = prepare(R"(func.func @kernel(%0: memref<16x128xf32, #tpu.memory_space<vmem>>) {
    %lo = arith.constant 0 : i32
    %hi = arith.constant 1000 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %lo to %hi step %one : i32 {
      %s = "tpu.memref_slice"(%0, %one, %lo) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<16x128xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<1x128xf32, #tpu.memory_space<vmem>>
      %q = "tpu.memref_squeeze"(%s) : (memref<1x128xf32, #tpu.memory_space<vmem>>) -> memref<128xf32, #tpu.memory_space<vmem>>
    }
    return
  })",
                    1, {16, 128});
  runAll(state, s);
  state.counters["ns_per_instruction"] = benchmark::Counter(static_cast<double>(s.execution->instructions()) / 1e9,
                                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(slices);

}  // namespace
}  // namespace smalti::machine
