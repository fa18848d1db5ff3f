#include "cpu/product/gemm/TileRegisters.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

llvm::Value* tile(llvm::IRBuilderBase& b, int number) { return b.getInt8(static_cast<uint8_t>(number)); }

void emit(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> operands) {
  b.CreateIntrinsic(b.getVoidTy(), id, operands);
}

}  // namespace

void configureTiles(llvm::IRBuilderBase& b, const TileSizes& sizes) {
  // The 64 bytes of palette 1: bytes in a row of each register from byte 16 on, its rows from byte 48 on (Intel's
  // Software Developer's Manual, volume 2A, LDTILECFG).
  std::array<uint8_t, 64> bytes{1};
  for (size_t r = 0; r < sizes.size(); ++r) {
    const auto [rows, rowWords] = sizes[r];
    bytes[16 + 2 * r] = static_cast<uint8_t>(rows && rowWords ? 4 * rowWords : 0);
    bytes[48 + r] = static_cast<uint8_t>(rows && rowWords ? rows : 0);
  }
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto* data = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* global = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, data, "smalti_tiles");
  global->setAlignment(llvm::Align(64));
  emit(b, llvm::Intrinsic::x86_ldtilecfg, {global});
}

void releaseTiles(llvm::IRBuilderBase& b) { emit(b, llvm::Intrinsic::x86_tilerelease, {}); }

void loadTile(llvm::IRBuilderBase& b, int number, llvm::Value* address, llvm::Value* stride) {
  emit(b, llvm::Intrinsic::x86_tileloadd64, {tile(b, number), address, stride});
}

void storeTile(llvm::IRBuilderBase& b, int number, llvm::Value* address, llvm::Value* stride) {
  emit(b, llvm::Intrinsic::x86_tilestored64, {tile(b, number), address, stride});
}

void clearTile(llvm::IRBuilderBase& b, int number) { emit(b, llvm::Intrinsic::x86_tilezero, {tile(b, number)}); }

void multiplyTiles(llvm::IRBuilderBase& builder, llvm::Intrinsic::ID instruction, int c, int a, int b) {
  emit(builder, instruction, {tile(builder, c), tile(builder, a), tile(builder, b)});
}

}  // namespace smalti::cpu
