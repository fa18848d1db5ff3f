// Diagnostics: the content of every refusal and finding. Functions return them in a `Result`; only the kernel language
// throws them (error.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace smalti {

/// A place in the user's source or in the module text. Empty `file`: unknown.
struct SourcePlace {
  std::string file;
  int line = 0;    ///< 1-based; 0: unknown
  int column = 0;  ///< 1-based; 0: unknown
  bool known() const { return !file.empty(); }
  /// "flash.py:41:7", "flash.py", or "" when unknown.
  std::string str() const;
  bool operator==(const SourcePlace&) const = default;
};

/// One refusal or finding. `code` is stable ("SM2101") and has a page in docs/errors/.
struct Diagnostic {
  std::string code;
  std::string message;                ///< what is wrong, in Pallas' words; no trailing full stop
  SourcePlace place;                  ///< user's line if known, else the module's
  std::vector<std::string> where{};   ///< context, outermost first: "kernel 'add'", "grid step (3, 0)", "operand 1"
  std::string need{};                 ///< the requirement, with numbers; may be empty
  std::string have{};                 ///< the actual state, with numbers; may be empty
  std::string help{};                 ///< one thing to try; may be empty
  std::vector<Diagnostic> related{};  ///< further violations found in the same pass
  std::string source_line{};          ///< the text of the user's line, shown with a caret; may be empty

  /// The whole message (several lines, ends with a newline); it begins with its kind and code: "error[SM2101]".
  std::string str(std::string_view kind = "error") const;
};

template <class T>
using Result = tl::expected<T, Diagnostic>;
using Status = Result<void>;

inline tl::unexpected<Diagnostic> fail(Diagnostic d) { return tl::unexpected<Diagnostic>(std::move(d)); }

}  // namespace smalti
