// Bodies put together by hand, to see what the reader says about ones that no writer makes.
#pragma once

#include <string>
#include <vector>

#include "interop/bytecode/ByteWriter.h"

namespace smalti::interop::test {

/// A module whose attributes and types are given as bytes, and whose only inner op is
/// `stable_mosaic.func.return` with attribute dictionary `dictionary` (an index; -1: none) and no operands.
/// Attribute 0 is UnknownLoc, 1 the string "stable_mosaic.version", 2 is 18 : i64, 3 the module's dictionary; type 0
/// i64. String 0 to 5: builtin, stable_mosaic, module, func.return, stable_mosaic.version, test.
struct BodyBuilder {
  std::string magic = std::string(bytecode::kMagic);
  uint64_t containerVersion = 0;
  std::string producer = "MLIR99.9";
  std::vector<std::pair<std::string, bool>> attributes = {
      {"\x1f", true}, {"\x05\x09", true}, {std::string("\x11\x01") + '\x49', true}, {"\x03\x03\x03\x05", true}};
  std::vector<std::pair<std::string, bool>> types = {{std::string("\x01\x02\x04"), true}};
  std::vector<std::string> strings = {"builtin",     "stable_mosaic",         "module",
                                      "func.return", "stable_mosaic.version", "test"};
  std::string ops;  ///< replaces the op section when not empty
  int dictionary = -1;
  uint32_t attributeDialect = 0;

  /// Adds an attribute in binary encoding; its index.
  int add(std::string bytes) {
    attributes.emplace_back(std::move(bytes), true);
    return static_cast<int>(attributes.size()) - 1;
  }
  int addType(std::string bytes) {
    types.emplace_back(std::move(bytes), true);
    return static_cast<int>(types.size()) - 1;
  }
  /// A dictionary {test = attribute}; its index.
  int addDictionary(int attribute) {
    const int name = add(spell({2, 5}));
    return add(spell({1, 1, static_cast<uint64_t>(name), static_cast<uint64_t>(attribute)}));
  }

  static std::string spell(std::vector<uint64_t> varints) {
    bytecode::ByteWriter w;
    for (uint64_t v : varints) w.varint(v);
    return w.bytes();
  }

  std::string build() const {
    using bytecode::ByteWriter;
    using bytecode::Section;
    ByteWriter file;
    file.append(magic);
    file.varint(containerVersion);
    file.append(producer);
    file.byte(0);
    ByteWriter dialects;
    dialects.append(spell({2, 0, 1, 0, 1, 2, 1, 1, 3}));  // builtin: module; stable_mosaic: func.return
    file.section(Section::Dialect, dialects);
    ByteWriter offsets, data;
    offsets.varint(attributes.size());
    offsets.varint(types.size());
    for (const auto* entries : {&attributes, &types}) {
      if (entries->empty()) continue;
      offsets.varint(attributeDialect);
      offsets.varint(entries->size());
      for (const auto& [bytes, encoded] : *entries) {
        offsets.varintWithFlag(bytes.size(), encoded);
        data.append(bytes);
      }
    }
    file.section(Section::AttrTypeOffset, offsets);
    file.section(Section::AttrType, data);
    ByteWriter ir;
    if (!ops.empty()) {
      ir.append(ops);
    } else {
      ir.append(spell({1 << 1, 0}));  // one op: the module, with attributes and a region
      ir.byte(bytecode::kHasAttributes | bytecode::kHasRegions);
      ir.append(spell({0, 3, 1 << 1 | 1, 1, 0, 1 << 1, 1}));
      ir.byte(dictionary < 0 ? 0 : bytecode::kHasAttributes);
      ir.varint(0);
      if (dictionary >= 0) ir.varint(dictionary);
    }
    file.section(Section::Ir, ir);
    ByteWriter text;
    text.varint(strings.size());
    for (auto s = strings.rbegin(); s != strings.rend(); ++s) text.varint(s->size() + 1);
    for (const std::string& s : strings) {
      text.append(s);
      text.byte(0);
    }
    file.section(Section::String, text);
    return file.bytes();
  }
};

}  // namespace smalti::interop::test
