#include "cpu/product/gemm/Pack.h"

#include <fmt/format.h>

#include "cpu/product/gemm/Ir.h"
#include "cpu/product/gemm/MicroKernel.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

using llvm::Value;

std::string nameOf(const char* what, const PackSpec& s) {
  return fmt::format("smalti_{}_{}_{}x{}_{}_{}", what, name(s.from), static_cast<int>(s.to), s.group, s.lanes, s.tail);
}

llvm::SmallVector<llvm::Type*, 8> copyParameters(llvm::Module& module, int sizes) {
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  auto* number = llvm::Type::getInt64Ty(module.getContext());
  llvm::SmallVector<llvm::Type*, 8> types{pointer, number, pointer, number};
  types.append(sizes, number);
  return types;
}

/// Joins `group` vectors of elements to one of words; the elements of the first vector become the low bits.
Value* wordsOfVectors(Ir& ir, const Values& rows, int lanes) {
  auto* wordType = ir.vectorOf(ir.b.getInt32Ty(), lanes);
  if (rows.size() == 1) return rows[0];
  const int bits = 32 / static_cast<int>(rows.size());
  Value* words = nullptr;
  for (size_t i = 0; i < rows.size(); ++i) {
    Value* part = ir.b.CreateShl(ir.b.CreateZExt(rows[i], wordType), bits * i);
    words = words ? ir.b.CreateOr(words, part) : part;
  }
  return words;
}

/// Computes `group` vectors of words at once from as many rows of whole vectors. Shuffles interleave pairs of rows,
/// then pairs of these.
Values wordsOfWholeRows(Ir& ir, Values rows, int lanes) {
  const int group = static_cast<int>(rows.size());
  for (int width = 1; width < group; width *= 2) {  // elements already joined
    const int elements = lanes * group / width;
    auto* type = ir.vectorOf(ir.b.getIntNTy(32 * width / group), elements);
    llvm::SmallVector<int, 64> low, high;
    for (int i = 0; i < elements / 2; ++i) {
      low.append({i, elements + i});
      high.append({elements / 2 + i, elements + elements / 2 + i});
    }
    // rows[r · width + part]: the part-th vector of the r-th group of joined rows.
    Values joined(rows.size());
    for (int r = 0; r < group / width; r += 2)
      for (int part = 0; part < width; ++part) {
        Value* x = ir.b.CreateBitCast(rows[r * width + part], type);
        Value* y = ir.b.CreateBitCast(rows[(r + 1) * width + part], type);
        joined[r * width + 2 * part] = ir.b.CreateShuffleVector(x, y, low);
        joined[r * width + 2 * part + 1] = ir.b.CreateShuffleVector(x, y, high);
      }
    rows = joined;
  }
  for (Value*& row : rows) row = ir.b.CreateBitCast(row, ir.vectorOf(ir.b.getInt32Ty(), lanes));
  return rows;
}

Value* fenced(Ir& ir, Value* x) { return ir.b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {x->getType()}, {x}); }

/// rows[i][j] ↔ rows[j][i], of f32, by exchanging blocks of half the size in each round. Fences between the rounds keep
/// LLVM from searching all of them for better shuffles, in vain and for longer than the entire rest of a
/// kernel's compilation.
void transpose(Ir& ir, Values& rows) {
  const int size = static_cast<int>(rows.size());
  for (int d = size / 2; d >= 1; d /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int lane = 0; lane < size; ++lane) {
      low.push_back(lane & d ? size + lane - d : lane);
      high.push_back(lane & d ? size + lane : lane + d);
    }
    for (int i = 0; i < size; ++i) {
      if (i & d) continue;
      Value *x = rows[i], *y = rows[i + d];
      rows[i] = fenced(ir, ir.b.CreateShuffleVector(x, y, low));
      rows[i + d] = fenced(ir, ir.b.CreateShuffleVector(x, y, high));
    }
  }
}

}  // namespace

