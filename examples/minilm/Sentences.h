// The texts that are tokenised, embedded or searched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::minilm {

/// SM6008 with the place of the first byte that is not UTF-8.
Status checkUtf8(std::string_view text, const std::string& name);

/// A JSON list of texts, or an object with such a list as "sentences". SM1001, SM1015, SM6008, SM6009.
Result<std::vector<std::string>> readJsonSentences(const std::string& path);
Result<std::vector<std::string>> parseJsonSentences(std::string_view text, const std::string& name);

struct Line {
  int number = 0;  ///< from 1
  std::string text;
};
/// The lines of a text file that hold anything but blanks. SM1001, SM1015, SM6008.
Result<std::vector<Line>> readLines(const std::string& path);
Result<std::vector<Line>> parseLines(std::string_view text, const std::string& name);

}  // namespace smalti::minilm
