#include "lang/trace/SourceLocationScope.h"

#include <optional>
#include <utility>

#include "base/Source.h"
#include "lang/trace/Trace.h"
#include "smalti/error.h"

namespace smalti {

namespace lang {
namespace {

thread_local std::optional<Location> tPlace;
thread_local const SourcePlace* tRecorded = nullptr;

}  // namespace

SourceLocationScope::SourceLocationScope(const Location& at) : outermost_(!tPlace) {
  if (outermost_) tPlace = at;
}
SourceLocationScope::~SourceLocationScope() {
  if (outermost_) tPlace.reset();
}

RecordedLocationScope::RecordedLocationScope(const SourcePlace& place) : before_(std::exchange(tRecorded, &place)) {}
RecordedLocationScope::~RecordedLocationScope() { tRecorded = before_; }

UserCodeScope::UserCodeScope()
    : place_(std::exchange(tPlace, std::nullopt)), recorded_(std::exchange(tRecorded, nullptr)) {}
UserCodeScope::~UserCodeScope() {
  tPlace = place_;
  tRecorded = recorded_;
}

SourcePlace placeOf(const Location& at) {
  return {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())};
}
SourcePlace currentPlace() {
  if (tRecorded) return *tRecorded;
  return tPlace ? placeOf(*tPlace) : SourcePlace{};
}

void refuse(Diagnostic d) {
  if (!d.place.known()) d.place = currentPlace();
  showSource(d);
  if (const Trace* trace = Trace::current(); trace && d.where.empty()) d.where.push_back(trace->what());
  raise(std::move(d));
}

}  // namespace lang
}  // namespace smalti
