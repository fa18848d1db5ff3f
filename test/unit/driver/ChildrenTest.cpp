#include "driver/case/Children.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "../Sanitized.h"
#include "driver/case/Conform.h"

namespace smalti::driver {
namespace {

std::map<int64_t, ChildResult> runAll(int64_t count, const ChildLimits& limits,
                                      const std::function<std::string(int64_t)>& work) {
  std::map<int64_t, ChildResult> results;
  runInChildren(count, limits, work, [&](int64_t i, const ChildResult& r) { results[i] = r; }, [] {});
  return results;
}

TEST(Children, EachReturnsItsOutput) {
  const auto results =
      runAll(9, {.atOnce = 3}, [](int64_t i) { return std::string(static_cast<size_t>(i) * 100'000, 'x'); });
  ASSERT_EQ(results.size(), 9u);
  for (const auto& [i, r] : results) {
    EXPECT_TRUE(r.finished);
    EXPECT_EQ(r.output.size(), static_cast<size_t>(i) * 100'000);
  }
}

TEST(Children, ACrashAffectsOnlyOnePiece) {
  const auto results = runAll(3, {.atOnce = 2}, [](int64_t i) -> std::string {
    if (i == 1) {
      (void)!::write(STDERR_FILENO, "last words\n", 11);
      std::abort();
    }
    return "fine";
  });
  EXPECT_TRUE(results.at(0).finished);
  EXPECT_FALSE(results.at(1).finished);
  EXPECT_EQ(results.at(1).signal, SIGABRT);
  EXPECT_EQ(results.at(1).standardError, "last words");
  EXPECT_TRUE(results.at(2).finished);
}

TEST(Children, SeveralPiecesShareAChild) {
  const auto results = runAll(7, {.atOnce = 2, .piecesEach = 3}, [](int64_t i) -> std::string {
    static int64_t begun = 0;  // in this child
    if (i == 2) std::abort();
    return std::to_string(++begun);
  });
  ASSERT_EQ(results.size(), 7u);
  int64_t shared = 0;
  for (const auto& [i, r] : results) {
    EXPECT_EQ(r.finished, i != 2);
    shared += r.finished && r.output != "1";
    EXPECT_TRUE(!r.finished || (r.output >= "1" && r.output <= "3"));
  }
  EXPECT_GE(shared, 2);
}

TEST(Children, NothingIsBegunAfterAStop) {
  bool stop = false;
  int64_t numDone = 0;
  runInChildren(
      100, {.atOnce = 1, .piecesEach = 10, .stop = &stop}, [](int64_t) { return std::string(); },
      [&](int64_t, const ChildResult&) { stop = ++numDone >= 3; }, [] {});
  EXPECT_LE(numDone, 4);  // the piece that was begun before the third was known to be done
}

TEST(Children, AHangIsEnded) {
  const auto results = runAll(2, {.atOnce = 2, .seconds = 0.3}, [](int64_t i) -> std::string {
    while (i == 0) ::pause();
    return "fine";
  });
  EXPECT_TRUE(results.at(0).timedOut);
  EXPECT_FALSE(results.at(0).finished);
  EXPECT_TRUE(results.at(1).finished);
}

TEST(Children, MemoryExhaustionIsReported) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("it reserves more address space than the limit");
  const auto results = runAll(1, {.atOnce = 1, .addressSpaceMib = 64}, [](int64_t) -> std::string {
    try {
      return std::string(std::vector<char>(size_t{1} << 30).size() ? "had it" : "");
    } catch (const std::bad_alloc&) {
      return "bad_alloc";
    }
  });
  EXPECT_EQ(results.at(0).output, "bad_alloc");
}

TEST(Children, OutcomesRoundTrip) {
  CaseOutcome o;
  o.verdict = Verdict::fail;
  o.diagnostic = Diagnostic{.code = "SM4102",
                            .message = "m\xff",
                            .place = {"f.py", 3, 4},
                            .where = {"kernel 'k'"},
                            .need = "n",
                            .have = "h",
                            .help = "x",
                            .related = {{.code = "SM1001", .message = "r", .place = {}}}};
  o.findings = {{*o.diagnostic, 7}};
  o.maxError = 0.5;
  o.maxErrorAt = "result 0 (1)";
  o.wrong = "w";
  const auto back = outcomeFromText(toText(o));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->verdict, Verdict::fail);
  EXPECT_EQ(back->diagnostic->place, o.diagnostic->place);
  EXPECT_EQ(back->diagnostic->related.at(0).code, "SM1001");
  EXPECT_EQ(back->findings.at(0).count, 7);
  EXPECT_EQ(back->maxError, 0.5);
  EXPECT_EQ(back->wrong, "w");
  for (const char* text : {"", "{", "[]", "{\"verdict\": 99}", "{\"verdict\": \"x\"}", "null"})
    EXPECT_FALSE(outcomeFromText(text)) << text;
}

}  // namespace
}  // namespace smalti::driver
