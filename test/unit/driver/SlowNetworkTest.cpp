// A network that is not there: messages come whole, in order, and not before they can.
#include <gtest/gtest.h>

#include "../ThreadProcesses.h"
#include "driver/processes/SimulatedNetwork.h"

namespace smalti::driver {
namespace {

using namespace std::chrono_literals;
using Channel = Processes::Channel;

TEST(SimulatedNetwork, MessagesComeInOrderAndNotBeforeTheirTime) {
  test::Post post(2);
  test::ThreadProcesses first(post, 0), second(post, 1);
  const Network network{.latencySeconds = 0.02, .bytesPerSecond = 1e5};
  const auto sender = slowed(first, network), receiver = slowed(second, network);
  const auto begin = std::chrono::steady_clock::now();
  const Bytes large(std::vector(1000, std::byte{7})), small(std::vector(1, std::byte{9}));
  ASSERT_TRUE(sender->send(1, Channel::program, large));
  ASSERT_TRUE(sender->send(1, Channel::program, small));
  EXPECT_FALSE(*receiver->receive(Channel::program, 0, 0us)) << "it is on its way";
  for (const Bytes& expected : {large, small}) {
    auto message = receiver->receive(Channel::program, -1, 5s);
    ASSERT_TRUE(message && *message);
    EXPECT_EQ((*message)->from, 0);
    EXPECT_EQ((*message)->bytes, expected);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms) << "1,000 bytes take 10 ms, then 20 ms pass";
  }
}

TEST(SimulatedNetwork, SM1011_ANetworkIsTwoNumbers) {
  EXPECT_EQ(parseNetwork("20,12.5")->bytesPerSecond, 12.5e9);
  EXPECT_EQ(*parseNetwork(""), Network{});
  for (const char* text : {"20", "20,", ",1", "-1,2", "1,2,3", "fast", "inf,1", "1,inf", "nan,1", "1e10,1"}) {
    const auto network = parseNetwork(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(network.error().str(),
              std::string("error[SM1011]: net cannot be '") + text +
                  "'\n  need: latency in microseconds and bandwidth in GB/s: two numbers from 0 to 10^9 with a comma "
                  "between\n  have: " +
                  text + "\n  help: SMALTI_NET=20,12.5 is a network of 100 Gbit/s; a bandwidth of 0 is unlimited\n");
  }
}

}  // namespace
}  // namespace smalti::driver
