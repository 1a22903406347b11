/* The name map. Headers and sources write plain names; each stands for one symbol a precision:
 * mha_forward is mha_f32_forward behind <mha/mha32.h> and mha_f64_forward behind <mha/mha64.h>.
 * With MHA_NO_SHORT_NAMES both doors can be open in one file, and only the long names are declared. */
#ifndef MHA_NAMES_H
#define MHA_NAMES_H

#define mha_real MHA_NAME(real)

/* ops.h */
#define mha_projection_forward     MHA_NAME(projection_forward)
#define mha_projection_backward    MHA_NAME(projection_backward)
#define mha_split_heads_forward    MHA_NAME(split_heads_forward)
#define mha_split_heads_backward   MHA_NAME(split_heads_backward)
#define mha_combine_heads_forward  MHA_NAME(combine_heads_forward)
#define mha_combine_heads_backward MHA_NAME(combine_heads_backward)
#define mha_scores_forward         MHA_NAME(scores_forward)
#define mha_scores_backward        MHA_NAME(scores_backward)
#define mha_scale_forward          MHA_NAME(scale_forward)
#define mha_scale_backward         MHA_NAME(scale_backward)
#define mha_mask_forward           MHA_NAME(mask_forward)
#define mha_mask_backward          MHA_NAME(mask_backward)
#define mha_softmax_forward        MHA_NAME(softmax_forward)
#define mha_softmax_backward       MHA_NAME(softmax_backward)
#define mha_context_forward        MHA_NAME(context_forward)
#define mha_context_backward       MHA_NAME(context_backward)
#define mha_attention_forward      MHA_NAME(attention_forward)
#define mha_attention_backward     MHA_NAME(attention_backward)

/* fused.h */
#define mha_fused          MHA_NAME(fused)
#define mha_fused_create   MHA_NAME(fused_create)
#define mha_fused_destroy  MHA_NAME(fused_destroy)
#define mha_fused_weights  MHA_NAME(fused_weights)
#define mha_fused_forward  MHA_NAME(fused_forward)
#define mha_fused_backward MHA_NAME(fused_backward)
#define mha_fma_burst      MHA_NAME(fma_burst)

/* layer.h */
#define mha_weights               MHA_NAME(weights)
#define mha_weights_view          MHA_NAME(weights_view)
#define mha_weights_draw          MHA_NAME(weights_draw)
#define mha_weights_draw_handbook MHA_NAME(weights_draw_handbook)
#define mha_layer_options         MHA_NAME(layer_options)
#define mha_layer                 MHA_NAME(layer)
#define mha_layer_create          MHA_NAME(layer_create)
#define mha_layer_destroy         MHA_NAME(layer_destroy)
#define mha_tape                  MHA_NAME(tape)
#define mha_tape_create           MHA_NAME(tape_create)
#define mha_tape_destroy          MHA_NAME(tape_destroy)
#define mha_tape_bytes            MHA_NAME(tape_bytes)
#define mha_tape_entry            MHA_NAME(tape_entry)
#define mha_tape_entry_count      MHA_NAME(tape_entry_count)
#define mha_tape_entry_at         MHA_NAME(tape_entry_at)
#define mha_tape_value            MHA_NAME(tape_value)
#define mha_forward               MHA_NAME(forward)
#define mha_backward              MHA_NAME(backward)

/* stages.h */
#define mha_pass      MHA_NAME(pass)
#define mha_stage     MHA_NAME(stage)
#define mha_stages    MHA_NAME(stages)
#define mha_stages_of MHA_NAME(stages_of)

/* loss.h and sgd.h */
#define mha_mse_loss           MHA_NAME(mse_loss)
#define mha_class_score        MHA_NAME(class_score)
#define mha_cross_entropy_loss MHA_NAME(cross_entropy_loss)
#define mha_gradient_norm      MHA_NAME(gradient_norm)
#define mha_sgd_options        MHA_NAME(sgd_options)
#define mha_sgd_step           MHA_NAME(sgd_step)

#endif