Values wordsOfRows(Ir& ir, const PackSpec& s, Value* row, Value* stride, int vectors, int lastLanes, int present) {
  llvm::Type* element = ir.memoryType(s.from);
  const int bytes = storage_bytes(s.from);
  Values rows{row}, words;
  for (int g = 1; g < present; ++g) rows.push_back(ir.at(rows.back(), stride));
  const auto elements = [&](int g, int first, int lanes, int valid) {
    return ir.convert(ir.load(element, lanes, valid, ir.at(rows[g], first * s.lanes * bytes)), s.from, s.to,
                      s.nativeHalf);
  };
  if (s.group > 1 && present == s.group && 8 * bytes * s.group == 32)
    for (int v = 0; v + s.group <= vectors - (lastLanes < s.lanes); v += s.group) {
      Values whole;
      for (int g = 0; g < s.group; ++g) whole.push_back(elements(g, v, s.lanes * s.group, s.lanes * s.group));
      words.append(wordsOfWholeRows(ir, whole, s.lanes));
    }
  for (int v = static_cast<int>(words.size()); v < vectors; ++v) {
    Values parts;
    for (int g = 0; g < present; ++g) parts.push_back(elements(g, v, s.lanes, v + 1 == vectors ? lastLanes : s.lanes));
    while (static_cast<int>(parts.size()) < s.group) parts.push_back(llvm::Constant::getNullValue(parts[0]->getType()));
    words.push_back(wordsOfVectors(ir, parts, s.lanes));
  }
  return words;
}

llvm::Function* packRows(llvm::Module& module, const PackSpec& s, int vectors, int lastLanes) {
  const std::string symbol = fmt::format("{}_{}_{}", nameOf("pack_rows", s), vectors, lastLanes);
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, copyParameters(module, 1));
  Value *from = ir.argument(0), *stride = ir.argument(1), *to = ir.argument(2), *toStride = ir.argument(3);
  Value* depth = ir.argument(4);
  const auto unitRow = [&](Value* source, Value* target, int present) {
    const Values words = wordsOfRows(ir, s, source, stride, vectors, lastLanes, present);
    for (int v = 0; v < vectors; ++v) ir.store(words[v], s.lanes, ir.at(target, v * s.lanes * 4));
  };
  Value* step = ir.b.CreateMul(stride, ir.i64(s.group));
  const Values ends = ir.loop(ir.i64(0), ir.b.CreateSub(depth, ir.i64(s.group - 1)), s.group, {from, to},
                              [&](Value*, llvm::ArrayRef<Value*> p) {
                                unitRow(p[0], p[1], s.group);
                                return Values{ir.at(p[0], step), ir.at(p[1], toStride)};
                              });
  if (s.tail)
    ir.when(ir.b.CreateICmpNE(ir.b.CreateAnd(depth, s.group - 1), ir.i64(0)),
            [&] { unitRow(ends[0], ends[1], s.tail); });
  ir.b.CreateRetVoid();
  return ir.function;
}

llvm::Function* packTransposed(llvm::Module& module, const PackSpec& s, int columns) {
  const std::string symbol = fmt::format("{}_{}", nameOf("pack_transposed", s), columns);
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, copyParameters(module, 1));
  Value *from = ir.argument(0), *stride = ir.argument(1), *to = ir.argument(2), *toStride = ir.argument(3);
  Value* depth = ir.argument(4);
  llvm::Type* element = ir.memoryType(s.from);
  const int wide = s.lanes * s.group, bytes = storage_bytes(s.from);
  auto* words = ir.vectorOf(ir.b.getFloatTy(), s.lanes);
  const auto square = [&](Value* source, Value* target, int valid) {
    Values rows;
    // Hardware prefetchers do not follow interleaved lines of many rows.
    Value* next = ir.at(source, ir.b.CreateMul(stride, ir.i64(s.lanes)));
    for (int i = 0; i < s.lanes; ++i, source = ir.at(source, stride), next = ir.at(next, stride)) {
      rows.push_back(ir.b.CreateBitCast(
          ir.convert(ir.load(element, wide, i < columns ? valid : 0, source), s.from, s.to, s.nativeHalf), words));
      prefetchLine(ir.b, next, CacheLevel::l2);
    }
    transpose(ir, rows);
    for (int i = 0; i * s.group < valid; ++i, target = ir.at(target, toStride)) ir.store(rows[i], s.lanes, target);
    return target;
  };
  const Values ends = ir.loop(
      ir.i64(0), ir.b.CreateSub(depth, ir.i64(wide - 1)), wide, {from, to},
      [&](Value*, llvm::ArrayRef<Value*> p) { return Values{ir.at(p[0], wide * bytes), square(p[0], p[1], wide)}; });
  if (s.tail)
    ir.when(ir.b.CreateICmpNE(ir.b.CreateAnd(depth, wide - 1), ir.i64(0)), [&] { square(ends[0], ends[1], s.tail); });
  ir.b.CreateRetVoid();
  return ir.function;
}

