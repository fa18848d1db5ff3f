// Plain ops around kernels as XLA fuses them: chains of element-wise ops and copies are one pass over memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smalti::driver {

class Fusions {
 public:
  using Node = int32_t;
  /// An input of the module, a constant, or what a kernel gives.
  Node source(double bytes);
  Node op(const std::string& name, std::vector<Node> operands, double bytes);
  /// Somebody reads the value from memory.
  void needed(Node);

  struct Cost {
    int64_t passes = 0;
    double bytes = 0;
  };
  Cost cost() const;

 private:
  enum class Kind : uint8_t { source, free, fused, own };
  struct Value {
    Kind kind = Kind::source;
    std::vector<Node> operands;
    double bytes = 0;
    bool needed = false;
  };
  void readsOf(Node, std::vector<Node>& sources, std::vector<bool>& seen, bool& works) const;

  std::vector<Value> values_;
};

}  // namespace smalti::driver
