#include "interop/bytecode/Cursor.h"

#include <bit>

#include <fmt/format.h>

#include "base/Text.h"

namespace smalti::interop::bytecode {

void ReadState::fail(const char* code, uint64_t offset, std::string message, std::string need, std::string have,
                     std::string help) {
  if (!ok()) return;
  Diagnostic d{.code = code, .message = std::move(message), .place = {.file = fileName_}};
  d.where.push_back(fmt::format("byte {} of a {}{}", offset, what_,
                                producer_.empty() ? "" : fmt::format(" written by {}", producer_)));
  d.need = std::move(need);
  d.have = std::move(have);
  d.help = std::move(help);
  failure_ = std::move(d);
}

void ReadState::fail(Diagnostic diagnostic) {
  if (!ok()) return;
  if (!diagnostic.place.known()) diagnostic.place.file = fileName_;
  if (!producer_.empty()) diagnostic.where.push_back(fmt::format("a {} written by {}", what_, producer_));
  failure_ = std::move(diagnostic);
}

Diagnostic ReadState::take() { return std::move(*failure_); }

void ReadState::setProducer(std::string_view producer) {
  constexpr size_t kShown = 48;
  producer_ = printable(producer.substr(0, kShown));
}

void Cursor::fail(const char* code, std::string message, std::string need, std::string have, std::string help) {
  state_->fail(code, offset(), std::move(message), std::move(need), std::move(have), std::move(help));
}

std::string_view Cursor::take(uint64_t size, const char* what) {
  if (size > remaining()) {
    fail("SM2101", fmt::format("the {} ends inside {}", state_->what(), what), fmt::format("{} bytes", size),
         fmt::format("{} bytes", remaining()), "the body is truncated or corrupted; export it again");
    return {};
  }
  std::string_view taken = bytes_.substr(pos_, size);
  pos_ += size;
  return taken;
}

uint8_t Cursor::byte(const char* what) {
  std::string_view b = take(1, what);
  return b.empty() ? 0 : static_cast<uint8_t>(b[0]);
}

// The number of zero bits below the first one bit is the number of bytes that follow; eight zeros: eight bytes follow.
uint64_t Cursor::varint(const char* what) {
  const uint8_t first = byte(what);
  if (!ok()) return 0;
  const int more = first == 0 ? 8 : std::countr_zero(first);
  std::string_view rest = take(more, what);
  if (!ok()) return 0;
  uint64_t high = 0;
  for (size_t i = rest.size(); i-- > 0;) high = high << 8 | static_cast<uint8_t>(rest[i]);
  if (more == 8) return high;
  return (high << 8 | first) >> (more + 1);
}

int64_t Cursor::signedVarint(const char* what) {
  const uint64_t v = varint(what);
  return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
}

uint64_t Cursor::count(const char* what, uint64_t bytesEach) {
  const uint64_t n = varint(what);
  if (n <= remaining() / bytesEach) return n;
  fail("SM2101", fmt::format("the {} has too few bytes left for {}", state_->what(), what),
       fmt::format("at least {} bytes each", bytesEach), fmt::format("{} of them in {} bytes", n, remaining()));
  return 0;
}

uint32_t Cursor::index(const char* what, uint64_t size) {
  const uint64_t i = varint(what);
  if (i < size) return static_cast<uint32_t>(i);
  fail("SM2101", fmt::format("the {} refers to {} it does not have", state_->what(), what),
       fmt::format("an index below {}", size), fmt::format("{}", i));
  return 0;
}

std::string_view Cursor::cstring(const char* what) {
  const size_t end = ok() ? bytes_.find('\0', pos_) : std::string_view::npos;
  if (end == std::string_view::npos) {
    fail("SM2101", fmt::format("the {} ends inside {}", state_->what(), what), "a zero byte at its end");
    return {};
  }
  std::string_view s = take(end - pos_, what);
  take(1, what);
  return s;
}

void Cursor::expectEnd(const char* what) {
  if (ok() && !atEnd())
    fail("SM2101", fmt::format("{} is longer than its declared length", what), "no bytes left",
         fmt::format("{} bytes", remaining()));
}

}  // namespace smalti::interop::bytecode
