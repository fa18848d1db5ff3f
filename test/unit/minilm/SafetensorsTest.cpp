#include "Safetensors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "SafetensorsFile.h"

namespace smalti::minilm {
namespace {

const std::string kTwo = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[2],"data_offsets":[16,32]},)"
                         R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

TEST(Safetensors, TensorsAreFoundByName) {
  const auto file = Safetensors::parse(safetensorsFile(kTwo, 32), "two");
  ASSERT_TRUE(file) << file.error().str();
  EXPECT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors().at("a").type.str(), "f32[2,2]");
  const auto b = file->array("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->as<int64_t>()[0], 0x1716151413121110);
  EXPECT_FALSE(file->contains("c"));
}

TEST(Safetensors, UnalignedTensorsAreReadToo) {
  for (const std::string pad : {"", " ", "  ", "   "}) {
    const auto file = Safetensors::parse(safetensorsFile(kTwo + pad, 32), "two");
    ASSERT_TRUE(file) << file.error().str();
    const auto b = file->array("b");
    ASSERT_TRUE(b);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % 8, 0u);
    EXPECT_EQ(b->as<int64_t>()[1], 0x1f1e1d1c1b1a1918);
  }
}

TEST(Safetensors, EmptyTensorsAndScalarsAreTensors) {
  const auto file = Safetensors::parse(safetensorsFile(R"({"e":{"dtype":"F16","shape":[0,3],"data_offsets":[0,0]},)"
                                                       R"("s":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}})",
                                                       2),
                                       "f");
  ASSERT_TRUE(file) << file.error().str();
  EXPECT_EQ(file->tensors().at("s").type.str(), "bf16[]");
  EXPECT_TRUE(file->array("e"));
}

