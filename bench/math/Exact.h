// The functions with errors far below the precision of f32.
#pragma once

#include <span>
#include <string_view>

struct ExactFunction {
  std::string_view name;
  double (*of)(double);
  float low, high;  ///< where its speed is measured
};
struct ExactBinaryFunction {
  std::string_view name;
  double (*of)(double, double);
  void (*near)(float& a, float& b);  ///< makes any pair one whose value is neither 0 nor infinite
};

std::span<const ExactFunction> exactFunctions();
std::span<const ExactBinaryFunction> exactBinaryFunctions();
