#include "interop/vhlo/Properties.h"

#include <algorithm>
#include <array>

namespace smalti::interop::vhlo {
namespace {

struct Row {
  std::string_view dialect, op, names;  ///< a name with ? may be absent
};

// From StableHLO's VhloOps.td, chlo's ChloOps.td and Shardy's ops.td; MLIR stores them in the order of their names.
constexpr std::array kRows{
    Row{"builtin", "module", "sym_name? sym_visibility?"},
    Row{"vhlo", "all_gather_v1", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    Row{"vhlo", "all_gather_v2", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    Row{"vhlo", "all_reduce_v1", "channel_id replica_groups use_global_device_ids"},
    Row{"vhlo", "all_reduce_v2", "channel_id replica_groups use_global_device_ids"},
    Row{"vhlo", "all_to_all_v1", "channel_id concat_dimension replica_groups split_count split_dimension"},
    Row{"vhlo", "all_to_all_v2", "channel_id concat_dimension replica_groups split_count split_dimension"},
    Row{"vhlo", "broadcast_in_dim_v1", "broadcast_dimensions"},
    Row{"vhlo", "call_v1", "callee"},
    Row{"vhlo", "cbrt_v2", "result_accuracy"},
    Row{"vhlo", "cholesky_v1", "lower"},
    Row{"vhlo", "collective_broadcast_v1", "channel_id replica_groups"},
    Row{"vhlo", "collective_permute_v1", "channel_id source_target_pairs"},
    Row{"vhlo", "compare_v1", "compare_type comparison_direction"},
    Row{"vhlo", "composite_v1", "composite_attributes decomposition name version"},
    Row{"vhlo", "composite_v2", "composite_attributes decomposition name version"},
    Row{"vhlo", "concatenate_v1", "dimension"},
    Row{"vhlo", "constant_v1", "value"},
    Row{"vhlo", "convolution_v1",
        "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
        "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
        "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config "
        "rhs_dilation window_reversal window_strides"},
    Row{"vhlo", "cosine_v2", "result_accuracy"},
    Row{"vhlo", "custom_call_v1",
        "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
        "output_operand_aliases result_layouts"},
    Row{"vhlo", "custom_call_v2",
        "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
        "output_operand_aliases result_layouts result_tilings"},
    Row{"vhlo", "dot_general_v1",
        "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
        "rhs_contracting_dimensions"},
    Row{"vhlo", "dot_general_v2",
        "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
        "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
        "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    Row{"vhlo", "dynamic_broadcast_in_dim_v1",
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    Row{"vhlo", "dynamic_conv_v1",
        "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
        "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
        "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config "
        "rhs_dilation window_reversal window_strides"},
    Row{"vhlo", "dynamic_conv_v2",
        "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
        "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
        "output_batch_dimension output_feature_dimension output_spatial_dimensions precision_config "
        "rhs_dilation window_reversal window_strides"},
    Row{"vhlo", "dynamic_gather_v1",
        "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    Row{"vhlo", "dynamic_gather_v2",
        "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims start_index_map "
        "start_indices_batching_dims"},
    Row{"vhlo", "dynamic_iota_v1", "iota_dimension"},
    Row{"vhlo", "dynamic_slice_v1", "slice_sizes"},
    Row{"vhlo", "exponential_minus_one_v2", "result_accuracy"},
    Row{"vhlo", "exponential_v2", "result_accuracy"},
    Row{"vhlo", "fft_v1", "fft_length fft_type"},
    Row{"vhlo", "func_v1", "arg_attrs function_type res_attrs sym_name sym_visibility"},
    Row{"vhlo", "gather_v1",
        "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map"},
    Row{"vhlo", "gather_v2",
        "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes "
        "start_index_map start_indices_batching_dims"},
    Row{"vhlo", "get_dimension_size_v1", "dimension"},
    Row{"vhlo", "iota_v1", "iota_dimension"},
    Row{"vhlo", "log_plus_one_v2", "result_accuracy"},
    Row{"vhlo", "log_v2", "result_accuracy"},
    Row{"vhlo", "logistic_v2", "result_accuracy"},
    Row{"vhlo", "pad_v1", "edge_padding_high edge_padding_low interior_padding"},
    Row{"vhlo", "reduce_precision_v1", "exponent_bits mantissa_bits"},
    Row{"vhlo", "reduce_scatter_v1", "channel_id replica_groups scatter_dimension use_global_device_ids"},
    Row{"vhlo", "reduce_v1", "dimensions"},
    Row{"vhlo", "reduce_window_v1", "base_dilations padding window_dilations window_dimensions window_strides"},
    Row{"vhlo", "reverse_v1", "dimensions"},
    Row{"vhlo", "rng_bit_generator_v1", "rng_algorithm"},
    Row{"vhlo", "rsqrt_v2", "result_accuracy"},
    Row{"vhlo", "scatter_v1",
        "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices "
        "update_window_dims"},
    Row{"vhlo", "scatter_v2",
        "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
        "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims"},
    Row{"vhlo", "select_and_scatter_v1", "padding window_dimensions window_strides"},
    Row{"vhlo", "sine_v2", "result_accuracy"},
    Row{"vhlo", "slice_v1", "limit_indices start_indices strides"},
    Row{"vhlo", "sort_v1", "dimension is_stable"},
    Row{"vhlo", "sqrt_v2", "result_accuracy"},
    Row{"vhlo", "tan_v2", "result_accuracy"},
    Row{"vhlo", "tanh_v2", "result_accuracy"},
    Row{"vhlo", "transpose_v1", "permutation"},
    Row{"vhlo", "triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
    Row{"chlo", "top_k", "k"},
    Row{"sdy", "manual_computation", "in_shardings manual_axes out_shardings"},
    Row{"sdy", "mesh", "mesh sym_name"},
    Row{"sdy", "sharding_constraint", "sharding"},
};

}  // namespace

std::vector<Property> propertiesOf(std::string_view dialect, std::string_view op) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.dialect == dialect && r.op == op; });
  std::vector<Property> properties;
  if (row == kRows.end()) return properties;
  for (std::string_view rest = row->names; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    properties.push_back({name, optional});
  }
  return properties;
}

}  // namespace smalti::interop::vhlo
