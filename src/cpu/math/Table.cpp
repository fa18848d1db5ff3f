#include "cpu/math/Table.h"

#include "llvm/IR/IntrinsicsX86.h"

namespace smalti::cpu {

Lanes entry(const float (&entries)[kEntries], Lanes index) {
  llvm::IRBuilderBase& code = index.code();
  constexpr int kLanes = kEntries / 2;
  const auto half = [&](unsigned first) {
    return llvm::ConstantDataVector::get(code.getContext(), llvm::ArrayRef(entries).slice(first, kLanes));
  };
  return {code, code.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                                     {half(0), index.value(), half(kLanes)})};
}

}  // namespace smalti::cpu
