// S-G1, S-G11: accesses that nothing orders, between a kernel and its copies, cores, devices.
#include <set>

#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"
#include "machine/observers/Registry.h"

namespace smalti::machine::testing {
namespace {

using Codes = std::vector<std::string>;

/// Codes that occur, under a few seeds, each at least once.
std::set<std::string> codesOverSeeds(const TextKernel& k, const std::vector<std::vector<Array>>& operands,
                                     int cores = 1) {
  std::set<std::string> all;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    MachineOptions o = checked();
    o.seed = seed;
    o.cores = cores;
    const auto r = runOn(k, operands, o);
    EXPECT_TRUE(r.has_value()) << r.error().str() << k.text();
    if (r)
      for (const std::string& code : codes(*r)) all.insert(code);
  }
  return all;
}

/// Device 0 copies its input to device 1's scratch, which device 1 writes and reads before it waits for the copy.
/// `asks`: device 1 says when it may come.
struct Sender {
  TextKernel k;
  Val x = k.input({.array = {4, 4}}), o = k.output({.array = {4, 4}}), v = k.scratch("f32", {4, 4});
  Val send = k.dmaSemaphore(), receive = k.dmaSemaphore(), free = k.semaphore();
  explicit Sender(bool asks) {
    const Val zero = k.constant(0), one = k.constant(1), me = k.deviceId();
    k.store(k.load(x), o);
    k.when(k.compare("eq", me, zero), [&] {
      if (asks) k.semWait(free, k.constant(1));
      k.remoteDma(x, send, v, receive, one);
      k.waitSend(x, send, v, receive, one);
    });
    k.when(k.compare("eq", me, one), [&] {
      k.store(k.load(x), v);
      k.store(k.load(v), o);
      if (asks) k.semSignal(free, k.constant(1), zero);
      k.waitReceive(x, send, v, receive, one);
      k.store(k.load(v), o);
    });
  }
  std::vector<std::vector<Array>> operands() const { return {{counting({4, 4})}, {counting({4, 4})}}; }
};

TEST(Races, SG11_AnUnexpectedRemoteCopy) {
  EXPECT_EQ(codesOverSeeds(Sender(true).k, Sender(true).operands()), std::set<std::string>{});
  const Sender racy(false);
  EXPECT_EQ(codesOverSeeds(racy.k, racy.operands()), std::set<std::string>{"SM4113"});
}

TEST(Races, SG11_TheMessageNamesBothAndWhatIsMissing) {
  const Sender racy(false);
  const auto r = runOn(racy.k, racy.operands(), checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), (Codes{"SM4113", "SM4113"}));
  for (const Finding& f : r->findings) {
    const Diagnostic& d = f.diagnostic;
    const bool write = d.message.find("and written") != std::string::npos;
    EXPECT_EQ(d.message, std::string("scratch 0 is written by a copy and ") + (write ? "written" : "read") +
                             " by the kernel, and nothing orders the two");
    EXPECT_TRUE(
        d.have.starts_with("elements 0 to 15 of scratch 0 of device 1 written by the copy from input 0 to "
                           "scratch 0 that device 0 starts at "))
        << d.have;
    EXPECT_EQ(d.need,
              "a wait of device 1 for the copy (scratch 2) before it uses the memory; or, where it uses the memory "
              "first, a signal of device 1 after that, for which device 0 waits before it starts the copy");
    EXPECT_EQ(d.help, "wait before the access, or signal back when the memory may be written again");
  }
}

/// Devices 0 and 1 both copy to device 2.
TEST(Races, SG11_TwoSendersOfOneSlot) {
  for (bool twoSlots : {false, true}) {
    TextKernel k;
    const Val x = k.input({.array = {4, 4}, .space = "any"}), o = k.output({.array = {2, 4, 4}, .space = "any"});
    const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
    const Val zero = k.constant(0), two = k.constant(2), me = k.deviceId();
    const Val slot = twoSlots ? me : zero;
    k.when(k.compare("slt", me, two), [&] {
      const Val to = k.squeeze(k.slice(o, {slot, zero, zero}, {1, 4, 4}), {4, 4});
      k.remoteDma(x, send, to, receive, two);
      k.waitSend(x, send, to, receive, two);
    });
    k.when(k.compare("eq", me, two), [&] {
      const Val any = k.squeeze(k.slice(o, {zero, zero, zero}, {1, 4, 4}), {4, 4});
      k.waitReceive(x, send, any, receive, two);
      k.waitReceive(x, send, any, receive, two);
    });
    const std::vector<std::vector<Array>> operands(3, {counting({4, 4})});
    std::set<std::string> found = codesOverSeeds(k, operands);
    found.erase("SM4102");  // nobody writes the outputs of the others
    EXPECT_EQ(found, twoSlots ? std::set<std::string>{} : std::set<std::string>{"SM4113"});
  }
}

