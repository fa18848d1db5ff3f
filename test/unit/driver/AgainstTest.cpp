// Our verdict compared with the compiler's.
#include "driver/compile/Against.h"

#include <gtest/gtest.h>

namespace smalti::driver {
namespace {

OwnVerdict own(bool accepted, const std::string& reason, int64_t vmemBytes = 0) {
  OwnVerdict v;
  v.accepted = accepted;
  v.reason = reason;
  v.vmemBytes = vmemBytes;
  return v;
}
CompilerVerdict theirs(bool accepted, const std::string& reason, int64_t vmemBytes = 0) {
  CompilerVerdict v;
  v.accepted = accepted;
  v.reason = reason;
  v.vmemBytes = vmemBytes;
  return v;
}

TEST(Against, VerdictsAndReasonsAreCompared) {
  EXPECT_EQ(compareVerdicts(own(true, ""), theirs(true, "")), Agreement::same);
  EXPECT_EQ(compareVerdicts(own(false, "vmem"), theirs(false, "vmem")), Agreement::same);
  EXPECT_EQ(compareVerdicts(own(false, "vmem"), theirs(false, "dma-size")), Agreement::otherReason);
  EXPECT_EQ(compareVerdicts(own(true, ""), theirs(false, "vmem")), Agreement::weAccept);
  EXPECT_EQ(compareVerdicts(own(false, "vmem"), theirs(true, "")), Agreement::weRefuse);
}

TEST(Against, ModulesWithoutAVerdictAgreeWithNone) {
  for (const std::string reason : {"crash", "timeout"})
    EXPECT_EQ(compareVerdicts(own(false, "vmem"), theirs(false, reason)), Agreement::unknown) << reason;
  OwnVerdict unread;
  unread.error = Diagnostic{.code = "SM2001", .message = "no module", .place = {}};
  EXPECT_EQ(compareVerdicts(unread, theirs(true, "")), Agreement::unknown);
  CompilerVerdict failed = theirs(false, "");
  failed.error = Diagnostic{.code = "SM6804", .message = "no topology", .place = {}};
  EXPECT_EQ(compareVerdicts(own(true, ""), failed), Agreement::unknown);
}

TEST(Against, BytesAreComparedWhereBothHaveAllOfThem) {
  EXPECT_DOUBLE_EQ(*vmemRatio(own(true, "", 150), theirs(true, "", 100)), 1.5);
  EXPECT_FALSE(vmemRatio(own(true, "", 150), theirs(false, "vmem")));
  EXPECT_FALSE(vmemRatio(own(true, "", 0), theirs(true, "", 0)));
  CompilerVerdict kept = theirs(true, "", 100);
  kept.xlaVmemOperands = 1;
  EXPECT_FALSE(vmemRatio(own(true, "", 150), kept));
}

TEST(Against, TheTallyCounts) {
  AgainstTally t;
  t.add(own(true, "", 100), theirs(true, "", 100));
  t.add(own(true, "", 102), theirs(true, "", 100));
  t.add(own(true, "", 104), theirs(true, "", 100));
  t.add(own(false, "vmem"), theirs(false, "crash"));
  EXPECT_EQ(t.same, 3);
  EXPECT_EQ(t.unknown, 1);
  EXPECT_EQ(t.vmemPairs, 3);
  EXPECT_EQ(t.vmemEqual, 1);
  EXPECT_EQ(t.vmemNear, 2);
  EXPECT_TRUE(t.agrees());
  t.add(own(true, ""), theirs(false, "vmem"));
  EXPECT_FALSE(t.agrees());
  EXPECT_EQ(t.numVerdicts(), 5);
}

}  // namespace
}  // namespace smalti::driver
