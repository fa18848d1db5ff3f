// Devices of one kernel in several processes, which are threads here: messages, deadlocks that span processes, and
// processes that give up.
#include <thread>

#include <gmock/gmock.h>

#include "../../ThreadProcesses.h"
#include "TextKernel.h"
#include "machine/ProcessTransport.h"

namespace smalti::machine::testing {
namespace {

using test::Post, test::ThreadProcesses;
using ::testing::HasSubstr;

constexpr int kDevices = 4;

/// What each of `count` processes gets of a kernel on four devices; run twice.
std::vector<Result<KernelResult>> runShared(int count, const std::function<TextKernel(int process)>& kernelOf,
                                            const std::vector<Array>& operands) {
  Post post(count);
  std::vector<Result<KernelResult>> results(static_cast<size_t>(count), Result<KernelResult>(KernelResult{}));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadProcesses processes(post, rank);
      KernelMessages messages{&processes, 0, {}};
      for (int times = 0; times < 2; ++times) {
        MachineOptions o = checked();
        o.allDevices = kDevices;
        o.firstDevice = rank * kDevices / count;
        o.transport = [&](Endpoint& e) { return makeProcessTransport(e, messages, kDevices); };
        const std::vector<std::vector<Array>> here(static_cast<size_t>(kDevices / count), operands);
        results[static_cast<size_t>(rank)] = runOn(kernelOf(rank), here, o);
      }
    });
  for (std::thread& t : threads) t.join();
  return results;
}

/// Every device sends its rows to the one with the opposite number.
TextKernel toOpposite() {
  TextKernel k;
  const Val x = k.input({.array = {4, 8}, .space = "any"}), o = k.output({.array = {4, 8}, .space = "any"});
  const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
  const Val peer = k.binary("arith.subi", k.constant(kDevices - 1), k.deviceId());
  k.remoteDma(x, send, o, receive, peer);
  k.waitSend(x, send, o, receive, peer);
  k.waitReceive(x, send, o, receive, peer);
  return k;
}

/// Every device waits for a copy that nobody makes.
TextKernel waitsForEver() {
  TextKernel k;
  const Val x = k.input({.array = {4, 8}, .space = "any"}), o = k.output({.array = {4, 8}, .space = "any"});
  const Val send = k.dmaSemaphore(), receive = k.dmaSemaphore();
  const Val peer = k.binary("arith.subi", k.constant(kDevices - 1), k.deviceId());
  k.waitReceive(x, send, o, receive, peer);
  return k;
}

TEST(ProcessTransport, SG6_CopiesReachDevicesOfOtherProcesses) {
  for (const int count : {1, 2, 4})
    for (const auto& result : runShared(count, [](int) { return toOpposite(); }, {counting({4, 8})})) {
      ASSERT_TRUE(result) << result.error().str();
      for (const Finding& f : result->findings) ADD_FAILURE() << f.diagnostic.str();
      ASSERT_EQ(result->results.size(), static_cast<size_t>(kDevices / count));
      for (const auto& ofDevice : result->results) EXPECT_EQ(floats(ofDevice[0]), floats(counting({4, 8})));
    }
}

TEST(ProcessTransport, SM4103_EveryProcessReportsItsPartOfADeadlock) {
  const auto results = runShared(2, [](int) { return waitsForEver(); }, {counting({4, 8})});
  for (size_t process = 0; process < 2; ++process) {
    ASSERT_FALSE(results[process]);
    EXPECT_EQ(results[process].error().code, "SM4103");
    EXPECT_THAT(results[process].error().str(), HasSubstr(process == 0 ? "device 1" : "device 3"));
  }
}

TEST(ProcessTransport, SM5011_AFinishedProcessIsNotifiedOfADeadlockElsewhere) {
  const auto results = runShared(
      2, [](int process) { return process == 0 ? TextKernel(toOpposite()) : waitsForEver(); }, {counting({4, 8})});
  ASSERT_FALSE(results[0]);
  EXPECT_THAT(results[0].error().code, ::testing::AnyOf("SM4103", "SM5011"));
  ASSERT_FALSE(results[1]);
}

}  // namespace
}  // namespace smalti::machine::testing