TEST(Races, SG2_AWaitForOneOfTwoCopiesProvesNeither) {
  for (bool early : {false, true}) {
    TextKernel k;
    const Val x = k.input({.array = {4, 4}, .space = "any"}), o = k.output({.array = {4, 4}});
    const Val v = k.scratch("f32", {4, 4}), w = k.scratch("f32", {4, 4}), sem = k.dmaSemaphore();
    k.dma(x, v, sem);
    k.dma(x, w, sem);
    k.waitDma(x, v, sem);
    if (early) k.store(k.load(v), o);
    k.waitDma(x, w, sem);
    k.store(k.load(v), o);
    const auto found = codesOverSeeds(k, {{counting({4, 4})}});
    EXPECT_EQ(found.contains("SM4108"), early);
  }
}

TEST(Races, SH2_CoresThatWriteOneBlock) {
  for (const std::string block : {"%c0, %c0", "%i, %c0"}) {
    TextKernel k({2}, "parallel");
    const Val x = k.input({.array = {2, 128}, .block = {1, 128}, .map = "%i, %c0"});
    const Val o = k.output({.array = {2, 128}, .block = {1, 128}, .map = block});
    k.store(k.load(x), o);
    const std::vector<std::vector<Array>> operands{{counting({2, 128})}};
    const bool shared = block == "%c0, %c0";
    EXPECT_EQ(codesOverSeeds(k, operands, 2).contains("SM4113"), shared);
    EXPECT_FALSE(codesOverSeeds(k, operands, 1).contains("SM4113"));
    if (!shared) continue;
    MachineOptions options = checked();
    options.cores = 2;
    const auto r = runOn(k, operands, options);
    ASSERT_TRUE(r);
    const Diagnostic& d = r->findings.at(0).diagnostic;
    EXPECT_EQ(d.code, "SM4113");
    EXPECT_EQ(d.message, "output 0 is written by the pipeline and written by the pipeline, and nothing orders the two");
    EXPECT_EQ(d.need, "blocks that only one core writes: a grid axis along which values are carried is `arbitrary`");
    EXPECT_EQ(d.help, "mark the axis `arbitrary`, or let the index map give each core blocks of its own");
  }
}

/// Atomic updates by two cores are ordered one after another; a copy to the same elements is not.
TEST(Races, D8_ACopyToWhatCoresUpdateAtomically) {
  for (const bool copies : {false, true}) {
    TextKernel k({2}, "parallel");
    const Val x = k.input({.array = {8, 128}, .space = "any"}), o = k.output({.array = {8, 128}, .space = "any"});
    const Val one = k.splat(k.f32(1), {8, 128}), sem = k.dmaSemaphore();
    k.alias(0, 0);
    k.raw("%updated = tpu.atomic \"add\" " + o.name + ", " + one.name + " : " + o.type + ", " + one.type + " -> " +
          one.type);
    if (copies) {
      const Val v = k.scratch("f32", {8, 128});
      k.store(one, v);
      k.when(k.compare("eq", k.id(0), k.constant(1)), [&] {
        k.dma(v, o, sem);
        k.waitDma(v, o, sem);
      });
    }
    const std::vector<std::vector<Array>> operands{{counting({8, 128})}};
    const auto expected = copies ? std::set<std::string>{"SM4113"} : std::set<std::string>{};
    EXPECT_EQ(codesOverSeeds(k, operands, 2), expected) << k.text();
    EXPECT_EQ(codesOverSeeds(k, operands, 1), std::set<std::string>{});
  }
}

TEST(Races, SH2_CarriedSumsAlongAnyParallelAxisAreFound) {
  for (const std::string semantics : {"parallel,arbitrary", "arbitrary,parallel", "parallel,parallel"}) {
    TextKernel k({2, 2}, semantics);
    const Val x = k.input({.array = {4, 128}, .block = {1, 128}, .map = "%i, %c0"});
    // A sum over axis 1: right where that is arbitrary.
    const Val o = k.output({.array = {2, 128}, .block = {1, 128}, .map = "%i, %c0"});
    const Val sum = k.scratch("f32", {1, 128});
    k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.splat(k.f32(0), {1, 128}), sum); });
    k.store(k.binary("arith.addf", k.load(sum), k.load(x)), sum);
    k.store(k.load(sum), o);
    const auto found = codesOverSeeds(k, {{counting({4, 128})}}, 2);
    EXPECT_EQ(found.empty(), semantics == "parallel,arbitrary") << semantics;
  }
}

