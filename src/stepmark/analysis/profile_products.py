"""Matrix products among torch's operators: the closed list by which their share of a phase is counted.

An operator counts with its own time, so wrappers (matmul, linear, einsum) may stand beside what they call.
Convolutions are products of unfolded matrices. Fused attention is two products and the softmax between them;
its softmax counts along, since no profiler can tell them apart. On an accelerator an operator's time is that
of the kernels it launched; a kernel that no operator launched (a Triton kernel called by hand) never counts.
"""

from __future__ import annotations

PLAIN = ("mm", "addmm", "bmm", "baddbmm", "addbmm", "matmul", "linear", "einsum", "mv", "addmv", "dot",
         "vdot", "inner", "ger", "addr", "outer", "_addmm_activation", "linear_backward",
         "_grouped_mm")  # fmt: skip
LOW_PRECISION = ("_int_mm", "_scaled_mm", "_scaled_grouped_mm", "_weight_int4pack_mm",
                 "_weight_int4pack_mm_for_cpu", "_weight_int8pack_mm", "_dyn_quant_matmul_4bit")  # fmt: skip
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                "convolution", "_convolution", "convolution_overrideable", "convolution_backward",
                "convolution_backward_overrideable", "mkldnn_convolution", "cudnn_convolution",
                "cudnn_convolution_transpose", "cudnn_convolution_relu", "miopen_convolution",
                "thnn_conv2d", "_slow_conv2d_forward", "_slow_conv2d_backward", "slow_conv3d",
                "slow_conv3d_forward", "_conv_depthwise2d", "conv_depthwise3d")  # fmt: skip
ATTENTION = ("scaled_dot_product_attention", "_scaled_dot_product_attention_math",
             "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_backward",
             "_scaled_dot_product_flash_attention_for_cpu",
             "_scaled_dot_product_flash_attention_for_cpu_backward",
             "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
             "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_cudnn_attention_backward",
             "_scaled_dot_product_fused_attention_overrideable",
             "_scaled_dot_product_fused_attention_overrideable_backward",
             "_flash_attention_forward", "_flash_attention_backward", "_efficient_attention_forward",
             "_efficient_attention_backward", "_cudnn_attention_forward",
             "_cudnn_attention_backward")  # fmt: skip
ELSEWHERE = ("mkldnn::_linear_pointwise", "mkldnn::_convolution_pointwise", "mkldnn::_convolution_pointwise_",
             "mkl::_mkl_linear", "onednn::qlinear_pointwise", "onednn::qconv_pointwise", "quantized::linear",
             "quantized::linear_dynamic", "quantized::conv2d")  # fmt: skip

MATRIX_PRODUCTS = frozenset({
    *(f"aten::{name}" for name in (*PLAIN, *LOW_PRECISION, *CONVOLUTIONS, *ATTENTION)),
    *ELSEWHERE,
})  # fmt: skip


def is_product(operation: str) -> bool:
    """Whether the operator of this name is on the list."""
    return operation in MATRIX_PRODUCTS
