// Runs every wrong program and compares its message with the comment above it.
#include "WrongPrograms.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "smalti/error.h"

namespace smalti::test {
namespace {

/// The comment above `WRONG_PROGRAM(name)`, without its slashes.
std::string expected(const WrongProgram& program) {
  std::ifstream file(program.file);
  std::string line, comment;
  while (std::getline(file, line)) {
    if (line.starts_with("WRONG_PROGRAM(" + std::string(program.name) + ")")) return comment;
    if (!line.starts_with("//"))
      comment.clear();
    else
      comment += (line.size() > 3 ? line.substr(3) : "") + "\n";
  }
  return "no program of this name";
}

/// Messages without blanks at the ends of lines: comments have none.
std::string trimmed(const std::string& text) {
  std::istringstream in(text);
  std::string line, out;
  while (std::getline(in, line)) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string messageOf(const WrongProgram& program) {
  try {
    program.run();
  } catch (const Error& error) {
    return trimmed(error.what());
  }
  return "ran without an error\n";
}

class WrongProgramTest : public testing::TestWithParam<WrongProgram> {};

TEST_P(WrongProgramTest, SaysWhatIsWrong) {
  const WrongProgram& program = GetParam();
  const std::string message = messageOf(program);
  if (std::getenv("SMALTI_PRINT_MESSAGES")) std::printf("@@ %s %s\n%s", program.file, program.name, message.c_str());
  EXPECT_EQ(message, expected(program)) << "tools/wrong_programs.py --write";
}

/// After each of them the thread is clean: a right kernel runs.
TEST_P(WrongProgramTest, LeavesTheThreadClean) {
  messageOf(GetParam());
  const Array y =
      pallas_call([](Ref x, Ref o) { o[_] = x[_] + 1; }, {.out_shape = ShapeDtype{{8, 128}, f32}})(zeros({8, 128}));
  EXPECT_EQ(y.as<float>()[1023], 1.0f);
}

INSTANTIATE_TEST_SUITE_P(All, WrongProgramTest, testing::ValuesIn(wrongPrograms()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WrongPrograms, ThereAreManyOfThem) { EXPECT_GE(wrongPrograms().size(), 60u); }

}  // namespace
}  // namespace smalti::test

int main(int argc, char** argv) {
  std::filesystem::current_path(SMALTI_SOURCE_DIR);  // messages show lines of sources named relative to it
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
