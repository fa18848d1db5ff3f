#include "cpu/product/gemm/Arguments.h"

namespace smalti::cpu {

llvm::SmallVector<llvm::Type*, 16> parameterTypes(llvm::LLVMContext& context, std::string_view types) {
  llvm::SmallVector<llvm::Type*, 16> made;
  for (const char type : types)
    made.push_back(type == 'p'   ? static_cast<llvm::Type*>(llvm::PointerType::get(context, 0))
                   : type == 'b' ? llvm::Type::getInt1Ty(context)
                                 : llvm::Type::getInt64Ty(context));
  return made;
}

GemmArguments GemmArguments::of(const llvm::Function& function, const GemmShape& shape) {
  unsigned i = 0;
  const auto next = [&] { return function.getArg(i++); };
  GemmArguments made{next(), next(), next(), next(), next(), next(), next()};
  if (shape.cachesPackedB) {
    made.packedB = next();
    made.isPacked = next();
  }
  if (shape.addsRow) made.row = next();
  return made;
}

llvm::SmallVector<llvm::Value*, 10> GemmArguments::values() const {
  llvm::SmallVector<llvm::Value*, 10> all{a, lda, b, ldb, c, ldc, workspace};
  if (packedB) all.append({packedB, isPacked});
  if (row) all.push_back(row);
  return all;
}

}  // namespace smalti::cpu
