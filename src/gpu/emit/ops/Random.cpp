// The hardware's random numbers (S-L2): Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), keyed by the seed words, as src/eval/bits/Prng.cpp has them.
#include <array>

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {
namespace {

using Words = std::array<Reg, 4>;
using Key = std::array<Reg, 2>;

Words philox(Builder& b, Words x, Key key) {
  constexpr uint32_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57, kWeyl = 0x9E3779B9, kOther = 0xBB67AE85;
  constexpr int kRounds = 10;
  llvm::Type* wide = b.getInt64Ty();
  const auto product = [&](uint32_t factor, Reg word) {
    return b.CreateMul(b.getInt64(factor), b.CreateZExt(word, wide));
  };
  const auto low = [&](Reg r) { return b.CreateTrunc(r, b.getInt32Ty()); };
  const auto high = [&](Reg r) { return b.CreateTrunc(b.CreateLShr(r, 32), b.getInt32Ty()); };
  for (int round = 0; round < kRounds; ++round) {
    Reg a = product(kFirst, x[0]), c = product(kSecond, x[2]);
    x = {b.CreateXor(b.CreateXor(high(c), x[1]), key[0]), low(c), b.CreateXor(b.CreateXor(high(a), x[3]), key[1]),
         low(a)};
    key = {b.CreateAdd(key[0], b.getInt32(kWeyl)), b.CreateAdd(key[1], b.getInt32(kOther))};
  }
  return x;
}

/// Slots of the generator's state: key and counter. Every thread has a copy.
struct Generator {
  Reg first, second, counter;
};
Generator stateOf(GpuLowering& l) {
  if (!l.random[0]) {
    auto& entry = l.function->getEntryBlock();
    Builder atEnd(entry.getTerminator());
    for (Reg& slot : l.random) {
      slot = l.slot(atEnd.getInt64Ty());
      atEnd.CreateStore(atEnd.getInt64(0), slot);
    }
  }
  return {l.random[0], l.random[1], l.random[2]};
}
Reg word(Builder& b, Reg slot) { return b.CreateTrunc(b.CreateLoad(b.getInt64Ty(), slot), b.getInt32Ty()); }
void setWord(Builder& b, Reg slot, Reg value) { b.CreateStore(b.CreateZExt(value, b.getInt64Ty()), slot); }

/// The first two words are the key. Every further pair is encrypted with the key so far, which gives the next key.
NativeResult lowerSeed(GpuLowering& l, mlir::Operation& op) {
  Builder& b = l.b;
  std::vector<Reg> words;
  for (mlir::Value v : op.getOperands()) {
    Reg r = isVector(v) ? nullptr : l.scalar(v);
    if (!r) return unsupported("a seed that device code does not follow");
    words.push_back(b.CreateSExtOrTrunc(r, b.getInt32Ty()));
  }
  const auto at = [&](size_t i) { return i < words.size() ? words[i] : static_cast<Reg>(b.getInt32(0)); };
  Key key{at(0), at(1)};
  for (size_t i = 2; i < words.size(); i += 2) {
    const Words mixed =
        philox(b, {at(i), at(i + 1), b.getInt32(static_cast<uint32_t>(i)), b.getInt32(0xffffffff)}, key);
    key = {mixed[0], mixed[1]};
  }
  const Generator state = stateOf(l);
  setWord(b, state.first, key[0]);
  setWord(b, state.second, key[1]);
  b.CreateStore(l.index(0), state.counter);
  return {};
}

NativeResult lowerBits(GpuLowering& l, mlir::Operation& op) {
  const mlir::Value result = op.getResult(0);
  if (elementDType(result.getType()) != DType::i32) return unsupported("random numbers that are not 32 bits wide");
  Builder& b = l.b;
  const Generator state = stateOf(l);
  const View made = l.allocate(DType::i32, shapeOf(result.getType()));
  const int64_t n = made.elements();
  constexpr int64_t kWords = 4;
  const int64_t groups = (n + kWords - 1) / kWords;
  Reg counter = b.CreateLoad(b.getInt64Ty(), state.counter);
  const Key key{word(b, state.first), word(b, state.second)};
  l.touch({}, {made.memory});
  l.forElements(Shape{groups}, [&](const ElementIndex& group) {
    Reg at = b.CreateAdd(counter, group[0]);
    const Words words = philox(b,
                               {b.CreateTrunc(at, b.getInt32Ty()), b.CreateTrunc(b.CreateLShr(at, 32), b.getInt32Ty()),
                                b.getInt32(0), b.getInt32(0)},
                               key);
    for (int64_t k = 0; k < kWords; ++k) {
      Reg position = b.CreateAdd(b.CreateMul(group[0], l.index(kWords)), l.index(k));
      const auto store = [&] {
        b.CreateAlignedStore(words[static_cast<size_t>(k)], b.CreateGEP(b.getInt32Ty(), made.base, position),
                             llvm::Align(4));
      };
      if (n % kWords == 0)
        store();
      else
        l.when(b.CreateICmpULT(position, l.index(n)), store);
    }
  });
  b.CreateStore(b.CreateAdd(counter, l.index(groups)), state.counter);
  if (isVector(result)) {
    l.setView(result, made);
  } else {
    l.touch({made.memory}, {});
    l.setScalar(result, cpu::loadElements(b, DType::i32, made.base, 1));
  }
  return l.status;
}

constexpr std::array<GpuOpRow, 2> kRandomTable{{
    {"tpu.prng_set_seed_32", lowerSeed},
    {"tpu.prng_random_bits", lowerBits},
}};

}  // namespace

std::span<const GpuOpRow> randomOps() { return kRandomTable; }

}  // namespace smalti::gpu
