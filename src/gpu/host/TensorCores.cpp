// Products of warps (mma.sync, ldmatrix) and of warp groups (wgmma), with the layouts of the PTX ISA.
#include <algorithm>
#include <bit>
#include <cstring>
#include <ranges>

#include "eval/FloatFormats.h"
#include "gpu/host/Block.h"
#include "gpu/plan/ProductTile.h"

namespace smalti::gpu {
namespace {

/// An element as tensor cores read it.
template <class Sum>
Sum factor(const void* at, DType dtype) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(storage_bytes(dtype)));
  switch (dtype) {
    case DType::i8:
      return static_cast<Sum>(static_cast<int8_t>(bits));
    case DType::f16:
      return static_cast<Sum>(eval::f16ToF32(static_cast<uint16_t>(bits)));
    case DType::bf16:
      return static_cast<Sum>(eval::bf16ToF32(static_cast<uint16_t>(bits)));
    case DType::f8e4m3fn:
      return static_cast<Sum>(eval::f8e4m3fnToF32(static_cast<uint8_t>(bits)));
    case DType::f8e5m2:
      return static_cast<Sum>(eval::f8e5m2ToF32(static_cast<uint8_t>(bits)));
    default: {
      constexpr uint32_t kTf32 = 0xffffe000;  // 10 bits of the mantissa
      return static_cast<Sum>(std::bit_cast<float>(bits & kTf32));
    }
  }
}

/// A word contains E elements, and 16 bytes of a row 4 · E. The element (row, k) of the left operand is in lane
/// 4·(row mod 8) + (k mod 4E) / E, in the word (row ≥ 8) + 2·(k ≥ 4E); (k, column) of the right one in lane
/// 4·column + (k mod 4E) / E, in the word k ≥ 4E; its number in the word is k mod E.
template <class Sum>
void multiplyByWarp(Block& b, Sum* sums, DType dtype, int64_t number, int32_t lane, int32_t first) {
  const auto bytes = static_cast<int32_t>(storage_bytes(dtype)), inWord = 4 / bytes;
  for (int32_t e = 0; e < 4; ++e) {
    const int32_t row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    for (int32_t k = 0; k < 8 * inWord; ++k) {
      const int32_t inRow = k % (4 * inWord) / inWord, high = k / (4 * inWord);
      const auto* x =
          reinterpret_cast<const std::byte*>(b.given(number, first + 4 * (row % 8) + inRow) + row / 8 + 2 * high);
      const auto* y = reinterpret_cast<const std::byte*>(b.given(number, first + 4 * column + inRow) + 4 + high);
      sums[e] += factor<Sum>(x + k % inWord * bytes, dtype) * factor<Sum>(y + k % inWord * bytes, dtype);
    }
  }
}

}  // namespace

void hostMma(void* sums, DType dtype, const int32_t (&left)[4], const int32_t (&right)[2]) {
  Block& b = *running;
  const int32_t self = b.thread(), lane = self % kWarp, first = self - lane;
  const int64_t number = ++b.fibre().shuffles;
  std::copy_n(left, 4, b.given(number, self));
  std::copy_n(right, 2, b.given(number, self) + 4);
  b.wait(FibreState::atShuffle);
  if (dtype == DType::i8)
    multiplyByWarp(b, static_cast<int32_t*>(sums), dtype, number, lane, first);
  else
    multiplyByWarp(b, static_cast<float*>(sums), dtype, number, lane, first);
}

