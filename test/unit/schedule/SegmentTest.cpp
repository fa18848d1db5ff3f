// How the ops of a body are put together to loop nests.
#include <gmock/gmock.h>

#include "TextBody.h"

namespace smalti::schedule {
namespace {

using testing::binary;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::load;
using testing::rowSum;
using testing::store;
using testing::TextBody;
using testing::unary;

TEST(Segment, ElementwiseOpsAndTheirStoreAreOneNestOverADenseRow) {
  TextBody body(load("a", "x") + load("b", "y") + binary("c", "arith.mulf", "a", "b") + unary("d", "math.exp", "c") +
                store("d", "o"));
  const Segment s = body.plan();
  ASSERT_EQ(s.nests.size(), 1u);
  EXPECT_THAT(s.nests[0].ops, ElementsAre(2, 3, 4)) << "loads are evaluated where they are used";
  EXPECT_THAT(s.materialised, IsEmpty());
  const NestPlan& plan = s.nests[0].plan;
  EXPECT_TRUE(plan.flattened);
  ASSERT_EQ(plan.roots.size(), 1u);
  EXPECT_EQ(plan.roots[0].columns, 8 * 128);
  EXPECT_FALSE(plan.roots[0].buffer) << "it writes the memory of the store";
  EXPECT_GE(plan.roots[0].cost, kExpensiveInstructions);
}

TEST(Segment, ARowReductionEndsAPhaseAndExpensiveValuesAreBuffered) {
  TextBody body(load("a", "x") + unary("e", "math.exp", "a") + rowSum("s", "e") + binary("q", "arith.divf", "e", "s") +
                store("q", "o"));
  const Segment s = body.plan();
  ASSERT_EQ(s.nests.size(), 1u);
  const NestPlan& plan = s.nests[0].plan;
  EXPECT_FALSE(plan.flattened);
  EXPECT_EQ(plan.phases(), 2);
  ASSERT_EQ(plan.rowBuffers.size(), 1u);
  const RowBuffer& kept = plan.rowBuffers.find(body.result("math.exp"))->second;
  EXPECT_EQ(kept.phase, 0);
  EXPECT_THAT(plan.buffers[kept.buffer].shape, ElementsAre(1, 128));
  EXPECT_FALSE(plan.buffers[kept.buffer].value) << "it serves the nest alone";
}

TEST(Segment, RowsOfABlockAreBufferedTogether) {
  TextBody body(load("a", "x") + unary("e", "math.exp", "a") + rowSum("s", "e") + binary("q", "arith.divf", "e", "s") +
                store("q", "o"));
  body.facts.rows.rowBlock = 4;
  const NestPlan plan = body.plan().nests.at(0).plan;
  EXPECT_THAT(plan.buffers.at(0).shape, ElementsAre(4, 128));
}

TEST(Segment, CheapValuesAreComputedAgain) {
  TextBody body(load("a", "x") + binary("d", "arith.addf", "a", "a") + rowSum("s", "d") +
                binary("q", "arith.divf", "d", "s") + store("q", "o"));
  EXPECT_THAT(body.plan().nests.at(0).plan.buffers, IsEmpty());
}

TEST(Segment, AStoreOverTheSameElementsThatAreLoadedJoins) {
  TextBody body(load("a", "x", "%i", 4) + "%b = arith.addf %a, %a : vector<4x128xf32>\n" + store("b", "x", "%i", 4));
  EXPECT_EQ(body.plan().nests.size(), 1u);
}

TEST(Segment, AStoreOverOtherElementsThanThoseLoadedDoesNotJoin) {
  TextBody body(load("a", "x", "%z", 4) + "%b = arith.addf %a, %a : vector<4x128xf32>\n" + store("b", "x", "%i", 4));
  const Segment s = body.plan();
  EXPECT_EQ(s.nests.size(), 2u);
  EXPECT_TRUE(s.materialised.contains(body.result("arith.addf")));
}

TEST(Segment, IndicesAreComparedByHowTheyAreComputed) {
  TextBody body("%j = arith.addi %i, %four : index\n%k = arith.addi %i, %four : index\n" + load("a", "x", "%j", 4) +
                "%b = arith.addf %a, %a : vector<4x128xf32>\n" + store("b", "x", "%k", 4));
  EXPECT_TRUE(haveSameAddress(*body.op("vector.load"), *body.op("tpu.vector_store")));
  EXPECT_EQ(body.plan().nests.size(), 1u);
  TextBody other("%j = arith.addi %i, %four : index\n%k = arith.muli %i, %four : index\n" + load("a", "x", "%j", 4) +
                 "%b = arith.addf %a, %a : vector<4x128xf32>\n" + store("b", "x", "%k", 4));
  EXPECT_FALSE(haveSameAddress(*other.op("vector.load"), *other.op("tpu.vector_store")));
  TextBody refs(load("a", "x") + store("a", "o"));
  EXPECT_FALSE(haveSameAddress(*refs.op("vector.load"), *refs.op("tpu.vector_store")));
}

TEST(Segment, ALoadThatAStoreMayOverwriteBeforeItsUseGetsABuffer) {
  const auto body = [](std::string_view row) {
    return TextBody(load("a", "x", "%z", 4) + load("b", "y", "%z", 4) + store("b", "x", row, 4) +
                    "%c = arith.addf %a, %b : vector<4x128xf32>\n" + store("c", "o", "%z", 4));
  };
  TextBody elsewhere = body("%i");
  const Segment s = elsewhere.plan();
  EXPECT_TRUE(s.materialised.contains(elsewhere.result("vector.load", 0)));
  EXPECT_FALSE(s.materialised.contains(elsewhere.result("vector.load", 1)));
  TextBody same = body("%z");
  EXPECT_THAT(same.plan().materialised, IsEmpty()) << "each row is loaded before it is stored";
}

TEST(Segment, AValueTakesTheBufferOfOneThatIsReadForTheLastTime) {
  TextBody body(load("a", "x") + unary("e", "math.exp", "a") + rowSum("s", "e") + binary("q", "arith.divf", "e", "s"));
  const mlir::Value input = body.result("vector.load");
  body.facts.values[input] = {DType::f32, {8, 128}, true, true};
  Segment s = schedule::planSegment({{.op = body.op("math.exp")}}, {}, body.facts);
  ASSERT_EQ(s.nests.size(), 1u);
  EXPECT_THAT(s.materialised, ::testing::SizeIs(1)) << "others need it";
  EXPECT_EQ(s.nests[0].plan.buffers.at(0).reuses, input);

  body.facts.values[input].isReusable = false;
  s = schedule::planSegment({{.op = body.op("math.exp")}}, {}, body.facts);
  EXPECT_FALSE(s.nests[0].plan.buffers.at(0).reuses) << "another value shares it";

  body.facts.values[input] = {DType::bf16, {8, 128}, true, true};
  s = schedule::planSegment({{.op = body.op("math.exp")}}, {}, body.facts);
  EXPECT_FALSE(s.nests[0].plan.buffers.at(0).reuses) << "elements of another size";
}

/// A copy within one ref reads all of its rows before it writes any, unless rows are written where they are read, or
/// the two boxes are apart.
TEST(BodyScheduler, AShiftedCopyWithinARefIsLoadedFirst) {
  const auto isLoadedFirst = [](std::string_view from, std::string_view to, int rows) {
    TextBody body(load("a", "o", from, rows) + store("a", "o", to, rows));
    return body.plan().materialised.contains(body.result("vector.load"));
  };
  EXPECT_TRUE(isLoadedFirst("%z", "%i", 4)) << "the distance is not known";
  EXPECT_TRUE(isLoadedFirst("%z", "%four", 5)) << "row 4 is in both";
  EXPECT_FALSE(isLoadedFirst("%z", "%four", 4)) << "the rows are others";
  EXPECT_FALSE(isLoadedFirst("%four", "%z", 4));
  EXPECT_FALSE(isLoadedFirst("%i", "%i", 4)) << "each row is loaded before it is stored";
}

TEST(BodyScheduler, LoadsGoOnWaitingUntilMemoryChanges) {
  const std::string text = load("a", "x") + binary("b", "arith.addf", "a", "a") + store("b", "o") +
                           "%m = arith.constant 1 : i32\n" + binary("c", "arith.mulf", "a", "b") + store("c", "y");
  TextBody body(text);
  BodyScheduler& scheduler = body.scheduler();
  const auto add = [&](const char* name, Access access) {
    scheduler.add({.op = body.op(name), .access = std::move(access)});
  };
  add("vector.load", {.memory = 1, .dtype = DType::f32, .shape = {8, 128}, .isDense = true});
  EXPECT_TRUE(scheduler.isIdle());
  scheduler.add({.op = body.op("arith.addf")});
  EXPECT_FALSE(scheduler.isIdle());
  Segment s = scheduler.take(Flush::values, body.facts);
  scheduler.finish(s, Flush::values);
  ASSERT_EQ(scheduler.pending().size(), 1u);
  EXPECT_TRUE(scheduler.findPending(body.op("vector.load"))) << "arith.mulf needs it";
  s = scheduler.take(Flush::beforeWrites, body.facts);
  EXPECT_TRUE(s.materialised.contains(body.result("vector.load"))) << "memory is about to change";
  scheduler.finish(s, Flush::beforeWrites);
  EXPECT_THAT(scheduler.pending(), IsEmpty());
}

}  // namespace
}  // namespace smalti::schedule
