// minilm search: the lines of a text file that are nearest in meaning to a query.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "Commands.h"
#include "Encoder.h"
#include "Model.h"
#include "Sentences.h"
#include "Texts.h"
#include "Unicode.h"
#include "driver/term/Table.h"

namespace smalti::minilm {
namespace {

struct SearchArguments {
  TextArguments texts;
  std::string file, query;
  int64_t top = 5;
};

constexpr size_t kLineLimit = 200;  ///< characters shown of a line

struct Hit {
  const Line* line;
  float score;  ///< cosine of the angle between the vectors: 1 is the same meaning
};

std::vector<Hit> best(const std::vector<Line>& lines, const Array& scores, int64_t top) {
  std::vector<Hit> hits;
  for (size_t i = 0; i < lines.size(); ++i) hits.push_back({&lines[i], scores.as<float>()[i]});
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
  hits.resize(std::min(hits.size(), static_cast<size_t>(top)));
  return hits;
}

void print(const cli::Session& session, const std::vector<Hit>& hits) {
  if (session.json()) {
    cli::Json rows = cli::Json::array();
    for (const Hit& hit : hits)
      rows.push_back({{"line", hit.line->number}, {"score", hit.score}, {"text", hit.line->text}});
    return session.printJson(rows);
  }
  term::Table table({{"score", term::Align::right}, {"line", term::Align::right}, {"text"}});
  for (const Hit& hit : hits)
    table.add(
        {fmt::format("{:.3f}", hit.score), std::to_string(hit.line->number), forTerminal(hit.line->text, kLineLimit)});
  session.print(table.str(session.colorOut()));
}

int search(const cli::Session& session, const SearchArguments& arguments) {
  const auto lines = readLines(arguments.file);
  if (!lines) return session.refuse(lines.error());
  if (lines->empty())
    return session.refuse({.code = "SM6010",
                           .message = fmt::format("there is nothing to search in '{}'", arguments.file),
                           .place = {},
                           .need = "at least one line that is not blank"});
  if (Status status = checkUtf8(arguments.query, "the query"); !status) return session.refuse(status.error());
  const auto model = readTextModel(arguments.texts.model);
  if (!model) return session.refuse(model.error());
  std::vector<std::string> texts;
  for (const Line& line : *lines) texts.push_back(line.text);
  texts.push_back(arguments.query);
  const auto vectors = embedAll(arguments.texts, model->config, encodeAll(model->tokenizer, texts, session), session);
  if (!vectors) return session.refuse(vectors.error());
  const auto scores = similarities(*vectors);
  if (!scores) return session.refuse(scores.error());
  print(session, best(*lines, *scores, arguments.top));
  return cli::kOk;
}

}  // namespace

void declareSearch(CLI::App& app, cli::Session& session) {
  auto arguments = std::make_shared<SearchArguments>();
  app.add_option("file", arguments->file, "a text file; each line is a text")->required()->type_name("FILE");
  app.add_option("query", arguments->query, "what to look for, in your words")->required()->type_name("QUERY");
  arguments->texts.declareModel(app);
  arguments->texts.declareDevices(app);
  app.add_option("--top", arguments->top, "how many lines to show")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  session.addOptions(app, {OptionGroup::run, OptionGroup::output});
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return search(session, *arguments); }; });
}

}  // namespace smalti::minilm
