#include "Cases.h"

namespace smalti::kernels::test {

Array Cases::random(DType dtype, Shape shape, double scale) {
  if (is_integer(dtype)) return astype(integers(std::move(shape), -100, 100), dtype);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(num_elements(shape));
  for (float& e : elements) e = static_cast<float>(scale) * uniform(engine_);
  return astype(array(elements, std::move(shape)), dtype);
}

Array Cases::integers(Shape shape, int32_t low, int32_t high) {
  std::uniform_int_distribution<int32_t> uniform(low, high - 1);
  std::vector<int32_t> elements(num_elements(shape));
  for (int32_t& e : elements) e = uniform(engine_);
  return array(elements, std::move(shape));
}

Cases allCases() {
  Cases cases;
  vectorCases(cases);
  matmulCases(cases);
  rowCases(cases);
  attentionCases(cases);
  sparseCases(cases);
  copyCases(cases);
  return cases;
}

}  // namespace smalti::kernels::test
