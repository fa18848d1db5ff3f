// What tests of the language share.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace smalti::testing {

/// The code of the Error that `work` throws; "" when it throws none.
template <class F>
std::string codeOf(const F& work) {
  const auto done = attempt([&] { (void)work(); });
  return done ? "" : done.error().code;
}

inline void expectEqual(const Array& a, const Array& b) {
  ASSERT_EQ(a.type(), b.type());
  for (int64_t i = 0; i < a.elements(); ++i) ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]) << i;
}

/// Calls the kernel with every time at which a DMA may move its data (S-G1), and under the observers.
template <class... A>
Array everyWay(const PallasCall& call, const A&... x) {
  for (const auto& f : call.check(x...).findings) ADD_FAILURE() << f.diagnostic.str();
  Array result;
  for (const char* mode : {"eager", "on-wait", "random"}) {
    Settings settings;
    EXPECT_TRUE(settings.set("dma", mode));
    use_settings(settings);
    result = call(x...);
  }
  use_settings(Settings());
  return result;
}

}  // namespace smalti::testing
