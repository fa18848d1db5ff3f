// The events of the overlapped pipeline: fetches one step ahead, write-backs one step behind (S-C14).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

using Lines = std::vector<std::string>;

/// "0 fetch> in0[0,0] slot 0": step, what, operand, block, buffer; ">" starts, "<" completes.
class Timeline final : public Observer {
 public:
  Interest interest() const override { return {.pipeline = true}; }
  void pipeline(const Actor&, const PipelineEvent& e) override {
    const char* const kNames[] = {"fetch>", "fetch<", "back>", "back<"};
    lines.push_back(fmt::format("{} {} {}[{}] slot {}", e.step, kNames[static_cast<int>(e.kind)], e.operand,
                                fmt::join(e.block, ","), e.slot));
    bytes += e.kind == PipelineEvent::Kind::fetchComplete ? e.bytes : 0;
    written += e.kind == PipelineEvent::Kind::writeBackComplete ? e.bytes : 0;
  }
  void stepEnd(const Actor&) override { lines.emplace_back("--"); }
  Lines lines;
  int64_t bytes = 0, written = 0;
};

Timeline watch(const TextKernel& k, const std::vector<Array>& operands) {
  Timeline timeline;
  Observer* const extra[] = {&timeline};
  const auto r = runOn(k, {operands}, {}, extra);
  EXPECT_TRUE(r) << r.error().str();
  return timeline;
}

TextKernel copies(const std::string& map, std::vector<int64_t> grid, const std::string& attributes = {}) {
  TextKernel k(std::move(grid));
  const Val x = k.input({.array = {20, 128}, .block = {8, 128}, .map = map + ", %c0", .attributes = attributes});
  const Val o = k.output({.array = {20, 128}, .block = {8, 128}, .map = map + ", %c0", .attributes = attributes});
  k.store(k.load(x), o);
  return k;
}

TEST(Overlap, SC14_FetchesRunAheadAndWriteBacksBehind) {
  const Timeline t = watch(copies("%i", {3}), {counting({20, 128})});
  EXPECT_EQ(t.lines, (Lines{
                         "0 fetch> 0[0,0] slot 0",
                         "0 fetch> 0[1,0] slot 1",
                         "0 fetch< 0[0,0] slot 0",
                         "0 back> 1[0,0] slot 0",
                         "--",
                         "1 fetch> 0[2,0] slot 0",
                         "1 fetch< 0[1,0] slot 1",
                         "1 back> 1[1,0] slot 1",
                         "1 back< 1[0,0] slot 0",
                         "--",
                         "2 fetch< 0[2,0] slot 0",
                         "2 back> 1[2,0] slot 0",
                         "2 back< 1[1,0] slot 1",
                         "--",
                         "2 back< 1[2,0] slot 0",
                     }));
  EXPECT_EQ(t.bytes, 20 * 128 * 4) << "the last block extends past the edge: only what is there is fetched";
  EXPECT_EQ(t.written, t.bytes);
}

TEST(Overlap, SC1_SC3_ABlockThatStaysIsCopiedOnce) {
  const Timeline t = watch(copies("%i", {2, 3}), {counting({20, 128})});
  EXPECT_EQ(t.lines, (Lines{
                         "0 fetch> 0[0,0] slot 0",
                         "0 fetch< 0[0,0] slot 0",
                         "--",
                         "--",
                         "2 fetch> 0[1,0] slot 1",
                         "2 back> 1[0,0] slot 0",
                         "--",
                         "3 fetch< 0[1,0] slot 1",
                         "3 back< 1[0,0] slot 0",
                         "--",
                         "--",
                         "5 back> 1[1,0] slot 1",
                         "--",
                         "5 back< 1[1,0] slot 1",
                     }));
}

TEST(Overlap, SC14_SynchronousWindowsHaveOneBuffer) {
  const Timeline t = watch(copies("%i", {2}, "pipeline_mode = #tpu.pipeline_mode<synchronous>"), {counting({20, 128})});
  EXPECT_EQ(t.lines, (Lines{
                         "0 fetch> 0[0,0] slot 0",
                         "0 fetch< 0[0,0] slot 0",
                         "0 back> 1[0,0] slot 0",
                         "0 back< 1[0,0] slot 0",
                         "--",
                         "1 fetch> 0[1,0] slot 0",
                         "1 fetch< 0[1,0] slot 0",
                         "1 back> 1[1,0] slot 0",
                         "--",
                         "1 back< 1[1,0] slot 0",
                     }));
}

TEST(Overlap, LookingAheadIsNotSeenByOthers) {
  TextKernel k({3});
  const Val table = k.prefetch("i32", {3});
  (void)table;
  const Val x = k.input({.array = {24, 128},
                         .block = {8, 128},
                         .map = "%b, %c0",
                         .lines = "%at = arith.index_cast %i : i32 to index\n%b = memref.load %p0[%at] : " +
                                  memref("i32", {3}, "smem") + "\n"});
  const Val o = k.output({.array = {24, 128}, .block = {8, 128}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  const Array order = i32Array({3}, [](int64_t i) { return static_cast<int32_t>(2 - i); });
  class Both final : public Observer {
   public:
    explicit Both(bool ahead) : ahead_(ahead) {}
    Interest interest() const override { return {.instructions = true, .pipeline = ahead_}; }
    void instruction(const Actor&, const InstructionEvent&) override { ++instructions; }
    void access(const Actor&, const MemoryAccess&) override { ++accesses; }
    int instructions = 0, accesses = 0;

   private:
    bool ahead_;
  } with(true), without(false);
  Observer* const first[] = {&with};
  Observer* const second[] = {&without};
  const auto a = runOn(k, {{order, counting({24, 128})}}, {}, first);
  const auto b = runOn(k, {{order, counting({24, 128})}}, {}, second);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(with.instructions, without.instructions);
  EXPECT_EQ(with.accesses, without.accesses);
  EXPECT_EQ(a->statistics.instructions, b->statistics.instructions);
  EXPECT_EQ(floats(a->results[0][0]), floats(b->results[0][0]));
  EXPECT_EQ(watch(k, {order, counting({24, 128})}).lines[1], "0 fetch> 0[1,0] slot 1");
}

}  // namespace
}  // namespace smalti::machine::testing
