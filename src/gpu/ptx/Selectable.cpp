#include "gpu/ptx/Selectable.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace smalti::gpu {
namespace {

std::string textOf(llvm::Type* type) {
  std::string text;
  llvm::raw_string_ostream(text) << *type;
  return text;
}

/// Values are scalars (integers of up to 64 bits, half, bfloat, float, double, pointers), structs of them that
/// functions return, and vectors of two or four floats that are loaded together.
bool isKnown(llvm::Type* type) {
  if (auto* together = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return together->getElementType()->isFloatTy() &&
           (together->getNumElements() == 2 || together->getNumElements() == 4);
  if (auto* several = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::all_of(several->elements(), [](llvm::Type* t) { return !t->isStructTy() && isKnown(t); });
  return type->isVoidTy() || type->isPointerTy() || type->isHalfTy() || type->isBFloatTy() || type->isFloatTy() ||
         type->isDoubleTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 64) || type->isLabelTy();
}

bool isKnown(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::bitreverse:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::nvvm_div_full:
    case llvm::Intrinsic::nvvm_ex2_approx:
    case llvm::Intrinsic::nvvm_ex2_approx_ftz:
    case llvm::Intrinsic::nvvm_f2bf16_rn:
    case llvm::Intrinsic::nvvm_rcp_approx_ftz_f:
    case llvm::Intrinsic::nvvm_rsqrt_approx_f:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::trunc:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> notSelectable(const llvm::Module& module, const Architecture& architecture) {
  for (const llvm::Function& f : module) {
    if (f.getName().starts_with("smaltiGpu")) continue;  // primitives only contain selectable instructions
    for (const llvm::Instruction& i : llvm::instructions(f)) {
      if (!isKnown(i.getType())) return "a value of type " + textOf(i.getType());
      if (i.getOpcode() == llvm::Instruction::FRem) return std::string("a remainder of floats");
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
      if (!call) continue;
      const llvm::Function* callee = call->getCalledFunction();
      if (!callee) return std::string("a call of an address");
      if (!callee->isDeclaration()) continue;
      if (!callee->isIntrinsic() || !isKnown(callee->getIntrinsicID())) return "a call of " + callee->getName().str();
      // NaN-propagating minimum and maximum of f32 are instructions from 8.0 on (PTX ISA, max).
      if (architecture.version < 80) return std::string("an architecture before sm_80");
    }
  }
  return std::nullopt;
}

}  // namespace smalti::gpu
