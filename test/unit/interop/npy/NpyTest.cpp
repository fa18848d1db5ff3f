#include "interop/npy/Npy.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace smalti::interop {
namespace {

std::string withHeader(const std::string& dict, const std::string& data, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return text + dict + data;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  return withHeader("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n", data);
}

template <class T>
std::vector<T> values(const Array& a) {
  return {a.as<T>(), a.as<T>() + a.elements()};
}

std::string code(const Result<Array>& r) { return r ? "" : r.error().code; }

TEST(Npy, ReadsEveryVersionOfTheFormat) {
  for (int version : {1, 2, 3}) {
    auto a = parseNpy(
        withHeader("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", std::string("\1\0\2\0", 4), version),
        "a.npy");
    ASSERT_TRUE(a) << a.error().str();
    EXPECT_EQ(a->type(), (ArrayType{DType::i16, {2}}));
    EXPECT_EQ(values<int16_t>(*a), (std::vector<int16_t>{1, 2}));
  }
}

TEST(Npy, ReadsRank0AndEmptyArrays) {
  auto scalar = parseNpy(npy("<f4", "()", std::string("\0\0\x80\x3f", 4)), "a.npy");
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->shape(), Shape{});
  EXPECT_EQ(scalar->as<float>()[0], 1.0f);
  auto empty = parseNpy(npy("<f4", "(0, 128)", ""), "a.npy");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->shape(), (Shape{0, 128}));
}

TEST(Npy, TransposesFortranOrder) {
  auto a = parseNpy(npy("|u1", "(2, 3)", "\1\4\2\5\3\6", "True"), "a.npy");
  ASSERT_TRUE(a);
  EXPECT_EQ(values<uint8_t>(*a), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, SwapsBigEndianElements) {
  auto a = parseNpy(npy(">i4", "(1,)", std::string("\0\0\1\2", 4)), "a.npy");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->as<int32_t>()[0], 258);
}

TEST(Npy, ReadsRawFormsOfTypesThatNumpyLacks) {
  const std::string one("\x80\x3f", 2);
  for (const char* descr : {"<u2", "<V2", "|V2", "bfloat16"}) {
    auto a = parseNpy(npy(descr, "(1,)", one), "a.npy", DType::bf16);
    ASSERT_TRUE(a) << descr << a.error().str();
    EXPECT_EQ(a->dtype(), DType::bf16);
    EXPECT_EQ(a->as<uint16_t>()[0], 0x3f80);
  }
  EXPECT_EQ(parseNpy(npy("<V2", "(1,)", one), "a.npy")->dtype(), DType::bf16);
  EXPECT_EQ(parseNpy(npy("|u1", "(1,)", "\x3c"), "a.npy", DType::f8e5m2)->dtype(), DType::f8e5m2);
  EXPECT_EQ(parseNpy(npy("|V1", "(1,)", "\x3c"), "a.npy", DType::f8e4m3fn)->dtype(), DType::f8e4m3fn);
  EXPECT_EQ(code(parseNpy(npy("|V1", "(1,)", "\x3c"), "a.npy")), "SM1005");
}

TEST(Npy, SignExtendsRawNibbles) {
  auto a = parseNpy(npy("|u1", "(3,)", std::string("\x08\x07\xff", 3)), "a.npy", DType::i4);
  ASSERT_TRUE(a);
  EXPECT_EQ(values<int8_t>(*a), (std::vector<int8_t>{-8, 7, -1}));
  auto u = parseNpy(npy("|u1", "(2,)", "\x08\x0f"), "a.npy", DType::u4);
  EXPECT_EQ(values<uint8_t>(*u), (std::vector<uint8_t>{8, 15}));
  EXPECT_EQ(code(parseNpy(npy("|u1", "(1,)", "\x17"), "a.npy", DType::i4)), "SM1005");
  auto asInt8 = parseNpy(npy("|i1", "(1,)", "\xf8"), "a.npy", DType::i4);
  EXPECT_EQ(asInt8->as<int8_t>()[0], -8);
}

TEST(Npy, RefusesAnotherElementType) {
  const auto a = parseNpy(npy("<f4", "(0,)", ""), "x.npy", DType::bf16);
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().str(),
            "error[SM1005]: 'x.npy' holds elements of the wrong type\n"
            "  need: bfloat16 (stored as uint16)\n"
            "  have: float32\n"
            "  help: convert it: numpy.save(path, array.astype(\"uint16\"))\n");
}

