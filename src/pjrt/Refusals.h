// The meaning of the TPU compiler's refusals.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pjrt/Plugin.h"

namespace smalti::pjrt {

/// A class of refusals, recognised by the compiler's message.
struct RefusalRow {
  std::string_view words;     ///< that are in the message
  std::string_view also{};    ///< that are in it as well; may be empty
  std::string_view reason;    ///< id of the class, that of the legality rules where a rule foresees it
  std::string_view sentence;  ///< the error, for the author of the kernel
  std::string_view help{};
};
/// The first row that fits a message is the one that counts.
std::span<const RefusalRow> refusalRows();

struct Refusal {
  std::string reason;     ///< "unaligned-index"; "other" for words that no row knows
  bool memory = false;    ///< it does not fit, rather than it cannot be compiled
  Diagnostic diagnostic;  ///< SM6806: the user's line, what is wrong, and in `have` the compiler's own words
};
/// `module`: its text, for the kernel's name; may be empty.
Refusal classify(const PluginError&, std::string_view chip, std::string_view module = {});

/// The user's line in a location as MLIR prints it, `loc(…)`; unknown when the text is not one.
SourcePlace placeOfLocation(std::string_view text);

}  // namespace smalti::pjrt