/// Whoever copies to a device must know that it is in the kernel.
TEST(Races, SG9_ACopyToADeviceThatMayNotBeThere) {
  for (bool bothWays : {true, false}) {
    TextKernel k;
    const Val x = k.input({.array = {4, 4}, .space = "any"}), o = k.output({.array = {4, 4}, .space = "any"});
    const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
    const Val one = k.constant(1), three = k.constant(3), me = k.deviceId();
    const Val right = k.binary("arith.remui", k.binary("arith.addi", me, one), three);
    const Val left = k.binary("arith.remui", k.binary("arith.addi", me, k.constant(2)), three);
    const Val barrier = k.barrier();
    k.semSignal(barrier, one, right);
    if (bothWays) k.semSignal(barrier, one, left);
    k.semWait(barrier, k.constant(bothWays ? 2 : 1));
    k.remoteDma(x, send, o, receive, right);
    k.waitSend(x, send, o, receive, right);
    k.waitReceive(x, send, o, receive, right);
    const std::vector<std::vector<Array>> operands(3, {counting({4, 4})});
    EXPECT_EQ(codesOverSeeds(k, operands), bothWays ? std::set<std::string>{} : std::set<std::string>{"SM4114"});
    if (bothWays) continue;
    const auto r = runOn(k, operands, checked());
    ASSERT_TRUE(r);
    const Diagnostic& d = r->findings.at(0).diagnostic;
    EXPECT_EQ(d.message, "a copy reaches a device that may not have entered the kernel");
    EXPECT_EQ(d.need,
              "a barrier before the first copy or signal to another device: a signal to it and a wait for its own, on "
              "the barrier semaphore");
    EXPECT_TRUE(d.have.starts_with("nothing that device ") && d.have.ends_with(" is in the kernel")) << d.have;
    EXPECT_EQ(d.help,
              "signal the barrier semaphore of every device that this one writes to or is written by, and wait for as "
              "many signals");
  }
}

/// Masked stores touch what is selected.
TEST(Races, SD9_AMaskedStoreBesideACopy) {
  for (int selected : {0, 3}) {
    TextKernel k;
    const Val x = k.input({.array = {1, 128}, .space = "any"}), o = k.output({.array = {4, 128}});
    const Val v = k.scratch("f32", {4, 128}), sem = k.dmaSemaphore();
    k.store(k.splat(k.f32(0), {4, 128}), v);
    const Val zero = k.constant(0);
    const Val row = k.slice(v, {zero, zero}, {1, 128});
    k.dma(x, row, sem);
    const Val rows = k.fresh("vector<4x128xi32>"), mask = k.fresh("vector<4x128xi1>"),
              at = k.fresh("vector<4x128xi32>");
    k.raw(rows.name + " = \"tpu.iota\"() <{dimensions = array<i32: 0>}> : () -> vector<4x128xi32>");
    k.raw(at.name + " = arith.constant dense<" + std::to_string(selected) + "> : vector<4x128xi32>");
    k.raw(mask.name + " = arith.cmpi eq, " + rows.name + ", " + at.name + " : vector<4x128xi32>");
    const Val ones = k.splat(k.f32(1), {4, 128}), c0 = k.fresh("index");
    k.raw(c0.name + " = arith.constant 0 : index");
    k.raw("\"tpu.vector_store\"(" + ones.name + ", " + v.name + ", " + c0.name + ", " + c0.name + ", " + mask.name +
          ") <{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>}> : (" + ones.type +
          ", " + v.type + ", index, index, " + mask.type + ") -> ()");
    k.waitDma(x, row, sem);
    k.store(k.load(v), o);
    const auto found = codesOverSeeds(k, {{counting({1, 128})}});
    EXPECT_EQ(found, selected == 0 ? std::set<std::string>{"SM4108"} : std::set<std::string>{});
  }
}

/// With the checker of all orders: what one run says.
RunStatistics everyOrder(const TextKernel& k, const std::vector<std::vector<Array>>& operands, Codes& found) {
  MachineOptions o;
  o.checks = {&orderRow()};
  const auto r = runOn(k, operands, o);
  EXPECT_TRUE(r.has_value()) << r.error().str();
  found = r ? codes(*r) : Codes{};
  return r ? r->statistics : RunStatistics{};
}

TEST(Orders, OneRunShowsTheRacesOfAll) {
  for (bool asks : {true, false}) {
    const Sender s(asks);
    Codes found;
    const RunStatistics statistics = everyOrder(s.k, s.operands(), found);
    EXPECT_EQ(statistics.allOrders, 1);
    EXPECT_EQ(statistics.someOrders, 0);
    EXPECT_EQ(found.empty(), asks);
  }
}

TEST(Orders, AKernelThatPollsWhatACopyRaisesIsOnlyTried) {
  for (bool copies : {false, true}) {
    TextKernel k;
    const Val x = k.input({.array = {1, 4}, .space = "any"}), v = k.scratch("f32", {1, 4});
    const Val o = k.output({.dtype = "i32", .array = {1}, .space = "smem"});
    const Val sem = k.semaphore(), other = k.semaphore();
    k.dma(x, v, copies ? sem : other);
    k.scalarStore(k.semRead(sem), o, {k.constant(0)});
    k.waitDma(x, v, copies ? sem : other);
    Codes found;
    const RunStatistics statistics = everyOrder(k, {{counting({1, 4})}}, found);
    EXPECT_EQ(statistics.allOrders, copies ? 0 : 1);
    EXPECT_EQ(statistics.someOrders, copies ? 1 : 0);
  }
}

}  // namespace
}  // namespace smalti::machine::testing
