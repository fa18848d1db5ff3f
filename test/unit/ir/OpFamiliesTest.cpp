// What traits and effects say of ops: families, and which refs may be written.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/facts/OpFamilies.h"

namespace smalti {
namespace {

constexpr std::string_view kArguments =
    "%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %n: memref<4xi32, #tpu.memory_space<smem>>, "
    "%h: memref<8x128xf32, #tpu.memory_space<any>>, "
    "%s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>";

struct Body {
  explicit Body(std::string_view ops) : context(makeContext()) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format("func.func @k({}) {{\n%z = arith.constant 0 : index\n%c = arith.constant 1 : i32\n{}\nreturn\n}}",
                    kArguments, ops),
        mlir::ParserConfig(context.get()));
    if (module) function = *module->getOps<mlir::func::FuncOp>().begin();
  }
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
};

std::string familiesOf(mlir::Operation& op) {
  std::string s;
  const auto add = [&](bool is, const char* name) { s += is ? (s.empty() ? "" : " ") + std::string(name) : ""; };
  add(isPure(op), "pure");
  add(isElementwise(op), "elementwise");
  add(movesElements(op), "moves");
  add(isView(op), "view");
  add(isLoad(op), "load");
  add(isStore(op), "store");
  add(mayChangeMemory(op), "changes");
  return s;
}

