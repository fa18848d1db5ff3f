#include <gmock/gmock.h>

#include "interop/Interop.h"

namespace smalti::interop {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::StartsWith;

// As JAX 0.12 writes it, keys in its order.
constexpr const char* kFull =
    "{\"custom_call_config\": {\"body\": \"Ym9keQ==\", \"has_communication\": true, \"collective_id\": 3, "
    "\"cost_estimate\": {\n\"bytes_accessed\":2,\n\"flops\":1,\n\"remote_bytes_transferred\":0,\n"
    "\"transcendentals\":3\n}, \"needs_hlo_passes\": true, \"serialization_format\": 1, \"needs_layout_passes\": true, "
    "\"shape_invariant_numerics\": false, \"allow_input_fusion\": [true,false], \"internal_scratch_in_bytes\": 65536, "
    "\"output_memory_space_colors\": [{\"color\":1,\"shape_index\":[0]},{\"color\":0,\"shape_index\":[1]}], "
    "\"input_memory_space_colors\": [{\"operand_index\":0,\"color\":1}], \"disable_bounds_checks\": true, "
    "\"disable_semaphore_checks\": true, \"skip_device_barrier\": true, \"debug_locations\": \"TUzv\"}, "
    "\"device_type\": \"DEVICE_TYPE_TENSORCORE\", \"scoped_memory_configs\": [{\"memory_space\":1, \"offset\": 0, "
    "\"size\": 1048576}], \"flag_configs\": [{\"flag_type\": \"XLA_TPU_A\", \"value\": {\"boolean_value\": true}},"
    "{\"flag_type\": \"XLA_TPU_B\", \"value\": {\"integer_value\": 3}}]}";

TEST(BackendConfig, EveryKeyIsReadAndWrittenBack) {
  const auto parsed = parseBackendConfig(kFull);
  ASSERT_TRUE(parsed) << parsed.error().str();
  const KernelConfig& c = parsed->config;
  EXPECT_EQ(parsed->body, "body");
  EXPECT_EQ(c.hasCommunication, true);
  EXPECT_EQ(c.collectiveId, 3);
  EXPECT_EQ(c.costEstimate->flops, 1);
  EXPECT_EQ(c.costEstimate->bytes_accessed, 2);
  EXPECT_EQ(c.costEstimate->transcendentals, 3);
  EXPECT_EQ(c.shapeInvariantNumerics, false);
  EXPECT_THAT(c.allowInputFusion, ElementsAre(true, false));
  EXPECT_EQ(c.internalScratchInBytes, 65536);
  EXPECT_EQ(c.outputMemorySpaceColors[1].index, 1);
  EXPECT_EQ(c.inputMemorySpaceColors[0].color, 1);
  EXPECT_EQ(c.disableSemaphoreChecks, true);
  EXPECT_EQ(c.scopedMemory[0].size, 1048576);
  EXPECT_EQ(c.flags[1].valueJson, "3");
  EXPECT_THAT(c.unknown, ElementsAre(Pair("custom_call_config.debug_locations", "\"TUzv\""),
                                     Pair("device_type", "\"DEVICE_TYPE_TENSORCORE\"")));
  EXPECT_EQ(printBackendConfig(c, parsed->body), kFull);
}

std::string errorOf(const std::string& json) {
  const auto parsed = parseBackendConfig(json);
  return parsed ? "" : parsed.error().str();
}

TEST(BackendConfig, MalformedConfigurationsAreRefused) {
  EXPECT_EQ(errorOf("{"),
            "error[SM2010]: the kernel's configuration (backend_config) is malformed: it is not a JSON object\n"
            "  help: export the kernel again with JAX\n");
  EXPECT_THAT(errorOf("[]"), StartsWith("error[SM2010]"));
  EXPECT_THAT(errorOf("{}"), StartsWith("error[SM2010]"));
  EXPECT_THAT(errorOf("{\"custom_call_config\": {}}"), StartsWith("error[SM2010]"));
  EXPECT_THAT(errorOf("{\"custom_call_config\": {\"body\": 1}}"), StartsWith("error[SM2010]"));
  EXPECT_THAT(errorOf("{\"custom_call_config\": {\"body\": \"!\"}}"), StartsWith("error[SM2011]"));
  for (const char* key :
       {"\"collective_id\": \"a\"", "\"collective_id\": 18446744073709551615", "\"needs_layout_passes\": 1",
        "\"allow_input_fusion\": [1]", "\"cost_estimate\": 3",
        "\"output_memory_space_colors\": [{\"color\": 1, \"shape_index\": []}]", "\"input_memory_space_colors\": {}"})
    EXPECT_THAT(errorOf(std::string("{\"custom_call_config\": {\"body\": \"\", ") + key + "}}"),
                StartsWith("error[SM2010]"))
        << key;
  EXPECT_THAT(errorOf("{\"custom_call_config\": {\"body\": \"\"}, \"flag_configs\": [{}]}"),
              StartsWith("error[SM2010]"));
}

TEST(BackendConfig, NestingIsBounded) {
  EXPECT_THAT(errorOf(std::string(1'000'000, '[')), StartsWith("error[SM2010]"));
  EXPECT_EQ(errorOf("{\"custom_call_config\": {\"body\": \"\", \"x\": \"[[[[{{{\\\"\"}}"), "");
}

}  // namespace
}  // namespace smalti::interop
