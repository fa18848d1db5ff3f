#include "cpu/product/gemm/TileKernel.h"

#include <array>

#include <fmt/format.h>

#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Ir.h"
#include "cpu/product/gemm/TileRegisters.h"
#include "cpu/product/gemm/Tiles.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

using llvm::Value;

/// Numbers of the tile registers: C by rows and columns, A by rows, B by columns.
constexpr int registerOfC(int row, int column) { return 2 * row + column; }
constexpr int registerOfA(int row) { return 4 + row; }
constexpr int registerOfB(int column) { return 6 + column; }

class TileKernelBody {
 public:
  TileKernelBody(Ir& ir, const TileKernelSpec& spec)
      : ir_(ir), s_(spec), rows_(s_.bottom ? 2 : 1), columns_(s_.right ? 2 : 1) {}

  void emit() {
    auto& b = ir_.b;
    configureTiles(b, sizes());
    Value* nextA = b.CreateMul(in_.strideA, ir_.i64(s_.top + s_.bottom));
    Value* nextC = b.CreateMul(in_.strideC, ir_.i64(s_.top + s_.bottom));
    ir_.loop(ir_.i64(0), in_.tiles, 1, {in_.a, in_.c}, [&](Value*, llvm::ArrayRef<Value*> at) {
      start(at[1]);
      multiply(at[0]);
      eachOfC(at[1], [&](int r, Value* c) { storeTile(b, r, c, strideC()); });
      return Values{ir_.at(at[0], nextA), ir_.at(at[1], nextC)};
    });
    releaseTiles(b);
    b.CreateRetVoid();
  }

 private:
  Value* strideC() const { return in_.strideC; }
  void load(int r, Value* address, Value* stride) { loadTile(ir_.b, r, address, stride); }

  void eachOfC(Value* c, llvm::function_ref<void(int, Value*)> act) {
    for (int row = 0; row < rows_; ++row) {
      for (int column = 0; column < columns_; ++column)
        act(registerOfC(row, column), ir_.at(c, 4 * kTileLanes * column));
      if (row + 1 < rows_) c = ir_.at(c, ir_.b.CreateMul(strideC(), ir_.i64(s_.top)));
    }
  }

  void start(Value* c) {
    const auto old = [&] { eachOfC(c, [&](int r, Value* at) { load(r, at, strideC()); }); };
    const auto fresh = [&] {
      for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) {
          const int r = registerOfC(row, column);
          if (s_.addsRow)  // the same for every row of the tile
            load(r, ir_.at(in_.row, 4 * kTileLanes * column), ir_.i64(0));
          else
            clearTile(ir_.b, r);
        }
    };
    if (s_.store != StoreMode::either) return s_.store == StoreMode::add ? old() : fresh();
    ir_.when(in_.add, old);
    ir_.when(ir_.b.CreateNot(in_.add), fresh);
  }

  void multiply(Value* a) {
    ir_.loop(ir_.i64(0), in_.steps, 1, {a, in_.b}, [&](Value*, llvm::ArrayRef<Value*> at) {
      Value* strideB = ir_.i64(kPanelRowBytes);
      for (int column = 0; column < columns_; ++column)
        load(registerOfB(column), ir_.at(at[1], 4 * kTileLanes * column), strideB);
      Value* plane = at[0];
      for (int p = 0; p < s_.planes; ++p) {
        if (p > 0) plane = ir_.at(plane, in_.planeA);
        for (int column = 0; p == 1 && column < columns_; ++column)
          load(registerOfB(column), ir_.at(at[1], s_.finiteB + int64_t{4} * kTileLanes * column), strideB);
        for (int row = 0; row < rows_; ++row) {
          Value* from = row == 0 ? plane : ir_.at(plane, ir_.b.CreateMul(in_.strideA, ir_.i64(s_.top)));
          load(registerOfA(row), from, in_.strideA);
          for (int column = 0; column < columns_; ++column)
            multiplyTiles(ir_.b, instruction(), registerOfC(row, column), registerOfA(row), registerOfB(column));
        }
      }
      return Values{ir_.at(at[0], int64_t{4 * kTileLanes}), ir_.at(at[1], int64_t{kTileRows * kPanelRowBytes})};
    });
  }

  llvm::Intrinsic::ID instruction() const {
    if (s_.a == DType::bf16) return llvm::Intrinsic::x86_tdpbf16ps;
    if (s_.a == DType::i8) return s_.b == DType::i8 ? llvm::Intrinsic::x86_tdpbssd : llvm::Intrinsic::x86_tdpbsud;
    return s_.b == DType::i8 ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbuud;
  }

  TileSizes sizes() const {
    TileSizes made;
    const auto set = [&](int r, int rows, int rowWords) { made[static_cast<size_t>(r)] = {rows, rowWords}; };
    const std::array<int, 2> rows{s_.top, s_.bottom}, columns{s_.left, s_.right};
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) set(registerOfC(i, j), rows[static_cast<size_t>(i)], columns[static_cast<size_t>(j)]);
      set(registerOfA(i), rows[static_cast<size_t>(i)], kTileLanes);
      set(registerOfB(i), kTileRows, columns[static_cast<size_t>(i)]);
    }
    return made;
  }

  Ir& ir_;
  const TileKernelSpec& s_;
  const TileKernelArguments in_ = argumentsOf<TileKernelArguments>(*ir_.function);
  int rows_, columns_;  // of tiles
};

}  // namespace

