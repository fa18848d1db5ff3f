// A module that is erased with its owner, for headers that know no MLIR: it is most of what a file costs to compile.
// Who uses the module includes mlir/IR/BuiltinOps.h.
#pragma once

#include <cstddef>
#include <memory>

namespace mlir {
class ModuleOp;
template <class Op>
class OwningOpRef;
}  // namespace mlir

namespace smalti {

class OwnedModule {
 public:
  OwnedModule() = default;
  OwnedModule(std::nullptr_t) {}
  OwnedModule(mlir::ModuleOp);  ///< null: no module
  OwnedModule(mlir::OwningOpRef<mlir::ModuleOp>&&);

  /// Null if there is no module.
  mlir::ModuleOp get() const;
  mlir::ModuleOp& operator*() const { return *op_; }
  mlir::ModuleOp* operator->() const { return op_.get(); }
  explicit operator bool() const { return op_ != nullptr; }

 private:
  struct Erase {
    void operator()(mlir::ModuleOp*) const;
  };
  std::unique_ptr<mlir::ModuleOp, Erase> op_;
};

}  // namespace smalti