void hostLoadMatrices(int32_t (&words)[4], const void* row, int32_t transposed) {
  Block& b = *running;
  const int32_t self = b.thread(), lane = self % kWarp, first = self - lane;
  const int64_t number = ++b.fibre().shuffles;
  const auto address = reinterpret_cast<uintptr_t>(row);
  b.given(number, self)[0] = static_cast<int32_t>(address);
  b.given(number, self)[1] = static_cast<int32_t>(address >> 32);
  b.wait(FibreState::atShuffle);
  for (int32_t matrix = 0; matrix < 4; ++matrix) {
    const auto at = [&](int32_t r, int32_t c) {
      const int32_t* given = b.given(number, first + 8 * matrix + r);
      const uintptr_t from = static_cast<uint32_t>(given[0]) | static_cast<uintptr_t>(static_cast<uint32_t>(given[1]))
                                                                   << 32;
      uint16_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const std::byte*>(from) + 2 * c, sizeof(bits));
      return static_cast<uint32_t>(bits);
    };
    const int32_t r = lane / 4, c = 2 * (lane % 4);
    words[matrix] = static_cast<int32_t>(transposed ? at(c, r) | at(c + 1, r) << 16 : at(r, c) | at(r, c + 1) << 16);
  }
}

namespace {

/// The address of an element of an operand of a warp group's product, in rows of 128 bytes, eight after each other;
/// bits 4 to 6 of its address are xored with bits 7 to 9 (PTX ISA, "Swizzling Modes", 128-Byte swizzling). `side`: its
/// row or column. Only for 16-bit elements may K not be the inner dimension.
const std::byte* operandPlace(const std::byte* base, int64_t side, int64_t depth, bool depthInner, int64_t stride,
                              DType dtype) {
  constexpr int64_t kRow = 128, kEightRows = 8 * kRow, kInner = 64;
  auto address = reinterpret_cast<uintptr_t>(base);
  if (depthInner)
    address += static_cast<uintptr_t>(side / 8 * kEightRows + side % 8 * kRow + depth * storage_bytes(dtype));
  else
    address +=
        static_cast<uintptr_t>(side / kInner * stride + depth / 8 * kEightRows + depth % 8 * kRow + side % kInner * 2);
  return reinterpret_cast<const std::byte*>(address ^ (address >> 7 & 7) << 4);
}

/// Elements along K that an instruction multiplies.
int64_t depthOf(const GroupProduct& g) { return ProductTile::kStepBytes / storage_bytes(g.dtype); }

/// Computes this thread's sums of a warp group's product (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNkK").
template <class Sum>
void complete(const PendingProduct& p, int32_t thread) {
  const GroupProduct& g = p.product;
  const int64_t depth = depthOf(g);
  const int64_t lane = thread % kWarp, firstRow = thread / kWarp % 4 * 16 + lane / 4;
  for (int64_t half = 0; half < 2; ++half) {
    Sum left[ProductTile::kStepBytes];
    for (int64_t k = 0; k < depth; ++k)
      left[k] = g.lhsInRegisters
                    ? factor<Sum>(&p.fragment[static_cast<size_t>(half)][static_cast<size_t>(k)], g.dtype)
                    : factor<Sum>(operandPlace(p.left, firstRow + 8 * half, k, g.lhsDepthInner, g.lhsStride, g.dtype),
                                  g.dtype);
    for (int64_t fragment = 0; fragment < g.columns / 8; ++fragment)
      for (int64_t e = 0; e < 2; ++e) {
        Sum& sum = static_cast<Sum*>(p.sums)[4 * fragment + 2 * half + e];
        if (!p.adds) sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += left[k] * factor<Sum>(operandPlace(p.right, 8 * fragment + 2 * (lane % 4) + e, k, g.rhsDepthInner,
                                                    g.rhsStride, g.dtype),
                                       g.dtype);
      }
  }
}

void complete(const PendingProduct& p, int32_t thread) {
  if (p.product.dtype == DType::i8)
    complete<int32_t>(p, thread);
  else
    complete<float>(p, thread);
}

std::span<const std::byte> sumsOf(const PendingProduct& p) {
  constexpr int64_t kSumBytes = 4;
  return {static_cast<const std::byte*>(p.sums), static_cast<size_t>(kSumBytes * p.product.columns / 2)};
}

/// Accesses to the sums of a product in flight are undefined (PTX ISA, wgmma.mma_async).
void finish(const PendingProduct& p) {
  if (p.before && !std::ranges::equal(*p.before, sumsOf(p)))
    running->fail("the sums of a product of a warp group were written while it was in flight");
  complete(p, running->thread());
}

/// One thread of the group looks for all.
void checkOperands(const PendingProduct& p) {
  constexpr int64_t kRows = 64, kThreads = 4 * kWarp;
  if (running->thread() % kThreads != 0) return;
  const GroupProduct& g = p.product;
  const auto isPublished = [&](const std::byte* base, int64_t sides, bool depthInner, int64_t stride) {
    for (int64_t side = 0; side < sides; ++side)
      for (int64_t k = 0; k < depthOf(g); ++k)
        if (!running->isPublished(operandPlace(base, side, k, depthInner, stride, g.dtype))) return false;
    return true;
  };
  if (!isPublished(p.right, g.columns, g.rhsDepthInner, g.rhsStride) ||
      (p.left && !isPublished(p.left, kRows, g.lhsDepthInner, g.lhsStride)))
    running->fail("a product of a warp group reads copies of threads without fence.proxy.async");
}

void issue(PendingProduct p) {
  checkOperands(p);
  auto& products = running->fibre().products;
  if (!running->fibre().isFenced) running->fail("a product of a warp group was issued without wgmma.fence");
  if (running->multipliesAtOnce()) return complete(p, running->thread());
  const auto addsToThese = [&](const PendingProduct& other) { return other.sums == p.sums; };
  const auto anyAdds = [&](const auto& group) { return std::ranges::any_of(group, addsToThese); };
  if (std::ranges::none_of(products, anyAdds)) p.before.emplace(sumsOf(p).begin(), sumsOf(p).end());
  if (products.empty()) products.emplace_back();
  products.back().push_back(std::move(p));
}

}  // namespace

