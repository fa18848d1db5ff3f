#include "driver/case/Case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/io/File.h"
#include "interop/config/JsonNesting.h"
#include "interop/npy/Npy.h"

namespace smalti::driver {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int64_t kMaxCaseFileBytes = 16 << 20;

Diagnostic malformed(const std::string& path, std::string what) {
  return {.code = "SM1007", .message = fmt::format("'{}' is not a case: {}", path, what), .place = {}};
}

/// A member's text, or "" where it is absent, null or something else.
std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double numberOr0(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

/// A list of objects; empty where it is absent or null.
Result<std::vector<json>> objects(const json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  std::vector<json> list;
  if (found == object.end() || found->is_null()) return list;
  if (!found->is_array()) return fail(malformed(path, fmt::format("'{}' is not a list", key)));
  for (const json& item : *found) {
    if (!item.is_object()) return fail(malformed(path, fmt::format("'{}' contains a non-object", key)));
    list.push_back(item);
  }
  return list;
}

Result<std::vector<RecordedArray>> recordedArrays(const json& object, const char* key, const std::string& folder,
                                                  const std::string& path) {
  const auto list = objects(object, key, path);
  if (!list) return fail(list.error());
  std::vector<RecordedArray> arrays;
  for (const json& item : *list) {
    const std::string dtypeName = text(item, "dtype"), file = text(item, "file");
    const auto dtype = interop::dtypeFromNumpyName(dtypeName);
    if (!dtype) return fail(malformed(path, fmt::format("'{}' names the type '{}'", key, dtypeName.substr(0, 40))));
    if (file.find('/') != std::string::npos || file == "..")
      return fail(malformed(path, fmt::format("file '{}' is not in the folder", file.substr(0, 100))));
    arrays.push_back({file.empty() ? "" : folder + "/" + file, *dtype});
  }
  return arrays;
}

}  // namespace

Tolerance Case::tolerance(size_t result) const {
  if (tolerances.empty()) return {};
  return tolerances[tolerances.size() == 1 ? 0 : std::min(result, tolerances.size() - 1)];
}

bool isCaseFolder(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(folder + "/case.json", error);
}

Result<Case> readCase(const std::string& folder) {
  const std::string path = folder + "/case.json";
  const auto content = readFile(path, kMaxCaseFileBytes);
  if (!content) return fail(content.error());
  return parseCase(*content, folder);
}

Result<Case> parseCase(std::string_view content, const std::string& folder) {
  const std::string path = folder + "/case.json";
  if (interop::jsonNestedTooDeep(content)) return fail(malformed(path, "it is nested too deeply"));
  const json object = json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return fail(malformed(path, "no JSON object"));

  Case c;
  c.folder = folder;
  c.name = text(object, "name");
  c.description = text(object, "description");
  c.modulePath = folder + "/module.stablehlo.mlir";
  auto arguments = recordedArrays(object, "args", folder, path);
  if (!arguments) return fail(arguments.error());
  c.arguments = std::move(*arguments);
  auto results = recordedArrays(object, "results", folder, path);
  if (!results) return fail(results.error());
  const bool complete =
      std::none_of(results->begin(), results->end(), [](const RecordedArray& a) { return a.file.empty(); });
  if (complete) c.results = std::move(*results);
  const auto tolerances = objects(object, "tolerance", path);
  if (!tolerances) return fail(tolerances.error());
  for (const json& t : *tolerances) c.tolerances.push_back({numberOr0(t, "rtol"), numberOr0(t, "atol")});
  if (text(object, "expected_from").find("InterpretParams") != std::string::npos) c.poison = machine::Poison::intMax;
  return c;
}

Result<std::vector<Array>> readInputs(const Case& c, const std::vector<ArrayType>& types, const std::string& how,
                                      uint64_t seed) {
  if (!c.arguments.empty() && c.arguments.size() != types.size())
    return fail({.code = "SM1008",
                 .message = fmt::format("the case '{}' and its module disagree on the number of inputs", c.folder),
                 .place = {},
                 .need = fmt::format("{} inputs of main", types.size()),
                 .have = fmt::format("{} in case.json", c.arguments.size())});
  std::vector<Array> inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool recorded = i < c.arguments.size() && !c.arguments[i].file.empty();
    auto array =
        recorded ? interop::readNpy(c.arguments[i].file, types[i].dtype) : filledArray(types[i], how, seed + i);
    if (!array) return fail(array.error());
    if (array->shape() != types[i].shape)
      return fail({.code = "SM1008",
                   .message = fmt::format("the shape of input {} differs from main's argument", i),
                   .place = {.file = c.arguments[i].file},
                   .need = types[i].str(),
                   .have = array->type().str()});
    inputs.push_back(std::move(*array));
  }
  return inputs;
}

Result<std::vector<Array>> readExpected(const Case& c) {
  std::vector<Array> expected;
  for (const RecordedArray& r : c.results) {
    auto array = interop::readNpy(r.file, r.dtype);
    if (!array) return fail(array.error());
    expected.push_back(std::move(*array));
  }
  return expected;
}

Result<std::vector<std::string>> findCases(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> found;
  if (isCaseFolder(folder)) found.push_back(folder);
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error))
    if (it->is_directory(error) && isCaseFolder(it->path().string())) found.push_back(it->path().string());
  if (error)
    return fail({.code = "SM1001",
                 .message = fmt::format("cannot read the folder '{}': {}", folder, error.message()),
                 .place = {}});
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace smalti::driver
