// minilm tokenize: the ids of texts, or the tokens of one as a table.
#include <fmt/format.h>

#include "Commands.h"
#include "Model.h"
#include "Sentences.h"
#include "Texts.h"
#include "base/io/File.h"
#include "driver/term/Table.h"

namespace smalti::minilm {
namespace {

struct TokenizeArguments {
  TextArguments texts;
  std::string text;
  bool hasText = false;
};

Result<std::vector<std::string>> textsOf(const TokenizeArguments& arguments) {
  if (arguments.hasText == !arguments.texts.jsonFile.empty())
    return fail({.code = "SM1000",
                 .message = "tokenize takes one text or --json FILE",
                 .place = {},
                 .help = "minilm tokenize --model FOLDER 'a text'"});
  if (!arguments.hasText) return readJsonSentences(arguments.texts.jsonFile);
  if (Status status = checkUtf8(arguments.text, "the text"); !status) return fail(status.error());
  return std::vector{arguments.text};
}

std::string table(const Tokens& tokens, const Vocabulary& vocabulary, bool color) {
  term::Table rows({{"token"}, {"id", term::Align::right}});
  for (const int32_t id : tokens.ids) rows.add({vocabulary.token(id), std::to_string(id)});
  return rows.str(color);
}

int tokenize(const cli::Session& session, const TokenizeArguments& arguments) {
  const auto texts = textsOf(arguments);
  if (!texts) return session.refuse(texts.error());
  const auto model = readTextModel(arguments.texts.model);
  if (!model) return session.refuse(model.error());
  const std::vector<Tokens> all = encodeAll(model->tokenizer, *texts, session);
  if (!arguments.texts.idsFile.empty()) {
    if (Status status = writeFile(arguments.texts.idsFile, {idsJson(all)}); !status)
      return session.refuse(status.error());
  } else if (arguments.hasText && !session.json()) {
    session.print(table(all[0], model->tokenizer.vocabulary(), session.colorOut()));
  } else {
    session.print(idsJson(all));
  }
  return cli::kOk;
}

}  // namespace

void declareTokenize(CLI::App& app, cli::Session& session) {
  auto arguments = std::make_shared<TokenizeArguments>();
  CLI::Option* text = app.add_option("text", arguments->text, "shown token by token")->type_name("TEXT");
  arguments->texts.declareModel(app);
  arguments->texts.declareFiles(app);
  session.addOptions(app, {OptionGroup::output}, {"json"});
  app.callback([&session, arguments, text] {
    arguments->hasText = text->count() > 0;
    session.action = [&session, arguments] { return tokenize(session, *arguments); };
  });
}

}  // namespace smalti::minilm
