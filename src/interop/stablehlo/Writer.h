// A Program as StableHLO text. Kernels' bodies are given ready (base64 inside the configuration is made here).
#pragma once

#include <string>
#include <vector>

#include "ir/program/PlainOps.h"
#include "ir/program/Program.h"

namespace smalti::interop::stablehlo {

class Writer {
 public:
  /// `bodies[k]`: bytecode of kernel k.
  Writer(const Program& program, const std::vector<std::string>& bodies) : program_(program), bodies_(bodies) {}
  std::string write();

 private:
  void function(const Function&);
  void ops(const std::vector<Op>&, int indent);
  void op(const Op&, int indent);
  // WriterOps.cpp
  void plain(const Op&, const PlainOp&, int indent);
  bool pretty(const Op&);
  void generic(const Op&, const PlainOp&, int indent);
  void arrayCall(const Op&, const PlainOp&);
  void kernelCall(const Op&);
  void manual(const Op&, int indent);
  void regions(const Op&, int indent);
  void block(const Block&, int indent, bool withHeader);

  void results(const Op&);
  std::string operands(const Op&) const;
  std::string types(const std::vector<ValueId>&) const;  ///< a, b
  std::string functionType(const Op&) const;             ///< (a, b) -> c
  std::string value(ValueId) const;
  const ArrayType& type(ValueId v) const { return function_->values[v]; }
  void line(int indent) { out_.append(static_cast<size_t>(indent) * 2, ' '); }

  const Program& program_;
  const std::vector<std::string>& bodies_;
  const Function* function_ = nullptr;
  std::string_view returnName_;  ///< of the block being written
  std::string out_;
};

}  // namespace smalti::interop::stablehlo