TEST(Safetensors, TheHeaderIsJudgedBeforeTensorsAreRead) {
  // 3 GiB of nothing: reading them takes seconds and memory, the header says at once that something is wrong.
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("sparse.{}.safetensors", ::getpid())).string();
  const auto judged = [&](const std::string& header, int64_t size) {
    std::ofstream(path, std::ios::binary) << safetensorsFile(header, 0);
    std::filesystem::resize_file(path, static_cast<uintmax_t>(size));
    const auto file = Safetensors::read(path);
    return file ? std::string() : file.error().code;
  };
  const auto peakMib = [] {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss >> 10;
  };
  const long before = peakMib();
  EXPECT_EQ(judged(kTwo, int64_t{3} << 30), "SM6001");
  EXPECT_EQ(judged(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", int64_t{3} << 30), "SM6002");
  EXPECT_LT(peakMib() - before, 100);
  std::filesystem::remove(path);
}

TEST(Safetensors, TheArrayOutlivesTheFile) {
  Array a;
  {
    auto file = Safetensors::parse(safetensorsFile(kTwo, 32), "two");
    a = *file->array("a");
  }
  EXPECT_EQ(a.as<uint32_t>()[3], 0x0f0e0d0cu);
}

struct Hostile {
  const char* what;
  std::string bytes;
  std::string text;  ///< the whole refusal
};

std::string one(const std::string& entry) { return R"({"t":)" + entry + "}"; }

const std::string kNeedEntry = "  need: {\"dtype\": \"F32\", \"shape\": [8, 128], \"data_offsets\": [0, 4096]}\n";
const std::string kDamaged = "  help: the file is cut off or damaged: fetch it again\n";

const Hostile kHostile[] = {
    {"nothing", "",
     "error[SM6001]: 'f' is not a safetensors file that can be read: it ends before its header\n"
     "  need: at least 8 bytes\n  have: 0 bytes\n"},
    {"text", "hello, this is text",
     "error[SM6001]: 'f' is not a safetensors file that can be read: it ends inside its "
     "header, or it is another kind of file\n  need: a header of 8367736964726416744 bytes\n"
     "  have: 11 bytes after the length\n"},
    {"short header", safetensorsFile(kTwo, 32).substr(0, 20),
     "error[SM6001]: 'f' is not a safetensors file that can be read: it ends inside its header, or it is another kind "
     "of file\n  need: a header of 143 bytes\n  have: 12 bytes after the length\n"},
    {"no JSON", safetensorsFile("{\"t\":", 0),
     "error[SM6001]: 'f' is not a safetensors file that can be read: its header is not a JSON object\n"},
    {"no UTF-8", safetensorsFile("{\"\xff\":{}}", 0),
     "error[SM6001]: 'f' is not a safetensors file that can be read: its header is not a JSON object\n"},
    {"a list", safetensorsFile("[]", 0),
     "error[SM6001]: 'f' is not a safetensors file that can be read: its header is not a JSON object\n"},
    {"deep", safetensorsFile(R"({"t":[[[[[[[[[[1]]]]]]]]]]})", 0),
     "error[SM6001]: 'f' is not a safetensors file that can be read: its header is nested too deeply\n"},
    {"twice", safetensorsFile(R"({"t":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"t":{}})", 1),
     "error[SM6001]: 'f' is not a safetensors file that can be read: its header names 't' twice\n"},
    {"rest", safetensorsFile(one(R"({"dtype":"I8","shape":[1],"data_offsets":[0,1]})"), 3),
     "error[SM6001]: 'f' is not a safetensors file that can be read: bytes are left over behind the last tensor\n"
     "  need: 1 bytes\n  have: 3 bytes\n"},
    {"no object", safetensorsFile(one("3"), 0),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: it is not an object\n" + kNeedEntry},
    {"no dtype", safetensorsFile(one(R"({"shape":[],"data_offsets":[0,0]})"), 0),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'dtype' is not text\n" + kNeedEntry},
    {"no shape", safetensorsFile(one(R"({"dtype":"F32","data_offsets":[0,0]})"), 0),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'shape' is not a list of at most 32 sizes\n" +
         kNeedEntry},
    {"negative", safetensorsFile(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), 4),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'shape' holds something that is not a size\n" +
         kNeedEntry},
    {"fraction", safetensorsFile(one(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), 4),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'shape' holds something that is not a size\n" +
         kNeedEntry},
    {"overflow", safetensorsFile(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"), 0),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'shape' has more elements than a file can "
     "hold\n" +
         kNeedEntry},
    {"huge", safetensorsFile(one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]})"), 0),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'shape' holds something that is not a size\n" +
         kNeedEntry},
    {"no pair", safetensorsFile(one(R"({"dtype":"F32","shape":[],"data_offsets":[0]})"), 4),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'data_offsets' is not a pair\n" + kNeedEntry},
    {"backwards", safetensorsFile(one(R"({"dtype":"F32","shape":[],"data_offsets":[4,0]})"), 4),
     "error[SM6002]: tensor 't' of 'f' is not described as it must be: 'data_offsets' is not a range of bytes\n" +
         kNeedEntry},
    {"truncated", safetensorsFile(kTwo, 31),
     "error[SM6003]: tensor 'b' of 'f' reaches past the end of the file\n  need: 32 bytes behind the header\n"
     "  have: 31 bytes\n" +
         kDamaged},
    {"size", safetensorsFile(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,4]})"), 4),
     "error[SM6003]: tensor 't' of 'f' has another size than its shape asks for\n  need: 12 bytes for f32[3]\n"
     "  have: 4 bytes\n" +
         kDamaged},
    {"overlap",
     safetensorsFile(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"I8","shape":[4],"data_offsets":[2,6]}})",
                     6),
     "error[SM6003]: tensor 'b' of 'f' overlaps the tensor before it\n  need: to begin at byte 4\n  have: byte 2\n" +
         kDamaged},
    {"hole", safetensorsFile(one(R"({"dtype":"I8","shape":[2],"data_offsets":[2,4]})"), 4),
     "error[SM6003]: tensor 't' of 'f' leaves a hole before it\n  need: to begin at byte 0\n  have: byte 2\n" +
         kDamaged},
    {"dtype", safetensorsFile(one(R"({"dtype":"F12","shape":[],"data_offsets":[0,4]})"), 4),
     "error[SM6004]: tensor 't' of 'f' has elements of type 'F12', which is not known\n"
     "  need: one of F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, F8_E4M3, F8_E5M2\n"},
};

TEST(Safetensors, HostileFilesAreRefusedInWords) {
  for (const Hostile& hostile : kHostile) {
    const auto file = Safetensors::parse(hostile.bytes, "f");
    ASSERT_FALSE(file) << hostile.what;
    EXPECT_EQ(file.error().str(), hostile.text) << hostile.what;
  }
}

TEST(Safetensors, AHeaderLengthOverTheLimitIsNotBelieved) {
  std::string bytes = safetensorsFile(kTwo, 32);
  for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = '\xff';
  EXPECT_EQ(Safetensors::parse(bytes, "f").error().code, "SM6001");
}

TEST(Safetensors, AMutatedFileIsRefusedOrStaysInBounds) {
  std::mt19937 random(7);
  const std::string good = safetensorsFile(kTwo, 32);
  int accepted = 0;
  for (int n = 0; n < 50'000; ++n) {
    std::string bytes = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789[]{},:\""[random() % 17];
          break;
        case 2:
          bytes.erase(at, 1);
          break;
        default:
          bytes.insert(at, 1, bytes[random() % bytes.size()]);
      }
    }
    const auto file = Safetensors::parse(bytes, "f");
    if (!file) continue;
    ++accepted;
    for (const auto& [name, tensor] : file->tensors()) {
      const auto array = file->array(name);
      ASSERT_TRUE(array);
      int64_t sum = 0;
      for (int64_t i = 0; i < array->bytes(); ++i) sum += static_cast<int64_t>(array->data()[i]);
      EXPECT_GE(sum, 0);
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace smalti::minilm
