// Every code that finish(KernelPackage) can give, with its whole message: arguments, index maps, aliases.
#include "FinishTesting.h"

namespace smalti::testing {
namespace {

class FinishArguments : public ::testing::TestWithParam<Case> {};
TEST_P(FinishArguments, SaysWhatIsWrong) { EXPECT_EQ(messageOf(GetParam()), GetParam().message); }

const Case kArguments[] = {
    {"GridIndexIsNoScalar", {{"%i: i32", "%i: i64"}}, {}, R"(error[SM3004]: a grid index must be a scalar
  --> k.mlir:2:22
   in kernel 'add_one'
   in grid index 0
  need: i32
  have: i64
error[SM3010]: index map 'in' takes other arguments than it gets
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: the grid indices and the scalar prefetch refs: (i64, i32[4] in smem)
  have: (i32, i32[4] in smem)
error[SM3010]: index map 'out' takes other arguments than it gets
  --> k.mlir:14:3
   in kernel 'add_one'
   in output 0
  need: the grid indices and the scalar prefetch refs: (i64, i32[4] in smem)
  have: (i32, i32[4] in smem)
)"},
    {"OperandIsNoRef",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: f32"}},
     {},
     R"(error[SM3004]: a kernel's operand must be a ref
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: a memref
  have: f32
)"},
    {"RefOfUnknownSize",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<?x128xf32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3004]: a ref's shape must be static and its elements of a type that kernels have
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: for example memref<8x128xf32, #tpu.memory_space<vmem>>
  have: memref<?x128xf32, #tpu.memory_space<vmem>>
)"},
    {"RefOfTooManyDimensions",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>",
       "%x: memref<1x1x1x1x1x1x1x1x1x1x1x1x1xf32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3004]: a ref has too many dimensions
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: at most 12
  have: 13
)"},
    {"RefOfStrangeElements",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xi7, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3004]: a ref's shape must be static and its elements of a type that kernels have
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: for example memref<8x128xf32, #tpu.memory_space<vmem>>
  have: memref<8x128xi7, #tpu.memory_space<vmem>>
)"},
    {"RefWithStrides",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>",
       "%x: memref<8x128xf32, strided<[256, 1]>, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3004]: a kernel's operand cannot have a strided layout
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: no layout
  have: memref<8x128xf32, strided<[256, 1]>, #tpu.memory_space<vmem>>
)"},
    {"UnknownSpace",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xf32, 3>"}},
     {},
     R"(error[SM3013]: unknown memory space
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: #tpu.memory_space<...>
  have: memref<8x128xf32, 3>
)"},
    {"SemaphoreInVmem",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128x!tpu.semaphore, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3013]: semaphores live in semaphore memory, and nothing else does
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: memory space semaphore_mem
  have: semaphore[8,128] in vmem
)"},
    {"DataInSemaphoreMemory",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xf32, #tpu.memory_space<semaphore_mem>>"}},
     {},
     R"(error[SM3013]: semaphores live in semaphore memory, and nothing else does
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: memory space semaphore_mem
  have: f32[8,128] in semaphore_mem
)"},
    {"SharedVmem",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xf32, #tpu.memory_space<vmem_shared>>"}},
     {},
     R"(error[SM3013]: only SparseCores have shared VMEM
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: vmem, smem, any or hbm
  have: f32[8,128] in vmem_shared
)"},
    {"PrefetchInVmem",
     {{"%n: memref<4xi32, #tpu.memory_space<smem>>", "%n: memref<4xi32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3013]: scalar prefetch operands are in SMEM
  --> k.mlir:2:31
   in kernel 'add_one'
   in scalar prefetch 0
  need: memory space smem
  have: i32[4] in vmem
error[SM3010]: index map 'in' takes other arguments than it gets
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: the grid indices and the scalar prefetch refs: (i32, i32[4] in vmem)
  have: (i32, i32[4] in smem)
error[SM3010]: index map 'out' takes other arguments than it gets
  --> k.mlir:14:3
   in kernel 'add_one'
   in output 0
  need: the grid indices and the scalar prefetch refs: (i32, i32[4] in vmem)
  have: (i32, i32[4] in smem)
)"},
    {"NoDimensionsInVmem",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<f32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3013]: a ref without dimensions cannot be in VMEM
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: memory space smem, or a shape of (1, 1)
  have: f32[] in vmem
)"},
    {"OtherElements",
     {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xi32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3008]: the kernel sees other elements than the array has
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: f32 (of f32[16,128])
  have: i32
)"},
    {"WholeArrayOfAnotherShape",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}", "{}"}},
     {},
     R"(error[SM3009]: the array is passed whole, but the kernel's ref has another shape
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: f32[16,128]
  have: f32[8,128]
  help: give it a window
)"},
    {"WindowWithoutAGrid",
     {{"%i: i32, ", ""},
      {"dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,",
       "dimension_semantics = [],"}},
     {},
     R"(error[SM3006]: a window without a grid
  --> k.mlir:2:66
   in kernel 'add_one'
   in input 0
  need: iteration_bounds, or no window_params
  have: no grid
error[SM3006]: a window without a grid
  --> k.mlir:3:22
   in kernel 'add_one'
   in output 0
  need: iteration_bounds, or no window_params
  have: no grid
error[SM3010]: index map 'in' takes other arguments than it gets
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: the grid indices and the scalar prefetch refs: (i32[4] in smem)
  have: (i32, i32[4] in smem)
error[SM3010]: index map 'out' takes other arguments than it gets
  --> k.mlir:14:3
   in kernel 'add_one'
   in output 0
  need: the grid indices and the scalar prefetch refs: (i32[4] in smem)
  have: (i32, i32[4] in smem)
)"},
    {"BlockIsNotTheRef",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @in, window_bounds = array<i64: 16, 128>}"}},
     {},
     R"(error[SM3007]: the block shape is not the shape of the kernel's ref
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: (16, 128)
  have: (8, 128)
)"},
    {"BlockOfAnotherRank",
     {},
     [](KernelPackage& p) { p.operands[1] = {DType::f32, {16, 128, 1}}; },
     R"(error[SM3007]: the block has another rank than the array
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: 3 dimensions, as f32[16,128,1]
  have: (8, 128)
)"},
    {"EmptyBlock",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @in, window_bounds = array<i64: 0, 128>}"},
      {"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<0x128xf32, #tpu.memory_space<vmem>>"}},
     {},
     R"(error[SM3007]: a block cannot be empty
  --> k.mlir:2:75
   in kernel 'add_one'
   in input 0
  need: sizes of 1 or more
  have: (0, 128)
)"},
};
INSTANTIATE_TEST_SUITE_P(Arguments, FinishArguments, ::testing::ValuesIn(kArguments), nameOf);

