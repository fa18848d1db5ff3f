#include "Written.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "Targets.h"

namespace smalti::fuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string readAll(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeAll(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::vector<fs::path> filesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().filename());
  std::ranges::sort(files);
  return files;
}

std::string mutatedFile(const fs::path& file, Random& random) {
  const std::string content = readAll(file);
  if (kindOf(file.filename().string()) == Kind::program && random() % 2)
    return withMutatedBody(content, content, random);
  return mutate(content, content, random);
}

std::string framed(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Json anyPlace(const std::string& text, Random& random) {
  const auto lines = static_cast<uint64_t>(std::ranges::count(text, '\n'));
  if (random() % 16 == 0)
    return {{"line", static_cast<int32_t>(random())}, {"character", static_cast<int32_t>(random())}};
  return {{"line", random() % (lines + 2)}, {"character", random() % 120}};
}

}  // namespace

void writeMutatedCase(const std::vector<fs::path>& cases, const fs::path& folder, Random& random) {
  const fs::path& from = cases[random() % cases.size()];
  const std::vector<fs::path> files = filesOf(from);
  if (files.empty()) return;
  fs::create_directories(folder);
  for (const fs::path& file : files) fs::copy_file(from / file, folder / file, fs::copy_options::overwrite_existing);
  for (uint64_t changes = 1 + random() % 2; changes > 0; --changes) {
    const fs::path& file = files[random() % files.size()];
    writeAll(folder / file, mutatedFile(folder / file, random));
  }
}

std::string mutatedSession(const std::string& module, const std::string& other, Random& random) {
  constexpr const char* kQuestions[] = {"hover",      "definition", "references", "documentSymbol",
                                        "completion", "codeAction", "inlayHint",  "foldingRange"};
  constexpr const char* kUri = "file:///kernel.mlir";
  const std::string text = random() % 4 ? mutate(module, other, random) : module;
  const Json document{{"uri", kUri}, {"languageId", "mlir"}, {"version", 1}, {"text", text}};
  std::string session =
      framed({{"jsonrpc", "2.0"},
              {"id", 0},
              {"method", "initialize"},
              {"params", {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", Json::object()}}}});
  session += framed({{"jsonrpc", "2.0"}, {"method", "textDocument/didOpen"}, {"params", {{"textDocument", document}}}});
  for (int id = 1; id <= 4; ++id) {
    const Json at = anyPlace(text, random), end = anyPlace(text, random);
    const Json params{{"textDocument", {{"uri", kUri}}},
                      {"position", at},
                      {"range", {{"start", at}, {"end", end}}},
                      {"context", {{"includeDeclaration", true}, {"diagnostics", Json::array()}}}};
    session += framed({{"jsonrpc", "2.0"},
                       {"id", id},
                       {"method", std::string("textDocument/") + kQuestions[random() % std::size(kQuestions)]},
                       {"params", params}});
  }
  const Json at = anyPlace(text, random), end = anyPlace(text, random);
  Json change{{"text", mutate(text.substr(0, 200), other, random)}};
  if (random() % 4) change["range"] = {{"start", at}, {"end", end}};
  session += framed({{"jsonrpc", "2.0"},
                     {"method", "textDocument/didChange"},
                     {"params", {{"textDocument", {{"uri", kUri}, {"version", 2}}}, {"contentChanges", {change}}}}});
  session += framed({{"jsonrpc", "2.0"}, {"id", 9}, {"method", "shutdown"}});
  session += framed({{"jsonrpc", "2.0"}, {"method", "exit"}});
  return random() % 4 ? session : mutate(session, other, random);
}

}  // namespace smalti::fuzz
