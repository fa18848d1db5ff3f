// What waits prove, and what all orders have in common, against every order tried one by one.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "machine/observers/race/AllOrders.h"
#include "machine/observers/race/Credits.h"
#include "machine/runtime/Allocation.h"

namespace smalti::machine::race {
namespace {

Clock clockOf(std::initializer_list<Epoch> epochs) {
  Clock c;
  for (Epoch e : epochs) c.reach(e);
  return c;
}

TEST(Credits, AWaitForAllOfThemProvesAll) {
  Credits s;
  s.raise({1, 1}, clockOf({{1, 1}}), 1);
  s.raise({2, 1}, clockOf({{2, 1}}), 1);
  Clock waiter;
  s.take(2, waiter);
  EXPECT_TRUE(waiter.covers({1, 1}) && waiter.covers({2, 1}));
}

TEST(Credits, AWaitForOneOfTwoProvesNeitherUntilBothAreTaken) {
  Credits s;
  s.raise({1, 1}, clockOf({{1, 1}}), 1);
  s.raise({2, 1}, clockOf({{2, 1}}), 1);
  Clock waiter;
  s.take(1, waiter);
  EXPECT_FALSE(waiter.covers({1, 1}) || waiter.covers({2, 1}));
  s.take(1, waiter);
  EXPECT_TRUE(waiter.covers({1, 1}) && waiter.covers({2, 1}));
}

TEST(Credits, TheFirstOfTwoInARowIsProvedByOne) {
  Credits s;
  s.raise({1, 1}, clockOf({{1, 1}}), 1);
  s.raise({1, 2}, clockOf({{1, 2}}), 1);
  Clock waiter;
  s.take(1, waiter);
  EXPECT_TRUE(waiter.covers({1, 1}));
  EXPECT_FALSE(waiter.covers({1, 2}));
  // A third one later does not make the second one needless.
  s.take(1, waiter);
  EXPECT_TRUE(waiter.covers({1, 2}));
}

TEST(Credits, BytesOfUnequalCopies) {
  Credits s;  // 100 cannot be there without the copy of 100; 50 can
  s.raise({1, 1}, clockOf({{1, 1}}), 100);
  s.raise({2, 1}, clockOf({{2, 1}}), 50);
  Clock waiter;
  s.take(50, waiter);
  EXPECT_FALSE(waiter.covers({1, 1}) || waiter.covers({2, 1}));
  Credits t;
  t.raise({1, 1}, clockOf({{1, 1}}), 100);
  t.raise({2, 1}, clockOf({{2, 1}}), 50);
  Clock other;
  t.take(100, other);
  EXPECT_TRUE(other.covers({1, 1}));
  EXPECT_FALSE(other.covers({2, 1}));
}

TEST(Credits, TheRestOfASignalDoesNotNeedTheNextSignal) {
  Credits s;
  s.raise({1, 1}, clockOf({{1, 1}}), 2);
  Clock waiter;
  s.take(1, waiter);
  EXPECT_TRUE(waiter.covers({1, 1}));
  s.raise({2, 1}, clockOf({{2, 1}}), 1);
  s.take(1, waiter);
  EXPECT_FALSE(waiter.covers({2, 1}));
  s.take(1, waiter);
  EXPECT_TRUE(waiter.covers({2, 1}));
}

TEST(Credits, ReadingACountOrdersEventsLikeTakingIt) {
  Credits s;
  s.raise({1, 1}, clockOf({{1, 1}}), 1);
  Clock waiter;
  s.see(0, waiter);
  EXPECT_FALSE(waiter.covers({1, 1}));
  s.see(1, waiter);
  EXPECT_TRUE(waiter.covers({1, 1}));
}

// ---- all orders

struct Op {
  AllOrders::Operation sync;
  int access = -1;  ///< an access to this byte instead
  bool write = false;
};

/// A few threads of a few steps each over two semaphores, each of which one thread waits on, and two bytes.
struct System {
  std::vector<std::vector<Op>> threads;
};

System randomSystem(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  System s;
  s.threads.resize(2 + static_cast<size_t>(below(2)));
  const int n = static_cast<int>(s.threads.size());
  for (int t = 0; t < n; ++t)
    for (int k = 1 + below(4); k > 0; --k) {
      Op op;
      switch (below(3)) {
        case 0:
          op.access = below(2);
          op.write = below(2) == 0;
          break;
        case 1:
          op.sync = {.raises = below(n), .raisesBy = 1 + below(2)};
          break;
        default:
          op.sync = {.waitsOn = t, .waitsFor = 1 + below(2)};
      }
      s.threads[static_cast<size_t>(t)].push_back(op);
    }
  return s;
}

/// Every order, step by step: which accesses are both next to do somewhere, and whether some order gets stuck.
struct Tried {
  std::set<std::array<int, 4>> races;  ///< thread, step, thread, step
  std::set<bool> ended;
};

void tryAll(const System& s, std::vector<int> at, std::map<int, int64_t> counts, std::set<std::vector<int64_t>>& seen,
            Tried& out) {
  std::vector<int64_t> state(at.begin(), at.end());
  for (size_t t = 0; t < at.size(); ++t) state.push_back(counts[static_cast<int>(t)]);
  if (!seen.insert(state).second) return;
  const auto next = [&](size_t t) -> const Op* {
    return at[t] < static_cast<int>(s.threads[t].size()) ? &s.threads[t][static_cast<size_t>(at[t])] : nullptr;
  };
  for (size_t t = 0; t < at.size(); ++t)
    for (size_t u = 0; u < t; ++u) {
      const Op *a = next(t), *b = next(u);
      if (a && b && a->access >= 0 && a->access == b->access && (a->write || b->write))
        out.races.insert({static_cast<int>(u), at[u], static_cast<int>(t), at[t]});
    }
  bool moved = false, all = true;
  for (size_t t = 0; t < at.size(); ++t) {
    const Op* op = next(t);
    if (!op) continue;
    all = false;
    if (op->access < 0 && op->sync.waitsOn >= 0 && counts[op->sync.waitsOn] < op->sync.waitsFor) continue;
    auto after = counts;
    if (op->access < 0 && op->sync.waitsOn >= 0) after[op->sync.waitsOn] -= op->sync.waitsFor;
    if (op->access < 0 && op->sync.raises >= 0) after[op->sync.raises] += op->sync.raisesBy;
    auto moves = at;
    ++moves[t];
    moved = true;
    tryAll(s, moves, after, seen, out);
  }
  if (!moved) out.ended.insert(all);
}

TEST(AllOrders, FindsTheRacesOfEveryOrderAndNoOthers) {
  std::mt19937 random(7);
  Allocation memory;
  memory.type = {DType::i8, {2}};
  int racy = 0, clean = 0, stuck = 0;
  for (int i = 0; i < 20'000; ++i) {
    const System s = randomSystem(random);
    Tried tried;
    std::set<std::vector<int64_t>> seen;
    tryAll(s, std::vector<int>(s.threads.size(), 0), {}, seen, tried);
    ASSERT_EQ(tried.ended.size(), 1u) << "all orders end, or none does";
    stuck += !*tried.ended.begin();
    if (!*tried.ended.begin()) continue;  // the machine says so itself

    AllOrders orders;
    std::map<std::pair<int, const void*>, int> steps;
    std::vector<Party> parties;
    for (size_t t = 0; t < s.threads.size(); ++t) orders.addThread(true);
    for (size_t t = 0; t < s.threads.size(); ++t)
      for (size_t k = 0; k < s.threads[t].size(); ++k) {
        const Op& op = s.threads[t][k];
        const int thread = static_cast<int>(t);
        if (op.access < 0) {
          orders.add(thread, op.sync);
          continue;
        }
        // The step in `core`, so that what is reported can be told.
        orders.add({thread,
                    orders.operations(thread),
                    false,
                    op.write,
                    {{&memory, op.access, {1}, {1}, {}}, {}, false},
                    {thread, static_cast<int>(k), nullptr, MemoryAccess::Kind::store, nullptr, nullptr}});
      }
    std::set<std::array<int, 4>> found;
    ASSERT_TRUE(orders.races(1'000'000, [&](const AllOrders::Access& a, const AllOrders::Access& b) {
      const auto& [first, second] = a.thread < b.thread ? std::tie(a, b) : std::tie(b, a);
      found.insert({first.party.device, first.party.core, second.party.device, second.party.core});
    }));
    // Equal accesses between the same operations are reported once.
    for (const auto& race : found) EXPECT_TRUE(tried.races.contains(race)) << "system " << i;
    EXPECT_EQ(found.empty(), tried.races.empty()) << "system " << i;
    for (const auto& [t, k, u, l] : tried.races) {
      const auto segment = [&](int thread, int step) {
        int n = 0;
        for (int j = 0; j < step; ++j) n += s.threads[static_cast<size_t>(thread)][static_cast<size_t>(j)].access < 0;
        return n;
      };
      const int byte = s.threads[static_cast<size_t>(t)][static_cast<size_t>(k)].access;
      const bool same = std::any_of(found.begin(), found.end(), [&](const auto& f) {
        return f[0] == t && f[2] == u && segment(t, f[1]) == segment(t, k) && segment(u, f[3]) == segment(u, l) &&
               s.threads[static_cast<size_t>(t)][static_cast<size_t>(f[1])].access == byte;
      });
      EXPECT_TRUE(same) << "system " << i << " thread " << t << " step " << k << ", thread " << u << " step " << l;
    }
    ++(found.empty() ? clean : racy);
  }
  EXPECT_GT(racy, 500);
  EXPECT_GT(clean, 500);
  EXPECT_GT(stuck, 500);
}

TEST(AllOrders, ACopyBeginsWhereItIsStartedAndFollowsThoseBeforeWhereItIsOrdered) {
  AllOrders orders;
  const int program = orders.addThread(true), first = orders.addThread(false), second = orders.addThread(false);
  orders.add(program, {.begins = first});
  orders.add(program, {.begins = second});
  for (int copy : {first, second}) {
    orders.add(copy, {.follows = copy == second ? std::vector<int>{first} : std::vector<int>()});
    orders.add(copy, {.raises = 0, .raisesBy = 1});
  }
  orders.add(program, {.waitsOn = 0, .waitsFor = 2});
  EXPECT_EQ(orders.farthest(program, 0), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(orders.farthest(first, 1), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(orders.farthest(second, 0), (std::vector<int>{2, 2, 0}));
  EXPECT_EQ(orders.farthest(second, 2), (std::vector<int>{3, 2, 2}));
}

}  // namespace
}  // namespace smalti::machine::race