const Case kIndexMapsAndAliases[] = {
    {"MapIsMissing",
     {{"{transform_indices = @in, window_bounds = array<i64: 8, 128>}",
       "{transform_indices = @gone, window_bounds = array<i64: 8, 128>}"}},
     {},
     R"(error[SM3010]: the index map function 'gone' is missing
  --> k.mlir:2:3
   in kernel 'add_one'
   in input 0
  need: a function in the module
  have: none
)"},
    {"MapBranches",
     {{R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  })",
       R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    cf.br ^bb1
  ^bb1:
    return %i, %i : i32, i32
  })"}},
     {},
     R"(error[SM3010]: index map 'in' branches between blocks
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: structured control flow
  have: 2 blocks
error[SM3103]: a kernel cannot contain the op 'cf.br'
  --> k.mlir:12:5
   in kernel 'add_one'
  need: the ops that Pallas lowers TensorCore kernels to
)"},
    {"MapTakesTooLittle",
     {{R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  })",
       R"(@in(%i: i32) -> (i32, i32) {
    return %i, %i : i32, i32
  })"}},
     {},
     R"(error[SM3010]: index map 'in' takes other arguments than it gets
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: the grid indices and the scalar prefetch refs: (i32, i32[4] in smem)
  have: (i32)
)"},
    {"MapGivesTooLittle",
     {{R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  })",
       R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> i32 {
    return %i : i32
  })"}},
     {},
     R"(error[SM3010]: index map 'in' must give an index for each dimension of the block
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: 2 of type i32, for the block (8, 128)
  have: (i32)
)"},
    {"MapGivesWideIntegers",
     {{R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  })",
       R"(@in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i64) {
    %c = arith.constant 0 : i64
    return %i, %c : i32, i64
  })"}},
     {},
     R"(error[SM3010]: index map 'in' must give an index for each dimension of the block
  --> k.mlir:11:3
   in kernel 'add_one'
   in input 0
  need: 2 of type i32, for the block (8, 128)
  have: (i32, i64)
  help: Python's integers have 64 bits under jax_enable_x64: return jnp.int32(0) instead of 0
)"},
    {"AliasOfNoOutput",
     {},
     [](KernelPackage& p) { p.aliases = {{.output = 1, .operand = 1}}; },
     R"(error[SM3011]: an alias names an output that is not there
  --> k.mlir:2:3
   in kernel 'add_one'
   in input_output_aliases {1: 1}
  need: 0 to 0
  have: output 1
)"},
    {"AliasOfNoOperand",
     {},
     [](KernelPackage& p) { p.aliases = {{.output = 0, .operand = 2}}; },
     R"(error[SM3011]: an alias names an operand that is not there
  --> k.mlir:2:3
   in kernel 'add_one'
   in input_output_aliases {2: 0}
  need: 0 to 1
  have: operand 2
)"},
    {"AliasOfAnotherType",
     {},
     [](KernelPackage& p) { p.aliases = {{.output = 0, .operand = 0}}; },
     R"(error[SM3011]: an aliased operand and output have different types
  --> k.mlir:2:3
   in kernel 'add_one'
   in input_output_aliases {0: 0}
  need: f32[16,128]
  have: i32[4]
)"},
    {"AliasTwice",
     {},
     [](KernelPackage& p) { p.aliases = {{.output = 0, .operand = 1}, {.output = 0, .operand = 1}}; },
     R"(error[SM3011]: an operand or output is aliased twice
  --> k.mlir:2:3
   in kernel 'add_one'
   in input_output_aliases {1: 0}
  need: one alias for each
  have: operand 1, output 0
)"},
};
INSTANTIATE_TEST_SUITE_P(IndexMapsAndAliases, FinishArguments, ::testing::ValuesIn(kIndexMapsAndAliases), nameOf);

}  // namespace
}  // namespace smalti::testing
