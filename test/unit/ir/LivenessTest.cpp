// Which ops are dead, how long values live, which loads may be views.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/facts/Liveness.h"

namespace smalti {
namespace {

struct Kernel {
  explicit Kernel(std::string_view body) : context(makeContext()) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format("func.func @k(%n: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>) {{\n"
                    "%z = arith.constant 0 : index\n{}\nreturn\n}}",
                    body),
        mlir::ParserConfig(context.get()));
    module->walk([&](mlir::Operation* op) { ops[op->getName().getStringRef().str()].push_back(op); });
    function = *module->getOps<mlir::func::FuncOp>().begin();
  }
  mlir::Operation* op(const std::string& name, size_t nth = 0) { return ops.at(name)[nth]; }
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::map<std::string, std::vector<mlir::Operation*>> ops;
};

constexpr const char* kLoad =
    "%v = vector.load %x[%z, %z] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>\n";
constexpr const char* kStore =
    "tpu.vector_store %x[%z, %z], %w {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, "
    "vector<8x128xf32>,\n";

TEST(Liveness, UnusedOpsAreDeadExceptIndicesOfLoads) {
  Kernel k(std::string("%c = arith.constant 1 : i32\n%a = arith.addi %c, %n : i32\n%b = arith.muli %a, %a : i32\n") +
           kLoad);
  const Liveness liveness(k.function);
  EXPECT_TRUE(liveness.dead(k.op("arith.muli")));
  EXPECT_TRUE(liveness.dead(k.op("arith.addi")));
  EXPECT_TRUE(liveness.dead(k.op("vector.load")));
  EXPECT_FALSE(liveness.dead(k.op("arith.constant", 0))) << "the load checks its bounds with it";
}

TEST(Liveness, AStoreIsNeverDeadNorIsAViewWhoseBoundsAreChecked) {
  Kernel k(std::string("%c = arith.constant 1 : i32\n") + kLoad + "%w = arith.addf %v, %v : vector<8x128xf32>\n" +
           kStore +
           "%s = tpu.memref_slice %x[%c, %c] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<4x64xf32, "
           "#tpu.memory_space<vmem>>\n");
  const Liveness liveness(k.function);
  EXPECT_FALSE(liveness.dead(k.op("tpu.vector_store")));
  EXPECT_FALSE(liveness.dead(k.op("arith.addf")));
  EXPECT_FALSE(liveness.dead(k.op("tpu.memref_slice")));
}

TEST(Liveness, AValueThatALoopUsesLivesToItsEnd) {
  Kernel k(
      "%one = arith.constant 1 : i32\n%a = arith.addi %n, %one : i32\n"
      "scf.for %q = %one to %n step %one : i32 {\n%m = arith.muli %a, %q : i32\n%s = arith.index_cast %m : i32 to "
      "index\n%u = arith.subi %m, %q : i32\n"
      "%w = vector.load %x[%s, %z] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>\n" +
      std::string(kStore) + "}");
  const Liveness liveness(k.function);
  mlir::Operation* loop = k.op("scf.for");
  EXPECT_EQ(liveness.lastUse(k.op("arith.addi")->getResult(0)), liveness.end(loop));
  EXPECT_EQ(liveness.lastUse(k.op("arith.muli")->getResult(0)), liveness.begin(k.op("arith.index_cast")))
      << "the subtraction is dead";
  EXPECT_EQ(liveness.lastUse(k.op("arith.subi")->getResult(0)), -1);
  EXPECT_GT(liveness.end(loop), liveness.begin(loop));
}

TEST(Liveness, ALoadIsAViewUntilMemoryMayChange) {
  const std::string use = "%w = arith.addf %v, %v : vector<8x128xf32>\n";
  {
    Kernel k(kLoad + use + kStore);
    EXPECT_TRUE(Liveness(k.function).viewable(k.op("vector.load")));
  }
  {
    Kernel k(std::string(kLoad) + "tpu.log \"n\" : [%n] : i32\n" + use + kStore);
    EXPECT_TRUE(Liveness(k.function).viewable(k.op("vector.load"))) << "a log changes no memory";
  }
  {
    Kernel k(std::string(kLoad) + "%w = arith.negf %v : vector<8x128xf32>\n" + kStore +
             "%late = arith.addf %v, %w : vector<8x128xf32>\ntpu.vector_store %x[%z, %z], %late {strides = "
             "array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,\n");
    EXPECT_FALSE(Liveness(k.function).viewable(k.op("vector.load"))) << "it is used after a store";
  }
  {
    // What may be the very same memory counts as well.
    Kernel k(std::string(kLoad) + "%s = vector.shape_cast %v : vector<8x128xf32> to vector<8x128xf32>\n" +
             "%w = arith.negf %v : vector<8x128xf32>\n" + kStore +
             "tpu.vector_store %x[%z, %z], %s {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, "
             "vector<8x128xf32>,\n");
    EXPECT_FALSE(Liveness(k.function).viewable(k.op("vector.load")));
  }
}

}  // namespace
}  // namespace smalti
