// Every code that finish(KernelPackage) can give, with its whole message: the function, its attributes and counts, its
// ops.
#include "FinishTesting.h"

namespace smalti::testing {
namespace {

class Finish : public ::testing::TestWithParam<Case> {};
TEST_P(Finish, SaysWhatIsWrong) { EXPECT_EQ(messageOf(GetParam()), GetParam().message); }

const Case kFunction[] = {
    {"AGoodKernel", {}, {}, ""},
    {"NoFunction",
     {},
     [](KernelPackage& p) { p.module->getBody()->clear(); },
     R"(error[SM3001]: the module has no kernel function
   in kernel 'add_one'
)"},
    {"NoBody",
     {{"func.func @add_one(", "func.func private @add_one("},
      {R"(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                     %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<8x128xf32, #tpu.memory_space<vmem>>)",
       "i32, memref<4xi32, #tpu.memory_space<smem>>, memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xf32, "
       "#tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<vmem>>"},
      {R"( {
    // body
    return
  }
)",
       R"(
)"}},
     {},
     R"(error[SM3001]: kernel function 'add_one' has no body
  --> k.mlir:2:3
   in kernel 'add_one'
)"},
    {"Branches",
     {{"// body", "cf.br ^bb1 ^bb1:"}},
     {},
     R"(error[SM3001]: kernel function 'add_one' branches between blocks
  --> k.mlir:2:3
   in kernel 'add_one'
  need: structured control flow (scf.if, scf.for, scf.while)
error[SM3103]: a kernel cannot contain the op 'cf.br'
  --> k.mlir:8:5
   in kernel 'add_one'
  need: the ops that Pallas lowers TensorCore kernels to
)"},
    {"ReturnsValues",
     {{R"(#tpu.memory_space<vmem>>)
)",
       R"(#tpu.memory_space<vmem>>) -> i32
)"},
      {"return", "return %i : i32"}},
     {},
     R"(error[SM3001]: kernel function 'add_one' returns values
  --> k.mlir:2:3
   in kernel 'add_one'
  need: results written to output refs
  have: 1 results
)"},
    {"CoreTypeMalformed",
     {{"#tpu.core_type<tc>", R"("tc")"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'tpu.core_type' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: #tpu.core_type<tc>
)"},
    {"SparseCore",
     {{"#tpu.core_type<tc>", "#tpu.core_type<sc_scalar_subcore>"}},
     {},
     R"(error[SM3102]: 'add_one' is a kernel for a SparseCore
  --> k.mlir:2:3
   in kernel 'add_one'
  need: a kernel for a TensorCore (#tpu.core_type<tc>)
  have: #tpu.core_type<sc_scalar_subcore>
  help: run the SparseCore part with JAX's interpreter
)"},
    {"SeveralAtOnce",
     {{"#tpu.core_type<tc>", "#tpu.core_type<sc_scalar_subcore>"},
      {"window_bounds = array<i64: 8, 128>", "window_bounds = array<i64: 4, 128>"}},
     {},
     R"(error[SM3102]: 'add_one' is a kernel for a SparseCore
  --> k.mlir:2:3
   in kernel 'add_one'
  need: a kernel for a TensorCore (#tpu.core_type<tc>)
  have: #tpu.core_type<sc_scalar_subcore>
  help: run the SparseCore part with JAX's interpreter
error[SM3007]: the block shape is not the shape of the kernel's ref
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: (4, 128)
  have: (8, 128)
)"},
};
INSTANTIATE_TEST_SUITE_P(Function, Finish, ::testing::ValuesIn(kFunction), nameOf);

const Case kAttributes[] = {
    {"GridIsNoArray",
     {{"iteration_bounds = array<i64: 2>", "iteration_bounds = 2 : i64"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'iteration_bounds' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: array<i64: one bound per grid dimension>
  have: 2 : i64
)"},
    {"GridIsNegative",
     {{"iteration_bounds = array<i64: 2>", "iteration_bounds = array<i64: -2>"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'iteration_bounds' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: bounds of 0 or more (-9223372036854775808 where dynamic)
  have: array<i64: -2>
)"},
    {"SemanticsAreText",
     {{"[#tpu.dimension_semantics<arbitrary>]", R"(["arbitrary"])"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'dimension_semantics' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: [#tpu.dimension_semantics<...>, ...]
  have: ["arbitrary"]
)"},
    {"SemanticsOfAnotherRank",
     {{"[#tpu.dimension_semantics<arbitrary>]", "[]"}},
     {},
     R"(error[SM3005]: dimension_semantics does not fit the grid
  --> k.mlir:2:3
   in kernel 'add_one'
  need: one per grid dimension: 1
  have: 0
)"},
    {"PrefetchIsNoNumber",
     {{"scalar_prefetch = 1 : i64", R"(scalar_prefetch = "1")"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'scalar_prefetch' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: an integer from 0 to 5, the number of the kernel's arguments
  have: "1"
)"},
    {"ScratchBeyondTheArguments",
     {{"scratch_operands = 1 : i64", "scratch_operands = 9 : i64"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'scratch_operands' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: an integer from 0 to 5, the number of the kernel's arguments
  have: 9 : i64
)"},
    {"WindowsAreNoList",
     {{"window_params = [{transform_indices = @in, window_bounds = array<i64: 8, 128>},", "window_params = [1 : i64,"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: a list of dictionaries, one per input and output
  have: [1, {transform_indices = @out, window_bounds = array<i64: 8, 128>}]
)"},
    {"WindowMapIsText",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       R"({transform_indices = "in", window_bounds = array<i64: 8, 128>})"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].transform_indices' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: the symbol of an index map function
  have: "in"
)"},
    {"WindowMapIsNotZero",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = affine_map<(d0) -> (d0, 0)>}"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].transform_indices' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: a map to zeros, or the symbol of an index map function
  have: affine_map<(d0) -> (d0, 0)>
)"},
    {"WindowWithoutBounds",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}", "{transform_indices = @in}"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].window_bounds' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: array<i64: block shape>
  have: none
)"},
    {"WindowPadding",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @in, window_bounds = array<i64: 8, 128>, window_kind = #tpu.element_window<[0], [0]>}"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].window_kind' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: #tpu.element_window with 2 paddings of 0 or more on each side
  have: #tpu.element_window<[0], [0]>
)"},
    {"WindowPipelineMode",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @in, window_bounds = array<i64: 8, 128>, pipeline_mode = 2 : i64}"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].pipeline_mode' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: #tpu.pipeline_mode<synchronous> or <double_buffered>
  have: 2 : i64
)"},
    {"WindowRevisitMode",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @in, window_bounds = array<i64: 8, 128>, revisit_mode = 2 : i64}"}},
     {},
     R"(error[SM3002]: the kernel's attribute 'window_params[0].revisit_mode' is malformed
  --> k.mlir:2:3
   in kernel 'add_one'
  need: #tpu.revisit_mode<immediate> or <any>
  have: 2 : i64
)"},
};
INSTANTIATE_TEST_SUITE_P(Attributes, Finish, ::testing::ValuesIn(kAttributes), nameOf);

const Case kCounts[] = {
    {"TooFewArguments",
     {{"scratch_operands = 1 : i64", "scratch_operands = 2 : i64"}},
     {},
     R"(error[SM3003]: the kernel function takes 5 arguments, its call gives 6
  --> k.mlir:2:3
   in kernel 'add_one'
  need: 1 grid indices + 1 scalar prefetch + 1 inputs + 1 outputs + 2 scratch
  have: 5 arguments
)"},
    {"TooFewOperands", {}, [](KernelPackage& p) { p.operands.clear(); }, R"(error[SM3012]: the call has too few operands
  --> k.mlir:2:3
   in kernel 'add_one'
  need: 0 dynamic grid bounds, 1 scalar prefetch operands, then the inputs
  have: 0 operands
)"},
    {"ADynamicBoundIsNoScalar",
     {{"array<i64: 2>", "array<i64: -9223372036854775808>"}},
     [](KernelPackage& p) { p.operands.insert(p.operands.begin(), {DType::f32, {}}); },
     R"(error[SM3012]: operand 0 must be the value of a dynamic grid bound
  --> k.mlir:2:3
   in kernel 'add_one'
  need: one number, i32[] or i32[1]
  have: f32[]
)"},
    {"OneWindowTooFew",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>},", ""}},
     {},
     R"(error[SM3006]: window_params does not fit the call
  --> k.mlir:2:3
   in kernel 'add_one'
  need: one per input and output: 1 + 1
  have: 1
)"},
};
INSTANTIATE_TEST_SUITE_P(Counts, Finish, ::testing::ValuesIn(kCounts), nameOf);

const Case kOps[] = {
    {"SparseCoreOp",
     {{"// body", R"("tpu.barrier"(%i) : (i32) -> ())"}},
     {},
     R"(error[SM3101]: 'tpu.barrier' is a SparseCore op; kernels for a TensorCore cannot contain it
  --> k.mlir:8:5
   in kernel 'add_one'
)"},
    {"CompilerOp",
     {{"// body", R"(%v = "tpu.sitofp"(%i) : (i32) -> f32)"}},
     {},
     R"(error[SM3101]: 'tpu.sitofp' is an op of the TPU compiler's own passes; it occurs only after vector layouts were chosen
  --> k.mlir:8:10
   in kernel 'add_one'
)"},
    {"OpThatPallasDoesNotEmit",
     {{"// body", R"(%v = "tpu.core_id"() : () -> i32)"}},
     {},
     R"(error[SM3101]: 'tpu.core_id' is an op of the dialect that Pallas does not emit
  --> k.mlir:8:10
   in kernel 'add_one'
)"},
    {"OpOfAnotherDialect",
     {{"// body",
       R"(%v = "vector.outerproduct"(%s, %s) : (memref<8x128xf32, #tpu.memory_space<vmem>>, memref<8x128xf32, #tpu.memory_space<vmem>>) -> i32)"}},
     {},
     R"(error[SM3103]: a kernel cannot contain the op 'vector.outerproduct'
  --> k.mlir:8:10
   in kernel 'add_one'
  need: the ops that Pallas lowers TensorCore kernels to
)"},
    {"BarrierWithoutAnId",
     {{"// body", "%b = tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>"}},
     [](KernelPackage& p) { p.config.serializationFormat = 1; },
     R"(error[SM3014]: the kernel uses the barrier semaphore, but its call has no collective_id
  --> k.mlir:8:10
   in kernel 'add_one'
  need: a collective_id, which says with which kernels the barrier is shared
  have: none
  help: give the call a collective_id: pltpu.CompilerParams(collective_id=0), in C++ .compiler_params = {.collective_id = 0}
)"},
    {"BarrierWithAnId",
     {{"// body", "%b = tpu.sem_barrier : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>"}},
     [](KernelPackage& p) {
       p.config.serializationFormat = 1;
       p.config.collectiveId = 0;
     },
     ""},
};
INSTANTIATE_TEST_SUITE_P(Ops, Finish, ::testing::ValuesIn(kOps), nameOf);

}  // namespace
}  // namespace smalti::testing
