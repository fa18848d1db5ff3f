#include "Sentences.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Unicode.h"
#include "base/io/File.h"

namespace smalti::minilm {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSentencesBytes = 256 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

tl::unexpected<Diagnostic> notSentences(const std::string& name, std::string what) {
  return fail({.code = "SM6009",
               .message = fmt::format("'{}' holds no list of texts: {}", name, what),
               .place = {},
               .need = R"(["one text", "another"] or {"sentences": ["one text", "another"]})"});
}

}  // namespace

Status checkUtf8(std::string_view text, const std::string& name) {
  const auto at = firstNonUtf8(text);
  if (!at) return {};
  const std::string_view before = text.substr(0, *at);
  const size_t lineStart = before.rfind('\n') + 1;  // npos + 1 is 0
  const SourcePlace place{name, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                          static_cast<int>(*at - lineStart) + 1};
  return fail({.code = "SM6008",
               .message = fmt::format("byte 0x{:02x} does not belong to UTF-8 text here",
                                      static_cast<unsigned char>(text[*at])),
               .place = place,
               .help = "save the text as UTF-8, e.g. iconv -f ISO-8859-1 -t UTF-8"});
}

Result<std::vector<std::string>> readJsonSentences(const std::string& path) {
  const auto text = readFile(path, kMaxSentencesBytes);
  if (!text) return fail(text.error());
  return parseJsonSentences(*text, path);
}

Result<std::vector<std::string>> parseJsonSentences(std::string_view text, const std::string& name) {
  if (Status status = checkUtf8(text, name); !status) return fail(status.error());
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return notSentences(name, "it is not JSON");
  const json* list = &document;
  if (document.is_object()) {
    const auto found = document.find("sentences");
    if (found == document.end()) return notSentences(name, "the object has no member 'sentences'");
    list = &*found;
  }
  if (!list->is_array()) return notSentences(name, "it is neither a list nor an object with one");
  std::vector<std::string> sentences;
  for (const json& item : *list) {
    if (!item.is_string()) return notSentences(name, fmt::format("item {} is not text", sentences.size()));
    sentences.push_back(item.get<std::string>());
  }
  return sentences;
}

Result<std::vector<Line>> readLines(const std::string& path) {
  const auto text = readFile(path, kMaxSentencesBytes);
  if (!text) return fail(text.error());
  return parseLines(*text, path);
}

Result<std::vector<Line>> parseLines(std::string_view text, const std::string& name) {
  if (Status status = checkUtf8(text, name); !status) return fail(status.error());
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back({number, std::string(line)});
  }
  return lines;
}

}  // namespace smalti::minilm
