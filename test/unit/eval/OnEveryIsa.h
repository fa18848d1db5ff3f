// Tests whose bodies run once per instruction set.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "eval/Isa.h"

namespace smalti::eval::test {

class OnEveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isaSupported(GetParam())) GTEST_SKIP() << "this processor does not have it";
    setActiveIsa(GetParam());
  }
  void TearDown() override { setActiveIsa(before_); }

 private:
  const Isa before_ = activeIsa();
};

inline auto everyIsa() { return testing::Values(Isa::baseline, Isa::avx2, Isa::avx512); }
inline std::string isaName(const testing::TestParamInfo<Isa>& info) {
  return info.param == Isa::avx512 ? "Avx512" : info.param == Isa::avx2 ? "Avx2" : "Baseline";
}

}  // namespace smalti::eval::test
