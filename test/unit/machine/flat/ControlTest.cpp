// Control flow: loops, branches, regions, and stopping in between.
#include "Harness.h"

namespace smalti::machine::test {
namespace {

using Control = Kernel;

TEST_F(Control, SI1_WhenRunsItsBodyOnlyWhenTrue) {
  scalars = {0};
  buffer(DType::i32, {1}, {5}, MemoryKind::smem);
  const std::string body = R"(
    %c = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %p = arith.cmpi ne, %i0, %zero : i32
    scf.if %p {
      memref.store %i0, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
    }
  )";
  run(body);
  EXPECT_EQ(out(0), (std::vector<double>{5}));
  scalars = {7};
  run(body);
  EXPECT_EQ(out(0), (std::vector<double>{7}));
}

TEST_F(Control, SI2_LoopsCarryVectorsAndScalarsAndWriteRefs) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::f32, {4});
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  run(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %hi = arith.constant 5 : i32
    %one = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : vector<4xf32>
    %sum, %n = scf.for %i = %lo to %hi step %one iter_args(%acc = %z, %count = %lo) -> (vector<4xf32>, i32) : i32 {
      %x = vector.load %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
      %next = arith.addf %acc, %x : vector<4xf32>
      %m = arith.addi %count, %i : i32
      %old = memref.load %2[%c] : memref<1xi32, #tpu.memory_space<smem>>
      %new = arith.addi %old, %one : i32
      memref.store %new, %2[%c] : memref<1xi32, #tpu.memory_space<smem>>
      scf.yield %next, %m : vector<4xf32>, i32
    }
    %f = arith.sitofp %n : i32 to f32
    %fs = vector.broadcast %f : f32 to vector<4xf32>
    %r = arith.addf %sum, %fs : vector<4xf32>
    vector.store %r, %1[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{15, 20, 25, 30}));
  EXPECT_EQ(out(2), (std::vector<double>{5}));
}

