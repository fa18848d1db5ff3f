#include <gmock/gmock.h>

#include "TestText.h"

namespace smalti::interop {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Program import(const std::string& text) {
  auto program = importStableHlo(text, "t.mlir");
  EXPECT_TRUE(program) << (program ? "" : program.error().str()) << text;
  return program ? std::move(*program) : Program();
}

constexpr const char* kAdd =
    R"(module @jit_add attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>) -> (tensor<4x3xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
)";
constexpr const char* kAddGeneric = R"("builtin.module"() <{sym_name = "jit_add"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
)";

TEST(ImportStableHlo, PrettyAndGenericAreOneProgram) {
  const Program pretty = import(kAdd), generic = import(kAddGeneric);
  EXPECT_TRUE(samePrograms(pretty, generic));
  EXPECT_EQ(pretty.name, "jit_add");
  EXPECT_EQ(pretty.moduleAttributes, "{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}");
  EXPECT_THAT(pretty.functions[0].resultAttributes, ElementsAre("{jax.result_info = \"result\"}"));
  EXPECT_EQ(generic.functions[0].resultAttributes, pretty.functions[0].resultAttributes);
}

TEST(ImportStableHlo, PlacesAreTheUsersWhereTheModuleCarriesThem) {
  const Program program = import(R"(#loc1 = loc("x")
module @m {
  func.func public @main(%arg0: tensor<2xf32> loc("x")) -> (tensor<2xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<2xf32> loc(#loc9)
    %1 = stablehlo.negate %0 : tensor<2xf32> loc("jit(f)/neg"("model.py":12:4 to :20))
    %2 = stablehlo.negate %1 : tensor<2xf32> loc(fused<"a">["x", "other.py":3:0])
    %3 = stablehlo.negate %2 : tensor<2xf32> loc(unknown)
    return %3 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("model.py":41:8 to 42:3)
#loc3 = loc("main.py":7:0 to :10)
#loc8 = loc(callsite(#loc2 at #loc3))
#loc9 = loc("jit(f)/neg"(#loc8))
)");
  const auto& ops = program.functions[0].ops;
  EXPECT_EQ(ops[0].place.str(), "model.py:41:9");
  EXPECT_EQ(ops[1].place.str(), "model.py:12:5");
  EXPECT_EQ(ops[2].place.str(), "other.py:3:1");
  EXPECT_EQ(ops[3].place.str(), "t.mlir:7:10");
}

TEST(ImportStableHlo, LocationsThatNameThemselvesEnd) {
  EXPECT_EQ(errorOf("module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> loc(#loc1) "
                    "}\n}\n#loc1 = loc(callsite(#loc2 at #loc1))\n#loc2 = loc(\"n\"(#loc1))\n"),
            "");
}

TEST(ImportStableHlo, AttributeAliasesAndUnknownAttributesAndComments) {
  const Program program = import(R"(#s = #sdy.sharding<@mesh, [{"x"}]>
// a comment
module @m attributes {some.thing = [1, "two", 3.0 : f32, #other.attr<a, [b], "c>">, @sym, affine_map<(d0) -> (d0)>]} {
  sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #s, tf.aliasing_output = 0 : i32}) -> tensor<4xf32> attributes {x} {
    %0 = stablehlo.negate %arg0 {mhlo.frontend_attributes = {a = "b"}, other} : tensor<4xf32> // behind
    return %0 : tensor<4xf32>
  }
}
)");
  ASSERT_EQ(program.meshes.size(), 1u);
  EXPECT_EQ(program.meshes[0].numDevices(), 2);
  EXPECT_THAT(program.functions[0].argumentAttributes,
              ElementsAre("{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>, tf.aliasing_output = 0 : i32}"));
}

TEST(ImportStableHlo, KernelsBringSignatureAliasesAndConfiguration) {
  const Program program = import(dataCase("alias_partial_update"));
  ASSERT_EQ(program.kernels.size(), 1u);
  const KernelPackage& kernel = program.kernels[0];
  EXPECT_EQ(kernel.name, "inc_alias_k");
  EXPECT_THAT(kernel.operands, ElementsAre(ArrayType{DType::i32, {32, 128}}));
  EXPECT_THAT(kernel.results, ElementsAre(ArrayType{DType::i32, {32, 128}}));
  EXPECT_THAT(kernel.aliases, ElementsAre(Alias{0, 0}));
  EXPECT_EQ(kernel.config.serializationFormat, 1);
  EXPECT_EQ(kernel.frontendAttributes.at("kernel_metadata"), "{}");
  EXPECT_FALSE(kernel.hasSideEffect);
}

TEST(ImportStableHlo, AllKernelsShareOneContext) {
  std::string text = dataCase("alias_partial_update");
  const size_t begin = text.find("    %0 = "), end = text.find("    return");
  std::string second = text.substr(begin, end - begin);
  second.replace(second.find("%0"), 2, "%1");
  second.replace(second.find("%arg0"), 5, "%0");
  text.insert(end, second);
  text.replace(text.find("return %0"), 9, "return %1");
  const Program program = import(text);
  ASSERT_EQ(program.kernels.size(), 2u);
  EXPECT_EQ(program.kernels[0].context, program.kernels[1].context);
}

TEST(ImportStableHlo, ConfigurationsMayBeDictionaries) {
  std::string text = dataCase("alias_partial_update");
  const size_t begin = text.find("backend_config = \""), bodyBegin = text.find("\\22TU") + 3;
  const size_t bodyEnd = text.find("\\22", bodyBegin), end = text.find("\", kernel_name") + 1;
  const std::string body = text.substr(bodyBegin, bodyEnd - bodyBegin);
  text.replace(begin, end - begin,
               "api_version = 4 : i32, backend_config = {custom_call_config = {body = \"" + body +
                   "\", serialization_format = 1 : i64, needs_layout_passes = true}}");
  EXPECT_TRUE(samePrograms(import(dataCase("alias_partial_update")), import(text)));
}

TEST(ImportStableHlo, CompositesCallTheirDecomposition) {
  const Program program = import(R"(module {
  func.func @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.composite "my.sin" %a {decomposition = @my.sin} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @my.sin(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.sine %a : tensor<f32>
    return %0 : tensor<f32>
  }
})");
  EXPECT_EQ(program.functions[0].ops[0].name, "call");
  EXPECT_EQ(program.functions[0].ops[0].callee, "my.sin");
}

TEST(ImportStableHlo, OldShardingMarkersPassTheirValue) {
  const Program program = import(moduleOf("(%a: tensor<4xf32>) -> tensor<4xf32>", R"(
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>)"));
  EXPECT_EQ(program.functions[0].ops[0].name, "sharding_constraint");
}

}  // namespace
}  // namespace smalti::interop
