// Attributes, types and locations of a portable artifact, as the text that StableHLO prints for them.
#pragma once

#include <string>
#include <vector>

#include "interop/bytecode/Model.h"

namespace smalti::interop::vhlo {

class AttributeText {
 public:
  /// Both must outlive it.
  AttributeText(const bytecode::BodyModel& model, bytecode::ReadState& state)
      : model_(model), state_(state), attributes_(model.attributes.size()), types_(model.types.size()) {}

  /// "" after a failure, which the state holds, and for what stands for nothing (Nothing in `meaning`).
  const std::string& attribute(uint32_t index);
  const std::string& type(uint32_t index);
  /// The characters of a string attribute, without quotes.
  std::string string(uint32_t index);
  /// The entries of an attribute that is a dictionary: names, and which attributes they have.
  std::vector<std::pair<std::string, uint32_t>> dictionary(uint32_t index);
  /// "loc(…)": of places inside each other the innermost one that is in a file.
  const std::string& location(uint32_t index);

 private:
  struct Slot {
    std::string text;
    bool known = false, open = false;  ///< open: being made; a use from inside is a cycle
  };
  using Cursor = bytecode::Cursor;

  template <class Make>
  const std::string& once(Slot&, uint64_t offset, Make&&);
  Cursor cursor(const bytecode::Entry& e) { return {state_, e.bytes, e.offset}; }
  std::string_view dialect(const bytecode::Entry& e) const { return model_.dialects[e.dialect]; }

  std::string ownAttribute(Cursor&, uint64_t code);      ///< of VHLO
  std::string builtinAttribute(Cursor&, uint64_t code);  ///< of MLIR
  std::string sdyAttribute(Cursor&, uint64_t code);      ///< of Shardy
  std::string sdyBody(Cursor&, uint64_t code);
  std::string sdySharding(Cursor&, uint64_t code);
  std::string sdyList(Cursor&, uint64_t code);
  std::string_view sdyPart(Cursor&, uint64_t index, uint64_t code);
  std::string ownType(Cursor&, uint64_t code);
  std::string builtinType(Cursor&, uint64_t code);
  std::string dialectText(const bytecode::Entry&, char sigil);
  std::string place(uint32_t index, int depth, int& budget);

  std::string list(Cursor&, const char* what);
  std::string number(Cursor&, bool isFloat);
  std::string tensorElements(Cursor&);
  std::string arrayElements(Cursor&);
  std::string tensor(Cursor&, bool hasEncoding);
  std::string function(Cursor&);
  std::string types(Cursor&);
  std::string integers(Cursor&);
  std::string symbol(Cursor&);
  const std::string& attributePart(Cursor&);
  const std::string& typePart(Cursor&);
  std::string unknown(Cursor&, const char* kind, uint64_t code);
  std::string unknownDialect(const bytecode::Entry&);

  const bytecode::BodyModel& model_;
  bytecode::ReadState& state_;
  std::vector<Slot> attributes_, types_;
  std::vector<std::string> locations_;
  uint64_t bytes_ = 0;  ///< of all texts
  int depth_ = 0;
};

}  // namespace smalti::interop::vhlo
