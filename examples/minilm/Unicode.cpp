#include "Unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace smalti::minilm {
namespace {

/// The general category by Unicode 8, the version of the tables in the tokenisers that BERT models are published with:
/// what is younger is a letter to them, and six characters have changed since.
uint32_t category(char32_t c) {
  switch (c) {
    case 0x1734:
      return U_GC_MN_MASK;
    case 0x166D:
    case 0x111C9:
      return U_GC_PO_MASK;
    case 0x1885:
    case 0x1886:
    case 0xA9BD:
      return U_GC_LO_MASK;
    default:
      break;
  }
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  const bool assigned = age[0] > 0 && age[0] <= 8;
  return assigned ? U_GET_GC_MASK(static_cast<UChar32>(c)) : U_GC_CN_MASK;
}

bool isOf(char32_t c, uint32_t categories) { return (category(c) & categories) != 0; }

bool isWhiteSpace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

/// Dropped before anything else: controls that are not white space, formats, private use, U+FFFD.
bool isDropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0xFFFD || isOf(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

/// The ideographs that BERT takes for words: no kana, no hangul.
bool isIdeograph(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kRanges[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  for (const Range& range : kRanges)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

}  // namespace

std::optional<size_t> firstNonUtf8(std::string_view text) {
  const char* bytes = text.data();
  const auto length = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < length;) {
    const int64_t start = i;
    UChar32 c;
    U8_NEXT(bytes, i, length, c);
    if (c < 0) return static_cast<size_t>(start);
  }
  return std::nullopt;
}

std::u32string normalised(std::string_view text) {
  icu::UnicodeString cleaned;
  const char* bytes = text.data();
  const auto length = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < length;) {
    UChar32 c;
    U8_NEXT_OR_FFFD(bytes, i, length, c);
    if (isDropped(static_cast<char32_t>(c))) continue;
    if (isIdeograph(static_cast<char32_t>(c)))
      cleaned.append(u' ').append(c).append(u' ');
    else
      cleaned.append(isWhiteSpace(static_cast<char32_t>(c)) ? UChar32{' '} : c);
  }
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString decomposed = icu::Normalizer2::getNFDInstance(status)->normalize(cleaned, status);
  std::u32string result;
  for (int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 c = decomposed.char32At(i);
    if (!isOf(static_cast<char32_t>(c), U_GC_MN_MASK)) result.push_back(static_cast<char32_t>(u_tolower(c)));
  }
  return result;
}

bool isPunctuation(char32_t c) {
  const bool asciiSign =
      (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return asciiSign || isOf(c, U_GC_P_MASK);
}

std::string toUtf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) {
    char buffer[U8_MAX_LENGTH];
    int32_t length = 0;
    U8_APPEND_UNSAFE(buffer, length, c);
    bytes.append(buffer, static_cast<size_t>(length));
  }
  return bytes;
}

std::string forTerminal(std::string_view text, size_t limit) {
  constexpr UChar32 kNonJoiner = 0x200C, kJoiner = 0x200D;  // parts of words and emoji
  constexpr uint32_t kUnseen = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK;
  std::u32string shown;
  const auto length = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < length;) {
    UChar32 c;
    U8_NEXT_OR_FFFD(text.data(), i, length, c);
    if (shown.size() == limit) {
      shown.back() = U'…';
      break;
    }
    const bool unseen = (U_GET_GC_MASK(c) & kUnseen) != 0 && c != kNonJoiner && c != kJoiner;
    shown.push_back(c == '\t' ? U' ' : unseen ? U'\uFFFD' : static_cast<char32_t>(c));
  }
  return toUtf8(shown);
}

}  // namespace smalti::minilm
