// What the verbs share: where the model and the texts come from, and the ids they write.
#pragma once

#include <string>
#include <vector>

#include "Tokenizer.h"
#include "driver/cli/Session.h"

namespace smalti::minilm {

/// --model, --json and --ids of a command line.
struct TextArguments {
  std::string model, jsonFile, idsFile;
  void declareModel(CLI::App&);
  void declareFiles(CLI::App&);
};

/// Tokens of every text; says on standard error which were cut.
std::vector<Tokens> encodeAll(const Tokenizer&, const std::vector<std::string>& texts, const cli::Session&);

/// [[101, …, 102], …]
std::string idsJson(const std::vector<Tokens>&);

}  // namespace smalti::minilm
