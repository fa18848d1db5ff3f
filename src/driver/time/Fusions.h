// Plain ops around kernels as XLA fuses them: chains of element-wise ops are one pass over memory, transposes and
// reshapes cost nothing where a layout stands for them, and copies where none does.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "driver/time/HbmLayout.h"

namespace smalti::driver {

class Fusions {
 public:
  using Node = int32_t;
  /// An input of the module, or what a kernel gives. `overwritable`: it has memory of its own, in which an update of a
  /// part is made (what a loop carries).
  Node source(ArrayType, HbmLayout, bool overwritable = false);
  /// Takes no time to make.
  Node constant(ArrayType);
  bool isConstant(Node n) const { return of(n).kind == Kind::constant; }
  /// `permutation` of a transpose: which dimension of its operand each one is.
  Node op(const std::string& name, std::vector<Node> operands, ArrayType, std::vector<int64_t> permutation = {});
  /// A kernel reads the value.
  void needed(Node);
  /// The module returns the value: each time in memory of its own.
  void returned(Node);

  struct Cost {
    int64_t passes = 0;
    double bytes = 0;
  };
  Cost cost() const;

 private:
  enum class Kind : uint8_t { source, constant, transpose, reshape, fused, own };
  struct Value {
    Kind kind = Kind::source;
    std::vector<Node> operands;
    ArrayType type;
    HbmLayout layout;  ///< of a source, and of what is needed
    std::vector<int64_t> permutation;
    bool needed = false;
    bool overwritable = false;
    bool readsPart = false;  ///< dynamic_slice: only as many bytes as it gives
    bool inPlace = false;    ///< dynamic_update_slice: only its second operand is read and written
  };
  struct Chain;
  const Value& of(Node n) const { return values_[static_cast<size_t>(n)]; }
  void follow(Node, HbmLayout, Chain&) const;
  void pass(Node, const HbmLayout* layout, bool always, Cost&) const;

  std::vector<Value> values_;
  std::vector<Node> returned_;
};

}  // namespace smalti::driver
