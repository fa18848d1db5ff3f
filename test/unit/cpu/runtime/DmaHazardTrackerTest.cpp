// Copies between their start and their wait.
#include "cpu/runtime/DmaHazardTracker.h"

#include <array>

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

struct Memory {
  std::array<std::byte, 64> bytes{};
  Span at(int64_t begin, int64_t end) const { return {bytes.data() + begin, bytes.data() + end}; }
};
const int kSemaphores[2] = {};
const void* semaphore(int i) { return &kSemaphores[i]; }

TEST(DmaHazardTracker, WhatACopyReadsMayBeReadAndWhatItWritesMayNotBeTouched) {
  const Memory m;
  DmaHazardTracker f;
  EXPECT_TRUE(f.start(m.at(0, 8), m.at(32, 40), semaphore(0), 8));
  EXPECT_TRUE(f.access(m.at(0, 8), false));
  EXPECT_FALSE(f.access(m.at(7, 9), true));
  EXPECT_FALSE(f.access(m.at(39, 40), false));
  EXPECT_TRUE(f.access(m.at(8, 32), true));
  EXPECT_TRUE(f.access(m.at(36, 36), true)) << "nothing of it";
  f.wait(m.at(32, 40), semaphore(0), 8);
  EXPECT_TRUE(f.access(m.at(0, 64), true));
  EXPECT_TRUE(f.none());
}

TEST(DmaHazardTracker, CopiesMustNotOverlap) {
  const Memory m;
  DmaHazardTracker f;
  EXPECT_FALSE(f.start(m.at(0, 8), m.at(4, 12), semaphore(0), 8)) << "itself";
  EXPECT_TRUE(f.start(m.at(0, 8), m.at(32, 40), semaphore(0), 8));
  EXPECT_TRUE(f.start(m.at(0, 8), m.at(40, 48), semaphore(0), 8)) << "both only read it";
  EXPECT_FALSE(f.start(m.at(16, 24), m.at(33, 41), semaphore(1), 8));
  EXPECT_FALSE(f.start(m.at(32, 40), m.at(48, 56), semaphore(1), 8));
  EXPECT_FALSE(f.start(m.at(48, 56), m.at(0, 8), semaphore(1), 8));
}

TEST(DmaHazardTracker, OfCopiesThatRaiseOneSemaphoreAnyMayHaveArrived) {
  const Memory m;
  DmaHazardTracker f;
  EXPECT_TRUE(f.start(m.at(0, 4), m.at(32, 36), semaphore(0), 4));
  EXPECT_TRUE(f.start(m.at(0, 4), m.at(40, 44), semaphore(0), 4));
  f.wait(m.at(40, 44), semaphore(0), 4);
  EXPECT_FALSE(f.access(m.at(40, 44), true)) << "it may be the other one";
  EXPECT_FALSE(f.access(m.at(32, 36), true));
  f.wait({}, semaphore(1), 4);
  EXPECT_FALSE(f.access(m.at(32, 36), true)) << "another semaphore";
  f.wait({}, semaphore(0), 4);
  EXPECT_TRUE(f.none());
}

}  // namespace
}  // namespace smalti::cpu