TEST(Npy, RefusesHostileHeaders) {
  const auto refused = [](const std::string& bytes) { return code(parseNpy(bytes, "a.npy")); };
  EXPECT_EQ(refused(""), "SM1002");
  EXPECT_EQ(refused("\x93NUMPY\x01"), "SM1002");
  EXPECT_EQ(refused(std::string("\x93NUMPY\x01\x00\xff\xff{", 11)), "SM1002");
  EXPECT_EQ(refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13)), "SM1002");
  EXPECT_EQ(refused(withHeader("{'descr': '<f4'}", "")), "SM1002");
  EXPECT_EQ(refused(withHeader("__import__('os')", "")), "SM1002");
  EXPECT_EQ(refused(npy("<f4", "(-1,)", "")), "SM1002");
  EXPECT_EQ(refused(npy("<f4", "(4611686018427387904, 4611686018427387904)", "")), "SM1002");
  EXPECT_EQ(refused(npy("<f4", "(99999999999999999999,)", "")), "SM1002");
  EXPECT_EQ(refused(npy("<f4", "(1152921504606846976,)", "")), "SM1004");
  EXPECT_EQ(refused(npy("<f4", "(2,)", "1234567")), "SM1004");
  EXPECT_EQ(refused(npy("<f4", "(2,)", "123456789")), "SM1004");
  for (const char* descr : {"<c32", "|O", "<U4", "<f3", "", "<", "|S1", "|V16", "<V"})
    EXPECT_EQ(refused(npy(descr, "(0,)", "")), "SM1003") << descr;
  EXPECT_EQ(refused(withHeader("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }", "")), "SM1003");
}

TEST(Npy, AnyPrefixAndAnyFlippedBitIsReadOrRefused) {
  const std::string good = npy("<i4", "(2, 1)", std::string(8, '\7'));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(parseNpy(good.substr(0, n), "a.npy"));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    (void)parseNpy(flipped, "a.npy");
  }
}

class NpyFile : public testing::Test {
 protected:
  std::string folder = (std::filesystem::temp_directory_path() / ("npy_test." + std::to_string(::getpid()))).string();
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(NpyFile, RoundTripsEveryType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_semaphore(dtype) || dtype == DType::index) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}}) {
      auto array = Array::allocate({dtype, shape});
      ASSERT_TRUE(array);
      for (int64_t b = 0; b < array->bytes(); ++b) array->as<uint8_t>()[b] = static_cast<uint8_t>(b & 1);
      if (dtype == DType::i4 && array->elements() > 2) array->as<int8_t>()[2] = -8;
      const std::string path = folder + "/a.npy";
      ASSERT_TRUE(writeNpy(path, *array));
      auto back = readNpy(path, dtype);
      ASSERT_TRUE(back) << back.error().str();
      EXPECT_EQ(back->type(), array->type());
      EXPECT_EQ(std::memcmp(back->data(), array->data(), static_cast<size_t>(array->bytes())), 0) << name(dtype);
    }
  }
}

TEST_F(NpyFile, WritesTheHeaderThatNumpyWrites) {
  const std::string header = npyHeader({DType::bf16, {8, 128}});
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 69),
            std::string("\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (8, 128), }", 69));
  EXPECT_EQ(header.back(), '\n');
}

TEST_F(NpyFile, AFullDiskIsReportedAndTheOldFileIsKept) {
  const std::string path = folder + "/a.npy";
  auto small = Array::allocate({DType::i8, {1}});
  small->as<int8_t>()[0] = 5;
  ASSERT_TRUE(writeNpy(path, *small));
  auto large = Array::allocate({DType::i8, {1 << 20}});
  std::memset(large->data(), 0, 1 << 20);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1 << 16, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const Status status = writeNpy(path, *large);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, oldHandler);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "SM1006");
  EXPECT_EQ(readNpy(path)->as<int8_t>()[0], 5);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(NpyFile, AMissingFileIsNamed) {
  const auto a = readNpy(folder + "/none.npy");
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().code, "SM1001");
  EXPECT_NE(a.error().message.find("none.npy"), std::string::npos);
}

}  // namespace
}  // namespace smalti::interop
