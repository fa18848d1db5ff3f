// Names of a file of machine code and of the C header next to it.
#pragma once

#include <string>

#include "smalti/diagnostic.h"

namespace smalti::driver {

struct OutputNames {
  std::string header;  ///< the path of the code, ending in .h
  std::string symbol;  ///< prefix of the names that the header declares
  std::string file;    ///< of the code, without its folder
};

/// `symbol`: empty for the file's name; `example`: a file name for messages. SM1000 for invalid names.
Result<OutputNames> outputNames(const std::string& path, const std::string& symbol, const std::string& example);
/// Both files or none.
Status writeWithHeader(const std::string& path, const std::string& code, const std::string& headerPath,
                       const std::string& header);

}  // namespace smalti::driver
