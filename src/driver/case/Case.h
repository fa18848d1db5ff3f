// A recorded case: a folder with case.json, a module, its inputs and what it should compute.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/case/Values.h"
#include "machine/Memory.h"
#include "smalti/array.h"

namespace smalti::driver {

struct RecordedArray {
  std::string file;  ///< full path; empty: not recorded
  DType dtype = DType::f32;
};

struct Case {
  std::string folder;
  std::string name, description;
  std::string modulePath;
  std::vector<RecordedArray> arguments;
  /// Empty: nothing is expected; the case only has to finish.
  std::vector<RecordedArray> results;
  std::vector<Tolerance> tolerances;
  /// The values of undefined integers in the recording.
  machine::Poison poison = machine::Poison::intMin;

  Tolerance tolerance(size_t result) const;
};

/// True when the folder holds a case.json.
bool isCaseFolder(const std::string& folder);

/// Reads case.json; absent and null fields are taken as their defaults. SM1007.
Result<Case> readCase(const std::string& folder);
/// The same from the text of the folder's case.json.
Result<Case> parseCase(std::string_view content, const std::string& folder);

/// The inputs in the order and with the types of main's arguments; those not recorded are filled (`how`, see
/// filledArray). SM1001 to SM1005, SM1008.
Result<std::vector<Array>> readInputs(const Case&, const std::vector<ArrayType>& types, const std::string& how,
                                      uint64_t seed);
/// The expected results; empty: none.
Result<std::vector<Array>> readExpected(const Case&);

/// Every case folder in or below `folder`, sorted. SM1001.
Result<std::vector<std::string>> findCases(const std::string& folder);

}  // namespace smalti::driver
