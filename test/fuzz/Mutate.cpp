#include "Mutate.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace smalti::fuzz {
namespace {

size_t below(size_t n, Random& random) { return n == 0 ? 0 : random() % n; }

void flipBits(std::string& s, Random& random) {
  if (!s.empty()) s[below(s.size(), random)] ^= static_cast<char>(1u << below(8, random));
}

void setInteresting(std::string& s, Random& random) {
  constexpr std::array<unsigned char, 8> kBytes{0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, 0x20, 0x5b};
  if (!s.empty()) s[below(s.size(), random)] = static_cast<char>(kBytes[below(kBytes.size(), random)]);
}

void eraseRange(std::string& s, Random& random) { s.erase(below(s.size() + 1, random), 1 + below(16, random)); }

void duplicateRange(std::string& s, Random& random) {
  const std::string piece = s.substr(below(s.size() + 1, random), 1 + below(32, random));
  s.insert(below(s.size() + 1, random), piece);
}

void splice(std::string& s, const std::string& other, Random& random) {
  s.insert(below(s.size() + 1, random), other.substr(below(other.size() + 1, random), 1 + below(32, random)));
}

void changeNumber(std::string& s, Random& random) {
  constexpr std::array<std::string_view, 9> kNumbers{
      "0", "-1", "1", "7", "255", "2147483647", "-9223372036854775808", "99999999999999999999", "1048576"};
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  auto at = std::find_if(s.begin() + below(s.size() + 1, random), s.end(), isDigit);
  auto end = std::find_if_not(at, s.end(), isDigit);
  const std::string_view number = kNumbers[below(kNumbers.size(), random)];
  if (at != s.end()) s.replace(at, end, number);
}

/// Overwrites a few bytes with as many from elsewhere.
void copyInPlace(std::string& s, const std::string& from, Random& random) {
  const std::string piece = from.substr(below(from.size() + 1, random), 1 + below(8, random));
  const size_t at = below(s.size() + 1, random);
  s.replace(at, std::min(piece.size(), s.size() - at), piece.substr(0, s.size() - at));
}

bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '%' || c == '#' || c == '!' || c == '-';
}

/// First and last + 1 of a word at or after a random place; equal when there is none.
std::pair<size_t, size_t> anyWord(const std::string& s, Random& random) {
  size_t begin = below(s.size() + 1, random);
  while (begin < s.size() && isWord(s[begin])) ++begin;
  while (begin < s.size() && !isWord(s[begin])) ++begin;
  size_t end = begin;
  while (end < s.size() && isWord(s[end])) ++end;
  return {begin, end};
}

/// One word instead of another: a wrong value, type, op or attribute that is right elsewhere.
void replaceWord(std::string& s, const std::string& from, Random& random) {
  const auto [begin, end] = anyWord(s, random);
  const auto [fromBegin, fromEnd] = anyWord(from, random);
  if (begin < end && fromBegin < fromEnd && fromEnd - fromBegin <= 64)
    s.replace(begin, end - begin, from.substr(fromBegin, fromEnd - fromBegin));
}

/// A change that leaves most of the structure alone, so that the input gets further in: bytecode keeps its length.
void changeGently(std::string& s, const std::string& other, Random& random) {
  const bool bytecode = s.compare(0, 2, "ML") == 0;
  switch (below(bytecode ? 3 : 6, random)) {
    case 0:
      return flipBits(s, random);
    case 1:
      return setInteresting(s, random);
    case 2:
      return copyInPlace(s, random() % 2 ? std::string(s) : other, random);
    case 3:
      return changeNumber(s, random);
    default:
      return replaceWord(s, random() % 4 ? std::string(s) : other, random);
  }
}

}  // namespace

std::string mutate(const std::string& input, const std::string& other, Random& random) {
  std::string s = input;
  if (random() % 2) {
    for (size_t changes = 1 + below(3, random); changes > 0; --changes) changeGently(s, other, random);
    return s;
  }
  const size_t changes = 1 + below(8, random);
  for (size_t i = 0; i < changes; ++i) {
    switch (below(10, random)) {
      case 0:
      case 1:
      case 2:
        flipBits(s, random);
        break;
      case 3:
      case 4:
        setInteresting(s, random);
        break;
      case 5:
        eraseRange(s, random);
        break;
      case 6:
        duplicateRange(s, random);
        break;
      case 7:
        splice(s, other, random);
        break;
      case 8:
        changeNumber(s, random);
        break;
      default:
        if (below(8, random) == 0) s.resize(below(s.size() + 1, random));
        break;
    }
  }
  s.resize(std::min(s.size(), 2 * input.size() + 64));
  return s;
}

}  // namespace smalti::fuzz
