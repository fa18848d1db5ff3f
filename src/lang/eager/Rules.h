// Evaluators of the language's own ops, one table per family; Rules.cpp lists them.
#pragma once

#include "lang/eager/Eager.h"

namespace smalti::lang {

std::span<const plain::EvaluatorRow> mathEvaluators();
std::span<const plain::EvaluatorRow> reduceEvaluators();
std::span<const plain::EvaluatorRow> tpuEvaluators();

}  // namespace smalti::lang