void hostGroupBegin() { running->fibre().isFenced = true; }

void hostGroupMma(void* sums, const void* left, const void* right, bool adds, const GroupProduct& product) {
  issue({sums, static_cast<const std::byte*>(left), static_cast<const std::byte*>(right), adds, product});
}

void hostGroupMma(void* sums, const int32_t (&left)[4], const void* right, bool adds, const GroupProduct& product) {
  PendingProduct p{sums, nullptr, static_cast<const std::byte*>(right), adds, product};
  // Words 0 and 1 have elements 0 … 7 along K of a row and of the row 8 further on, words 2 and 3 elements 8 … 15.
  for (int32_t lanes = 0; lanes < 4; ++lanes) {
    const auto column = static_cast<size_t>(2 * (running->thread() % 4 ^ lanes));
    for (size_t w = 0; w < 4; ++w) {
      const auto word = static_cast<uint32_t>(lanes == 0 ? left[w] : hostShuffle(left[w], lanes));
      for (size_t e = 0; e < 2; ++e)
        p.fragment[w % 2][w / 2 * 8 + column + e] = static_cast<uint16_t>(word >> (16 * e));
    }
  }
  issue(std::move(p));
}

void hostGroupCommit() {
  auto& products = running->fibre().products;
  if (products.empty()) products.emplace_back();
  products.emplace_back();
}

void hostGroupWait(int32_t groups) {
  Fibre& f = running->fibre();
  f.isFenced = false;
  const auto mayRemain = static_cast<size_t>(groups) + 1;
  const size_t ends = f.products.size() > mayRemain ? f.products.size() - mayRemain : 0;
  const auto ending = std::views::take(f.products, static_cast<ptrdiff_t>(ends));
  if (!std::ranges::all_of(ending, &std::vector<PendingProduct>::empty)) running->wait(FibreState::yielded);
  for (const auto& group : ending) std::ranges::for_each(group, finish);
  f.products.erase(f.products.begin(), f.products.begin() + static_cast<ptrdiff_t>(ends));
}

}  // namespace smalti::gpu