TEST_F(Control, CarriedValuesMayBePermuted) {
  buffer(DType::f32, {2}, {1, 2});
  buffer(DType::f32, {2});
  buffer(DType::f32, {2});
  run(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %hi = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %a0 = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %b0 = arith.negf %a0 : vector<2xf32>
    %c0 = arith.addf %a0, %a0 : vector<2xf32>
    %a, %b, %d = scf.for %i = %lo to %hi step %one iter_args(%x = %a0, %y = %b0, %z = %c0) -> (vector<2xf32>, vector<2xf32>, vector<2xf32>) : i32 {
      %w = arith.addf %z, %z : vector<2xf32>
      scf.yield %y, %x, %w : vector<2xf32>, vector<2xf32>, vector<2xf32>
    }
    vector.store %a, %1[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %s = arith.addf %b, %d : vector<2xf32>
    vector.store %s, %2[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{-1, -2}));
  EXPECT_EQ(out(2), (std::vector<double>{1 + 16, 2 + 32}));
}

TEST_F(Control, SI5_AWhileConditionMayReadRefs) {
  buffer(DType::i32, {1}, {27}, MemoryKind::smem);
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  run(R"(
    %c = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    %steps = scf.while (%n = %zero) : (i32) -> i32 {
      %x = memref.load %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
      %more = arith.cmpi ne, %x, %one : i32
      scf.condition(%more) %n : i32
    } do {
    ^bb0(%n: i32):
      %x = memref.load %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
      %r = arith.remsi %x, %two : i32
      %odd = arith.cmpi ne, %r, %zero : i32
      %y = scf.if %odd -> (i32) {
        %t = arith.muli %x, %three : i32
        %u = arith.addi %t, %one : i32
        scf.yield %u : i32
      } else {
        %h = arith.divsi %x, %two : i32
        scf.yield %h : i32
      }
      memref.store %y, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
      %m = arith.addi %n, %one : i32
      scf.yield %m : i32
    }
    memref.store %steps, %1[%c] : memref<1xi32, #tpu.memory_space<smem>>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{111}));
}

TEST_F(Control, AWhileMayCarryVectorsOfAnotherTypeThanItReturns) {
  buffer(DType::f32, {2}, {1, 2});
  buffer(DType::f32, {2});
  run(R"(
    %c = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %a = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %r = scf.while (%v = %a, %n = %zero) : (vector<2xf32>, i32) -> vector<2xf32> {
      %w = arith.addf %v, %v : vector<2xf32>
      %more = arith.cmpi slt, %n, %four : i32
      scf.condition(%more) %w : vector<2xf32>
    } do {
    ^bb0(%w: vector<2xf32>):
      %x = arith.subf %w, %a : vector<2xf32>
      scf.yield %x, %four : vector<2xf32>, i32
    }
    vector.store %r, %1[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{2, 4}));
}

TEST_F(Control, SI6_ALoopWithoutTripsGivesItsInitialValues) {
  scalars = {0};
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  run(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %init = arith.constant 42 : i32
    %r = scf.for %i = %lo to %i0 step %one iter_args(%acc = %init) -> (i32) : i32 {
      scf.yield %i : i32
    }
    memref.store %r, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
  )");
  EXPECT_EQ(out(0), (std::vector<double>{42}));
}

TEST_F(Control, ALoopNeedsAPositiveStep) {
  scalars = {0};
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  EXPECT_EQ(failure(R"(
    %lo = arith.constant 0 : i32
    %hi = arith.constant 3 : i32
    scf.for %i = %lo to %hi step %i0 : i32 {
      scf.yield
    }
  )"),
            "SM4012");
}

TEST_F(Control, SI4_BranchesSeeGridIndicesAndGiveVectors) {
  buffer(DType::f32, {2}, {1, 2});
  buffer(DType::f32, {2});
  const std::string body = R"(
    %c = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %a = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %p = arith.cmpi eq, %i0, %zero : i32
    %r = scf.if %p -> (vector<2xf32>) {
      %n = arith.negf %a : vector<2xf32>
      scf.yield %n : vector<2xf32>
    } else {
      %z = arith.constant dense<0.0> : vector<2xf32>
      scf.yield %z : vector<2xf32>
    }
    %s = arith.addf %r, %a : vector<2xf32>
    %t = arith.addf %s, %r : vector<2xf32>
    vector.store %t, %1[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )";
  scalars = {0};
  run(body);
  EXPECT_EQ(out(1), (std::vector<double>{-1, -2}));
  scalars = {1};
  run(body);
  EXPECT_EQ(out(1), (std::vector<double>{1, 2}));
}

TEST_F(Control, AnIndexSwitchPicksItsCaseOrTheDefault) {
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  const std::string body = R"(
    %c = arith.constant 0 : index
    %i = arith.index_cast %i0 : i32 to index
    %r = scf.index_switch %i -> i32
    case 2 {
      %a = arith.constant 20 : i32
      scf.yield %a : i32
    }
    case 5 {
      %b = arith.constant 50 : i32
      scf.yield %b : i32
    }
    default {
      scf.yield %i0 : i32
    }
    memref.store %r, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
  )";
  for (const auto& [value, expected] : {std::pair{2, 20}, {5, 50}, {3, 3}}) {
    scalars = {value};
    run(body);
    EXPECT_EQ(out(0)[0], expected);
  }
}

TEST_F(Control, RegionsReleaseWhatTheyAllocateEvenInLoops) {
  buffer(DType::f32, {2}, {1, 2});
  run(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %hi = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %lo to %hi step %one : i32 {
      %r = "tpu.region"() ({
        %s = memref.alloca() : memref<2xf32, #tpu.memory_space<vmem>>
        %a = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
        %d = arith.addf %a, %a : vector<2xf32>
        vector.store %d, %s[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
        %e = vector.load %s[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
        "tpu.yield"(%e) : (vector<2xf32>) -> ()
      }) : () -> vector<2xf32>
      vector.store %r, %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    }
  )");
  EXPECT_EQ(out(0), (std::vector<double>{8, 16}));
  EXPECT_EQ(core.allocations.size(), 3u);
  EXPECT_EQ(core.allocations[0], core.allocations[2]);  // the same identity each time
  EXPECT_EQ(core.live, 0);
}

TEST_F(Control, RunsStopAfterTheirInstructionsAndGoOn) {
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  ASSERT_TRUE(compileText(wrap(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %hi = arith.constant 100 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %lo to %hi step %one : i32 {
      %old = memref.load %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
      %new = arith.addi %old, %one : i32
      memref.store %new, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
    }
  )")));
  int runs = 0;
  for (;; ++runs) {
    Result<RunState> state = go(7);
    ASSERT_TRUE(state);
    if (*state == RunState::finished) break;
    EXPECT_EQ(*state, RunState::preempted);
  }
  EXPECT_GT(runs, 50);
  EXPECT_EQ(out(0), (std::vector<double>{100}));
  EXPECT_EQ(execution->instructions() / 7, runs);
}

TEST_F(Control, AnUndefinedConditionIsReportedToTheObserver) {
  buffer(DType::i32, {1}, {}, MemoryKind::smem);
  run(R"(
    %c = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %a = memref.load %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
    %p = arith.cmpi sgt, %a, %zero : i32
    scf.if %p {
      memref.store %zero, %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
    }
  )");
  ASSERT_EQ(core.recorder.undefinedUses.size(), 1u);
  EXPECT_EQ(core.recorder.undefinedUses[0].first, UndefinedUse::branch);
}

TEST_F(Control, IndexMapsReturnScalars) {
  scalars = {3, 4};
  buffer(DType::i32, {8}, {0, 10, 20, 30, 40, 50, 60, 70}, MemoryKind::smem);
  ASSERT_TRUE(
      compileText(R"(func.func @kernel(%i: i32, %j: i32, %t: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %x = arith.index_cast %j : i32 to index
    %v = memref.load %t[%x] : memref<8xi32, #tpu.memory_space<smem>>
    return %v, %i : i32, i32
  })"));
  ASSERT_EQ(*go(), RunState::finished);
  EXPECT_EQ(std::vector<int32_t>(execution->results().begin(), execution->results().end()),
            (std::vector<int32_t>{40, 3}));
  EXPECT_FALSE(execution->resultsUndefined());
}

TEST_F(Control, MasksFollowValuesThroughLoopsAndBranches) {
  Buffer& a = buffer(DType::f32, {2}, {1, 2});
  a.allDefined = false;
  a.defined = {1, 0};
  buffer(DType::f32, {2});
  scalars = {2};
  run(R"(
    %c = arith.constant 0 : index
    %lo = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : vector<2xf32>
    %r = scf.for %i = %lo to %i0 step %one iter_args(%acc = %z) -> (vector<2xf32>) : i32 {
      %p = arith.cmpi eq, %i, %lo : i32
      %v = scf.if %p -> (vector<2xf32>) {
        %x = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
        scf.yield %x : vector<2xf32>
      } else {
        scf.yield %acc : vector<2xf32>
      }
      scf.yield %v : vector<2xf32>
    }
    vector.store %r, %1[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(defined(1), (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace smalti::machine::test
