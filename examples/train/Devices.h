// The loss and its gradients, with the batch over several devices.
#pragma once

#include "Model.h"

namespace train {

/// Of tokens and targets [batch, context], whose batch divides over the devices; each has the whole model.
std::pair<pl::Array, Model> value_and_gradients(const Model&, const pl::Array& tokens, const pl::Array& targets,
                                                const Config&, int64_t devices);

}  // namespace train