llvm::Function* packInOrder(llvm::Module& module, const PackSpec& s) {
  const std::string symbol = nameOf("pack_in_order", s);
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, copyParameters(module, 2));
  Value *stride = ir.argument(1), *toStride = ir.argument(3), *rows = ir.argument(4), *depth = ir.argument(5);
  llvm::Type* element = ir.memoryType(s.from);
  const int wide = s.lanes * s.group, bytes = storage_bytes(s.from);
  ir.loop(ir.i64(0), rows, 1, {ir.argument(0), ir.argument(2)}, [&](Value*, llvm::ArrayRef<Value*> row) {
    const auto copy = [&](Value* source, Value* target, int valid) {
      ir.store(ir.convert(ir.load(element, wide, valid, source), s.from, s.to, s.nativeHalf), wide, target);
    };
    const Values ends = ir.loop(ir.i64(0), ir.b.CreateSub(depth, ir.i64(wide - 1)), wide, {row[0], row[1]},
                                [&](Value*, llvm::ArrayRef<Value*> p) {
                                  copy(p[0], p[1], wide);
                                  return Values{ir.at(p[0], wide * bytes), ir.at(p[1], 4 * s.lanes)};
                                });
    if (s.tail)
      ir.when(ir.b.CreateICmpNE(ir.b.CreateAnd(depth, wide - 1), ir.i64(0)), [&] { copy(ends[0], ends[1], s.tail); });
    return Values{ir.at(row[0], stride), ir.at(row[1], toStride)};
  });
  ir.b.CreateRetVoid();
  return ir.function;
}

llvm::Function* sumRows(llvm::Module& module, const PackSpec& s, bool byColumns, int factor) {
  const std::string symbol = fmt::format("{}_{}", nameOf("sum_rows", s), byColumns ? "columns" : "rows");
  if (auto* made = module.getFunction(symbol)) return made;
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  auto* number = llvm::Type::getInt64Ty(module.getContext());
  Ir ir(module, symbol, {pointer, number, number, number, pointer});
  Value *a = ir.argument(0), *stride = ir.argument(1), *rows = ir.argument(2), *words = ir.argument(3);
  Value* sums = ir.argument(4);
  auto* wordType = ir.vectorOf(ir.b.getInt32Ty(), s.lanes);
  Value* zero = llvm::Constant::getNullValue(wordType);
  Value* ones = llvm::ConstantInt::get(wordType, 0x01010101);
  const bool isUnsigned = s.from == DType::u8;
  const auto add = [&](Value* sum, Value* values) {
    return dotBytes(ir, sum, isUnsigned ? values : ones, isUnsigned ? ones : values);
  };
  if (byColumns) {
    ir.loop(ir.i64(0), rows, s.lanes, [&](Value* row) {
      Value* offset = ir.b.CreateMul(row, ir.i64(4));
      const Values end = ir.loop(ir.i64(0), words, 1, {zero, ir.at(a, offset)}, [&](Value*, llvm::ArrayRef<Value*> c) {
        return Values{add(c[0], ir.load(ir.b.getInt32Ty(), s.lanes, s.lanes, c[1])), ir.at(c[1], stride)};
      });
      ir.store(ir.b.CreateMul(end[0], llvm::ConstantInt::getSigned(wordType, factor)), s.lanes, ir.at(sums, offset));
    });
  } else {
    ir.loop(ir.i64(0), rows, 1, {a}, [&](Value* row, llvm::ArrayRef<Value*> c) {
      const Values end = ir.loop(ir.i64(0), ir.b.CreateSub(words, ir.i64(s.lanes - 1)), s.lanes, {zero, c[0]},
                                 [&](Value*, llvm::ArrayRef<Value*> p) {
                                   return Values{add(p[0], ir.load(ir.b.getInt32Ty(), s.lanes, s.lanes, p[1])),
                                                 ir.at(p[1], 4 * s.lanes)};
                                 });
      // What is left of the row: single words.
      Value* done = ir.b.CreateAnd(words, ir.i64(-s.lanes));
      const Values all = ir.loop(done, words, 1, {end[0], end[1]}, [&](Value*, llvm::ArrayRef<Value*> p) {
        Value* word = ir.b.CreateInsertElement(zero, ir.b.CreateAlignedLoad(ir.b.getInt32Ty(), p[1], llvm::Align(1)),
                                               uint64_t{0});
        return Values{add(p[0], word), ir.at(p[1], 4)};
      });
      Value* sum = ir.b.CreateMul(ir.b.CreateAddReduce(all[0]), ir.b.getInt32(static_cast<uint32_t>(factor)));
      ir.b.CreateAlignedStore(sum, ir.at(sums, ir.b.CreateMul(row, ir.i64(4))), llvm::Align(4));
      return Values{ir.at(c[0], stride)};
    });
  }
  ir.b.CreateRetVoid();
  return ir.function;
}

}  // namespace smalti::cpu
