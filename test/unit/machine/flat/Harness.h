// Runs one kernel function of MLIR text on a fake core: refs are buffers of the test, semaphores count at once, DMAs
// copy when they start.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "machine/FlatProgram.h"

namespace smalti::machine::test {

/// Everything that happened, for tests to look at.
struct Recorder : Observer {
  struct Seen {
    MemoryAccess::Kind kind;
    std::string buffer;
    std::vector<int64_t> starts, sizes, strides;
    bool masked;
  };
  std::vector<Seen> accesses;
  std::vector<std::pair<UndefinedUse, std::string>> undefinedUses;
  void access(const Actor&, const MemoryAccess& a) override {
    accesses.push_back({a.kind,
                        a.ref->buffer->name,
                        {a.starts.begin(), a.starts.end()},
                        {a.sizes.begin(), a.sizes.end()},
                        {a.strides.begin(), a.strides.end()},
                        a.masked});
  }
  void undefinedUse(const Actor&, UndefinedUse use, const SourcePlace&, const std::string& what) override {
    undefinedUses.emplace_back(use, what);
  }
};

class FakeCore : public Core {
 public:
  Recorder recorder;
  bool observed = true, tracked = true;
  int device = 0;
  std::vector<std::string> logs, traces;
  std::vector<int32_t> seed, bounds{7, 8, 9};
  std::vector<int> allocations;  ///< identities, in order
  std::vector<DmaRequest> dmas;
  int live = 0;  ///< allocations not released
  int64_t delayed = 0;
  bool continues = false;           ///< after reads outside
  std::vector<Diagnostic> outside;  ///< such reads

  const Actor& actor() const override { return actor_; }
  int32_t deviceId() const override { return device; }
  int32_t coreId() const override { return 0; }
  int32_t iterationBound(int dim) const override { return bounds[static_cast<size_t>(dim)]; }
  Result<Buffer*> allocate(int identity, ArrayType type, MemoryKind space, const SourcePlace&) override;
  void release(Buffer&) override { --live; }
  Result<Buffer*> barrierSemaphore(const SourcePlace&) override;
  bool continuesAfter(Diagnostic readOutside) override {
    outside.push_back(std::move(readOutside));
    return continues;
  }
  Result<Wait> semaphoreWait(const Ref&, int64_t amount, const SourcePlace&) override;
  std::optional<int32_t> semaphoreRead(const Ref&) override;
  Status semaphoreSignal(const Ref&, int64_t amount, std::optional<int32_t> device, std::optional<int32_t> core,
                         const SourcePlace&) override;
  Status startDma(const DmaRequest&) override;
  Result<Wait> waitDma(const Ref& semaphore, const Ref& ref, bool targetSide, const SourcePlace&) override;
  void log(std::string line) override { logs.push_back(std::move(line)); }
  void prngSeed(std::span<const int32_t> words) override { seed.assign(words.begin(), words.end()); }
  void prngFill(uint32_t* out, int64_t n) override;
  void trace(std::string_view message, bool begin) override {
    traces.push_back((begin ? "+" : "-") + std::string(message));
  }
  void delay(int64_t nanoseconds) override { delayed += nanoseconds; }
  Observer* observer() override { return observed ? &recorder : nullptr; }
  bool tracksInitialisation() const override { return tracked; }
  Poison poisonKind() const override { return Poison::intMin; }

 private:
  Actor actor_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

/// A buffer of a dtype, filled from numbers (one of them fills all); undefined when there are none.
std::unique_ptr<Buffer> makeBuffer(std::string name, DType, Shape, std::vector<double> values,
                                   MemoryKind = MemoryKind::vmem);
std::vector<double> values(const Buffer&);

/// Compiles and runs `func.func @kernel` of a module. Buffers made by `buffer` are its refs, in order.
class Kernel : public ::testing::Test {
 protected:
  FakeCore core;
  CompileOptions options;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<int32_t> scalars;  ///< leading i32 arguments
  std::unique_ptr<Execution> execution;
  std::shared_ptr<const FlatProgram> program;

  Buffer& buffer(DType, Shape, std::vector<double> values = {}, MemoryKind = MemoryKind::vmem);
  /// `body` is the function's body; its refs are %0, %1, … and its scalars %i0, %i1, …
  std::string wrap(const std::string& body) const;
  Status compileText(const std::string& moduleText);
  Result<RunState> go(int64_t maxInstructions = 1'000'000);
  /// Compiles and runs to the end, expecting success.
  void run(const std::string& body);
  /// The code of the diagnostic that compiling or running ends with; "" when it finishes.
  std::string failure(const std::string& body);
  Diagnostic diagnostic;
  std::vector<double> out(size_t k) const { return values(*buffers[k]); }
  std::vector<int> defined(size_t k) const;

 private:
  std::shared_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

}  // namespace smalti::machine::test
