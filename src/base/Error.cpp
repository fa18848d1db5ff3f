#include "smalti/error.h"

#include <fstream>

#include "base/Source.h"
#include "smalti/array.h"

namespace smalti {
namespace {

/// The text of a line of the user's source, without the newline; empty when the file is not there.
std::string lineOf(const SourcePlace& place) {
  std::ifstream file(place.file);
  std::string line;
  for (int i = 0; i < place.line; ++i)
    if (!std::getline(file, line)) return "";
  return line;
}

}  // namespace

Error::Error(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)), text_(diagnostic_.str()) {}
void raise(Diagnostic diagnostic) { throw Error(std::move(diagnostic)); }

void showSource(Diagnostic& d) {
  if (d.source_line.empty() && d.place.known() && d.place.line > 0) d.source_line = lineOf(d.place);
}

void detail::traced_has_no_elements(const Array& array, const std::source_location& at) {
  Diagnostic d{.code = "SM6119",
               .message = "the elements of a traced value are accessed: " + array.type().str(),
               .place = {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())},
               .need = "an array outside kernels and functions that are transformed",
               .have = "a value that is computed later",
               .help = "print it with debug_print, or write it to an output Ref and look at the result"};
  showSource(d);
  raise(std::move(d));
}

}  // namespace smalti