TEST(OpFamilies, AreThoseOfEachOp) {
  Body body(R"(
    %b = arith.constant true
    %v = vector.load %x[%z, %z] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %l = tpu.strided_load %x[%z, %z] {strides = array<i32: 2, 1>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<4x128xf32>
    %m = memref.load %n[%z] : memref<4xi32, #tpu.memory_space<smem>>
    %sum = arith.addf %v, %v : vector<8x128xf32>
    %quotient = arith.divsi %i, %c : i32
    %e = math.exp %v : vector<8x128xf32>
    %r = tpu.reciprocal %v : vector<8x128xf32> -> vector<8x128xf32>
    %bits = tpu.bitcast %v : vector<8x128xf32> -> vector<8x128xi32>
    %multiple = tpu.assume_multiple %i, 8 : i32
    %t = tpu.transpose %v, [1, 0] : vector<8x128xf32> -> vector<128x8xf32>
    %cc = tpu.concatenate %v, %v in 0 : vector<8x128xf32>, vector<8x128xf32> -> vector<16x128xf32>
    %rot = tpu.dynamic_rotate %v by %i dim 1 : vector<8x128xf32>, i32 -> vector<8x128xf32>
    %cast = vector.shape_cast %v : vector<8x128xf32> to vector<1x8x128xf32>
    %spread = vector.broadcast %i : i32 to vector<8x128xi32>
    %iota = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>
    %bound = tpu.iteration_bound 0 : i32
    %ref = tpu.memref_slice %h[%c, %c] : memref<8x128xf32, #tpu.memory_space<any>> -> memref<4x128xf32, #tpu.memory_space<any>>
    %thin = tpu.memref_reshape %x : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<1024xf32, #tpu.memory_space<vmem>>
    tpu.vector_store %x[%z, %z], %v {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    memref.store %i, %n[%z] : memref<4xi32, #tpu.memory_space<smem>>
    tpu.enqueue_dma source(%h : memref<8x128xf32, #tpu.memory_space<any>>) target(%x : memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
    "tpu.trace_start"() {message = "m", level = 1 : i32} : () -> ()
    tpu.log "i" : [%i] : i32
    tpu.delay %c
    cf.assert %b, "must"
    scf.if %b {
    })");
  ASSERT_TRUE(body.module);
  const std::map<std::string, std::string> expected{{"arith.constant", "pure"},
                                                    {"vector.load", "load"},
                                                    {"tpu.strided_load", "load"},
                                                    {"memref.load", "load"},
                                                    {"arith.addf", "pure elementwise"},
                                                    {"arith.divsi", "pure elementwise"},
                                                    {"math.exp", "pure elementwise"},
                                                    {"tpu.reciprocal", "pure elementwise"},
                                                    {"tpu.bitcast", "pure elementwise"},
                                                    {"tpu.assume_multiple", "pure elementwise"},
                                                    {"tpu.transpose", "pure moves"},
                                                    {"tpu.concatenate", "pure moves"},
                                                    {"tpu.dynamic_rotate", "pure moves"},
                                                    {"vector.shape_cast", "pure moves"},
                                                    {"vector.broadcast", "pure moves"},
                                                    {"tpu.iota", "pure"},
                                                    {"tpu.iteration_bound", "pure"},
                                                    {"tpu.memref_slice", "view"},
                                                    {"tpu.memref_reshape", "view"},
                                                    {"tpu.vector_store", "store changes"},
                                                    {"memref.store", "store changes"},
                                                    {"tpu.enqueue_dma", "changes"},
                                                    {"tpu.trace_start", ""},
                                                    {"tpu.log", ""},
                                                    {"tpu.delay", "changes"},
                                                    {"cf.assert", ""},
                                                    {"scf.if", "changes"},
                                                    {"func.return", ""}};
  std::set<std::string> seen;
  for (mlir::Operation& op : body.function.getBody().front()) {
    const std::string name = op.getName().getStringRef().str();
    seen.insert(name);
    if (name == "func.return") continue;  // nothing comes after it
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(familiesOf(op), expected.at(name)) << name;
  }
  EXPECT_EQ(seen.size(), expected.size());
}

struct Writes {
  const char* name;
  const char* ops;
  char ref;  ///< x, n or h
  bool written;
};
void PrintTo(const Writes& w, std::ostream* out) { *out << w.name; }

class MayBeWritten : public ::testing::TestWithParam<Writes> {};
TEST_P(MayBeWritten, FollowsViewsAndEffects) {
  Body body(GetParam().ops);
  ASSERT_TRUE(body.module);
  const unsigned argument = GetParam().ref == 'x' ? 1 : GetParam().ref == 'n' ? 2 : 3;
  EXPECT_EQ(mayBeWritten(body.function.getArgument(argument)), GetParam().written);
}

constexpr const char* kSliceOfX =
    "%r = tpu.memref_slice %x[%c, %c] : memref<8x128xf32, #tpu.memory_space<vmem>> -> memref<4x64xf32, "
    "#tpu.memory_space<vmem>>\n";
constexpr const char* kCopy =
    "tpu.enqueue_dma source(%h : memref<8x128xf32, #tpu.memory_space<any>>) target(%x : memref<8x128xf32, "
    "#tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)";
const std::string kReadsSlice = std::string(kSliceOfX) +
                                "%v = vector.load %r[%z, %z] : memref<4x64xf32, #tpu.memory_space<vmem>>, "
                                "vector<4x64xf32>";
const std::string kWritesSlice = kReadsSlice +
                                 "\ntpu.vector_store %r[%z, %z], %v {strides = array<i32>} : memref<4x64xf32, "
                                 "#tpu.memory_space<vmem>>, vector<4x64xf32>,";

INSTANTIATE_TEST_SUITE_P(
    Refs, MayBeWritten,
    ::testing::Values(Writes{"Unused", "", 'x', false}, Writes{"LoadOfASlice", kReadsSlice.c_str(), 'x', false},
                      Writes{"StoreToASlice", kWritesSlice.c_str(), 'x', true},
                      Writes{"SourceOfACopy", kCopy, 'h', false}, Writes{"TargetOfACopy", kCopy, 'x', true},
                      Writes{"Printed",
                             "tpu.log_buffer \"b\" {shape = array<i64: 8, 128>} : %x : memref<8x128xf32, "
                             "#tpu.memory_space<vmem>>",
                             'x', false},
                      Writes{"ScalarStore", "memref.store %c, %n[%z] : memref<4xi32, #tpu.memory_space<smem>>", 'n',
                             true},
                      // Which of them a selected ref shows is not followed.
                      Writes{"Selected",
                             "%b = arith.constant true\n%q = arith.select %b, %x, %x : memref<8x128xf32, "
                             "#tpu.memory_space<vmem>>",
                             'x', true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smalti
