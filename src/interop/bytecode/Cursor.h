// Bounded reading of bytes: nothing is read past the end, and no count is believed that the bytes left cannot hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::interop::bytecode {

/// The state of reading one body: its producer, and the first error. After a failure every read gives zero, so that
/// loops over counts end by themselves and only the end of a step needs to ask `ok`.
class ReadState {
 public:
  /// `what` is read, in messages.
  explicit ReadState(std::string fileName, const char* what = "kernel body")
      : fileName_(std::move(fileName)), what_(what) {}

  bool ok() const { return !failure_; }
  /// Keeps the first failure only. `offset` is the byte it was found at.
  void fail(const char* code, uint64_t offset, std::string message, std::string need = {}, std::string have = {},
            std::string help = {});
  /// A failure that has its place already (an op's location), or comes from another part.
  void fail(Diagnostic diagnostic);
  /// Call once, when not ok.
  Diagnostic take();

  const std::string& fileName() const { return fileName_; }
  const char* what() const { return what_; }
  void setProducer(std::string_view producer);
  const std::string& producer() const { return producer_; }

 private:
  std::string fileName_;
  const char* what_;
  std::string producer_;  ///< printable and short, whatever the file said
  std::optional<Diagnostic> failure_;
};

/// A position in a slice of the body. `what` names the thing being read, for the message.
class Cursor {
 public:
  Cursor(ReadState& state, std::string_view bytes, uint64_t offsetInFile)
      : state_(&state), bytes_(bytes), base_(offsetInFile) {}

  bool ok() const { return state_->ok(); }
  ReadState& state() { return *state_; }
  uint64_t offset() const { return base_ + pos_; }
  uint64_t remaining() const { return ok() ? bytes_.size() - pos_ : 0; }
  bool atEnd() const { return remaining() == 0; }

  uint8_t byte(const char* what);
  uint64_t varint(const char* what);
  int64_t signedVarint(const char* what);
  /// Number of things that follow, of at least `bytesEach` bytes each.
  uint64_t count(const char* what, uint64_t bytesEach = 1);
  /// Index into a table of `size` entries.
  uint32_t index(const char* what, uint64_t size);
  std::string_view take(uint64_t size, const char* what);
  /// Up to the next zero byte, which is consumed.
  std::string_view cstring(const char* what);
  /// Fails unless every byte was read.
  void expectEnd(const char* what);

  void fail(const char* code, std::string message, std::string need = {}, std::string have = {}, std::string help = {});

 private:
  ReadState* state_;
  std::string_view bytes_;
  uint64_t base_;
  size_t pos_ = 0;
};

}  // namespace smalti::interop::bytecode
