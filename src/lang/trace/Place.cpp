#include "lang/trace/Place.h"

#include <fstream>
#include <optional>

#include "lang/trace/Trace.h"
#include "smalti/error.h"

namespace smalti {

Error::Error(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)), text_(diagnostic_.str()) {}
void raise(Diagnostic diagnostic) { throw Error(std::move(diagnostic)); }

namespace lang {
namespace {

thread_local std::optional<Location> tPlace;

/// The text of a line of the user's source, without the newline; empty when the file is not there.
std::string lineOf(const SourcePlace& place) {
  std::ifstream file(place.file);
  std::string line;
  for (int i = 0; i < place.line; ++i)
    if (!std::getline(file, line)) return "";
  return line;
}

}  // namespace

AtPlace::AtPlace(const Location& at) : outermost_(!tPlace) {
  if (outermost_) tPlace = at;
}
AtPlace::~AtPlace() {
  if (outermost_) tPlace.reset();
}

SourcePlace placeOf(const Location& at) {
  return {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())};
}
SourcePlace currentPlace() { return tPlace ? placeOf(*tPlace) : SourcePlace{}; }

void showSource(Diagnostic& d) {
  if (d.source_line.empty() && d.place.known() && d.place.line > 0) d.source_line = lineOf(d.place);
}

void refuse(Diagnostic d) {
  if (!d.place.known()) d.place = currentPlace();
  showSource(d);
  if (const Trace* trace = Trace::current(); trace && d.where.empty()) d.where.push_back(trace->what());
  raise(std::move(d));
}

}  // namespace lang
}  // namespace smalti
