#include "base/memory/BlockMemory.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../Sanitized.h"
#include "smalti/array.h"

namespace smalti {
namespace {

TEST(BlockMemory, BlocksInUseAreApartAndAligned) {
  std::vector<std::pair<char*, size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes : {0u, 1u, 64u, 4096u, 4097u, 60000u, 70000u, 1u << 20, 3u << 20})
      for (int i = 0; i < 12; ++i) {
        auto* block = static_cast<char*>(allocateBlock(bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        std::memset(block, static_cast<int>(blocks.size()), bytes);
        blocks.emplace_back(block, bytes);
      }
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t b = 0; b < blocks[i].second; b += 61) ASSERT_EQ(blocks[i].first[b], static_cast<char>(i));
      freeBlock(blocks[i].first, blocks[i].second);
    }
    blocks.clear();
  }
}

TEST(BlockMemory, AThreadFindsItsLastBlocksAgain) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("blocks are the sanitizer's");
  for (const size_t bytes : {size_t{4096}, size_t{300000}}) {
    std::set<void*> given;
    for (int i = 0; i < 4; ++i) given.insert(allocateBlock(bytes));
    for (void* block : given) freeBlock(block, bytes);
    void* other = allocateBlock(2 * bytes);
    EXPECT_FALSE(given.contains(other));
    for (int i = 0; i < 4; ++i) {
      void* block = allocateBlock(bytes);
      EXPECT_EQ(given.erase(block), 1u);
      std::free(block);
    }
    freeBlock(other, 2 * bytes);
  }
}

TEST(BlockMemory, BlocksThatNoThreadKeepsAreFoundAgain) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("blocks are the sanitizer's");
  constexpr size_t kBytes = 100000, kCount = 40;  // more than a thread keeps
  std::set<void*> given;
  for (size_t i = 0; i < kCount; ++i) given.insert(allocateBlock(kBytes));
  for (void* block : given) freeBlock(block, kBytes);
  std::thread([&] {  // those that this thread keeps are its own
    size_t found = 0;
    std::set<void*> taken;
    for (size_t i = 0; i < kCount; ++i) taken.insert(allocateBlock(kBytes));
    for (void* block : taken) found += given.contains(block);
    EXPECT_GE(found, kCount / 2);
    for (void* block : taken) freeBlock(block, kBytes);
  })
      .join();
}

TEST(BlockMemory, ThreadsEndBeforeTheirLastArrays) {
  for (int i = 0; i < 4; ++i)
    std::thread([] {
      thread_local Array last;  // destroyed after what the thread keeps, which is made later
      last = *Array::allocate({DType::f32, {8, 128}});
      Array::allocate({DType::f32, {8, 128}}).value();
    }).join();
}

}  // namespace
}  // namespace smalti