llvm::Function* tileKernel(llvm::Module& module, const TileKernelSpec& s) {
  const std::string symbol =
      fmt::format("smalti_tiles_{}_{}_{}_{}_{}+{}x{}+{}_{}{}", name(s.a), name(s.b), s.planes, s.finiteB, s.top,
                  s.bottom, s.left, s.right, static_cast<int>(s.store), s.addsRow ? "a" : "");
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, parameterTypes(module.getContext(), TileKernelArguments::kTypes));
  TileKernelBody(ir, s).emit();
  return ir.function;
}

llvm::Function* splitF32IntoBf16x3(llvm::Module& module, int tail) {
  const std::string symbol = fmt::format("smalti_split_f32_{}", tail);
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, parameterTypes(module.getContext(), "pipiiii"));
  auto& b = ir.b;
  constexpr int kLanes = 16, kWide = 2 * kLanes, kPlanes = 3;
  auto *floats = ir.vectorOf(b.getFloatTy(), kWide), *words = ir.vectorOf(b.getInt32Ty(), kWide);
  auto* halves = ir.vectorOf(b.getInt16Ty(), kWide);
  const auto upper = [&](Value* x) { return b.CreateAnd(b.CreateBitCast(x, words), 0xffff0000); };
  const auto copy = [&](Value* from, Value* to, int valid) {
    Value* rest = ir.load(b.getFloatTy(), kWide, valid, from);
    // A NaN must not lose all of its payload with the lower half.
    Value* quiet = b.CreateOr(b.CreateBitCast(rest, words), 0x00400000);
    rest = b.CreateSelect(b.CreateFCmpUNO(rest, rest), b.CreateBitCast(quiet, floats), rest);
    for (int plane = 0; plane < kPlanes; ++plane) {
      if (plane > 0) to = ir.at(to, ir.argument(4));
      Value* part = upper(rest);
      ir.store(b.CreateTrunc(b.CreateLShr(part, 16), halves), kWide, to);
      rest = b.CreateFSub(rest, b.CreateBitCast(part, floats));
      // ∞ - ∞ and NaN do not reach the next planes.
      rest = b.CreateSelect(b.CreateFCmpORD(rest, rest), rest, llvm::Constant::getNullValue(floats));
    }
  };
  Value* depth = ir.argument(6);
  ir.loop(ir.i64(0), ir.argument(5), 1, {ir.argument(0), ir.argument(2)}, [&](Value*, llvm::ArrayRef<Value*> row) {
    const Values ends = ir.loop(ir.i64(0), b.CreateSub(depth, ir.i64(kWide - 1)), kWide, {row[0], row[1]},
                                [&](Value*, llvm::ArrayRef<Value*> p) {
                                  copy(p[0], p[1], kWide);
                                  return Values{ir.at(p[0], int64_t{4 * kWide}), ir.at(p[1], int64_t{2 * kWide})};
                                });
    if (tail) ir.when(b.CreateICmpNE(b.CreateAnd(depth, kWide - 1), ir.i64(0)), [&] { copy(ends[0], ends[1], tail); });
    return Values{ir.at(row[0], ir.argument(1)), ir.at(row[1], ir.argument(3))};
  });
  b.CreateRetVoid();
  return ir.function;
}

}  // namespace smalti::cpu
