// Finds the most important loop of an assembly text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smalti::cpu {

struct InnerLoop {
  std::string text;  ///< from its label to the jump back, one instruction a line, no directives or comments
  int instructions = 0;
  int multiplyAdds = 0;  ///< fused multiply-adds and dot products of vectors
  int spills = 0;        ///< register spills: loads and stores
};

/// Whether it is a fused multiply-add or dot product of vectors; an instruction begins with its mnemonic.
bool isMultiplyAdd(std::string_view instruction);

/// The innermost loop with the most multiply-adds; without any, with the most vector instructions, then instructions.
/// Among equals, the most deeply nested one. nullopt if there is no loop.
std::optional<InnerLoop> findInnerLoop(std::string_view assembly);

/// Register spills (loads and stores), of the whole text.
int countSpills(std::string_view assembly);

}  // namespace smalti::cpu
